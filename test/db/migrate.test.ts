import { expect } from 'chai';
import { array, assert, asyncProperty, integer } from 'fast-check';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createDatabase, type Database } from '../../db/database.ts';
import { migrate, migrationSource, pendingMigrations } from '../../db/migrate.ts';
import { ensurePartitions } from '../../db/partitions.ts';
import { newId } from '../../domain/ids.ts';
import { createAccount, createFundedKey, createTaskRow, finishAsSucceeded } from '../support/factories.ts';
import { testDatabaseUrl } from '../support/services.ts';
import { casesOf } from '../support/properties.ts';

const root = join(import.meta.dirname, '../..');

describe('migrate', () => {
  let server: Database;
  let url: string;
  let database: Database;

  before(async () => {
    server = createDatabase(await testDatabaseUrl(), 1);
  });

  after(() => server.destroy());

  /** Gives the tests of a suite an empty database, in a time zone that is not UTC and has daylight saving time. */
  function useEmptyDatabase(): void {
    const name = `genway_migrate_${randomBytes(8).toString('hex')}`;

    before(async () => {
      await server.raw(`CREATE DATABASE ${name}`);
      await server.raw(`ALTER DATABASE ${name} SET timezone TO 'America/New_York'`);
      const ofServer = new URL(await testDatabaseUrl());
      ofServer.pathname = `/${name}`;
      url = ofServer.href;
      database = createDatabase(url, 5);
    });

    after(async () => {
      await database.destroy();
      await server.raw(`DROP DATABASE ${name} WITH (FORCE)`);
    });
  }

  async function rowsOf<Row>(sql: string, bindings: readonly string[] = []): Promise<readonly Row[]> {
    const { rows } = await database.raw<{ rows: Row[] }>(sql, [...bindings]);
    return rows;
  }

  async function partitionsOf(table: string): Promise<readonly string[]> {
    const rows = await rowsOf<{ name: string }>(
      'SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = ?::regclass ORDER BY 1',
      [table],
    );
    return rows.map(({ name }) => name);
  }

  async function schemaNames(): Promise<readonly string[]> {
    return (await migrationSource.getMigrations([])).map((file) => migrationSource.getMigrationName(file));
  }

  it('finds every file of the schema as each version since 1.0 released it', () => {
    const git = (...words: readonly string[]) => execFileSync('git', words, { cwd: root, encoding: 'utf8' }).trim();
    const changes = git('tag', '--list', 'v[1-9]*')
      .split('\n')
      .map((tag) => tag && git('diff', '--no-renames', '--diff-filter=MD', '--stat', tag, '--', 'db/schema'));
    expect(changes.filter((change) => change !== '')).to.deep.equal([]);
  });

  it('numbers the migrations from 0001 without gaps', async () => {
    const names = await schemaNames();
    const numbers = names.map((_, index) => String(index + 1).padStart(4, '0'));
    expect(names.map((name) => name.split('-')[0])).to.deep.equal(numbers);
  });

  it('defines every table, index, function and trigger once', async () => {
    const folders = ['schema', 'functions'].map((name) => join(import.meta.dirname, '../../db', name));
    const files = await Promise.all(
      folders.map(async (folder) => (await readdir(folder)).map((file) => readFile(join(folder, file), 'utf8'))),
    );
    const sql = (await Promise.all(files.flat())).join('\n');
    const created = sql.matchAll(
      /^ *CREATE (?:OR REPLACE |UNIQUE |UNLOGGED |CONSTRAINT )?(?:DOMAIN|TABLE|INDEX|FUNCTION|TRIGGER) (\w+)/gm,
    );
    const names = Array.from(created, ([, name]) => name);
    expect(names).to.include.members(['pico_usd', 'request_windows', 'accounts_one_per_external_id', 'write_text']);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).to.deep.equal([]);
  });

  describe('on an empty database', () => {
    useEmptyDatabase();

    it('applies every migration, in order, though several processes start at once', async () => {
      const names = await pendingMigrations(database);
      expect(names.slice(0, 2)).to.deep.equal((await schemaNames()).slice(0, 2));
      expect(names).to.include('functions/write-text');
      const applied = await Promise.all([migrate(url), migrate(url), migrate(url)]);
      expect(applied.toSorted((a, b) => b.length - a.length)).to.deep.equal([names, [], []]);
      expect(await pendingMigrations(database)).to.deep.equal([]);
    });

    it('does nothing on a current database', async () => {
      const before = await schemaOf(database);
      expect(await migrate(url)).to.deep.equal([]);
      expect(await schemaOf(database)).to.deep.equal(before);
    });

    it('continues after a run that was killed', async () => {
      await database('knex_migrations_lock').update({ is_locked: 1 });
      expect(await migrate(url)).to.deep.equal([]);
    });

    it('creates the partitions of the previous month, the current month, and the next three', async () => {
      const now = new Date();
      const months = [-1, 0, 1, 2, 3].map((offset) =>
        new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1)).toISOString().slice(0, 7),
      );
      for (const table of ['tasks', 'transfers']) {
        expect(await partitionsOf(table)).to.deep.equal(months.map((month) => `${table}_${month.replace('-', '_')}`));
      }
    });
  });

  describe('a changed function', () => {
    useEmptyDatabase();

    before(() => migrate(url));

    it('is pending until it is applied, and the version before still finds its own', async () => {
      const [{ count } = { count: 0 }] = await rowsOf<{ count: number }>(
        "DELETE FROM applied_functions WHERE name = 'claim-tasks' RETURNING 1 AS count",
      );
      expect(count).to.equal(1);
      expect(await pendingMigrations(database)).to.deep.equal(['functions/claim-tasks']);
      expect(await migrate(url)).to.deep.equal(['functions/claim-tasks']);
      // A later version replaces the function.
      await database('applied_functions').insert({ name: 'claim-tasks', digest: 'of a later version' });
      expect(await pendingMigrations(database)).to.deep.equal([]);
      // Migrating this version again, after a roll-back, applies its own.
      expect(await migrate(url)).to.deep.equal(['functions/claim-tasks']);
      expect(await migrate(url)).to.deep.equal([]);
    });
  });

  describe('partitions', () => {
    useEmptyDatabase();

    before(() => migrate(url));

    it('are created across the end of a year, once, though several processes create them at once', async () => {
      const before = await partitionsOf('tasks');
      await Promise.all(Array.from({ length: 4 }, () => ensurePartitions(database, new Date('2041-12-31T23:59:59Z'))));
      expect((await partitionsOf('tasks')).filter((name) => !before.includes(name))).to.deep.equal([
        'tasks_2041_11',
        'tasks_2041_12',
        'tasks_2042_01',
        'tasks_2042_02',
        'tasks_2042_03',
      ]);
    });

    it('start and end with the months of UTC', async () => {
      await ensurePartitions(database, new Date('2043-04-15T00:00:00Z'));
      const { id } = await createAccount(database);
      for (const [moment, partition] of [
        ['2043-03-31T23:59:59.999Z', 'transfers_2043_03'],
        ['2043-04-01T00:00:00.000Z', 'transfers_2043_04'],
        ['2043-04-30T23:59:59.999Z', 'transfers_2043_04'],
        ['2043-04-30T23:59:59.9999Z', 'transfers_2043_05'],
        ['2043-05-01T00:00:00.000Z', 'transfers_2043_05'],
      ] as const) {
        const [row] = await rowsOf<{ partition: string }>(
          /* sql */ `
          INSERT INTO transfers (id, opened_at, created_at, kind, debit, credit, amount, account_id, author, reason)
          SELECT ?, moment, moment, 'adjustment', 'adjustments', 'available', 1, ?, 'ada', 'a test'
          FROM (SELECT ?::timestamptz AS moment) AS now RETURNING tableoid::regclass::text AS partition`,
          [newId('transfer'), id, moment],
        );
        expect(row?.partition, moment).to.equal(partition);
      }
    });

    it('keep a task and all of its transfers in the month of its id, whenever it becomes final', async () => {
      const now = new Date();
      const lastMonthMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 28);
      const month = new Date(lastMonthMs).toISOString().slice(0, 7).replace('-', '_');
      const task = await createTaskRow(database, await createFundedKey(database), { id: newId('task', lastMonthMs) });
      await finishAsSucceeded(database, task);
      const rows = await rowsOf(
        /* sql */ `
        SELECT tableoid::regclass::text AS partition, status AS what FROM tasks WHERE id = ?
        UNION ALL SELECT tableoid::regclass::text, kind FROM transfers WHERE task_id = ? ORDER BY what`,
        [task.id, task.id],
      );
      expect(rows).to.deep.equal([
        { partition: `transfers_${month}`, what: 'reservation' },
        { partition: `transfers_${month}`, what: 'settlement' },
        { partition: `tasks_${month}`, what: 'succeeded' },
      ]);
    });

    it('are found by the time in an id, which the database reads as the code does', async () => {
      await assert(
        asyncProperty(array(integer({ min: 0, max: 253_402_300_799_999 }), { maxLength: 100 }), async (moments) => {
          const { rows } = await database.raw<{ rows: { milliseconds: string }[] }>(
            /* sql */ `
            SELECT extract(epoch FROM id_created_at(id)) * 1000 AS milliseconds
            FROM unnest(?::text[]) WITH ORDINALITY AS ids (id, place) ORDER BY place`,
            [moments.map((moment) => newId('task', moment))],
          );
          expect(rows.map(({ milliseconds }) => Number(milliseconds))).to.deep.equal(moments);
        }),
        { numRuns: casesOf(20) },
      );
    });
  });
});

