/** A database of its own for each suite: a copy of a template that is migrated once. */
import { createHash, randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from './eventually.ts';
import type { ConnectionLimits } from '../../db/connections.ts';
import { createDatabase, type Database } from '../../db/database.ts';
import { migrate } from '../../db/migrate.ts';
import { PARTITIONED_TABLES } from '../../db/partitions.ts';
import { testDatabaseUrl } from './services.ts';
import { useStarted } from './started.ts';

export interface TestDatabase {
  readonly url: string;
  /** A pool of connections to the database. */
  readonly database: Database;
  /** Closes the pool and removes the database; belongs into `after`. */
  drop(): Promise<void>;
}

/** Waits until exactly one statement in the database waits for a lock. */
export async function whenOneWaitsForLock(database: Database): Promise<void> {
  const waiting = database('pg_stat_activity')
    .where('wait_event_type', 'Lock')
    .whereRaw('datname = current_database()');
  await waitUntil(
    async () => {
      const { length } = await waiting.clone();
      if (length !== 1) throw new Error(`${length} statements wait for a lock, and not one`);
    },
    { timeoutMs: PATIENCE_MS, pauseMs: 5 },
  );
}

/** Databases that are not dropped by then are removed with the server at the end of the run. */
const DROP_PATIENCE_MS = 10_000;
/** Any number that no other advisory lock uses. */
const TEMPLATE_LOCK = 7_283_401;
const DATABASE_FOLDER = join(import.meta.dirname, '../../db');

let template: Promise<string> | undefined;

/** On a busy machine, statements take many times as long as customers would wait. */
const PATIENT_LIMITS: ConnectionLimits = {
  connectMs: 60_000,
  statementMs: 60_000,
  lockMs: 30_000,
  idleInTransactionMs: 30_000,
  silenceMs: 61_000,
};

interface TestDatabaseSettings {
  readonly poolSize?: number;
  readonly limits?: ConnectionLimits;
}

/** A new database with the current schema and no rows. */
export async function createTestDatabase({
  poolSize = 10,
  limits = PATIENT_LIMITS,
}: TestDatabaseSettings = {}): Promise<TestDatabase> {
  const serverUrl = await testDatabaseUrl();
  const templateName = await (template ??= ensureTemplate(serverUrl));
  const name = `genway_test_${randomBytes(8).toString('hex')}`;
  // The default strategy takes twice the processor time for a log that tests do not need.
  const statement = `CREATE DATABASE ${name} TEMPLATE ${templateName} STRATEGY FILE_COPY`;
  await creator.query(serverUrl, statement);
  const url = databaseUrl(serverUrl, name);
  const database = createDatabase(url, poolSize, limits);
  return {
    url,
    database,
    drop: async () => {
      await database.destroy();
      // Waits for every session of the server, some of which wait for clients that other suites have stopped.
      const dropped = dropper.query(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`);
      await Promise.race([dropped.catch(() => undefined), sleep(DROP_PATIENCE_MS, undefined, { ref: false })]);
    },
  };
}

export type SuiteDatabase = Pick<TestDatabase, 'url' | 'database'>;

interface SuiteDatabaseSettings extends TestDatabaseSettings {
  /** Receives the database before the tests run. */
  readonly onOpen?: (opened: SuiteDatabase) => unknown;
}

/** A database for the tests of the current suite. */
export function useTestDatabase({ onOpen, ...settings }: SuiteDatabaseSettings = {}): SuiteDatabase {
  return useStarted(async () => {
    const opened = await createTestDatabase(settings);
    await onOpen?.(opened);
    return { ...opened, stop: () => opened.drop() };
  });
}

/** A database as it was at one moment. */
export interface DatabaseCopy {
  /** Replaces the database that it is a copy of. */
  restore(): Promise<void>;
}

/** Copies a database, as a backup would. No other pool may be connected to it. */
export async function copyDatabase(database: Database, url: string): Promise<DatabaseCopy> {
  const name = new URL(url).pathname.slice(1);
  const copy = `${name}_copy`;
  // A connection to another database, since none may be open to this one.
  const serverUrl = databaseUrl(url, 'postgres');
  const disconnected = async (...statements: readonly string[]): Promise<void> => {
    await database.destroy();
    await administer(serverUrl, async (client) => {
      for (const statement of statements) await client.query(statement);
    });
    database.initialize();
  };
  await disconnected(`CREATE DATABASE ${copy} TEMPLATE ${name}`);
  return {
    restore: () => disconnected(`DROP DATABASE ${name} WITH (FORCE)`, `ALTER DATABASE ${copy} RENAME TO ${name}`),
  };
}

/** Leaves the last, the current and the next month: fewer partitions make every copy and every plan cheaper. */
const DROP_LATER_MONTHS = /* sql */ `
  DO $$ DECLARE later record;
  BEGIN
    FOR later IN
      SELECT inhparent::regclass AS parent, inhrelid::regclass AS partition FROM pg_inherits
      WHERE inhparent = ANY ('{${PARTITIONED_TABLES.join()}}'::regclass[])
        AND right(inhrelid::regclass::text, 7) > to_char(now() AT TIME ZONE 'UTC' + interval '1 month', 'YYYY_MM')
    LOOP
      EXECUTE format('ALTER TABLE %s DETACH PARTITION %s', later.parent, later.partition);
      EXECUTE format('DROP TABLE %s', later.partition);
    END LOOP;
  END $$`;

/** Makes the template once for each state of the migrations, also when several test processes ask at the same time. */
async function ensureTemplate(serverUrl: string): Promise<string> {
  const name = `genway_template_${await migrationsDigest()}`;
  await administer(serverUrl, async (client) => {
    await client.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name]);
    if (rowCount) return;
    const unfinished = `${name}_unfinished`;
    await client.query(`DROP DATABASE IF EXISTS ${unfinished} WITH (FORCE)`);
    await client.query(`CREATE DATABASE ${unfinished}`);
    await migrate(databaseUrl(serverUrl, unfinished));
    await administer(databaseUrl(serverUrl, unfinished), (made) => made.query(DROP_LATER_MONTHS));
    await client.query(`ALTER DATABASE ${unfinished} RENAME TO ${name}`);
  });
  return name;
}

async function migrationsDigest(): Promise<string> {
  const hash = createHash('sha256');
  for (const folder of ['schema', 'functions']) {
    const files = await readdir(join(DATABASE_FOLDER, folder));
    for (const file of files.sort()) hash.update(await readFile(join(DATABASE_FOLDER, folder, file)));
  }
  hash.update(await readFile(join(DATABASE_FOLDER, 'migrate.ts')));
  return hash.digest('hex').slice(0, 16);
}

/** A connection for all databases of this process: one for each would take a quarter of the time of a copy. */
class LastingConnection {
  #client: Promise<Client> | undefined;

  async query(serverUrl: string, statement: string): Promise<void> {
    const client = await (this.#client ??= connect(serverUrl, () => (this.#client = undefined)));
    await client.query(statement);
  }
}

const creator = new LastingConnection();
/** Apart, since a drop can wait. */
const dropper = new LastingConnection();

/** @param onLost called when the connection ends unexpectedly, e.g. because the server stops */
async function connect(serverUrl: string, onLost: () => void = () => {}): Promise<Client> {
  const client = new Client({ connectionString: serverUrl, connectionTimeoutMillis: PATIENT_LIMITS.connectMs });
  client.on('error', onLost);
  await client.connect();
  return client;
}

async function administer(serverUrl: string, work: (client: Client) => Promise<unknown>): Promise<void> {
  const client = await connect(serverUrl);
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}
