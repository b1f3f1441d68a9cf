import { expect } from 'chai';
import * as fc from 'fast-check';
import { OWN_SITE, type Plan } from '../../../catalogue/site.ts';
import { findCallersOfKeys } from '../../../db/queries/api-keys.ts';
import { findCurrentPlan, findRunningSubscription } from '../../../db/queries/plans.ts';
import { listPromoGrants } from '../../../db/queries/promo-grants.ts';
import { LEDGER_CHECKS } from '../../../db/reconciliation/ledger-checks.ts';
import { PROMO_CHECKS } from '../../../db/reconciliation/promo-checks.ts';
import { newId } from '../../../domain/ids.ts';
import { parseUsd } from '../../../domain/money.ts';
import {
  applyInvoice,
  applySubscription,
  choosePlan,
  type PlanServices,
  setPlanEnding,
} from '../../../services/money/plans.ts';
import { useTestDatabase } from '../../support/database.ts';
import { createAccount, createKey, createTaskRow } from '../../support/factories.ts';
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
