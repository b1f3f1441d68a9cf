import { expect } from 'chai';
import type { Database } from '../../../db/database.ts';
import {
  findConversation,
  findResponsesWithItems,
  insertStoredResponses,
  trimStoredResponses,
} from '../../../db/queries/stored-responses.ts';
import { useTestDatabase } from '../../support/database.ts';
import { createAccount } from '../../support/factories.ts';

describe('stored responses', () => {
  let database: Database;
  let accountId: string;
  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });
  beforeEach(async () => {
    accountId = (await createAccount(database)).id;
  });

  /** Stores responses r1 to rN of an account, each of which continues the one before. */
  async function store(count: number, { bytes = 10, account = accountId, prefix = 'r' } = {}): Promise<void> {
    for (let number = 1; number <= count; number += 1) {
      await insertStoredResponses(database, [
        {
          id: `${account}-${prefix}${number}`,
          accountId: account,
          responseId: `${prefix}${number}`,
          itemIds: [`item-${number}`],
          previousId: number === 1 ? null : `${account}-${prefix}${number - 1}`,
          encryptedContent: Buffer.alloc(bytes),
          createdAt: new Date(),
          minutes: 60 + number,
        },
      ]);
    }
  }

  const numbersOf = (rows: readonly { number: number }[]): readonly number[] => rows.map(({ number }) => number);

  it('form a conversation in its order, up to a number and a size', async () => {
    await store(5, { bytes: 100 });
    const query = { accountId, responseId: 'r5' };
    expect(numbersOf(await findConversation(database, query))).to.deep.equal([5, 4, 3, 2, 1]);
    expect(numbersOf(await findConversation(database, query, { responses: 2 }))).to.deep.equal([2, 1]);
    expect(numbersOf(await findConversation(database, query, { bytes: 150 }))).to.deep.equal([2, 1]);
  });

  it('are of one account only, even with the same ids', async () => {
    const other = await createAccount(database);
    await store(2);
    await store(1, { account: other.id });
    expect(await findConversation(database, { accountId: other.id, responseId: 'r2' })).to.deep.equal([]);
    const found = await findResponsesWithItems(database, { accountId: other.id, itemIds: ['item-1', 'item-2'] });
    expect(found.map(({ id }) => id)).to.deep.equal([`${other.id}-r1`]);
  });

  it('are stored once, however often a batch is repeated', async () => {
    await store(1);
    await store(1);
    expect(await findConversation(database, { accountId, responseId: 'r1' })).to.have.length(1);
  });

  it('are removed beyond the number and the size of an account, the first to expire first', async () => {
    // contract 4.8.2:38
    const other = await createAccount(database);
    await store(5, { bytes: 100 });
    await store(3, { account: other.id });
    const left = async () =>
      database('stored_responses').where({ account_id: accountId }).orderBy('response_id').pluck('response_id');
    await trimStoredResponses(database, [accountId, other.id], { responses: 4, bytes: 1_000 });
    expect(await left()).to.deep.equal(['r2', 'r3', 'r4', 'r5']);
    await trimStoredResponses(database, [accountId], { responses: 4, bytes: 250 });
    expect(await left()).to.deep.equal(['r4', 'r5']);
    expect(await database('stored_responses').where({ account_id: other.id })).to.have.length(3);
  });
});
