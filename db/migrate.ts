/** Brings a database to the current schema. Migrations are listed by hand, in order, under names without extensions. */
import knex, { type Knex } from 'knex';
import * as foundations from './migrations/0001-foundations.ts';
import * as accounts from './migrations/0002-accounts.ts';
import * as ledger from './migrations/0003-ledger.ts';
import * as tasks from './migrations/0004-tasks.ts';
import * as idempotency from './migrations/0005-idempotency.ts';
import * as files from './migrations/0006-files.ts';
import * as createTasks from './migrations/0007-create-tasks.ts';
import * as webhooks from './migrations/0008-webhooks.ts';
import * as finishTask from './migrations/0009-finish-task.ts';
import * as text from './migrations/0010-text.ts';
import * as textMoney from './migrations/0011-text-money.ts';
import * as requestWindows from './migrations/0012-request-windows.ts';
import * as operatorActions from './migrations/0013-operator-actions.ts';
import * as detachedMonths from './migrations/0014-detached-months.ts';
import * as reconciliations from './migrations/0015-reconciliations.ts';
import * as submissions from './migrations/0016-submissions.ts';
import * as upstreamOrders from './migrations/0017-upstream-orders.ts';
import * as secretMarks from './migrations/0018-secret-marks.ts';
import * as textTurns from './migrations/0020-text-turns.ts';
import * as mediaRateCards from './migrations/0021-media-rate-cards.ts';
import * as customers from './migrations/0022-customers.ts';
import * as closedMonths from './migrations/0023-closed-months.ts';
import * as adminTokens from './migrations/0025-admin-tokens.ts';
import * as modelOrders from './migrations/0026-model-orders.ts';
import * as configurations from './migrations/0027-configurations.ts';
import * as consolePeople from './migrations/0028-console.ts';
import * as corrections from './migrations/0032-corrections.ts';
import * as members from './migrations/0029-members.ts';
import * as mailAndProviders from './migrations/0033-people.ts';
import * as promoCredit from './migrations/0034-promo-credit.ts';
import * as lowBalances from './migrations/0035-low-balances.ts';
import * as textCosts from './migrations/0036-text-costs.ts';
import * as movedAlone from './migrations/0039-moved-alone.ts';
import * as acknowledgements from './migrations/0040-acknowledgements.ts';
import * as textCostFactors from './migrations/0041-text-cost-factors.ts';
import * as countWithHolds from './migrations/0042-count-with-holds.ts';
import * as dailyUsage from './migrations/0037-daily-usage.ts';
import * as tasksInBatches from './migrations/0044-tasks-in-batches.ts';
import * as failures from './migrations/0038-failures.ts';
import { ensurePartitions } from './partitions.ts';

const MIGRATIONS: Readonly<Record<string, Pick<Knex.Migration, 'up'>>> = {
  '0001-foundations': foundations,
  '0002-accounts': accounts,
  '0003-ledger': ledger,
  '0004-tasks': tasks,
  '0005-idempotency': idempotency,
  '0006-files': files,
  '0007-create-tasks': createTasks,
  '0008-webhooks': webhooks,
  '0009-finish-task': finishTask,
  '0010-text': text,
  '0011-text-money': textMoney,
  '0012-request-windows': requestWindows,
  '0013-operator-actions': operatorActions,
  '0014-detached-months': detachedMonths,
  '0015-reconciliations': reconciliations,
  '0016-submissions': submissions,
  '0017-upstream-orders': upstreamOrders,
  '0018-secret-marks': secretMarks,
  '0020-text-turns': textTurns,
  '0021-media-rate-cards': mediaRateCards,
  '0022-customers': customers,
  '0023-closed-months': closedMonths,
  '0025-admin-tokens': adminTokens,
  '0026-model-orders': modelOrders,
  '0027-configurations': configurations,
  '0028-console': consolePeople,
  '0032-corrections': corrections,
  '0029-members': members,
  '0033-people': mailAndProviders,
  '0034-promo-credit': promoCredit,
  '0035-low-balances': lowBalances,
  '0036-text-costs': textCosts,
  '0039-moved-alone': movedAlone,
  '0040-acknowledgements': acknowledgements,
  '0041-text-cost-factors': textCostFactors,
  '0042-count-with-holds': countWithHolds,
  '0037-daily-usage': dailyUsage,
  '0044-tasks-in-batches': tasksInBatches,
  '0038-failures': failures,
};

/** Any number that no other advisory lock uses. */
const MIGRATION_LOCK = 5_410_293;

/** Knex requires one, but migrations are never undone. */
async function down(): Promise<never> {
  throw new Error('migrations are not undone: restore a backup');
}

/** For tools that go through the migrations one by one. */
export const migrationSource: Knex.MigrationSource<string> = {
  getMigrations: async () => Object.keys(MIGRATIONS),
  getMigrationName: (name) => name,
  getMigration: async (name) => {
    const migration = MIGRATIONS[name];
    if (!migration) throw new Error(`there is no migration named ${name}`);
    return { up: migration.up, down };
  },
};

/**
 * Applies missing migrations and creates the partitions of the coming months. Safe to run on a current database, and
 * from several processes at once.
 *
 * @returns the names of the migrations applied now
 */
export async function migrate(databaseUrl: string): Promise<readonly string[]> {
  const database = knex({ client: 'pg', connection: databaseUrl, pool: { min: 0, max: 3 } });
  try {
    return await database.transaction(async (lock) => {
      await lock.raw('SELECT pg_advisory_xact_lock(?)', [MIGRATION_LOCK]);
      // No other process migrates now, so knex's own lock can only be left over from a run that was killed.
      await database.migrate.forceFreeMigrationsLock({ migrationSource });
      const [, applied]: [number, string[]] = await database.migrate.latest({ migrationSource });
      await ensurePartitions(database);
      return applied;
    });
  } finally {
    await database.destroy();
  }
}

/** The names of migrations that this version of the code has and the database lacks. */
export async function pendingMigrations(database: Knex): Promise<readonly string[]> {
  const [applied] = await database.migrate.list({ migrationSource });
  const names = new Set(applied.map((row: { name: string }) => row.name));
  return Object.keys(MIGRATIONS).filter((name) => !names.has(name));
}
