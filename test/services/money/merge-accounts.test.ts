import { expect } from 'chai';
import type { Database } from '../../../db/database.ts';
import { findAccountMerge, listAccountMerges, moveMergedMoney } from '../../../db/queries/account-merges.ts';
import { lockAccounts } from '../../../db/queries/accounts.ts';
import { adjust, topUp } from '../../../db/queries/credits.ts';
import { expirePromoCredit, grantPromoCredit, listPromoGrants } from '../../../db/queries/promo-grants.ts';
import { returnPayment } from '../../../db/queries/returned-payments.ts';
import { createTasks } from '../../../db/queries/tasks.ts';
import { addMember, insertUser, listMembers } from '../../../db/queries/users.ts';
import { LEDGER_CHECKS } from '../../../db/reconciliation/ledger-checks.ts';
import { PROMO_CHECKS } from '../../../db/reconciliation/promo-checks.ts';
import { TEXT_CHECKS } from '../../../db/reconciliation/text-checks.ts';
import { newId } from '../../../domain/ids.ts';
import { parseUsd } from '../../../domain/money.ts';
import type { MemberRole } from '../../../domain/roles.ts';
import { applyReturnOf, creditPayment, suspendForDispute } from '../../../services/money/credit-once.ts';
import { decideMerge, mergeAlone, requestMerge } from '../../../services/money/merge-accounts.ts';
import { reopenAccount, suspendAccount } from '../../../services/people/account-actions.ts';
import { useTestDatabase, whenOneWaitsForLock } from '../../support/database.ts';
import {
  createAccount,
  createKey,
  createTaskRow,
  finishAsFailed,
  finishAsSucceeded,
  newTask,
  reloadAccount,
  type TestKey,
} from '../../support/factories.ts';
import { runsAll } from '../../support/properties.ts';
import { checkBooks } from '../../support/reconciliation.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { newHold, openTextLedger, settlementOf } from '../../support/text-money.ts';

const DAY_MS = 86_400_000;
const BY = { author: 'ada', reason: 'ticket 4711' };
const CHARGERS = runsAll ? 16 : 4;

