/** Migrates a database to the current schema. */
import knex, { type Knex } from 'knex';
import { FOUNDATIONS } from './migrations/0001-foundations.ts';
import { ACCOUNTS } from './migrations/0002-accounts.ts';
import { LEDGER } from './migrations/0003-ledger.ts';
import { TASKS } from './migrations/0004-tasks.ts';
import { FILES } from './migrations/0005-files.ts';
import { WEBHOOKS } from './migrations/0006-webhooks.ts';
import { TEXT } from './migrations/0007-text.ts';
import { PEOPLE } from './migrations/0008-people.ts';
import { FINANCE } from './migrations/0009-finance.ts';
import { OPERATIONS } from './migrations/0010-operations.ts';
import { ensurePartitions } from './partitions.ts';

/**
 * The SQL of migrations by name, in order. Names are numbered from 0001 without gaps, and have no extension, since
 * extensions differ between sources and build. A migration that changes a function of `functions/` runs its file again.
 */
const MIGRATIONS: Readonly<Record<string, string>> = {
  '0001-foundations': FOUNDATIONS,
  '0002-accounts': ACCOUNTS,
  '0003-ledger': LEDGER,
  '0004-tasks': TASKS,
  '0005-files': FILES,
  '0006-webhooks': WEBHOOKS,
  '0007-text': TEXT,
  '0008-people': PEOPLE,
  '0009-finance': FINANCE,
  '0010-operations': OPERATIONS,
};

/** An arbitrary number that no other advisory lock uses. */
const MIGRATION_LOCK = 5_410_293;

/** Knex requires this function, but migrations are never undone. */
async function down(): Promise<never> {
  throw new Error('migrations are not undone: restore a backup');
}

/** Exported for tools that run single migrations. */
export const migrationSource: Knex.MigrationSource<string> = {
  getMigrations: async () => Object.keys(MIGRATIONS),
  getMigrationName: (name) => name,
  getMigration: async (name) => {
    const sql = MIGRATIONS[name];
    if (sql === undefined) throw new Error(`there is no migration named ${name}`);
    return { up: (transaction) => transaction.raw(sql), down };
  },
};

/**
 * Applies missing migrations and creates the partitions of the next months. Safe to run on a current database, and from
 * several processes at once.
 *
 * @returns the names of the applied migrations
 */
export async function migrate(databaseUrl: string): Promise<readonly string[]> {
  const database = knex({ client: 'pg', connection: databaseUrl, pool: { min: 0, max: 3 } });
  try {
    return await database.transaction(async (lock) => {
      await lock.raw('SELECT pg_advisory_xact_lock(?)', [MIGRATION_LOCK]);
      // No other process migrates now, so a lock of knex can only remain from a killed run.
      await database.migrate.forceFreeMigrationsLock({ migrationSource });
      const [, applied]: [number, string[]] = await database.migrate.latest({ migrationSource });
      await ensurePartitions(database);
      return applied;
    });
  } finally {
    await database.destroy();
  }
}

/** Returns the names of this version's migrations that the database lacks. */
export async function pendingMigrations(database: Knex): Promise<readonly string[]> {
  const [applied] = await database.migrate.list({ migrationSource });
  const names = new Set(applied.map((row: { name: string }) => row.name));
  return Object.keys(MIGRATIONS).filter((name) => !names.has(name));
}
