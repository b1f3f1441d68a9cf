import { expect } from 'chai';
import { CHECK_VIOLATION, isDatabaseError, type Database } from '../../../db/database.ts';
import { type Account, sumAccountTotals } from '../../../db/queries/accounts.ts';
import { adjust, grantSignupCredit, topUp } from '../../../db/queries/credits.ts';
import { findTransfer, listTransfers } from '../../../db/queries/transfers.ts';
import { newId } from '../../../domain/ids.ts';
import { parseUsd } from '../../../domain/money.ts';
import { useTestDatabase } from '../../support/database.ts';
import {
  createAccount,
  createKey,
  createTaskRow,
  finishAsFailed,
  finishAsSucceeded,
  reloadAccount,
} from '../../support/factories.ts';
import { rejectionOf } from '../../support/rejection.ts';

describe('the credit of an account', () => {
  let database: Database;
  let account: Account;

  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });

  beforeEach(async () => {
    account = await createAccount(database);
  });

  const pay = (amount: bigint, reference: string) => topUp(database, { accountId: account.id, amount, reference });

  const change = (amount: bigint) =>
    adjust(database, { accountId: account.id, amount, author: 'ada', reason: 'goodwill' });

  describe('a top-up', () => {
    it('adds funded credit, and is recorded as the first', async () => {
      const { transferId, amount, createdAt, applied } = await pay(parseUsd('12.5'), 'payment 1');
      expect({ amount, applied }).to.deep.equal({ amount: parseUsd('12.5'), applied: true });
      expect(await reloadAccount(database, account)).to.deep.equal({
        ...account,
        fundedAvailable: parseUsd('12.5'),
        toppedUpAt: createdAt,
      });
      const transfer = await findTransfer(database, transferId, createdAt);
      expect(transfer).to.include({ kind: 'topup', reference: 'payment 1', amount, accountId: account.id });
      await pay(1n, 'payment 2');
      expect((await reloadAccount(database, account)).toppedUpAt).to.deep.equal(createdAt);
    });

    it('is credited once per reference, even if it is repeated with another amount', async () => {
      // contract 4.11:12
      const first = await pay(parseUsd(10), 'payment');
      const { applied, ...same } = first;
      expect(applied).to.equal(true);
      expect(await pay(parseUsd(10), 'payment')).to.deep.equal({ ...same, applied: false });
      expect(await pay(parseUsd(99), 'payment')).to.deep.equal({ ...same, applied: false });
      expect((await reloadAccount(database, account)).fundedAvailable).to.equal(parseUsd(10));
    });

    it('is credited once when many with its reference arrive at the same time', async () => {
      const payments = await Promise.all(Array.from({ length: 30 }, () => pay(parseUsd(10), 'payment')));
      expect(payments.filter(({ applied }) => applied).length).to.equal(1);
      expect(new Set(payments.map(({ transferId }) => transferId)).size).to.equal(1);
      expect((await reloadAccount(database, account)).fundedAvailable).to.equal(parseUsd(10));
    });

    it('may have the reference of a top-up of another account', async () => {
      await pay(parseUsd(10), 'payment');
      account = await createAccount(database);
      expect((await pay(parseUsd(10), 'payment')).applied).to.equal(true);
    });

    it('is credited for each of many references that arrive at the same time', async () => {
      await Promise.all(Array.from({ length: 30 }, (_, index) => pay(parseUsd(index + 1), `payment ${index}`)));
      expect((await reloadAccount(database, account)).fundedAvailable).to.equal(parseUsd((30 * 31) / 2));
    });

    for (const [what, amount, reference] of [
      ['of nothing', 0n, 'payment'],
      ['of a negative amount', -1n, 'payment'],
      ['of more than a balance can hold', 10n ** 38n, 'payment'],
      ['without a reference', 1n, ''],
    ] as const) {
      it(`${what} is refused`, async () => {
        await rejectionOf(pay(amount, reference));
        expect(await reloadAccount(database, account)).to.deep.equal(account);
      });
    }

    it('to an account that does not exist is refused', async () => {
      account = { ...account, id: newId('account') };
      await rejectionOf(pay(1n, 'payment'));
    });
  });

  it('includes signup credit, which is no top-up', async () => {
    await grantSignupCredit(database, account.id, parseUsd(5));
    expect(await reloadAccount(database, account)).to.deep.equal({ ...account, signupAvailable: parseUsd(5) });
  });

  describe('an adjustment', () => {
    it('credits and debits funded credit, and records its author', async () => {
      // contract 4.11:13
      await change(parseUsd(7));
      const id = await change(-parseUsd(3));
      expect((await reloadAccount(database, account)).fundedAvailable).to.equal(parseUsd(4));
      const [taken] = await listTransfers(database, { accountId: account.id, limit: 1 });
      expect(taken).to.include({ id, amount: parseUsd(3), debit: 'available', author: 'ada', reason: 'goodwill' });
    });

    it('debits at most the whole balance', async () => {
      // contract 4.11:13
      await change(parseUsd(7));
      const error = await rejectionOf(change(-parseUsd(7) - 1n));
      expect(isDatabaseError(error, CHECK_VIOLATION), 'as the API expects').to.equal(true);
      await change(-parseUsd(7));
      expect(await reloadAccount(database, account)).to.deep.equal(account);
    });

    it('debits no signup credit, and no reserved credit', async () => {
      account = await createAccount(database, { signupUsd: 1, fundedUsd: 5 });
      await createTaskRow(database, await createKey(database, account), { price: parseUsd(4) });
      await rejectionOf(change(-parseUsd(2) - 1n));
      await change(-parseUsd(2));
      expect((await reloadAccount(database, account)).fundedAvailable).to.equal(0n);
    });

    it('is refused if it is zero', async () => {
      await rejectionOf(change(0n));
    });
  });

  it('is summed up by top-ups, grants, charges and refunds', async () => {
    // contract 4.11:7
    account = await createAccount(database, { signupUsd: 5, fundedUsd: 20 });
    const key = await createKey(database, account);
    const price = parseUsd(4);
    await finishAsSucceeded(database, await createTaskRow(database, key, { price }));
    await finishAsFailed(database, await createTaskRow(database, key, { price }));
    await createTaskRow(database, key, { price });
    await adjust(database, { accountId: account.id, amount: parseUsd(3), author: 'ada', reason: 'goodwill' });
    await adjust(database, { accountId: account.id, amount: -parseUsd(1), author: 'ada', reason: 'too much' });
    expect(await sumAccountTotals(database, account.id)).to.deep.equal({
      toppedUp: parseUsd(20),
      signupGranted: parseUsd(5),
      promoGranted: 0n,
      gifted: 0n,
      promoExpired: 0n,
      charged: price,
      refunded: price,
      adjusted: parseUsd(2),
      merged: 0n,
    });
    expect(await sumAccountTotals(database, newId('account'))).to.deep.equal({
      toppedUp: 0n,
      signupGranted: 0n,
      promoGranted: 0n,
      gifted: 0n,
      promoExpired: 0n,
      charged: 0n,
      refunded: 0n,
      adjusted: 0n,
      merged: 0n,
    });
  });
});
