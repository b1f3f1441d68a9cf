import { expect } from 'chai';
import * as fc from 'fast-check';
import { OWN_SITE, type Plan } from '../../../catalogue/site.ts';
import { findCallersOfKeys } from '../../../db/queries/api-keys.ts';
import { closeSource } from '../../../db/queries/account-merges.ts';
import { findCurrentPlan, findRunningSubscription } from '../../../db/queries/plans.ts';
import { orderDueNotices } from '../../../db/queries/due-notices.ts';
import { listPlanSubscribers, type SubscriberFilter } from '../../../db/queries/plan-subscribers.ts';
import { insertUser, setMember } from '../../../db/queries/users.ts';
import { applyReturnOf, referenceOfPayment } from '../../../services/money/credit-once.ts';
import { expirePromoCredit, listPromoGrants } from '../../../db/queries/promo-grants.ts';
import { LEDGER_CHECKS } from '../../../db/reconciliation/ledger-checks.ts';
import { PROMO_CHECKS } from '../../../db/reconciliation/promo-checks.ts';
import { newId } from '../../../domain/ids.ts';
import { CheckoutUnavailableError } from '../../../providers/checkout.ts';
import type { PlanBilling } from '../../../providers/plan-billing.ts';
import { parseUsd } from '../../../domain/money.ts';
import {
  applyInvoice,
  applySubscription,
  choosePlan,
  type PlanServices,
  setPlanEnding,
} from '../../../services/money/plans.ts';
import { useTestDatabase } from '../../support/database.ts';
import {
  createAccount,
  createKey,
  createTaskRow,
  finishAsFailed,
  finishAsSucceeded,
  reloadAccount,
} from '../../support/factories.ts';
import { type Announcement, PlayedBilling } from '../../support/plan-billing.ts';
import { casesOf } from '../../support/properties.ts';
import { checkBooks } from '../../support/reconciliation.ts';
import { rejectionOf } from '../../support/rejection.ts';

const DAY_MS = 86_400_000;
const BASIC: Plan = {
  id: 'basic',
  name: { en: 'Basic', zh: '基础' },
  usdPerMonth: parseUsd(10),
  included: parseUsd(12),
  models: ['textg-*', 'vidone-3.0'],
  rateLimitRpm: 60,
  seats: 2,
  stripePrice: 'price_basic',
};
const PRO: Plan = {
  ...BASIC,
  id: 'pro',
  usdPerMonth: parseUsd(40),
  included: parseUsd(50),
  models: null,
  stripePrice: 'price_pro',
};

