/** Decides whether a process should receive requests. */
import type { Database } from '../db/database.ts';
import { createDatabaseClock, type DatabaseClock } from '../db/database-clock.ts';
import { pendingMigrations } from '../db/migrate.ts';
import { ensurePartitions, isMissingPartitions } from '../db/partitions.ts';

export interface HealthDependencies {
  readonly database: Database;
  /** A new clock by default. */
  readonly clock?: DatabaseClock | undefined;
  /** Each ping makes a round trip through another connection pool that serves requests. */
  readonly pings?: readonly (() => Promise<unknown>)[];
  readonly isTemporalReachable: () => Promise<boolean>;
  /** Whether the process stops, so that it should receive no more requests. */
  readonly isStopping?: () => boolean;
}

/** The answer to a readiness probe. */
export interface Readiness {
  /** `degraded`: without Temporal, clients can still create tasks, which start when Temporal is available again. */
  readonly status: 'ready' | 'degraded' | 'not_ready';
  readonly database: DatabaseHealth;
  readonly temporal: 'ok' | 'unreachable';
}

type DatabaseHealth = 'ok' | 'unreachable' | 'migrations_pending' | 'partitions_missing' | 'clocks_differ';

/** Beyond this difference, times that the process plans or signs could be wrong if the next measurement fails. */
const MAX_CLOCK_DIFFERENCE_MS = 30_000;

/** How long a probe waits for the database. */
const DATABASE_TIMEOUT_MS = 3_000;

/** Creates a check of the services on which the process depends. The check never throws. */
export function createHealthCheck({
  database,
  clock = createDatabaseClock(database),
  pings = [],
  isTemporalReachable,
  isStopping = () => false,
}: HealthDependencies): () => Promise<Readiness> {
  let isMigrated = false;

  async function checkDatabase(): Promise<DatabaseHealth> {
    // Migrations are never reverted under a running process, so one successful check is enough.
    if (!isMigrated) isMigrated = (await pendingMigrations(database)).length === 0;
    if (!isMigrated) return 'migrations_pending';
    const [lacks] = await Promise.all([isMissingPartitions(database), clock.measure(), ...pings.map((ping) => ping())]);
    if (lacks) {
      // While this process receives no requests, perhaps nothing else creates the partitions.
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
      status: databaseHealth !== 'ok' || isStopping() ? 'not_ready' : isReachable ? 'ready' : 'degraded',
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
