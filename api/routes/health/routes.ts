/** For load balancers and orchestrators: whether this process lives, and whether it should get requests. */
import type Router from '@koa/router';
import type { Database } from '../../../db/database.ts';
import { pendingMigrations } from '../../../db/migrate.ts';
import type { RequestState } from '../../state.ts';

export interface HealthDependencies {
  readonly database: Database;
  readonly isTemporalReachable: () => Promise<boolean>;
}

type DatabaseHealth = 'ok' | 'unreachable' | 'migrations_pending';

/** A probe that has to wait longer gives up. */
const DATABASE_TIMEOUT_MS = 3_000;

export function healthRoutes(
  router: Router<RequestState>,
  { database, isTemporalReachable }: HealthDependencies,
): void {
  let isMigrated = false;

  async function checkDatabase(): Promise<DatabaseHealth> {
    // Migrations are never taken back under a running process, so one look that finds none missing is enough.
    if (isMigrated) await database.raw('SELECT 1');
    else isMigrated = (await pendingMigrations(database)).length === 0;
    return isMigrated ? 'ok' : 'migrations_pending';
  }

  /** The process runs and answers. Depends on nothing else: what is wrong elsewhere is not healed by a restart. */
  router.get('/healthz', (context) => {
    context.set('Cache-Control', 'no-store');
    context.body = { status: 'ok' };
  });

  /** Without Temporal tasks are still created, and start when it is back; so that makes the process no less ready. */
  router.get('/readyz', async (context) => {
    const [databaseHealth, isReachable] = await Promise.all([
      withinTime(checkDatabase(), DATABASE_TIMEOUT_MS).catch((): DatabaseHealth => 'unreachable'),
      isTemporalReachable(),
    ]);
    const isReady = databaseHealth === 'ok';
    context.set('Cache-Control', 'no-store');
    context.status = isReady ? 200 : 503;
    context.body = {
      status: !isReady ? 'not_ready' : isReachable ? 'ready' : 'degraded',
      database: databaseHealth,
      temporal: isReachable ? 'ok' : 'unreachable',
    };
  });
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
