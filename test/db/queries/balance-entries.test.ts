/** Entries of a balance: in any history, the entries of an account add up, one after the other, to its balance. */
import { expect } from 'chai';
import { array, assert, asyncProperty, bigInt, constant, constantFrom, double, nat, oneof, record } from 'fast-check';
import { CHECK_VIOLATION, type Database, isDatabaseError, onlyRow } from '../../../db/database.ts';
import {
  type BalanceEntry,
  type EntryFilter,
  listBalanceEntries,
  readBalanceWithHolds,
  streamBalanceEntries,
} from '../../../db/queries/balance-entries.ts';
import { adjust, grantSignupCredit, topUp } from '../../../db/queries/credits.ts';
import { sumTransfersWhere } from '../../../db/queries/daily-transfers.ts';
import { grantPromoCredit } from '../../../db/queries/promo-grants.ts';
import { newId } from '../../../domain/ids.ts';
import { parseUsd } from '../../../domain/money.ts';
import { useTestDatabase } from '../../support/database.ts';
import {
  createAccount,
  createFundedKey,
  createKey,
  createTaskRow,
  createTextRequestRow,
  finishAsFailed,
  finishAsSucceeded,
  reloadAccount,
  type TestKey,
} from '../../support/factories.ts';
import { newHold, openTextLedger, settlementOf, type TestLedger } from '../../support/text-money.ts';
import { casesOf } from '../../support/properties.ts';

const DAY_MS = 86_400_000;
const RUNS = casesOf(48);
const MAX_STEPS = 30;

type Step =
  | { readonly action: 'topUp' | 'grant' | 'promo' | 'adjust'; readonly amount: bigint }
  /** A correction of some hours ago; several may have the same time. */
  | { readonly action: 'old adjustment'; readonly amount: bigint; readonly hours: number }
  | { readonly action: 'task'; readonly amount: bigint; readonly ending: 'succeeded' | 'failed' | 'none' }
  | { readonly action: 'text'; readonly held: bigint; readonly charge: bigint };

const amount = bigInt({ min: 1n, max: 1_000n });
const anyStep = oneof(
  record({ action: constantFrom('topUp' as const, 'grant' as const, 'promo' as const), amount }),
  record({ action: constant('adjust' as const), amount: amount.chain((n) => constantFrom(n, -n)) }),
  record({ action: constant('old adjustment' as const), amount, hours: nat({ max: 60 }) }),
  record({ action: constant('task' as const), amount, ending: constantFrom('succeeded' as const, 'failed', 'none') }),
  // At times more than is held, and more than the balance.
  record({ action: constant('text' as const), held: amount, charge: bigInt({ min: 0n, max: 3_000n }) }),
);

describe('the entries of a balance', () => {
  const test = useTestDatabase();
  let database: Database;
  let ledger: TestLedger;

  before(() => {
    ({ database } = test);
    ledger = openTextLedger(test.url);
  });
  after(() => ledger.close());

  async function listAll(filter: EntryFilter, limit: number): Promise<readonly BalanceEntry[]> {
    const read: BalanceEntry[] = [];
    for (;;) {
      const rows = await listBalanceEntries(database, { ...filter, before: read.at(-1), limit });
      read.push(...rows);
      if (rows.length < limit) return read;
    }
  }

  const total = async (id: string): Promise<bigint> => {
    const account = await reloadAccount(database, { id });
    return account.fundedAvailable + account.fundedReserved + account.signupAvailable + account.signupReserved;
  };

  it('add up in any history, page by page and however far the daily sums reach, to exactly the balance', async () => {
    await assert(
      asyncProperty(
        array(anyStep, { minLength: 1, maxLength: MAX_STEPS, size: 'max' }),
        double({ min: 0, max: 1, noNaN: true }),
        constantFrom(2, 7, 50),
        async (steps, share, limit) => {
          const key = await createFundedKey(database, 0.000_000_001);
          for (const step of steps) await perform(database, ledger, key, step);
          await sumTransfersBefore(database, key.accountId, share);
          const entries = await listAll(key, limit);
          const oldestFirst = entries.toReversed();
          let balance = 0n;
          for (const entry of oldestFirst) {
            balance += entry.amount;
            expect(entry.balance, `after ${entry.type} of ${entry.amount}`).to.equal(balance);
          }
          expect(balance).to.equal(await total(key.accountId));
          const streamed: BalanceEntry[] = [];
          for await (const entry of streamBalanceEntries(database, key)) streamed.push(entry);
          expect(streamed).to.deep.equal(oldestFirst);
          const { available, heldByTasks, heldByText } = await readBalanceWithHolds(database, key.accountId);
          expect(available + heldByTasks + heldByText).to.equal(balance);
        },
      ),
      { numRuns: RUNS },
    );
  });

  it('contain one entry for a text request whose charge exceeded its hold', async () => {
    const key = await createFundedKey(database, 0.000_000_005);
    const hold = newHold(key, { amount: 1_000n });
    await ledger.hold([hold]);
    await ledger.settle([settlementOf(hold, { charge: 3_000n })]);
    const [entry, first, ...others] = await listAll(key, 10);
    expect(entry).to.include({
      type: 'text_request',
      amount: -3_000n,
      balance: 2_000n,
      textRequestId: hold.id,
      requestKind: 'text',
      model: 'textc-M3',
      inputTokens: 10n,
      outputTokens: 20n,
      apiKeyId: key.id,
    });
    expect(first).to.include({ type: 'topup', amount: 5_000n, balance: 5_000n, reference: 'first' });
    expect(others).to.deep.equal([]);
  });

  it('show the task of a charge, show a failed task as free of charge, and exclude holds', async () => {
    const key = await createFundedKey(database, 10);
    const [made, failed] = [await createTaskRow(database, key), await createTaskRow(database, key)];
    await createTaskRow(database, key);
    await finishAsSucceeded(database, made);
    await finishAsFailed(database, failed, 'content_policy_violation');
    const [refused, charged, , ...others] = await listAll(key, 10);
    expect(others).to.deep.equal([]);
    const common = { requestKind: 'video', model: 'vidone-3.0', apiKeyId: key.id };
    expect(charged).to.include({
      type: 'task',
      amount: parseUsd(-1),
      balance: parseUsd(9),
      taskId: made.id,
      ...common,
    });
    expect(refused).to.include({ type: 'failed_task', amount: 0n, balance: parseUsd(9), taskId: failed.id, ...common });
    expect(refused?.errorCode).to.equal('content_policy_violation');
    expect(await readBalanceWithHolds(database, key.accountId)).to.deep.equal({
      available: parseUsd(8),
      heldByTasks: parseUsd(1),
      runningTasks: 1,
      heldByText: 0n,
    });
  });

  it('are filtered by type, key and period, and then have no balances', async () => {
    const account = await createAccount(database, { fundedUsd: 10, signupUsd: 3 });
    const [one, other] = [await createKey(database, account), await createKey(database, account)];
    for (const key of [one, one, other]) await finishAsSucceeded(database, await createTaskRow(database, key));
    const filter = { accountId: account.id };
    const all = await listAll(filter, 2);
    expect(all.map(({ type }) => type)).to.deep.equal(['task', 'task', 'task', 'topup', 'signup_grant']);
    expect(await listAll({ ...filter, type: 'topup' }, 2)).to.deep.equal([{ ...all[3], balance: null }]);
    expect(await listAll({ ...filter, apiKeyId: one.id }, 1)).to.have.length(2);
    const [from, to] = [all[3]?.createdAt, all[0]?.createdAt];
    const within = await listAll({ ...filter, from, to }, 2);
    expect(within).to.deep.equal(all.filter(({ createdAt }) => from && to && createdAt >= from && createdAt < to));
    expect(within.every(({ balance }) => balance !== null)).to.equal(true);
    expect(await listAll({ accountId: newId('account') }, 2)).to.deep.equal([]);
  });

  it('contain no entry for text requests that cost nothing', async () => {
    const key = await createFundedKey(database);
    await createTextRequestRow(database, key);
    expect(await listAll(key, 10)).to.have.length(1);
  });
});

