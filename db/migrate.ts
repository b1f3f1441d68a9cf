/**
 * Migrates a database to the current schema.
 *
 * - `schema/` has the tables with their constraints, indexes and triggers, by subject. A file is applied once, and does
 *   not change once it is released: a change of the schema is a new file.
 * - `functions/` has the functions with the triggers that call them. A file is applied again when its text has changed.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import knex, { type Knex } from 'knex';
import { ensurePartitions } from './partitions.ts';

/** A file with SQL. Names have no extension. */
interface SqlFile {
  readonly name: string;
  readonly sql: string;
}

/** Numbered from 0001 without gaps. */
const SCHEMA = readSql('schema');
const FUNCTIONS = readSql('functions').map((file) => ({ ...file, digest: digestOf(file) }));

/** An arbitrary number that no other advisory lock uses. */
const MIGRATION_LOCK = 5_410_293;

/** Knex requires this function, but migrations are never undone. */
async function down(): Promise<never> {
  throw new Error('migrations are not undone: restore a backup');
}

/** Exported for tools that run single migrations. */
export const migrationSource: Knex.MigrationSource<SqlFile> = {
  getMigrations: async () => [...SCHEMA],
  getMigrationName: ({ name }) => name,
  getMigration: async ({ sql }) => ({ up: (transaction) => transaction.raw(sql), down }),
};

/**
 * Applies what is missing, and creates the partitions of the next months. Safe to run on a current database, and from
 * several processes at once.
 *
 * @returns the names of the applied files, such as `0003-ledger` and `functions/write-text`
 */
export async function migrate(databaseUrl: string): Promise<readonly string[]> {
  const database = knex({ client: 'pg', connection: databaseUrl, pool: { min: 0, max: 3 } });
  try {
    return await database.transaction(async (lock) => {
      await lock.raw('SELECT pg_advisory_xact_lock(:lock)', { lock: MIGRATION_LOCK });
      // No other process migrates now, so a lock of knex can only remain from a killed run.
      await database.migrate.forceFreeMigrationsLock({ migrationSource });
      const [, applied]: [number, string[]] = await database.migrate.latest({ migrationSource });
      const replaced = await replaceFunctions(database);
      await ensurePartitions(database);
      return [...applied, ...replaced];
    });
  } finally {
    await database.destroy();
  }
}

/** Returns the names of this version's files that the database lacks. */
export async function pendingMigrations(database: Knex): Promise<readonly string[]> {
  const [applied] = await database.migrate.list({ migrationSource });
  const names = new Set(applied.map((row: { name: string }) => row.name));
  const missing = SCHEMA.map(({ name }) => name).filter((name) => !names.has(name));
  if (missing.length > 0) return [...missing, ...FUNCTIONS.map(nameOf)];
  const known = await database<AppliedFunctions>('applied_functions').select('name', 'digest');
  // A later version may have replaced the functions since: its functions serve this version, too.
  const isKnown = (file: SqlFile & { digest: string }): boolean =>
    known.some(({ name, digest }) => name === file.name && digest === file.digest);
  return FUNCTIONS.filter((file) => !isKnown(file)).map(nameOf);
}

/** A text of a file of functions that was applied. */
interface AppliedFunctions {
  readonly name: string;
  readonly digest: string;
  readonly applied_at: Date;
}

/** Applies the files whose text is not the one that was applied last. @returns their names */
async function replaceFunctions(database: Knex): Promise<readonly string[]> {
  return database.transaction(async (transaction) => {
    const table = () => transaction<AppliedFunctions>('applied_functions');
    const latest = await table().distinctOn('name').orderBy('name').orderBy('applied_at', 'desc');
    const digests = new Map(latest.map(({ name, digest }) => [name, digest]));
    const changed = FUNCTIONS.filter(({ name, digest }) => digests.get(name) !== digest);
    // Functions call one another across files.
    await transaction.raw('SET LOCAL check_function_bodies = off');
    for (const { name, digest, sql } of changed) {
      await transaction.raw(sql);
      await table()
        .insert({ name, digest })
        .onConflict(['name', 'digest'])
        .merge({ applied_at: transaction.raw('clock_timestamp()') });
    }
    return changed.map(nameOf);
  });
}

function readSql(folder: string): readonly SqlFile[] {
  const path = join(import.meta.dirname, folder);
  return readdirSync(path)
    .filter((file) => file.endsWith('.sql'))
    .toSorted()
    .map((file) => ({ name: file.slice(0, -'.sql'.length), sql: readFileSync(join(path, file), 'utf8') }));
}

function digestOf({ sql }: SqlFile): string {
  return createHash('sha256').update(sql).digest('hex');
}

function nameOf({ name }: SqlFile): string {
  return `functions/${name}`;
}