/** Everything that migrations create, as text; without partitions, and without knex's own tables. */
async function schemaOf(database: Database): Promise<readonly string[]> {
  const { rows } = await database.raw<{ rows: { definition: string }[] }>(/* sql */ `
    WITH tables AS (
      SELECT oid, relname FROM pg_class
      WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
        AND relname NOT LIKE 'knex_%'
    )
    SELECT concat_ws(' ', relname, attname, format_type(atttypid, atttypmod), attnotnull,
      pg_get_expr(adbin, adrelid)) AS definition
    FROM tables JOIN pg_attribute ON attrelid = tables.oid
    LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attnum > 0 AND NOT attisdropped
    UNION ALL SELECT concat_ws(' ', relname, conname, pg_get_constraintdef(pg_constraint.oid))
    FROM tables JOIN pg_constraint ON conrelid = tables.oid WHERE contype <> 'n' AND conparentid = 0
    UNION ALL SELECT pg_get_indexdef(indexrelid) FROM tables JOIN pg_index ON indrelid = tables.oid
    UNION ALL SELECT pg_get_triggerdef(pg_trigger.oid)
    FROM tables JOIN pg_trigger ON tgrelid = tables.oid WHERE NOT tgisinternal
    UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT typname FROM pg_type WHERE typnamespace = 'public'::regnamespace AND typtype = 'd'
    ORDER BY definition`);
  return rows.map(({ definition }) => definition);
}
