/** Sums the calls of upstreams in this process, and reports them to the database for all processes to read. */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { addCalls, countCall, newCallSum, type RunningCallSum } from '../domain/call-sum.ts';
import { repeat } from '../domain/repeat.ts';
import { type Database, isDatabaseError, isUnstorable } from './database.ts';
import {
  type CallFailure,
  type CallTarget,
  nameOfTarget,
  type OpenCircuit,
  recordCalls,
  type TextAttempt,
} from './queries/upstream-calls.ts';

export interface CallRecorder {
  /** Counts a call. @param failure null if the upstream did not fail */
  record(target: CallTarget, durationMs: number, failure: CallFailure | null): void;
  /** Records an attempt of a text request that had a failure. */
  recordAttempt(attempt: TextAttempt): void;
  /** Sets the function that lists the open circuits of this process. */
  reportCircuits(list: () => readonly OpenCircuit[]): void;
  /** Reports now instead of at the next interval. @throws when the database is unavailable */
  flush(): Promise<void>;
  /** Reports for the last time. */
  stop(): Promise<void>;
}

/** The pause between reports; short, so that operators see a failure while it happens. */
const PAUSE_MS = 2_000;
/** The SQLSTATE for JSON with an unpaired surrogate. */
const INVALID_JSON = '22P02';
/** The most attempts per report. While every upstream fails, the first attempts show enough. */
const MAX_ATTEMPTS = 500;

/** The number of routes and keys bounds the memory, even while the database is unavailable. */
export function createCallRecorder(database: Database, log: Pick<Logger, 'debug'>): CallRecorder {
  const processId = randomUUID();
  const sums = new Map<string, CallTarget & RunningCallSum>();
  const failures = new Map<string, CallTarget & CallFailure>();
  let attempts: (TextAttempt & { readonly endedAtMs: number })[] = [];
  let listCircuits: (() => readonly OpenCircuit[]) | null = null;
  let hadCircuits = false;
  let flushing = Promise.resolve();

  async function report(): Promise<void> {
    const circuits = listCircuits?.() ?? [];
    const taken = { sums: [...sums.values()], failures: [...failures.values()] };
    const takenAttempts = attempts;
    const shouldReportCircuits = circuits.length > 0 || hadCircuits;
    if (taken.sums.length === 0 && takenAttempts.length === 0 && !shouldReportCircuits) return;
    sums.clear();
    failures.clear();
    attempts = [];
    try {
      const nowMs = performance.now();
      await recordCalls(database, {
        processId,
        ...taken,
        attempts: takenAttempts.map(({ endedAtMs, ...attempt }) => ({ ...attempt, ageMs: nowMs - endedAtMs })),
        circuits: shouldReportCircuits ? circuits : null,
      });
      hadCircuits = circuits.length > 0;
    } catch (error) {
      // A message that PostgreSQL cannot store would make every later report fail.
      const replacement = isUnstorable(error) || isDatabaseError(error, INVALID_JSON) ? { message: '' } : {};
      for (const sum of taken.sums) sums.set(nameOfTarget(sum), { ...sum, ...addCalls(sum, sumOf(sums, sum)) });
      for (const failure of taken.failures) {
        const name = nameOfTarget(failure);
        if (!failures.has(name)) failures.set(name, { ...failure, ...replacement });
      }
      const unreported = takenAttempts.map((attempt) => ({ ...attempt, ...replacement }));
      attempts = [...unreported, ...attempts].slice(0, MAX_ATTEMPTS);
      throw error;
    }
  }

  function flush(): Promise<void> {
    const done = flushing.then(report);
    flushing = done.catch(() => undefined);
    return done;
  }

  const reporting = repeat(flush, {
    pauseMs: PAUSE_MS,
    onError: (error) => log.debug({ err: error }, 'cannot report the calls of upstreams'),
  });

  return {
    record: (target, durationMs, failure) => {
      countCall(sumOf(sums, target), durationMs, failure !== null);
      if (failure !== null) failures.set(nameOfTarget(target), { ...target, ...failure });
    },
    recordAttempt: (attempt) => {
      if (attempts.length < MAX_ATTEMPTS) attempts.push({ ...attempt, endedAtMs: performance.now() });
    },
    reportCircuits: (list) => (listCircuits = list),
    flush,
    stop: async () => {
      await reporting.stop();
      await flush().catch(() => undefined);
    },
  };
}

function sumOf(sums: Map<string, CallTarget & RunningCallSum>, target: CallTarget): RunningCallSum {
  const name = nameOfTarget(target);
  const known = sums.get(name);
  if (known) return known;
  const sum = { ...target, ...newCallSum() };
  sums.set(name, sum);
  return sum;
}
