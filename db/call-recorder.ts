/** Sums the calls of upstreams in this process, and reports them to the database for all processes to read. */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { addCalls, countCall, newCallSum, type RunningCallSum } from '../domain/upstream-calls.ts';
import { repeat } from '../domain/background-loop.ts';
import { type Database, isUnstorable } from './database.ts';
import {
  type CallFailure,
  type CallReport,
  type CallTarget,
  type FailureSum,
  nameOfTarget,
  type OpenCircuit,
  recordCalls,
  type TextAttempt,
} from './queries/upstream-calls.ts';

/** A call of an upstream that ended. */
export interface RecordedCall {
  /** Null for a call for no customer, such as a check. */
  readonly accountId: string | null;
  readonly durationMs: number;
  /** Null if the upstream did not fail. */
  readonly failure: CallFailure | null;
}

export interface CallRecorder {
  /** Counts a call. */
  record(target: CallTarget, call: RecordedCall): void;
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
/** The most attempts per report. While every upstream fails, the first attempts show enough. */
const MAX_ATTEMPTS = 500;
/** The most sums of failures by reason and account per report. Beyond this number, failures are summed without account. */
const MAX_FAILURE_SUMS = 500;

/** The number of routes and keys, and of failures by account, bounds the memory, even while the database is unavailable. */
export function createCallRecorder(database: Database, log: Pick<Logger, 'debug'>): CallRecorder {
  const processId = randomUUID();
  const tally = createTally();
  let attempts: (TextAttempt & { readonly endedAtMs: number })[] = [];
  let listCircuits: (() => readonly OpenCircuit[]) | null = null;
  let hadCircuits = false;
  let flushing = Promise.resolve();

  async function report(): Promise<void> {
    const circuits = listCircuits?.() ?? [];
    const counted = tally.take();
    const takenAttempts = attempts;
    const shouldReportCircuits = circuits.length > 0 || hadCircuits;
    if (counted.sums.length === 0 && takenAttempts.length === 0 && !shouldReportCircuits) return;
    attempts = [];
    try {
      const nowMs = performance.now();
      await recordCalls(database, {
        processId,
        ...counted,
        attempts: takenAttempts.map(({ endedAtMs, ...attempt }) => ({ ...attempt, ageMs: nowMs - endedAtMs })),
        circuits: shouldReportCircuits ? circuits : null,
      });
      hadCircuits = circuits.length > 0;
    } catch (error) {
      // A message that PostgreSQL cannot store would make every later report fail.
      const replacement = isUnstorable(error) ? { message: '' } : {};
      tally.restore(counted, replacement);
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
    record: tally.count,
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

type Counted = Pick<CallReport, 'sums' | 'failures' | 'failureSums'>;

/** Adds up calls until a report takes them. */
function createTally() {
  const sums = new Map<string, CallTarget & RunningCallSum>();
  const failures = new Map<string, CallTarget & CallFailure>();
  const failureSums = new Map<string, FailureSum>();
  return {
    count: (target: CallTarget, { accountId, durationMs, failure }: RecordedCall): void => {
      countCall(sumOf(sums, target), durationMs, failure !== null);
      if (failure === null) return;
      failures.set(nameOfFailure({ ...target, ...failure }), { ...target, ...failure });
      if (accountId !== null) addFailures(failureSums, oneFailure(target, failure.fault, accountId));
    },
    take: (): Counted => {
      const taken = {
        sums: [...sums.values()],
        failures: [...failures.values()],
        failureSums: [...failureSums.values()],
      };
      for (const counts of [sums, failures, failureSums]) counts.clear();
      return taken;
    },
    /** Takes back what could not be reported. */
    restore: (counted: Counted, replacement: Partial<CallFailure>): void => {
      for (const sum of counted.sums) sums.set(nameOfTarget(sum), { ...sum, ...addCalls(sum, sumOf(sums, sum)) });
      for (const sum of counted.failureSums) addFailures(failureSums, sum);
      for (const failure of counted.failures) {
        const name = nameOfFailure(failure);
        if (!failures.has(name)) failures.set(name, { ...failure, ...replacement });
      }
    },
  };
}

function nameOfFailure(failure: CallTarget & Pick<CallFailure, 'fault'>): string {
  return JSON.stringify([nameOfTarget(failure), failure.fault]);
}

function oneFailure({ upstream, format, model }: CallTarget, fault: string, accountId: string): FailureSum {
  return { upstream, format, model, fault, accountId, failures: 1 };
}

function nameOf({ upstream, format, model, fault, accountId }: FailureSum): string {
  return JSON.stringify([upstream, format, model, fault, accountId]);
}

function addFailures(sums: Map<string, FailureSum>, sum: FailureSum): void {
  const isKnown = sums.has(nameOf(sum));
  const counted = isKnown || sums.size < MAX_FAILURE_SUMS ? sum : { ...sum, accountId: '' };
  const known = sums.get(nameOf(counted));
  sums.set(nameOf(counted), { ...counted, failures: counted.failures + (known?.failures ?? 0) });
}

function sumOf(sums: Map<string, CallTarget & RunningCallSum>, target: CallTarget): RunningCallSum {
  const name = nameOfTarget(target);
  const known = sums.get(name);
  if (known) return known;
  const sum = { ...target, ...newCallSum() };
  sums.set(name, sum);
  return sum;
}
