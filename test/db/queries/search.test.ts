import { expect } from 'chai';
import type { Database } from '../../../db/database.ts';
import { searchFor } from '../../../db/queries/search.ts';
import { useTestDatabase } from '../../support/database.ts';
import {
  createFundedKey,
  createTaskRow,
  createTextRequestRow,
  submitTask,
  type TestKey,
} from '../../support/factories.ts';

const OTHERS = 5_000;
/** Far fewer than the rows of the tables; the plan may look at a few rows of other end users. */
const MAX_ROWS_READ = 500;
const JOB_ID = 'cgt-20261127-x7k2';
const END_USER = 'user-1742';

describe('the search for an exact value in tables of thousands of rows', () => {
  let database: Database;
  let key: TestKey;
  let taskId: string;
  let textId: string;
  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });

  before(async () => {
    key = await createFundedKey(database);
    const task = await createTaskRow(database, key, { endUser: END_USER });
    await submitTask(database, task, JOB_ID);
    ({ id: taskId } = task);
    ({ id: textId } = await createTextRequestRow(database, key, { end_user: END_USER }));
    await database.transaction(async (transaction) => {
      await transaction.raw('SET LOCAL session_replication_role = replica');
      for (const [table, id] of [
        ['tasks', taskId],
        ['text_requests', textId],
      ] as const)
        await transaction.raw(
          `INSERT INTO ${table} SELECT copy.* FROM ${table} AS row CROSS JOIN generate_series(1, ${OTHERS}) AS number
          CROSS JOIN LATERAL jsonb_populate_record(row, jsonb_build_object('end_user', 'other-' || number,
            'id', left(row.id, length(row.id) - 5) || lpad(number::text, 5, '0'))) AS copy
          WHERE row.id = ? AND copy.id <> row.id`,
          [id],
        );
      await transaction.raw(
        `INSERT INTO vendor_jobs SELECT 'acme', 'job-' || number, ?, now() FROM generate_series(1, ${OTHERS}) AS number`,
        [taskId],
      );
    });
    await database.raw('ANALYZE tasks, text_requests, vendor_jobs');
  });

  /** Searches, and counts the rows that the search reads. */
  async function search(text: string, accountIds: readonly string[] | null) {
    return database.transaction(async (transaction) => {
      const found = await searchFor(transaction, text, () => accountIds);
      const { rows } = await transaction.raw<{ rows: [{ read: string }] }>(
        `SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) AS read FROM pg_stat_xact_user_tables
        WHERE relname ~ '^(tasks|text_requests|vendor_jobs)'`,
      );
      return { ids: found?.map(({ id }) => id), rowsRead: Number(rows[0].read) };
    });
  }

  for (const scope of ['all accounts', 'one account']) {
    const accountIds = () => (scope === 'all accounts' ? null : [key.accountId]);

    it(`reads by an index the tasks of a vendor's job, in ${scope}`, async () => {
      const { ids, rowsRead } = await search(JOB_ID, accountIds());
      expect(ids).to.deep.equal([taskId]);
      expect(rowsRead).to.be.within(1, MAX_ROWS_READ);
    });

    it(`reads by an index the tasks and text requests of an end user, in ${scope}`, async () => {
      const { ids, rowsRead } = await search(END_USER, accountIds());
      expect(ids).to.deep.equal([taskId, textId]);
      expect(rowsRead).to.be.at.most(MAX_ROWS_READ);
    });
  }

  it('finds neither a part of a job nor a part of the name of an end user', async () => {
    for (const text of [JOB_ID.slice(0, -1), END_USER.slice(1)])
      expect((await search(text, null)).ids, text).to.deep.equal([]);
  });
});
