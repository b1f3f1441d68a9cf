/**
 * Keeps an eye on the database for the whole process: measures how far the clocks are apart, notices connections that went
 * silent while nobody uses them, and ends a process that cannot get a connection to work although a new one would.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { Logger } from 'pino';
import { connectionConfig, SERVING_LIMITS } from '../../db/connections.ts';
import type { DatabaseClock } from '../../db/database-clock.ts';

export interface DatabaseWatch {
  stop(): void;
}

interface WatchOptions {
  readonly url: string;
  readonly clock: DatabaseClock;
  /** Each makes a round trip over a pool of the process. */
  readonly pings: readonly (() => Promise<unknown>)[];
  readonly log: Logger;
  /** Ends the process, for which whoever looks after it starts another. */
  readonly giveUp?: () => void;
  readonly pauseMs?: number;
  /** So long a pool may fail beside a database that answers. */
  readonly hopelessAfterMs?: number;
}

const PAUSE_MS = 2_000;
const HOPELESS_AFTER_MS = 30_000;
const WARN_ABOVE_MS = 2_000;
const WARN_EVERY_MS = 60_000;

export function watchDatabase({
  url,
  clock,
  pings,
  log,
  giveUp = () => process.exit(1),
  pauseMs = PAUSE_MS,
  hopelessAfterMs = HOPELESS_AFTER_MS,
}: WatchOptions): DatabaseWatch {
  const stopped = new AbortController();
  let workedAtMs = performance.now();
  let warnedAtMs = -Infinity;

  async function look(): Promise<void> {
    try {
      await Promise.all([clock.measure(), ...pings.map((ping) => ping())]);
      workedAtMs = performance.now();
    } catch (error) {
      if (performance.now() - workedAtMs < hopelessAfterMs || !(await answersAnew(url))) return;
      log.fatal({ err: error }, 'the database answers new connections only; ending, to be started again');
      return giveUp();
    }
    const aheadMs = clock.aheadMs();
    if (Math.abs(aheadMs) <= WARN_ABOVE_MS || performance.now() - warnedAtMs < WARN_EVERY_MS) return;
    warnedAtMs = performance.now();
    log.warn({ ahead_ms: aheadMs }, "this machine's clock is not that of the database; set it right");
  }

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      await look();
      await sleep(pauseMs, undefined, { signal: stopped.signal, ref: false }).catch(() => undefined);
    }
  }

  void run();
  return { stop: () => stopped.abort() };
}

/** Whether a connection of nobody's pool works. */
async function answersAnew(url: string): Promise<boolean> {
  const client = new Client(connectionConfig(url, 'genway-watch', SERVING_LIMITS));
  // Told by the query, too.
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
