import { expect } from 'chai';
import type { Database } from '../../../db/database.ts';
import { CONTENT_SWEEPS, eraseContent } from '../../../db/queries/content.ts';
import { MAX_END_USERS, sumEndUserUsage } from '../../../db/queries/end-user-usage.ts';
import { useTestDatabase } from '../../support/database.ts';
import { createFundedKey, createTextRequestRow, type TestKey } from '../../support/factories.ts';

const NAMES = MAX_END_USERS + 10;
const STEP = 1_000;

describe('a client that names another end user in each of thousands of requests', () => {
  let database: Database;
  let key: TestKey;
  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });

  before(async () => {
    key = await createFundedKey(database);
    const { id } = await createTextRequestRow(database, key);
    // One statement for all would exceed the time of statements on a busy machine.
    for (let from = 1; from <= NAMES; from += STEP) {
      await database.raw(
        `INSERT INTO text_requests SELECT made.* FROM text_requests AS row
         CROSS JOIN LATERAL (SELECT first_id_at('txt_', row.created_at) AS start OFFSET 0) AS ids
         CROSS JOIN generate_series(?::integer, ?::integer) AS number
         CROSS JOIN LATERAL jsonb_populate_record(row, jsonb_build_object('id', start || lpad(number::text, 22, '0'),
           'end_user', 'user-' || number, 'held', number, 'charge', number)) AS made
         WHERE row.id = ?`,
        [from, Math.min(from + STEP - 1, NAMES), id],
      );
    }
  });

  it('gets a report of the end users with the highest charges', async () => {
    const period = { from: new Date(Date.now() - 86_400_000), to: new Date(Date.now() + 60_000) };
    const users = await sumEndUserUsage(database, { accountId: key.accountId, ...period });
    expect(users).to.have.length(MAX_END_USERS);
    expect(users[0]).to.include({ endUser: `user-${NAMES}`, requests: 1, charged: BigInt(NAMES) });
  });

  it('has the names of its end users erased in batches', async () => {
    await database.transaction((transaction) => eraseContent(transaction, key.accountId));
    const erase = CONTENT_SWEEPS['end users of text requests'];
    expect(await erase(database, 1_000)).to.equal(1_000);
    expect(await erase(database, NAMES)).to.equal(NAMES - 1_000);
    expect(await erase(database, NAMES)).to.equal(0);
  });
});
