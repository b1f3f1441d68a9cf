import { expect } from 'chai';
import { createDatabase, type Database } from '../../../db/database.ts';
import { findAccount, suspendAccount } from '../../../db/queries/accounts.ts';
import { listBalanceEntries } from '../../../db/queries/balance-entries.ts';
import { findGiftBatch, type NewGiftBatch, withdrawGiftBatch } from '../../../db/queries/gift-codes.ts';
import { listPromoGrants } from '../../../db/queries/promo-grants.ts';
import { sumGifts } from '../../../domain/gift-code.ts';
import { newId } from '../../../domain/ids.ts';
import { parseUsd } from '../../../domain/money.ts';
import { GIFT_CODES } from '../../../domain/policy.ts';
import {
  approveBatch,
  issueGiftBatch,
  issueGiftBatchAlone,
  redeemGiftCode,
  withdrawBatch,
} from '../../../services/money/gift-codes.ts';
import { useTestDatabase, whenOneWaitsForLock } from '../../support/database.ts';
import { createAccount, newGiftBatch } from '../../support/factories.ts';
import { rejectionOf } from '../../support/rejection.ts';

const DAY_MS = 86_400_000;

describe('gift codes', () => {
  const db = useTestDatabase();
  let database: Database;
  before(() => {
    database = db.database;
  });

  async function issue(terms: Partial<NewGiftBatch> = {}, secondApprovalAbove: bigint | null = null) {
    const issued = await issueGiftBatch(
      { database, money: { secondApprovalAbove } },
      newGiftBatch({ label: 'Spring fair', codes: 3, ...terms }),
    );
    return { ...issued, first: issued.giftCodes[0] ?? '', second: issued.giftCodes[1] ?? '' };
  }

  let networks = 0;
  /** Each call comes from a network of its own, unless it names one. */
  function redeem(code: string, accountId: string, by: { email?: string; ip?: string } = {}, over = database) {
    networks += 1;
    const ip = by.ip ?? `10.0.${Math.floor(networks / 250)}.${networks % 250}`;
    return redeemGiftCode(over, code, { accountId, email: by.email ?? null, ip });
  }

  async function refusal(redemption: Promise<unknown>): Promise<string> {
    const error = await rejectionOf(redemption);
    return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
  }

  async function balanceOf(accountId: string) {
    const account = await findAccount(database, accountId);
    return {
      funded: account?.fundedAvailable,
      granted: account?.signupAvailable,
      isToppedUp: account?.toppedUpAt !== null,
    };
  }

  it('credit funds once, unlock all models, and give the same answer to the same account', async () => {
    // contract 4.9:8
    const { id: accountId } = await createAccount(database);
    const { first } = await issue();
    const redemption = await redeem(first.toLowerCase().replaceAll('-', ' '), accountId);
    expect(await redeem(first, accountId)).to.deep.equal(redemption);
    expect(redemption).to.include({ kind: 'funds', amount: parseUsd(10), creditExpiresAt: null });
    expect(await balanceOf(accountId)).to.deep.equal({ funded: parseUsd(10), granted: 0n, isToppedUp: true });
    const entries = await listBalanceEntries(database, { accountId, limit: 5 });
    expect(entries.map(({ type, amount, reference }) => [type, amount, reference])).to.deep.equal([
      ['gift', parseUsd(10), redemption.id],
    ]);
  });

  it('grant promo credit, which expires its days after the redemption', async () => {
    const { id: accountId } = await createAccount(database);
    const { first, label } = await issue({ kind: 'promo_credit', creditDays: 30 });
    const { id, redeemedAt, creditExpiresAt } = await redeem(first, accountId);
    expect(creditExpiresAt?.getTime()).to.equal(redeemedAt.getTime() + 30 * DAY_MS);
    const grants = await listPromoGrants(database, { accountId, limit: 5 });
    expect(
      grants.map(({ reference, amount, expiresAt, reason }) => ({ reference, amount, expiresAt, reason })),
    ).to.deep.equal([{ reference: id, amount: parseUsd(10), expiresAt: creditExpiresAt, reason: label }]);
    expect(await balanceOf(accountId)).to.deep.equal({ funded: 0n, granted: parseUsd(10), isToppedUp: false });
  });

  it('credit one of 16 accounts that redeem a code at once over connections of their own', async () => {
    const { first, id: batchId } = await issue();
    const accounts = await Promise.all(Array.from({ length: 16 }, () => createAccount(database)));
    const connections = accounts.map(() => createDatabase(db.url, 1));
    try {
      const outcomes = await Promise.allSettled(
        accounts.map(({ id }, index) => redeem(first, id, {}, connections[index] ?? database)),
      );
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).to.have.length(1);
      const balances = await Promise.all(accounts.map(({ id }) => balanceOf(id)));
      expect(balances.filter(({ funded }) => funded === parseUsd(10))).to.have.length(1);
      expect(balances.filter(({ funded }) => funded === 0n)).to.have.length(15);
      expect((await findGiftBatch(database, batchId))?.redeemedCodes).to.equal(1);
    } finally {
      await Promise.all(connections.map((connection) => connection.destroy()));
    }
  });

  it('credit an account once that sends its code 16 times at once', async () => {
    const { id: accountId } = await createAccount(database);
    const { first } = await issue();
    const outcomes = await Promise.allSettled(Array.from({ length: 16 }, () => redeem(first, accountId)));
    // More than ten attempts at once count as guesses, and the others have one answer.
    const answers = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.id] : []));
    expect(new Set(answers).size).to.equal(1);
    expect((await balanceOf(accountId)).funded).to.equal(parseUsd(10));
  });

  it('have one answer for codes that are unknown, withdrawn, expired, unapproved or redeemed by others', async () => {
    const { id: accountId } = await createAccount(database);
    const other = await createAccount(database);
    const [open, withdrawn, expired, unapproved] = [
      await issue(),
      await issue(),
      await issue(),
      await issue({}, parseUsd(1)),
    ];
    await redeem(open.first, other.id);
    await withdrawBatch(database, withdrawn.id, { author: 'ada', reason: 'lost' });
    await letExpire(expired.id);
    const messages = new Set<string>();
    for (const code of [
      'AAAAA-AAAAA-AAAAA-AAAAA-AAAAA',
      open.first,
      withdrawn.first,
      expired.first,
      unapproved.first,
    ]) {
      const error = await rejectionOf(redeem(code, accountId));
      expect(error).to.include({ code: 'not_found' });
      messages.add(error.message);
    }
    expect(messages.size).to.equal(1);
    expect((await balanceOf(accountId)).funded).to.equal(0n);
  });

  it('keep the answer of an account whose batch was withdrawn since', async () => {
    const { id: accountId } = await createAccount(database);
    const { id, first } = await issue();
    const redemption = await redeem(first, accountId);
    await withdrawBatch(database, id, { author: 'ada', reason: 'lost' });
    expect(await redeem(first, accountId)).to.deep.equal(redemption);
  });

  it('stop at once when their batch is withdrawn during a redemption', async () => {
    const [first, second] = [await createAccount(database), await createAccount(database)];
    const batch = await issue();
    const { redemption } = await database.transaction(async (withdrawal) => {
      await withdrawGiftBatch(withdrawal, batch.id, { author: 'ada', reason: 'lost' });
      const started = redeem(batch.first, first.id);
      await whenOneWaitsForLock(database);
      return { redemption: started };
    });
    expect(await refusal(redemption)).to.equal('not_found');
    expect(await refusal(redeem(batch.second, second.id))).to.equal('not_found');
    expect((await balanceOf(first.id)).funded).to.equal(0n);
  });

  it('credit no suspended account', async () => {
    const { id: accountId } = await createAccount(database);
    const { first } = await issue();
    await suspendAccount(database, accountId);
    expect(await refusal(redeem(first, accountId))).to.equal('forbidden');
    const other = await createAccount(database);
    await redeem(first, other.id);
  });

  it('allow one code of a batch to an account, or to a person in all accounts, who then is known', async () => {
    const [one, two] = [await createAccount(database), await createAccount(database)];
    const perAccount = await issue({ oncePer: 'account' });
    await redeem(perAccount.first, one.id);
    expect(await refusal(redeem(perAccount.second, one.id))).to.equal('forbidden');
    await redeem(perAccount.second, two.id);
    const perPerson = await issue({ oncePer: 'person', kind: 'promo_credit', creditDays: 1 });
    expect(await refusal(redeem(perPerson.first, one.id))).to.equal('forbidden');
    await redeem(perPerson.first, one.id, { email: 'ada@gmail.com' });
    expect(await refusal(redeem(perPerson.second, two.id, { email: 'a.d.a+2@gmail.com' }))).to.equal('forbidden');
    expect((await balanceOf(two.id)).granted).to.equal(0n);
    await redeem(perPerson.second, two.id, { email: 'bob@gmail.com' });
  });

  it('refuse more than ten wrong codes of an account, and fifty from a network, in 15 minutes', async () => {
    const { id: accountId } = await createAccount(database);
    const { first } = await issue();
    const guesses = Array.from({ length: GIFT_CODES.accountAttempts }, () => refusal(redeem('wrong', accountId)));
    expect(new Set(await Promise.all(guesses))).to.deep.equal(new Set(['not_found']));
    expect(await refusal(redeem(first, accountId))).to.equal('rate_limit_exceeded');
    const ip = '2001:db8:1:2::3';
    for (let guess = 0; guess < GIFT_CODES.networkAttempts; guess += 1) {
      const { id } = guess % 9 === 0 ? await createAccount(database) : { id: newId('account') };
      expect(await refusal(redeem('wrong', id, { ip }))).to.equal('not_found');
    }
    const other = await createAccount(database);
    expect(await refusal(redeem(first, other.id, { ip: '2001:db8:1:2::4' }))).to.equal('rate_limit_exceeded');
    await redeem(first, other.id);
  });

  it('do not count right codes as guesses', async () => {
    const { id: accountId } = await createAccount(database);
    const { giftCodes } = await issue({ codes: GIFT_CODES.accountAttempts + 2 });
    for (const code of giftCodes) await redeem(code, accountId);
    expect((await balanceOf(accountId)).funded).to.equal(parseUsd(10 * giftCodes.length));
  });

  it('wait for the approval of a second person when the batches of a day exceed the amount of dual control', async () => {
    const { id: accountId } = await createAccount(database);
    const limit = parseUsd(100_000);
    const small = await issue({ amount: parseUsd(49_000), codes: 2, author: 'bob' }, limit);
    expect(small.requiresSecondApproval).to.equal(false);
    const byToken = { database, money: { secondApprovalAbove: limit }, publicUrl: 'https://api.example' };
    const large = newGiftBatch({ amount: limit + 1n });
    expect(await refusal(issueGiftBatchAlone(byToken, large))).to.equal('forbidden');
    const split = await issue({ amount: parseUsd(2_000), codes: 1 }, limit);
    expect(split.requiresSecondApproval).to.equal(true);
    expect(await refusal(approveBatch(database, split.id, 'ada'))).to.equal('forbidden');
    expect(await refusal(approveBatch(database, small.id, 'ada'))).to.equal('idempotency_conflict');
    expect(await refusal(redeem(split.first, accountId))).to.equal('not_found');
    await approveBatch(database, split.id, 'bob');
    await redeem(split.first, accountId);
  });

  it('store digests alone, and sums of batches that add up', async () => {
    const { id: accountId } = await createAccount(database);
    const batch = await issue({ codes: 5 });
    await redeem(batch.first, accountId);
    await withdrawBatch(database, batch.id, { author: 'bob', reason: 'printed twice' });
    const found = await findGiftBatch(database, batch.id);
    if (!found) throw new Error('the batch is there');
    expect(sumGifts(found, new Date())).to.deep.equal({
      issued: parseUsd(50),
      redeemed: parseUsd(10),
      open: 0n,
      expired: 0n,
      withdrawn: parseUsd(40),
    });
    const { rows } = await database.raw<{ rows: { text: string }[] }>(
      'SELECT (to_jsonb(gift_codes) || to_jsonb(gift_batches))::text AS text FROM gift_codes JOIN gift_batches ON gift_batches.id = batch_id',
    );
    const stored = rows.map(({ text }) => text).join('\n');
    for (const code of batch.giftCodes) {
      expect(stored).not.to.include(code);
      expect(stored).not.to.include(code.replaceAll('-', ''));
    }
  });

  async function letExpire(batchId: string): Promise<void> {
    await database.transaction(async (transaction) => {
      await transaction.raw('SET LOCAL session_replication_role = replica');
      await transaction('gift_batches')
        .where({ id: batchId })
        .update({ created_at: new Date(0), expires_at: new Date(DAY_MS) });
    });
  }
});
