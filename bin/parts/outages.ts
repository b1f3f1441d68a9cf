/**
 * Keeps the log readable while something that everything depends on is down. The first failure caused by an outage is
 * logged; further ones are only counted. When nothing has failed for a while, one more line says how long the outage
 * lasted and how often each thing failed. The line of each request is not affected: it has the status that its client
 * received.
 */
import { isGrpcServiceError } from '@temporalio/client';
import type { Logger, LoggerOptions } from 'pino';
import { isUnavailable } from '../../db/connections.ts';

type Outage = 'database' | 'temporal';

type LogMethod = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>;

interface Episode {
  readonly beganAtMs: number;
  lastAtMs: number;
  reportedAtMs: number;
  /** Counts, by log message. */
  readonly failures: Map<string, number>;
}

const WARN = 40;
const FATAL = 60;
/** Longer than most pauses between tries. */
const OVER_AFTER_MS = 12_000;
const REPORT_EVERY_MS = 60_000;
const CAUSES_DEEP = 4;
/** DEADLINE_EXCEEDED and UNAVAILABLE: https://grpc.io/docs/guides/status-codes/ */
const UNREACHABLE_CODES: ReadonlySet<number> = new Set([4, 14]);

/** For pino's `hooks`. Looks for errors in the fields `err` and `error`. */
export function foldOutages({ overAfterMs = OVER_AFTER_MS, reportEveryMs = REPORT_EVERY_MS } = {}): {
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
        const seconds = Math.round(((isOver ? episode.lastAtMs : nowMs) - episode.beganAtMs) / 100) / 10;
        const failures = Object.fromEntries(episode.failures);
        log.warn({ outage, seconds, failures }, `the ${outage} ${isOver ? 'was' : 'is still'} out of reach`);
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
      // The line of a process that ends is never folded.
      const outage = level >= WARN && level < FATAL ? outageOf(errorIn(fields)) : null;
      if (outage === null || typeof fields !== 'object') return method.apply(this, args);
      const nowMs = performance.now();
      const words = String(message);
      const known = episodes.get(outage);
      if (known) {
        known.lastAtMs = nowMs;
        known.failures.set(words, (known.failures.get(words) ?? 0) + 1);
        return;
      }
      const episode = { beganAtMs: nowMs, lastAtMs: nowMs, reportedAtMs: nowMs, failures: new Map([[words, 1]]) };
      episodes.set(outage, episode);
      watch(this, outage, episode);
      method.call(this, { ...fields, outage }, words);
    },
  };
}

/** Returns the service that an error shows to be unavailable; null for other errors. */
function outageOf(error: unknown): Outage | null {
  let at = error;
  for (let depth = 0; depth < CAUSES_DEEP && at instanceof Error; depth += 1) {
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
