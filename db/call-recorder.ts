/** Adds up the calls of upstreams in this process, and reports them to the database for all processes to read. */
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
  /** Counts a call. @param failure null if the upstream did its part */
  record(target: CallTarget, durationMs: number, failure: CallFailure | null): void;
  /** Keeps an attempt of a text request that met a failure. */
  recordAttempt(attempt: TextAttempt): void;
  /** Sets where the open circuits of this process are read. */
  reportCircuits(list: () => readonly OpenCircuit[]): void;
  /** Reports now instead of at the next interval. @throws when the database is unavailable */
  flush(): Promise<void>;
  /** Reports for the last time. */
  stop(): Promise<void>;
}

/** The latest, so that operators see a failure while it happens. */
const PAUSE_MS = 2_000;
/** What PostgreSQL reports of JSON with an unpaired surrogate. */
const INVALID_JSON = '22P02';
/** While every upstream fails, the first attempts tell enough. */
const MAX_ATTEMPTS = 500;

/** Memory is bounded by the number of routes and keys, also while the database is unavailable. */
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
    const areCircuitsNew = circuits.length > 0 || hadCircuits;
    if (taken.sums.length === 0 && takenAttempts.length === 0 && !areCircuitsNew) return;
    sums.clear();
    failures.clear();
    attempts = [];
    try {
      const nowMs = performance.now();
      await recordCalls(database, {
        processId,
        ...taken,
        attempts: takenAttempts.map(({ endedAtMs, ...attempt }) => ({ ...attempt, ageMs: nowMs - endedAtMs })),
        circuits: areCircuitsNew ? circuits : null,
      });
      hadCircuits = circuits.length > 0;
    } catch (error) {
      // Words that PostgreSQL cannot store would keep it from every later report.
      const words = isUnstorable(error) || isDatabaseError(error, INVALID_JSON) ? { message: '' } : {};
      for (const sum of taken.sums) sums.set(nameOfTarget(sum), { ...sum, ...addCalls(sum, sumOf(sums, sum)) });
      for (const failure of taken.failures) {
        const name = nameOfTarget(failure);
        if (!failures.has(name)) failures.set(name, { ...failure, ...words });
      }
      const untold = takenAttempts.map((attempt) => ({ ...attempt, ...words }));
      attempts = [...untold, ...attempts].slice(0, MAX_ATTEMPTS);
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