describe('a plan', () => {
  const db = useTestDatabase();
  let accounts = 0;

  /** A customer of the provider. */
  async function prepare() {
    const { database } = db;
    const account = await createAccount(database);
    const key = await createKey(database, account);
    const billing = new PlayedBilling(`${(accounts += 1)}`);
    const services: PlanServices = {
      database,
      site: { ...OWN_SITE, plans: [BASIC, PRO] },
      money: { checkout: billing.pages },
      publicUrl: 'https://gateway.example',
    };
    const accountId = account.id;
    const choose = (planId: string) => choosePlan(services, { accountId, planId });
    /** Subscribes, without an announcement. */
    const subscribe = async (planId: string, startsAt?: Date) => billing.pay((await choose(planId)) ?? '', startsAt);
    const announceAll = async () => {
      for (const one of billing.announced.splice(0)) await announce(services, one);
    };
    const grants = async () =>
      (await listPromoGrants(database, { accountId, limit: 20 })).map(({ amount }) => Number(amount / parseUsd(1)));
    const plan = async () => (await findCurrentPlan(database, accountId))?.plan ?? null;
    const caller = async () => (await findCallersOfKeys(database, [key.id]))[0]?.key;
    return { accountId, key, billing, services, choose, subscribe, announceAll, grants, plan, caller };
  }

  async function announce(services: PlanServices, { type, data }: Announcement): Promise<void> {
    const { id } = data.object;
    await (type.startsWith('invoice.') ? applyInvoice(services, id) : applySubscription(services, id));
  }

  afterEach(async () => {
    const { findings } = await checkBooks(db.database, [...LEDGER_CHECKS, ...PROMO_CHECKS]);
    expect(findings).to.deep.equal([]);
  });

  it('grants its credit and applies its terms once its first invoice is paid', async () => {
    // contract 5:31
    const { subscribe, announceAll, grants, plan, caller, key } = await prepare();
    const id = await subscribe('basic');
    expect([await plan(), (await caller())?.rateLimitRpm]).to.deep.equal([null, null]);
    await announceAll();
    expect([await plan(), await grants()]).to.deep.equal(['basic', [12]]);
    expect(await caller()).to.deep.include({ models: ['textg-*', 'vidone-3.0'], rateLimitRpm: 60 });
    // The account has paid, so that its credit pays for every model of the plan.
    await createTaskRow(db.database, key, { model: 'vidone-3.0', price: parseUsd(12) });
    expect(id).to.match(/^sub_/);
  });

  it('brings the signup credit that awaits the first payment of the account, once', async () => {
    const { accountId, billing, subscribe, announceAll } = await prepare();
    await db.database('signup_credits').insert({
      account_id: accountId,
      normal_address_digest: Buffer.alloc(32, 9),
      network: '192.0.2.0/24',
      outcome: 'awaits_payment',
      amount: 5,
    });
    const id = await subscribe('basic');
    await announceAll();
    const given = async () => (await reloadAccount(db.database, { id: accountId })).signupAvailable;
    expect(await given()).to.equal(parseUsd(12) + 5n);
    billing.renew(id);
    await announceAll();
    expect(await given()).to.equal(parseUsd(24) + 5n);
  });

  it('narrows the models and the rate of a key, and widens neither', async () => {
    // contract 5:32
    const { accountId, subscribe, announceAll } = await prepare();
    const narrow = await createKey(
      db.database,
      { id: accountId },
      { models: ['textg-6-sol', 'imagea-1.0'], rateLimitRpm: 10 },
    );
    await subscribe('basic');
    await announceAll();
    const [found] = await findCallersOfKeys(db.database, [narrow.id]);
    expect(found?.key).to.deep.include({ models: ['textg-6-sol'], rateLimitRpm: 10 });
  });

  it('a plan is upgraded at once with a new period, and keeps the credit that was paid before', async () => {
    // contract 5:33
    const { accountId, billing, choose, subscribe, announceAll, grants, plan } = await prepare();
    await subscribe('basic', new Date(Date.now() - 10 * DAY_MS));
    await announceAll();
    expect(await choose('pro')).to.equal(null);
    await announceAll();
    expect([await plan(), await grants()]).to.deep.equal(['pro', [50, 12]]);
    const period = await findCurrentPlan(db.database, accountId);
    expect(period?.endsAt.getTime()).to.be.closeTo(Date.now() + 30 * DAY_MS, 60_000);
    billing.refusesCards = true;
    expect(await choose('basic'), 'no card is charged for a cheaper plan').to.equal(null);
  });

  it('stays as it is when the card for an upgrade is refused', async () => {
    const { billing, choose, subscribe, announceAll, grants, plan } = await prepare();
    await subscribe('basic');
    await announceAll();
    billing.refusesCards = true;
    expect(await rejectionOf(choose('pro'))).to.include({ code: 'insufficient_credits' });
    expect([await plan(), await grants()]).to.deep.equal(['basic', [12]]);
  });

  it('a plan is downgraded with the next period, and until then can be chosen again without a payment', async () => {
    // contract 5:33
    const { billing, choose, subscribe, announceAll, grants, plan } = await prepare();
    const id = await subscribe('pro');
    await announceAll();
    await choose('basic');
    await announceAll();
    expect([await plan(), await grants()]).to.deep.equal(['pro', [50]]);
    await choose('pro');
    await choose('basic');
    await announceAll();
    expect(await grants()).to.deep.equal([50]);
    billing.renew(id);
    await announceAll();
    expect([await plan(), await grants()]).to.deep.equal(['basic', [12, 50]]);
  });

  it('ends with its period when the customer ends it, and goes on when the customer changes their mind', async () => {
    // contract 5:34
    const { accountId, services, subscribe, announceAll, plan } = await prepare();
    await subscribe('basic');
    await announceAll();
    await setPlanEnding(services, accountId, true);
    expect(await plan()).to.equal('basic');
    const running = () => findRunningSubscription(db.database, accountId);
    expect((await running())?.endsAt).to.be.instanceOf(Date);
    await setPlanEnding(services, accountId, false);
    expect((await running())?.endsAt).to.equal(null);
  });

  it('keeps its terms for seven days after a renewal that is not paid, without credit', async () => {
    // contract 5:35
    for (const [daysAgo, expected] of [
      [35, 'basic'],
      [38, null],
    ] as const) {
      const { billing, services, subscribe, announceAll, grants, plan } = await prepare();
      const id = await subscribe('basic', new Date(Date.now() - daysAgo * DAY_MS));
      billing.renew(id, false);
      await announceAll();
      expect([await plan(), await grants()], `${daysAgo} days ago`).to.deep.equal([expected, []]);
      const [, unpaid] = [...billing.invoices.values()];
      if (!unpaid) throw new Error('two periods have started');
      billing.invoices.set(unpaid.id, { ...unpaid, isPaid: true });
      await announce(services, { type: 'invoice.paid', data: { object: { id: unpaid.id } } });
      expect([await plan(), await grants()]).to.deep.equal(['basic', [12]]);
    }
  });

  it('is sold on one page at a time: the next page expires the page before', async () => {
    // contract 5:37
    const { billing, choose, announceAll, grants } = await prepare();
    const pages = await Promise.all([choose('basic'), choose('pro'), choose('basic')]);
    const last = (await choose('pro')) ?? '';
    for (const page of pages) expect(() => billing.pay(page ?? '')).to.throw('paid or expired');
    billing.pay(last);
    await announceAll();
    expect(await grants()).to.deep.equal([50]);
  });

  it('is found on its page when the customer chooses again before the payment is announced', async () => {
    const { accountId, choose, subscribe, announceAll } = await prepare();
    const id = await subscribe('basic');
    expect(await rejectionOf(choose('basic'))).to.include({ code: 'bad_request' });
    expect(await findRunningSubscription(db.database, accountId)).to.include({ id, endsAt: null });
    await announceAll();
  });

  it('is one at a time: of two subscriptions, the second ends with its paid period and keeps its credit', async () => {
    // contract 5:37
    await fc.assert(
      fc.asyncProperty(fc.infiniteStream(fc.nat()), async (dice) => {
        const { accountId, billing, services, subscribe, grants } = await prepare();
        const ids = [await subscribe('basic')];
        const page = await billing.openSubscription({ accountId, price: 'price_pro' });
        ids.push(billing.pay(page));
        for (const _ of [1, 2]) await deliver(services, billing.announced, dice);
        expect(inOrder(await grants())).to.deep.equal([12, 50]);
        const found = await Promise.all(ids.map((id) => billing.findSubscription(id)));
        const [kept, ...others] = found.filter((one) => one?.endsAt === null);
        expect(others).to.deep.equal([]);
        expect(found.map((one) => one?.status)).to.deep.equal(['active', 'active']);
        expect(await findRunningSubscription(db.database, accountId)).to.deep.equal(kept);
        const [subscriber] = await listPlanSubscribers(db.database, { limit: 1 });
        expect(subscriber).to.include({ subscriptionId: kept?.id, state: 'active', paid: parseUsd(20) });
        await setPlanEnding(services, accountId, true);
        await deliver(services, billing.announced, dice);
        const ends = await Promise.all(ids.map(async (id) => (await billing.findSubscription(id))?.endsAt));
        expect(ends).not.to.include(null);
      }),
      { numRuns: casesOf(20) },
    );
  });

  it('belongs to the other account when its page is paid after a merge, and is one at a time there', async () => {
    const { database } = db;
    const { accountId, billing, choose, services, announceAll, plan } = await prepare();
    const page = (await choose('basic')) ?? '';
    const { id: targetId } = await createAccount(database);
    await database.transaction((transaction) => closeSource(transaction, { sourceId: accountId, targetId }));
    const id = billing.pay(page);
    await announceAll();
    expect([await plan(), (await findCurrentPlan(database, targetId))?.plan]).to.deep.equal([null, 'basic']);
    expect(await findRunningSubscription(database, targetId)).to.include({ id, endsAt: null });
    billing.renew(id);
    await announceAll();
    const [grant] = await listPromoGrants(database, { accountId: targetId, limit: 1 });
    expect(grant?.amount).to.equal(parseUsd(12));
    const rejection = await rejectionOf(choosePlan(services, { accountId: targetId, planId: 'basic' }));
    expect(rejection).to.include({ code: 'bad_request' });
  });

  it('ends a second subscription when the provider announces it again after an outage', async () => {
    const { accountId, billing, services, subscribe, announceAll } = await prepare();
    await subscribe('basic');
    await announceAll();
    const id = billing.pay(await billing.openSubscription({ accountId, price: 'price_pro' }));
    const setEndingOf = (answer: PlanBilling['setEnding']): PlanServices => ({
      ...services,
      money: { checkout: { ...billing.pages, setEnding: answer } },
    });
    const refused = setEndingOf(async () => {
      throw new CheckoutUnavailableError('the provider is down');
    });
    expect(await rejectionOf(applySubscription(refused, id))).to.include({ code: 'processing_unavailable' });
    // The process ends before it stores the end.
    const cut = setEndingOf(async (...change) => {
      await billing.setEnding(...change);
      throw new CheckoutUnavailableError('the answer is lost');
    });
    expect(await rejectionOf(applySubscription(cut, id))).to.include({ code: 'processing_unavailable' });
    await announceAll();
    expect((await billing.findSubscription(id))?.endsAt).to.be.instanceOf(Date);
    expect((await findRunningSubscription(db.database, accountId))?.price).to.equal('price_basic');
  });

  it('ends at once when the provider gives up', async () => {
    const { billing, subscribe, announceAll, plan, caller } = await prepare();
    const id = await subscribe('basic');
    billing.end(id);
    await announceAll();
    expect([await plan(), (await caller())?.models]).to.deep.equal([null, null]);
  });

  it('reports a paid price of no plan, so that the provider announces the invoice again', async () => {
    const { services, subscribe, billing, grants, announceAll } = await prepare();
    await subscribe('basic');
    const without: PlanServices = { ...services, site: { plans: [PRO] } };
    const [invoice] = billing.invoices.keys();
    expect(await rejectionOf(applyInvoice(without, invoice ?? ''))).to.include({ code: 'not_found' });
    await announceAll();
    expect(await grants()).to.deep.equal([12]);
  });

  for (const order of ['paid, back', 'back, paid', 'paid, back, paid, back', 'back, paid, back, paid']) {
    for (const isDispute of [false, true]) {
      it(`loses the unspent rest of its credit once when its payment goes back: ${order}${isDispute ? ', by a dispute' : ''}`, async () => {
        // contract 5:36
        const { database } = db;
        const { accountId, key, billing, services, subscribe } = await prepare();
        await subscribe('basic');
        const [invoice] = [...billing.invoices.values()];
        const change = isDispute
          ? { dispute: { id: 'dp_1', amount: parseUsd(10), isWon: false, isPrevented: false } }
          : { refunded: parseUsd(10), refundedAt: 0 };
        const [spent, held] = [parseUsd(3), parseUsd(2)];
        const isPaidFirst = order.startsWith('paid');
        for (const [index, event] of order.split(', ').entries()) {
          if (event === 'paid') for (const one of billing.announced) await announce(services, one);
          else await applyReturnOf(database, referenceOfPayment(invoice?.paymentIds[0] ?? ''), change);
          if (index > 0 || !isPaidFirst) continue;
          await finishAsSucceeded(database, await createTaskRow(database, key, { price: spent }));
          await createTaskRow(database, key, { price: held });
        }
        const [grant] = await listPromoGrants(database, { accountId, limit: 5 });
        const { amount: included } = grant ?? { amount: 0n };
        const [used, kept] = isPaidFirst ? [spent, held] : [0n, 0n];
        expect(grant).to.include({ available: 0n, spent: used, reserved: kept, expired: included - used - kept });
        const takings = await database('transfers').where({ account_id: accountId, kind: 'promo_expiry' });
        expect(takings).to.have.length(1);
        const { suspendedAt } = await reloadAccount(database, { id: accountId });
        expect(suspendedAt !== null).to.equal(isDispute);
        const [subscriber] = await listPlanSubscribers(database, { limit: 1 });
        expect(subscriber).to.include({ id: accountId, paid: parseUsd(10), returned: parseUsd(10), lost: used });
      });
    }
  }

  it('grants its credit as often as its price is paid, and also when an invoice of 0 USD starts a period', async () => {
    const { accountId, billing, subscribe, announceAll, grants, plan } = await prepare();
    await subscribe('basic');
    for (const [id, invoice] of billing.invoices) {
      const periods = invoice.periods.map((period) => ({ ...period, quantity: 3 }));
      billing.invoices.set(id, { ...invoice, paid: 0n, paymentIds: [], periods });
    }
    await announceAll();
    expect([await plan(), await grants()]).to.deep.equal(['basic', [36]]);
    const [subscriber] = await listPlanSubscribers(db.database, { limit: 1 });
    expect(subscriber).to.include({ id: accountId, paid: 0n, returned: 0n, lost: 0n });
  });

  it('loses its credit when any of the payments of its invoice goes back, and counts what each returned', async () => {
    const { database } = db;
    const { accountId, billing, subscribe, announceAll } = await prepare();
    await subscribe('basic');
    const [[id, invoice] = []] = [...billing.invoices];
    if (id === undefined || invoice === undefined) throw new Error('there is no invoice');
    billing.invoices.set(id, { ...invoice, paymentIds: [`pi_a_${id}`, `pi_b_${id}`] });
    await applyReturnOf(database, referenceOfPayment(`pi_a_${id}`), { refunded: parseUsd(1), refundedAt: 0 });
    await announceAll();
    const [early] = await listPromoGrants(database, { accountId, limit: 5 });
    expect(early).to.include({ available: 0n, expired: parseUsd(12) });
    await applyReturnOf(database, referenceOfPayment(`pi_b_${id}`), { refunded: parseUsd(2), refundedAt: 0 });
    const [subscriber] = await listPlanSubscribers(database, { limit: 1 });
    expect(subscriber).to.include({ id: accountId, returned: parseUsd(3) });
  });

  it('expires credit that a task held when the payment went back and returns later', async () => {
    const { accountId, key, billing, subscribe, announceAll } = await prepare();
    await subscribe('basic');
    await announceAll();
    const task = await createTaskRow(db.database, key, { price: parseUsd(2) });
    const [invoice] = [...billing.invoices.values()];
    await applyReturnOf(db.database, referenceOfPayment(invoice?.paymentIds[0] ?? ''), {
      refunded: parseUsd(1),
      refundedAt: 0,
    });
    await finishAsFailed(db.database, task);
    await expirePromoCredit(db.database, 10);
    const [grant] = await listPromoGrants(db.database, { accountId, limit: 5 });
    expect(grant).to.include({ available: 0n, reserved: 0n, spent: 0n, expired: parseUsd(12) });
  });

  it('lists its subscribers by state, with the end of the grace and pages', async () => {
    const first = await prepare();
    const second = await prepare();
    const ids = [first.accountId, second.accountId];
    const id = await first.subscribe('basic', new Date(Date.now() - 31 * DAY_MS));
    await second.subscribe('pro');
    first.billing.renew(id, false);
    for (const { announceAll } of [first, second]) await announceAll();
    await setPlanEnding(second.services, second.accountId, true);
    const list = async (filter: SubscriberFilter & { readonly before?: string; readonly limit?: number }) =>
      (await listPlanSubscribers(db.database, { limit: 100, ...filter })).filter((one) => ids.includes(one.id));
    const [overdue] = await list({ state: 'overdue' });
    const unpaid = { status: 'past_due', returned: 0n, lost: 0n };
    expect(overdue).to.include({ id: first.accountId, plan: 'basic', paid: parseUsd(10), ...unpaid });
    expect(overdue?.limitsUntil?.getTime()).to.be.closeTo(Date.now() + 6 * DAY_MS, 60_000);
    expect((await list({ state: 'ending', plan: 'pro' })).map((one) => one.id)).to.deep.equal([second.accountId]);
    const [newest] = await list({ limit: 1 });
    expect(newest?.id).to.equal(second.accountId);
    expect((await list({ before: second.accountId, limit: 1 })).map((one) => one.id)).to.deep.equal([first.accountId]);
  });

  it('orders an e-mail of each kind once: paid, renewed, not paid, ending and ended', async () => {
    const { accountId, billing, services, subscribe, announceAll } = await prepare();
    const [userId, email] = [newId('user'), `${accountId}@example.com`];
    await insertUser(db.database, { id: userId, email, name: 'Ada', staffRole: null, passwordHash: null });
    await setMember(db.database, { accountId, userId, role: 'owner' });
    const mails = async (): Promise<unknown[]> => {
      for (const _ of [1, 2]) await orderDueNotices(db.database, 100);
      const rows = await db
        .database('mails')
        .where({ account_id: accountId })
        .orderBy('created_at')
        .select('kind', 'facts');
      return rows.map(({ kind, facts }) => [kind, facts.plan, facts.renewed ?? null]);
    };
    const paid = [
      ['plan_paid', 'basic', ''],
      ['plan_paid', 'basic', 'yes'],
    ];
    const id = await subscribe('basic', new Date(Date.now() - 40 * DAY_MS));
    billing.renew(id);
    await announceAll();
    await setPlanEnding(services, accountId, true);
    expect(await mails()).to.deep.equal([...paid, ['plan_ending', 'basic', null]]);
    await setPlanEnding(services, accountId, false);
    billing.renew(id, false);
    await announceAll();
    const unpaid = [...paid, ['plan_ending', 'basic', null], ['plan_payment_failed', 'basic', null]];
    expect(await mails()).to.deep.equal(unpaid);
    billing.end(id);
    await announceAll();
    expect(await mails()).to.deep.equal([...unpaid, ['plan_ended', 'basic', null]]);
  });

  it('a subscription of another service at the provider changes nothing', async () => {
    const { services, billing } = await prepare();
    const page = await billing.openSubscription({ accountId: newId('account'), price: 'price_basic' });
    billing.pay(page);
    expect(await rejectionOf(announce(services, billing.announced[0] ?? NOTHING))).to.include({ code: 'not_found' });
    expect(await applyInvoice(services, 'in_unknown')).to.equal(null);
  });

  it('has the same end in whatever order, however often and however late its events arrive', async () => {
    // contract 5:31
    const action = fc.constantFrom('renew', 'fail', 'upgrade', 'downgrade', 'end', 'keep', 'deliver');
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 7 }), fc.infiniteStream(fc.nat()), async (actions, dice) => {
        const { accountId, billing, services, choose, subscribe, plan, grants } = await prepare();
        const id = await subscribe('basic');
        for (const one of actions) {
          if (one === 'renew' || one === 'fail') billing.renew(id, one === 'renew');
          else if (one === 'deliver') await deliver(services, billing.announced, dice);
          else if (one === 'end' || one === 'keep') await billing.setEnding(id, one === 'end');
          else await Promise.resolve(choose(one === 'upgrade' ? 'pro' : 'basic')).catch(() => undefined);
        }
        await deliver(services, billing.announced, dice);
        await deliver(services, billing.announced, dice);
        const paid = [...billing.invoices.values()].filter(({ isPaid }) => isPaid);
        const prices = paid.flatMap(({ periods }) => periods.map(({ price }) => price));
        const included = prices.map((price) => (price === 'price_pro' ? 50 : 12));
        expect(inOrder(await grants())).to.deep.equal(inOrder(included));
        const latest = paid.toSorted((one, other) => other.createdAt.getTime() - one.createdAt.getTime())[0];
        expect(await plan()).to.equal(latest?.periods[0]?.price.slice('price_'.length));
        const { endsAt, price } = (await billing.findSubscription(id)) ?? {};
        expect(await findRunningSubscription(db.database, accountId)).to.deep.include({ endsAt, price });
      }),
      { numRuns: casesOf(120) },
    );
  });

  /** Delivers all announcements, some of them twice, several at once. */
  async function deliver(services: PlanServices, all: readonly Announcement[], dice: Iterator<number>): Promise<void> {
    const roll = (): number => Number(dice.next().value ?? 0);
    const twice = [...all, ...all.filter(() => roll() % 2 === 0)];
    const shuffled = twice.map((one) => ({ one, at: roll() })).toSorted((left, right) => left.at - right.at);
    for (let from = 0; from < shuffled.length; from += 3) {
      await Promise.all(shuffled.slice(from, from + 3).map(({ one }) => announce(services, one)));
    }
  }
});

const NOTHING: Announcement = { type: 'invoice.paid', data: { object: { id: 'in_0' } } };

function inOrder(numbers: readonly number[]): readonly number[] {
  return numbers.toSorted((one, other) => one - other);
}
