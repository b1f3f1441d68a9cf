/**
 * Watches the database for a process: measures the difference between the clocks, notices idle connections that have
 * gone silent, and ends a process whose connections keep failing although new connections work.
 */
import { Client } from 'pg';
import type { Logger } from 'pino';
import { connectionConfig, SERVING_LIMITS } from '../../db/connections.ts';
import type { DatabaseClock } from '../../db/database-clock.ts';
import { repeat } from '../../domain/background-loop.ts';

export interface DatabaseWatch {
  stop(): void;
}

interface WatchOptions {
  readonly url: string;
  readonly clock: DatabaseClock;
  /** Each ping makes a round trip through one of the process's pools. */
  readonly pings: readonly (() => Promise<unknown>)[];
  readonly log: Logger;
  /** Ends the process, so that its supervisor starts a new one. */
  readonly giveUp?: () => void;
  readonly pauseMs?: number;
  /** How long a pool may fail while new connections work. */
  readonly restartAfterMs?: number;
}

const PAUSE_MS = 2_000;
const RESTART_AFTER_MS = 30_000;
/** More than the one or two failures of a process that was paused for a long time. */
const MIN_FAILED_CHECKS = 5;
const WARN_ABOVE_MS = 2_000;
const WARN_EVERY_MS = 60_000;

export function watchDatabase({
  url,
  clock,
  pings,
  log,
  giveUp = endInOrder,
  pauseMs = PAUSE_MS,
  restartAfterMs = RESTART_AFTER_MS,
}: WatchOptions): DatabaseWatch {
  /** Since when, and in how many checks, pools have failed while new connections worked; null after another result. */
  let failing: { readonly sinceMs: number; checks: number } | null = null;
  let warnedAtMs = -Infinity;

  async function check(): Promise<void> {
    try {
      await Promise.all([clock.measure(), ...pings.map((ping) => ping())]);
      failing = null;
    } catch (error) {
      if (!(await answersNewConnection(url))) {
        failing = null;
        return;
      }
      // Does not count the first failure, whose cause may be an outage that has just ended.
      failing ??= { sinceMs: performance.now(), checks: -1 };
      failing.checks += 1;
      if (failing.checks < MIN_FAILED_CHECKS || performance.now() - failing.sinceMs < restartAfterMs) return;
      log.fatal(
        { err: error },
        'the database answers only on new connections; the process exits so that its supervisor restarts it',
      );
      // Stops watching: a second signal would prevent an orderly shutdown.
      void watch.stop();
      return giveUp();
    }
    const aheadMs = clock.aheadMs();
    if (Math.abs(aheadMs) <= WARN_ABOVE_MS || performance.now() - warnedAtMs < WARN_EVERY_MS) return;
    warnedAtMs = performance.now();
    log.warn(
      { ahead_ms: aheadMs },
      "this machine's clock differs from the database's clock; correct this machine's clock",
    );
  }

  const onError = (error: unknown): void => log.error({ err: error }, 'could not check the database');
  const watch = repeat(check, { pauseMs, onError });
  return { stop: () => void watch.stop() };
}

/** Shuts down as on a signal, so that the process still writes the settlements of answers that it has sent. */
function endInOrder(): void {
  process.exitCode = 1;
  process.kill(process.pid, 'SIGTERM');
}

/** Whether a new connection outside the pools works. */
async function answersNewConnection(url: string): Promise<boolean> {
  const client = new Client(connectionConfig(url, 'genway-watch', SERVING_LIMITS));
  // The query rejects with the same error.
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch {
    return false;
  } finally {
    void client.end().catch(() => undefined);
  }
}
