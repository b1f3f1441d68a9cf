/** Decides whether a process should receive requests. */
import type { Database } from '../db/database.ts';
import { createDatabaseClock, type DatabaseClock } from '../db/database-clock.ts';
import { pendingMigrations } from '../db/migrate.ts';
import { ensurePartitions, lacksPartitions } from '../db/partitions.ts';

export interface HealthDependencies {
  readonly database: Database;
  /** When absent, one is created. */
  readonly clock?: DatabaseClock | undefined;
  /** Each makes a round trip through another pool that serves requests. */
  readonly pings?: readonly (() => Promise<unknown>)[];
  readonly isTemporalReachable: () => Promise<boolean>;
}

/** The answer to a readiness probe. */
export interface Readiness {
  /** `degraded`: without Temporal, tasks are still created, and start when it is back. */
  readonly status: 'ready' | 'degraded' | 'not_ready';
  readonly database: DatabaseHealth;
  readonly temporal: 'ok' | 'unreachable';
}

type DatabaseHealth = 'ok' | 'unreachable' | 'migrations_pending' | 'partitions_missing' | 'clocks_differ';

/** If the next measurement fails, times that the process plans or signs could be wrong by this much. */
const MAX_CLOCK_DIFFERENCE_MS = 30_000;

/** How long a probe waits for the database. */
const DATABASE_TIMEOUT_MS = 3_000;

/** Checks what the process depends on, each time it is called. Never throws. */
export function createHealthCheck({
  database,
  clock = createDatabaseClock(database),
  pings = [],
  isTemporalReachable,
}: HealthDependencies): () => Promise<Readiness> {
  let isMigrated = false;

  async function checkDatabase(): Promise<DatabaseHealth> {
    // Migrations are never reverted under a running process, so once none is missing there is no need to check again.
    if (!isMigrated) isMigrated = (await pendingMigrations(database)).length === 0;
    if (!isMigrated) return 'migrations_pending';
    const [lacks] = await Promise.all([lacksPartitions(database), clock.measure(), ...pings.map((ping) => ping())]);
    if (lacks) {
      // While this process receives no requests, nothing else might create them.
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
