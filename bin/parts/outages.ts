/**
 * Keeps the log readable while the database or Temporal is down. Logs the first failure of an outage, and only counts
 * further ones. After a while without failures, logs how long the outage lasted and how often each message occurred.
 * Does not affect the lines of requests, which contain the status that the client received.
 */
import { isGrpcServiceError } from '@temporalio/client';
import type { Logger, LoggerOptions } from 'pino';
import { isUnavailable } from '../../db/connections.ts';

type Outage = 'database' | 'temporal';

type LogMethod = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>;

interface Episode {
  readonly startedAtMs: number;
  lastAtMs: number;
  reportedAtMs: number;
  /** Counts, by log message. */
  readonly failures: Map<string, number>;
}

const WARN = 40;
const FATAL = 60;
/** Longer than most pauses between retries. */
const OVER_AFTER_MS = 12_000;
const REPORT_EVERY_MS = 60_000;
const MAX_CAUSES = 4;
/** DEADLINE_EXCEEDED and UNAVAILABLE: https://grpc.io/docs/guides/status-codes/ */
const UNREACHABLE_CODES: ReadonlySet<number> = new Set([4, 14]);

/** Makes pino's `hooks`, which look for errors in the fields `err` and `error`. */
export function collapseRepeatedErrors({ overAfterMs = OVER_AFTER_MS, reportEveryMs = REPORT_EVERY_MS } = {}): {
  readonly logMethod: LogMethod;
} {
  const episodes = new Map<Outage, Episode>();

  function watch(log: Logger, outage: Outage, episode: Episode): void {
    const timer = setInterval(
      () => {
        const nowMs = performance.now();
        const isOver = nowMs - episode.lastAtMs > overAfterMs;
        if (!isOver && nowMs - episode.reportedAtMs < reportEveryMs) return;
        episode.reportedAtMs = nowMs;
        const seconds = Math.round(((isOver ? episode.lastAtMs : nowMs) - episode.startedAtMs) / 100) / 10;
        const failures = Object.fromEntries(episode.failures);
        log.warn({ outage, seconds, failures }, `the ${outage} ${isOver ? 'was' : 'is still'} unreachable`);
        if (!isOver) return;
        episodes.delete(outage);
        clearInterval(timer);
      },
      Math.min(overAfterMs, reportEveryMs) / 4,
    ).unref();
  }

  return {
    logMethod(args, method, level) {
      const [fields, message = '']: unknown[] = args;
      // Never folds the last line of a process.
      const outage = level >= WARN && level < FATAL ? outageOf(errorIn(fields)) : null;
      if (outage === null || typeof fields !== 'object') return method.apply(this, args);
      const nowMs = performance.now();
      const text = String(message);
      const known = episodes.get(outage);
      if (known) {
        known.lastAtMs = nowMs;
        known.failures.set(text, (known.failures.get(text) ?? 0) + 1);
        return;
      }
      const episode = { startedAtMs: nowMs, lastAtMs: nowMs, reportedAtMs: nowMs, failures: new Map([[text, 1]]) };
      episodes.set(outage, episode);
      watch(this, outage, episode);
      method.call(this, { ...fields, outage }, text);
    },
  };
}

/** Returns the service that an error shows to be unavailable; null for other errors. */
function outageOf(error: unknown): Outage | null {
  let at = error;
  for (let depth = 0; depth < MAX_CAUSES && at instanceof Error; depth += 1) {
    if (isUnavailable(at)) return 'database';
    if (isGrpcServiceError(at) && UNREACHABLE_CODES.has(at.code)) return 'temporal';
    at = at.cause;
  }
  return null;
}

function errorIn(fields: unknown): unknown {
  if (typeof fields !== 'object' || fields === null) return undefined;
  if ('err' in fields) return fields.err;
  return 'error' in fields ? fields.error : undefined;
}