describe('a merge of two accounts', () => {
  const db = useTestDatabase();
  let database: Database;
  before(() => ({ database } = db));

  const services = (secondApprovalAbove: bigint | null = parseUsd(100)) => ({
    database,
    money: { secondApprovalAbove },
    publicUrl: 'http://127.0.0.1',
  });
  const request = (sourceId: string, targetId: string) =>
    requestMerge(services(), { id: newId('accountMerge'), sourceId, targetId, ...BY });

  async function merge(sourceId: string, targetId: string): Promise<string> {
    const { id } = await request(sourceId, targetId);
    await decideMerge(database, { id, outcome: 'approved', by: 'bob' });
    return id;
  }

  async function moveAll(): Promise<void> {
    while ((await moveMergedMoney(database, 10)) > 0);
  }

  const creditOf = async (id: string): Promise<bigint> => {
    const { signupAvailable, signupReserved, fundedAvailable, fundedReserved } = await reloadAccount(database, { id });
    return signupAvailable + signupReserved + fundedAvailable + fundedReserved;
  };
  const entriesOf = (accountId: string) =>
    database('transfers')
      .where({ account_id: accountId })
      .whereIn('kind', ['merge_out', 'merge_in'])
      .orderBy('created_at');

  async function expectCleanBooks(): Promise<void> {
    // The simulated requests have no catalogue, and so no price to compare with.
    const checks = [...LEDGER_CHECKS, ...PROMO_CHECKS, ...TEXT_CHECKS.filter(({ name }) => name !== 'text_prices')];
    expect((await checkBooks(database, checks)).findings).to.deep.equal([]);
  }

  async function chargeByTasks(key: TestKey): Promise<void> {
    for (let count = 0; ; count += 1) {
      const task = newTask(key, { price: BigInt(count + 1) });
      const [outcome] = await createTasks(database, [task]);
      if (outcome === 'account_suspended') return;
      expect(outcome).to.equal('created');
      await (count % 3 === 0 ? finishAsFailed : finishAsSucceeded)(database, task);
    }
  }

  async function chargeByText(key: TestKey): Promise<void> {
    const ledger = openTextLedger(db.url);
    for (let count = 0; ; count += 1) {
      const hold = newHold(key);
      const [decision] = await ledger.hold([hold]);
      if (decision?.refusal === 'account_suspended') break;
      expect(decision?.refusal).to.equal(null);
      // Sometimes dearer than the hold.
      await ledger.settle([settlementOf(hold, { charge: BigInt((count * 370) % 1_100) })]);
    }
    await ledger.close();
  }

  it('moves every pico-USD while several callers charge the source, which is charged nothing afterwards', async () => {
    const source = await createAccount(database, { fundedUsd: 10, signupUsd: 1 });
    const target = await createAccount(database, { fundedUsd: 5 });
    const expiresAt = new Date(Date.now() + DAY_MS);
    const promo = { accountId: source.id, amount: 5_000n, expiresAt, reference: 'launch', ...BY };
    await grantPromoCredit(database, promo);
    const key = await createKey(database, source);
    const before = (await creditOf(source.id)) + (await creditOf(target.id));
    const chargers = Array.from({ length: CHARGERS }, (_, index) =>
      index % 2 === 0 ? chargeByTasks(key) : chargeByText(key),
    );
    while (
      (await database('transfers').where({ account_id: source.id }).whereIn('kind', ['settlement', 'charge'])).length <
      20
    );
    const id = await merge(source.id, target.id);
    const isCompleted = async () => (await findAccountMerge(database, id))?.completedAt !== null;
    while (!(await isCompleted())) await Promise.all([1, 2, 3].map(() => moveMergedMoney(database, 10)));
    await Promise.all(chargers);
    await moveAll();
    expect(await creditOf(source.id)).to.equal(0n);
    const [{ charged }] = await database('transfers')
      .where({ account_id: source.id, credit: 'revenue' })
      .whereNot('debit', 'absorbed_loss')
      .select(database.raw('sum(amount) AS charged'));
    expect((await creditOf(target.id)) + BigInt(charged)).to.equal(before);
    expect(await createTasks(database, [newTask(key, { price: 1n })])).to.deep.equal(['account_suspended']);
    await expectCleanBooks();
  });

  it('keeps signup credit, funds, and the order and expiry of promo credit, and names the other account on both sides', async () => {
    const source = await createAccount(database, { fundedUsd: 10, signupUsd: 1 });
    const target = await createAccount(database);
    const days = [3, 1, 2];
    for (const day of days) {
      const expiresAt = new Date(Date.now() + day * DAY_MS);
      await grantPromoCredit(database, {
        accountId: source.id,
        amount: BigInt(day),
        expiresAt,
        reference: `${day}`,
        ...BY,
      });
    }
    await merge(source.id, target.id);
    await moveAll();
    const { signupAvailable, fundedAvailable, toppedUpAt } = await reloadAccount(database, target);
    expect([signupAvailable, fundedAvailable]).to.deep.equal([parseUsd(1) + 6n, parseUsd(10)]);
    expect(toppedUpAt).to.be.instanceOf(Date);
    expect(await creditOf(source.id)).to.equal(0n);
    const [taken] = await entriesOf(source.id);
    const [given] = await entriesOf(target.id);
    expect(taken).to.include({ kind: 'merge_out', reference: target.id, amount: given.amount });
    expect(given).to.include({ kind: 'merge_in', reference: source.id, signup_amount: parseUsd(1).toString() });
    const before = await listPromoGrants(database, { accountId: source.id, limit: 10 });
    const after = await listPromoGrants(database, { accountId: target.id, limit: 10 });
    const byExpiry = before.toSorted((left, right) => right.expiresAt.getTime() - left.expiresAt.getTime());
    expect(after.map(({ amount, expiresAt }) => [amount, expiresAt])).to.deep.equal(
      byExpiry.map(({ amount, expiresAt }) => [amount, expiresAt]),
    );
    expect(after[0]?.reason).to.equal(`moved from ${source.id}: ticket 4711`);
    const actions = await database('operator_actions')
      .where({ kind: 'merge' })
      .whereIn('account_id', [source.id, target.id]);
    expect(actions.map(({ author }) => author)).to.deep.equal(['ada, approved by bob', 'ada, approved by bob']);
    await expectCleanBooks();
  });

  it('moves nothing when its transaction dies half-way, and everything once in the next round', async () => {
    const source = await createAccount(database, { fundedUsd: 10 });
    const target = await createAccount(database);
    await merge(source.id, target.id);
    await database.raw(
      `CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''killed''; END';
       CREATE TRIGGER die BEFORE INSERT ON transfers FOR EACH ROW WHEN (NEW.kind = 'merge_in') EXECUTE FUNCTION die()`,
    );
    expect(String(await rejectionOf(moveMergedMoney(database, 10)))).to.include('killed');
    expect([await creditOf(source.id), await creditOf(target.id)]).to.deep.equal([parseUsd(10), 0n]);
    await database.raw('DROP TRIGGER die ON transfers; DROP FUNCTION die()');
    await Promise.all([1, 2, 3].map(() => moveMergedMoney(database, 10)));
    expect([await creditOf(source.id), await creditOf(target.id)]).to.deep.equal([0n, parseUsd(10)]);
    expect(await entriesOf(target.id)).to.have.length(1);
    await expectCleanBooks();
  });

  it('moves along what comes late: the refund of a task, a payment, and the debt for a returned payment', async () => {
    const source = await createAccount(database);
    const reference = 'payment:pi_merged';
    await topUp(database, { accountId: source.id, amount: parseUsd(10), reference });
    const target = await createAccount(database);
    const key = await createKey(database, source);
    const [failing, running] = [await createTaskRow(database, key), await createTaskRow(database, key)];
    const id = await merge(source.id, target.id);
    await moveAll();
    expect(await creditOf(target.id)).to.equal(parseUsd(8));
    expect((await findAccountMerge(database, id))?.completedAt).to.equal(null);
    await finishAsFailed(database, failing);
    await finishAsSucceeded(database, running);
    await moveAll();
    expect((await findAccountMerge(database, id))?.completedAt).to.be.instanceOf(Date);
    await topUp(database, { accountId: source.id, amount: parseUsd(3), reference: 'payment:pi_late' });
    await moveAll();
    expect([await creditOf(source.id), await creditOf(target.id)]).to.deep.equal([0n, parseUsd(12)]);
    await returnPayment(database, reference, { refunded: parseUsd(10), refundedAt: 0 });
    await suspendForDispute(database, source.id, reference);
    await moveAll();
    expect([await creditOf(source.id), await creditOf(target.id)]).to.deep.equal([0n, parseUsd(2)]);
    expect((await reloadAccount(database, target)).suspendedAt).to.be.instanceOf(Date);
    await expectCleanBooks();
  });

  it('takes a payment that returns to its payer from the last account when the other account was merged, too', async () => {
    const [first, second, last] = [
      await createAccount(database),
      await createAccount(database),
      await createAccount(database),
    ];
    const reference = 'payment:pi_twice';
    await topUp(database, { accountId: first.id, amount: parseUsd(10), reference });
    await merge(first.id, second.id);
    await moveAll();
    await merge(second.id, last.id);
    await moveAll();
    await returnPayment(database, reference, { refunded: parseUsd(4), refundedAt: 0 });
    await moveAll();
    expect(await Promise.all([first, second, last].map(({ id }) => creditOf(id)))).to.deep.equal([0n, 0n, parseUsd(6)]);
    await expectCleanBooks();
  });

  it('credits a payment that returned before, without a deadlock with a move of money', async () => {
    const target = await createAccount(database);
    const source = await createAccount(database);
    await merge(source.id, target.id);
    const [id, amount] = ['pi_returned_before', parseUsd(5)];
    await returnPayment(database, `payment:${id}`, { refunded: amount, refundedAt: 0 });
    const { credit } = await database.transaction(async (move) => {
      await lockAccounts(move, [target.id]);
      const started = creditPayment(database, { id, accountId: source.id, amount });
      await whenOneWaitsForLock(database);
      await lockAccounts(move, [source.id]);
      return { credit: started };
    });
    expect(await credit).to.include({ applied: true, isReturned: true });
    expect(await creditOf(source.id)).to.equal(0n);
  });

  it('counts the other account as topped up when a topped-up account has only promo credit left', async () => {
    const source = await createAccount(database, { fundedUsd: 1 });
    const target = await createAccount(database);
    const expiresAt = new Date(Date.now() + DAY_MS);
    await grantPromoCredit(database, { accountId: source.id, amount: 5n, expiresAt, reference: 'left', ...BY });
    await adjust(database, { accountId: source.id, amount: -parseUsd(1), ...BY });
    await merge(source.id, target.id);
    await moveAll();
    const { signupAvailable, toppedUpAt } = await reloadAccount(database, target);
    expect(signupAvailable).to.equal(5n);
    expect(toppedUpAt).to.be.instanceOf(Date);
    await expectCleanBooks();
  });

  it('ends the bonus of a payment that returns to its payer, also what merges moved to other accounts', async () => {
    const accounts = [
      await createAccount(database),
      await createAccount(database),
      await createAccount(database),
    ] as const;
    const [first, second, last] = accounts;
    const payment = { id: 'pi_bonus', accountId: first.id, amount: parseUsd(10) };
    await creditPayment(database, payment, { fromUsd: 1, percent: 50, days: 30 });
    const held = await createTaskRow(database, await createKey(database, first));
    await merge(first.id, second.id);
    await moveAll();
    await merge(second.id, last.id);
    await moveAll();
    expect((await reloadAccount(database, last)).signupAvailable).to.equal(parseUsd(4));
    await database.transaction((transaction) =>
      applyReturnOf(transaction, 'payment:pi_bonus', { refunded: parseUsd(10), refundedAt: 0 }),
    );
    await finishAsFailed(database, held);
    await expirePromoCredit(database, 10);
    const given = await Promise.all(accounts.map((account) => reloadAccount(database, account)));
    expect(given.map(({ signupAvailable }) => signupAvailable)).to.deep.equal([0n, 0n, 0n]);
    expect((await checkBooks(database, PROMO_CHECKS)).findings).to.deep.equal([]);
  });

  it('grants a merged account no signup credit that awaited its first payment', async () => {
    const source = await createAccount(database);
    const target = await createAccount(database);
    await database('signup_credits').insert({
      account_id: source.id,
      normal_address_digest: Buffer.alloc(32, 7),
      network: '192.0.2.0/24',
      outcome: 'awaits_payment',
      amount: 1,
    });
    await merge(source.id, target.id);
    await topUp(database, { accountId: source.id, amount: 5n, reference: 'late' });
    await moveAll();
    expect(await creditOf(target.id)).to.equal(5n);
  });

  it('makes the members of both accounts members of both, with the role that they had, and withdraws invitations', async () => {
    const source = await createAccount(database);
    const target = await createAccount(database);
    const join = async (name: string, roles: readonly (readonly [string, MemberRole])[]) => {
      const userId = newId('user');
      const email = `${name}-${userId}@example.com`;
      await insertUser(database, { id: userId, email, name, staffRole: null, passwordHash: null });
      for (const [accountId, role] of roles) await addMember(database, { accountId, userId, role });
    };
    await join('both', [
      [source.id, 'owner'],
      [target.id, 'finance'],
    ]);
    await join('old', [[source.id, 'developer']]);
    await join('new', [[target.id, 'owner']]);
    await merge(source.id, target.id);
    const rolesIn = async (id: string) => (await listMembers(database, id)).map(({ name, role }) => [name, role]);
    expect(await rolesIn(target.id)).to.deep.equal([
      ['both', 'finance'],
      ['new', 'owner'],
      ['old', 'developer'],
    ]);
    expect(await rolesIn(source.id)).to.deep.equal([
      ['both', 'owner'],
      ['new', 'owner'],
      ['old', 'developer'],
    ]);
  });

  it('needs the approval of a second person, also from callers of the administration, unless one person may decide', async () => {
    const source = await createAccount(database, { fundedUsd: 1 });
    const target = await createAccount(database);
    const { id } = await request(source.id, target.id);
    const approval = { id, outcome: 'approved', by: 'ada' } as const;
    expect(String(await rejectionOf(decideMerge(database, approval)))).to.include('A second person must decide');
    const asked = { id: newId('accountMerge'), sourceId: source.id, targetId: target.id, ...BY };
    expect(String(await rejectionOf(mergeAlone(services(), asked)))).to.include(`/accounts/${source.id}/merge`);
    expect((await reloadAccount(database, source)).suspendedAt).to.equal(null);
    expect(await mergeAlone(services(null), asked)).to.include({ outcome: 'approved', decidedBy: 'ada' });
    expect((await requestMerge(services(null), asked)).id).to.equal(asked.id);
    expect(String(await rejectionOf(decideMerge(database, { ...approval, by: 'bob' })))).to.include('merged before');
    expect(await listAccountMerges(database, { accountId: target.id, limit: 10 })).to.have.length(2);
  });

  describe('is refused', () => {
    const refusals: readonly (readonly [string, (sourceId: string, targetId: string) => Promise<unknown>])[] = [
      ['the account was merged before', async (source) => merge(source, (await createAccount(database)).id)],
      ['the other account was merged before', (source, target) => merge(target, source)],
      ['the account is closed, or suspended', (source) => suspendAccount(database, source, BY)],
      ['the other account is closed, or suspended', (_, target) => suspendAccount(database, target, BY)],
      ['the account owes money', owe],
      ['the account has a plan', subscribe],
      ['an automatic top-up', startTopUp],
      ['the account has running batches', runBatch],
    ];
    for (const [reason, prepare] of refusals) {
      it(`where ${reason}, also after the request`, async () => {
        const [source, target] = [await createAccount(database), await createAccount(database)];
        const { id } = await request(source.id, target.id);
        await prepare(source.id, target.id);
        const approve = () => decideMerge(database, { id, outcome: 'approved', by: 'bob' });
        for (const ask of [approve, () => request(source.id, target.id)])
          expect(String(await rejectionOf(ask()))).to.include(reason);
      });
    }

    it('into the same account, and when it crosses another one', async () => {
      const [one, two] = [await createAccount(database), await createAccount(database)];
      expect(String(await rejectionOf(request(one.id, one.id)))).to.include('into itself');
      const ids = [(await request(one.id, two.id)).id, (await request(two.id, one.id)).id];
      const outcomes = await Promise.allSettled(
        ids.map((id) => decideMerge(database, { id, outcome: 'approved', by: 'bob' })),
      );
      expect(outcomes.map(({ status }) => status)).to.have.members(['fulfilled', 'rejected']);
    });

    it('as is the reopening of a merged account', async () => {
      const [source, target] = [await createAccount(database), await createAccount(database)];
      await merge(source.id, target.id);
      expect(String(await rejectionOf(reopenAccount(database, source.id, BY)))).to.include(target.id);
    });

    async function owe(accountId: string): Promise<void> {
      const reference = `payment:${accountId}`;
      await topUp(database, { accountId, amount: 5n, reference });
      const key = await createKey(database, { id: accountId });
      await finishAsSucceeded(database, await createTaskRow(database, key, { price: 5n }));
      await returnPayment(database, reference, { refunded: 5n, refundedAt: 0 });
    }

    async function subscribe(accountId: string): Promise<void> {
      const row = { customer: 'cus_1', status: 'active', item: 'si_1', price: 'price_1', reading: 1 };
      await database('subscriptions').insert({ ...row, id: `sub_${accountId}`, account_id: accountId });
    }

    async function startTopUp(accountId: string): Promise<void> {
      const row = { threshold: 1, amount: 1, customer: 'cus_1', payment_method: 'pm_1', attempt_id: 'attempt' };
      await database('auto_top_ups').insert({ ...row, account_id: accountId, attempt_began_at: new Date() });
    }

    async function runBatch(accountId: string): Promise<void> {
      const { id: keyId } = await createKey(database, { id: accountId });
      await database('batches').insert({
        id: newId('batch'),
        account_id: accountId,
        api_key_id: keyId,
        request_id: newId('request'),
        endpoint: '/v1/responses',
        input_file_id: newId('file'),
        created_at: new Date(),
        expires_at: new Date(Date.now() + DAY_MS),
        next_start_at: new Date(),
      });
    }
  });
});
