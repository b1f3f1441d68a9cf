import { expect } from 'chai';
import { CHECK_VIOLATION, type Database, isDatabaseError } from '../../../db/database.ts';
import type { Account } from '../../../db/queries/accounts.ts';
import { expirePromoCredit, grantPromoCredit, listPromoGrants } from '../../../db/queries/promo-grants.ts';
import { createTasks } from '../../../db/queries/tasks.ts';
import { listTransfers } from '../../../db/queries/transfers.ts';
import { parseUsd } from '../../../domain/money.ts';
import { useTestDatabase } from '../../support/database.ts';
import {
  createAccount,
  createKey,
  createTaskRow,
  finishAsFailed,
  reloadAccount,
  type TestKey,
  newTask,
} from '../../support/factories.ts';
import { newHold, openTextLedger, settlementOf, usageOf } from '../../support/text-money.ts';
import { rejectionOf } from '../../support/rejection.ts';

const DAY_MS = 86_400_000;

describe('promo grants', () => {
  const testDatabase = useTestDatabase();
  let database: Database;
  let account: Account;
  let key: TestKey;

  before(async () => {
    database = testDatabase.database;
  });

  beforeEach(async () => {
    account = await createAccount(database, { fundedUsd: 3, signupUsd: 1 });
    key = await createKey(database, account);
  });

  const give = (usd: number, reference = 'launch', days = 1) =>
    grantPromoCredit(database, {
      accountId: account.id,
      amount: parseUsd(usd),
      expiresAt: new Date(Date.now() + days * DAY_MS),
      reference,
      author: 'ada',
      reason: 'a test',
    });

  /** Makes the account's grants expire, instead of waiting. */
  async function letExpire(): Promise<void> {
    await database.transaction(async (transaction) => {
      await transaction.raw('SET LOCAL session_replication_role = replica');
      await transaction('promo_grants')
        .where('account_id', account.id)
        .update({ created_at: new Date(0), expires_at: new Date(DAY_MS) });
    });
  }

  async function kinds(): Promise<readonly string[]> {
    const transfers = await listTransfers(database, { accountId: account.id, limit: 50 });
    return transfers.map(({ kind, amount }) => `${kind} ${amount}`).filter((line) => line.startsWith('promo'));
  }

  it('give credit once per reference', async () => {
    // contract 4.11:14
    const first = await give(2);
    const again = await give(5);
    expect(first.applied).to.equal(true);
    expect(again).to.deep.equal({ grant: first.grant, applied: false });
    expect((await reloadAccount(database, account)).signupAvailable).to.equal(parseUsd(3));
  });

  it('give credit once when it is requested several times at once', async () => {
    const given = await Promise.all(Array.from({ length: 5 }, () => give(2)));
    expect(given.filter(({ applied }) => applied)).to.have.length(1);
    expect(await kinds()).to.deep.equal([`promo_grant ${parseUsd(2)}`]);
  });

  it('refuse credit that has already expired', async () => {
    const refusal = await rejectionOf(give(2, 'launch', -1));
    expect(isDatabaseError(refusal, CHECK_VIOLATION)).to.equal(true);
  });

  it('are removed once after they expire, however many processes check', async () => {
    // contract 5:25
    await give(2);
    await letExpire();
    await Promise.all(Array.from({ length: 5 }, () => expirePromoCredit(database, 100)));
    expect(await kinds()).to.deep.equal([`promo_expiry ${parseUsd(2)}`, `promo_grant ${parseUsd(2)}`]);
    const { signupAvailable, fundedAvailable } = await reloadAccount(database, account);
    expect([signupAvailable, fundedAvailable]).to.deep.equal([parseUsd(1), parseUsd(3)]);
  });

  describe('that have expired, even before they are removed,', () => {
    beforeEach(async () => {
      // 2 USD of 6 have expired.
      await give(2);
      await letExpire();
    });

    const left = async (): Promise<unknown> => {
      const [grant] = await listPromoGrants(database, { accountId: account.id, limit: 1 });
      return [grant?.available, (await reloadAccount(database, account)).fundedAvailable];
    };

    it('are not spent by tasks that are created at once', async () => {
      const tasks = Array.from({ length: 5 }, () => newTask(key));
      const outcomes = await createTasks(database, tasks);
      expect(outcomes.filter((outcome) => outcome === 'created')).to.have.length(4);
      expect(outcomes).to.include('insufficient_credits');
      expect(await left()).to.deep.equal([parseUsd(2), 0n]);
    });

    it('are not spent by tasks that follow each other', async () => {
      const outcomes = [];
      for (let count = 0; count < 5; count += 1) outcomes.push(...(await createTasks(database, [newTask(key)])));
      expect(outcomes).to.deep.equal([...Array(4).fill('created'), 'insufficient_credits']);
      expect(await left()).to.deep.equal([parseUsd(2), 0n]);
    });

    it('are not spent by holds of text, nor by a cost above its hold', async () => {
      const ledger = openTextLedger(testDatabase.url, { poolSize: 1 });
      const holds = [1, 2, 3].map(() => newHold(key, { amount: parseUsd(1) }));
      const decisions = await ledger.hold([...holds, newHold(key, { amount: parseUsd(2) })]);
      expect(decisions.map(({ refusal }) => refusal)).to.deep.equal([null, null, null, 'insufficient_credits']);
      for (const hold of holds) await ledger.settle([settlementOf(hold, { charge: parseUsd(2) })]);
      const usage = await Promise.all(holds.map((hold) => usageOf(database, hold)));
      expect(usage.map((row) => row?.excess)).to.deep.equal([parseUsd(1), 0n, 0n]);
      expect(await left()).to.deep.equal([parseUsd(2), 0n]);
      await ledger.close();
    });
  });

  it('expire also when a hold releases them later', async () => {
    // contract 5:24
    await give(0.75);
    const task = await createTaskRow(database, key);
    await letExpire();
    await expirePromoCredit(database, 100);
    expect(await kinds(), 'while it is held').to.deep.equal([`promo_grant ${parseUsd(0.75)}`]);
    await finishAsFailed(database, task);
    await expirePromoCredit(database, 100);
    expect(await kinds()).to.deep.equal([`promo_expiry ${parseUsd(0.75)}`, `promo_grant ${parseUsd(0.75)}`]);
    const [grant] = await listPromoGrants(database, { accountId: account.id, limit: 1 });
    expect(grant).to.include({ available: 0n, reserved: 0n, spent: 0n, expired: parseUsd(0.75) });
    expect((await reloadAccount(database, account)).signupAvailable).to.equal(parseUsd(1));
  });

  it('are moved only by the ledger', async () => {
    const { grant } = await give(2);
    const change = database('promo_grants')
      .where('id', grant.id)
      .update({ available: 0, spent: grant.amount.toString() });
    expect(await rejectionOf(change)).to.match(/moved by transfers only/);
  });
});