async function perform(database: Database, ledger: TestLedger, key: TestKey, step: Step): Promise<void> {
  const { accountId } = key;
  switch (step.action) {
    case 'topUp':
      await topUp(database, { accountId, amount: step.amount, reference: newId('request') });
      return;
    case 'grant':
      await grantSignupCredit(database, accountId, step.amount);
      return;
    case 'promo': {
      const expiresAt = new Date(Date.now() + DAY_MS);
      const grant = { accountId, amount: step.amount, expiresAt, author: 'a', reason: 'b' };
      await grantPromoCredit(database, { ...grant, reference: newId('request') });
      return;
    }
    case 'adjust':
      return unlessRefused(adjust(database, { accountId, amount: step.amount, author: 'a', reason: 'b' }));
    case 'old adjustment':
      return adjustAt(database, accountId, step);
    case 'task':
      return runTask(database, key, step);
    case 'text': {
      const hold = newHold(key, { amount: step.held });
      const [decision] = await ledger.hold([hold]);
      if (decision?.refusal === null) await ledger.settle([settlementOf(hold, { charge: step.charge })]);
    }
  }
}

async function runTask(database: Database, key: TestKey, { amount: price, ending }: Step & { action: 'task' }) {
  const account = await reloadAccount(database, { id: key.accountId });
  if (account.fundedAvailable + account.signupAvailable < price) return;
  const task = await createTaskRow(database, key, { price });
  if (ending === 'succeeded') await finishAsSucceeded(database, task);
  if (ending === 'failed') await finishAsFailed(database, task);
}

async function adjustAt(
  database: Database,
  accountId: string,
  { amount: added, hours }: Step & { action: 'old adjustment' },
) {
  const at = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS - hours * 3_600_000);
  await database('transfers').insert({
    id: newId('transfer'),
    opened_at: at,
    created_at: at,
    kind: 'adjustment',
    debit: 'adjustments',
    credit: 'available',
    amount: added.toString(),
    account_id: accountId,
    author: 'a',
    reason: 'b',
  });
}

async function unlessRefused(change: Promise<unknown>): Promise<void> {
  try {
    await change;
  } catch (error) {
    if (!isDatabaseError(error, CHECK_VIOLATION)) throw error;
  }
}

/** Sets the reach of the daily sums to some moment between the first transfer of an account and now. */
async function sumTransfersBefore(database: Database, accountId: string, share: number): Promise<void> {
  const { rows } = await database.raw<{ rows: { before: Date }[] }>(
    `SELECT (min(created_at) + ? * (max(created_at) - min(created_at)))::timestamptz(3) AS before
     FROM transfers WHERE account_id = ?`,
    [share, accountId],
  );
  const { before } = onlyRow(rows);
  await database('daily_transfers').delete();
  await database.raw(`INSERT INTO daily_transfers ${sumTransfersWhere('created_at < ?')}`, [before]);
  await database('daily_usage_summed').update({ before });
}
