/**
 * Watches the database on behalf of the process: measures the difference between the clocks, notices idle connections
 * that have gone silent, and ends a process whose connections keep failing although new ones would work.
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
  /** Each makes a round trip through one of the process's pools. */
  readonly pings: readonly (() => Promise<unknown>)[];
  readonly log: Logger;
  /** Ends the process, so that its supervisor starts a new one. */
  readonly giveUp?: () => void;
  readonly pauseMs?: number;
  /** How long a pool may fail while the database answers. */
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
      if (performance.now() - workedAtMs < hopelessAfterMs || !(await answersNewConnection(url))) return;
      log.fatal({ err: error }, 'the database answers only on new connections; exiting, to be restarted');
      return giveUp();
    }
    const aheadMs = clock.aheadMs();
    if (Math.abs(aheadMs) <= WARN_ABOVE_MS || performance.now() - warnedAtMs < WARN_EVERY_MS) return;
    warnedAtMs = performance.now();
    log.warn({ ahead_ms: aheadMs }, "this machine's clock differs from the database's; correct it");
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

/** Whether a new connection outside the pools works. */
async function answersNewConnection(url: string): Promise<boolean> {
  const client = new Client(connectionConfig(url, 'genway-watch', SERVING_LIMITS));
  // The query fails with the same error.
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
