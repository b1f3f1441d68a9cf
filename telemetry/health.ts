/** Whether a process should get requests. */
import type { Database } from '../db/database.ts';
import { createDatabaseClock, type DatabaseClock } from '../db/database-clock.ts';
import { pendingMigrations } from '../db/migrate.ts';
import { ensurePartitions, lacksPartitions } from '../db/partitions.ts';

export interface HealthDependencies {
  readonly database: Database;
  /** One of its own when absent. */
  readonly clock?: DatabaseClock | undefined;
  /** Each makes a round trip over one more pool that serves. */
  readonly pings?: readonly (() => Promise<unknown>)[];
  readonly isTemporalReachable: () => Promise<boolean>;
}

/** As it is told to whoever asks. */
export interface Readiness {
  /** `degraded`: without Temporal tasks are still created, and start when it is back. */
  readonly status: 'ready' | 'degraded' | 'not_ready';
  readonly database: DatabaseHealth;
  readonly temporal: 'ok' | 'unreachable';
}

type DatabaseHealth = 'ok' | 'unreachable' | 'migrations_pending' | 'partitions_missing' | 'clocks_differ';

/** What the process plans and signs would be wrong by as much, should the next measurement fail. */
const MAX_CLOCK_DIFFERENCE_MS = 30_000;

/** A probe that has to wait longer gives up. */
const DATABASE_TIMEOUT_MS = 3_000;

/** Looks at what the process depends on, each time it is called. Never throws. */
export function createHealthCheck({
  database,
  clock = createDatabaseClock(database),
  pings = [],
  isTemporalReachable,
}: HealthDependencies): () => Promise<Readiness> {
  let isMigrated = false;

  async function checkDatabase(): Promise<DatabaseHealth> {
    // Migrations are never taken back under a running process, so one look that finds none missing is enough.
    if (!isMigrated) isMigrated = (await pendingMigrations(database)).length === 0;
    if (!isMigrated) return 'migrations_pending';
    const [lacks] = await Promise.all([lacksPartitions(database), clock.measure(), ...pings.map((ping) => ping())]);
    if (lacks) {
      // Nobody else may come to do it, while nothing is sent here.
      ensurePartitions(database).catch(() => undefined);
      return 'partitions_missing';
    }
    return Math.abs(clock.aheadMs()) > MAX_CLOCK_DIFFERENCE_MS ? 'clocks_differ' : 'ok';
  }

  return async () => {
    const [databaseHealth, isReachable] = await Promise.all([
      withinTime(checkDatabase(), DATABASE_TIMEOUT_MS).catch((): DatabaseHealth => 'unreachable'),
      isTemporalReachable(),
    ]);
    return {
      status: databaseHealth !== 'ok' ? 'not_ready' : isReachable ? 'ready' : 'degraded',
      database: databaseHealth,
      temporal: isReachable ? 'ok' : 'unreachable',
    };
  };
}

async function withinTime<Result>(promise: Promise<Result>, timeoutMs: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
