import { expect } from 'chai';
import type { Database } from '../../../db/database.ts';
import type { Account } from '../../../db/queries/accounts.ts';
import { findTransfer, insertTransfer, listTransfers, type Transfer } from '../../../db/queries/transfers.ts';
import { newId } from '../../../domain/ids.ts';
import { useTestDatabase } from '../../support/database.ts';
import { createAccount } from '../../support/factories.ts';

describe('the list of transfers', () => {
  let database: Database;
  let account: Account;

  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });

  beforeEach(async () => {
    account = await createAccount(database);
  });

  async function insert(createdAt: Date, amount = 1n): Promise<string> {
    const id = newId('transfer');
    await insertTransfer(database, {
      id,
      kind: 'adjustment',
      accountId: account.id,
      amount,
      createdAt,
      author: 'ada',
      reason: 'a test',
    });
    return id;
  }

  /** All pages, of `limit` transfers each. */
  async function readAll(limit: number): Promise<readonly Transfer[]> {
    const read: Transfer[] = [];
    for (let page = 0; page < 100; page += 1) {
      const rows = await listTransfers(database, { accountId: account.id, before: read.at(-1), limit });
      if (rows.length === 0) return read;
      read.push(...rows);
    }
    throw new Error('the pages do not end');
  }

  const list = async (period: { from?: Date; to?: Date }): Promise<readonly string[]> =>
    (await listTransfers(database, { accountId: account.id, limit: 10, ...period })).map(({ id }) => id);

  it('finds a transfer as written', async () => {
    const createdAt = new Date();
    const id = await insert(createdAt, 12_345_678_901_234_567_890_123n);
    expect(await findTransfer(database, id, createdAt)).to.deep.equal({
      id,
      openedAt: createdAt,
      createdAt,
      kind: 'adjustment',
      debit: 'adjustments',
      credit: 'available',
      amount: 12_345_678_901_234_567_890_123n,
      signupAmount: 0n,
      pendingId: null,
      accountId: account.id,
      apiKeyId: null,
      taskId: null,
      textRequestId: null,
      allowanceId: null,
      reference: null,
      author: 'ada',
      reason: 'a test',
    });
    expect(await findTransfer(database, newId('transfer'), createdAt)).to.equal(null);
  });

  it('shows transfers within one millisecond once each: a returned time finds its row again', async () => {
    const millisecond = new Date().toISOString().slice(0, -1);
    const ids: string[] = [];
    for (const microseconds of ['000', '001', '250', '499', '500', '501', '999']) {
      const id = newId('transfer');
      const created_at = `${millisecond}${microseconds}Z`;
      await database('transfers').insert({
        id,
        opened_at: created_at,
        created_at,
        account_id: account.id,
        amount: 1,
        author: 'ada',
        reason: 'a test',
        kind: 'adjustment',
        debit: 'adjustments',
        credit: 'available',
      });
      ids.push(id);
    }
    for (const limit of [1, 2, 3]) {
      const read = await readAll(limit);
      expect(
        read.map(({ id }) => id),
        `pages of ${limit}`,
      )
        .to.have.members(ids)
        .and.have.length(ids.length);
      for (const { id, openedAt } of read) expect(await findTransfer(database, id, openedAt)).to.include({ id });
    }
  });

  it('includes the first moment of its period, but not its end', async () => {
    // contract 4.10:3
    const now = Date.now();
    const moments = [new Date(now - 20), new Date(now - 10), new Date(now)] as const;
    const ids: string[] = [];
    for (const moment of moments) ids.push(await insert(moment));
    expect(await list({ from: moments[1] })).to.deep.equal([ids[2], ids[1]]);
    expect(await list({ to: moments[1] })).to.deep.equal([ids[0]]);
    expect(await list({ from: moments[1], to: moments[2] })).to.deep.equal([ids[1]]);
  });
});
