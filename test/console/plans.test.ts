import { expect } from 'chai';
import pino from 'pino';
import { mountConsole } from '../../console/serve.ts';
import { OWN_SITE } from '../../catalogue/site.ts';
import { findAccount } from '../../db/queries/accounts.ts';
import { findAutoTopUp, setAutoTopUp } from '../../db/queries/auto-top-ups.ts';
import { findDepartedCustomers } from '../../db/queries/closed-accounts.ts';
import { findAccountPlan } from '../../db/queries/plans.ts';
import { expirePromoCredit } from '../../db/queries/promo-grants.ts';
import { parseUsd } from '../../domain/money.ts';
import { forgetSome } from '../../services/money/departed-customers.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { PASSWORD, Visitor } from '../support/console.ts';
import { connectGenway } from '../support/genway.ts';
import { announcePaymentEvent } from '../support/payments.ts';
import { PlayedBilling } from '../support/plan-billing.ts';
import { call } from '../support/stack.ts';

const SECRET = 'whsec_of_a_test';
const TERMS = { models: null, rateLimitRpm: null, seats: null };
const PLANS = [
  {
    ...TERMS,
    id: 'basic',
    name: { en: 'Basic', zh: '基础' },
    stripePrice: 'price_basic',
    usdPerMonth: parseUsd(10),
    included: parseUsd(12),
    models: ['textg-*'],
    seats: 1,
  },
  {
    ...TERMS,
    id: 'pro',
    name: { en: 'Pro', zh: '专业' },
    stripePrice: 'price_pro',
    usdPerMonth: parseUsd(40),
    included: parseUsd(50),
  },
];

describe('the plan of an account', () => {
  const billing = new PlayedBilling('console');
  let app: TestApp;
  let owner: Visitor;
  let accountId: string;
  let apiKey: string;
  let path: string;

  before(async () => {
    app = await startTestApp({
      mountPages: mountConsole,
      site: () => ({ ...OWN_SITE, plans: PLANS }),
      settings: { checkout: billing.pages, paymentWebhookSecret: SECRET },
    });
  });
  after(() => app.stop());

  beforeEach(async () => {
    ({ accountId, apiKey } = await app.createAccount());
    await app.database('sign_in_attempts').delete();
    path = `/console/accounts/${accountId}/billing`;
    owner = await Visitor.invited(app, {
      email: `${accountId}@example.com`,
      account_id: accountId,
      member_role: 'owner',
    });
  });

  const outcomes = async (): Promise<unknown[]> => {
    const told = [];
    for (const event of billing.announced.splice(0)) {
      const answer = await announcePaymentEvent(app.baseUrl, SECRET, event);
      told.push(((await answer.json()) as { data: { outcome: string } }).data.outcome);
    }
    return told;
  };

  async function subscribe(plan: string): Promise<string> {
    const sent = await owner.send(`${path}/plan`, { plan });
    const page = String(sent.headers['location']).split('/').at(-1) ?? '';
    return billing.pay(page);
  }

  it('a plan is chosen on the billing page, paid on the provider’s page, and granted by its events', async () => {
    // contract 5:31
    expect((await owner.get(path)).text).to.include('$10.00 a month, $12.00 of credit included');
    await subscribe('basic');
    expect(await outcomes()).to.deep.equal(['noted', 'credited', 'noted']);
    const { text } = await owner.get(path);
    const portal = await owner.get(`${path}/plan/payments`);
    expect(portal.headers['location']).to.match(/^https:\/\/billing\.stripe\.com\/p\/cus_/);
    expect(text).to.include('Paid until').and.include('Change to this plan').and.include('textg-*');
    expect(text).to.match(/Credit left<\/dt><dd>\$12\.00, until \d{4}-/);
    // contract 4.11:74
    const genway = await connectGenway(app);
    const shown: unknown = JSON.parse(await genway('accounts', 'plan', accountId, '--json'));
    expect(shown)
      .to.have.property('data')
      .that.deep.includes({
        plan: 'basic',
        included_usd: 12,
        credit_left_usd: 12,
        models: ['textg-*'],
        seats: 1,
        ends_at: null,
      });
  });

  it('limits models and seats while it applies', async () => {
    // contract 5:32
    await subscribe('basic');
    await outcomes();
    const body = { model: 'texth-4-argon', messages: [{ role: 'user', content: 'Hello' }] };
    expect((await call(`${app.baseUrl}/v1/chat/completions`, { key: apiKey, body })).status).to.equal(403);
    const invited = await owner.send(`/console/accounts/${accountId}/members`, {
      email: 'second@example.com',
      role: 'developer',
    });
    expect([invited.status, invited.text.includes('no free seat')]).to.deep.equal([409, true]);
  });

  it('a plan is changed and ended by the owner, and shown to staff', async () => {
    // contract 5:33 5:34
    await subscribe('basic');
    await outcomes();
    expect((await owner.send(`${path}/plan`, { plan: 'pro' })).headers['location']).to.equal(path);
    await outcomes();
    await owner.send(`${path}/plan/end`);
    expect((await owner.get(path)).text)
      .to.include('Keep plan')
      .and.include('Pro');
    const staff = await Visitor.invited(app, { email: `staff-${accountId}@example.com`, staff_role: 'operator' });
    expect((await staff.get(`/console/staff/accounts/${accountId}`)).text).to.include('Included credit');
    // contract 4.11:78
    const { text: ending } = await staff.get('/console/staff/plans?state=ending&plan=pro');
    expect(ending).to.include(`/console/staff/accounts/${accountId}`).and.include('$20.00');
    expect((await staff.get('/console/staff/plans?state=overdue')).text).to.include('No account has subscribed');
    const genway = await connectGenway(app);
    const listed = JSON.parse(await genway('plans', 'subscribers', '--state', 'ending', '--json'));
    expect(listed.data[0]).to.include({ account_id: accountId, plan: 'pro', paid_usd: 20, lost_usd: 0 });
    await owner.send(`${path}/plan/end`, { continues: '1' });
    expect((await owner.get(path)).text).to.include('End plan');
  });

  it('ends at the provider, with the customer and the cards, when the owner closes the account', async () => {
    await subscribe('pro');
    await outcomes();
    const { customer } = await app.database('subscriptions').where({ account_id: accountId }).first();
    const card = { customer, paymentMethod: 'pm_1', amount: parseUsd(10), threshold: parseUsd(20) };
    await setAutoTopUp(app.database, { accountId, ...card });
    const forgetter = { database: app.database, checkout: billing.pages, log: pino({ level: 'silent' }) };
    const waiting = () => findDepartedCustomers(app.database, 10);
    expect(await waiting()).to.deep.equal([]);
    await owner.send(`/console/accounts/${accountId}/close`, { name: 'Test', current: PASSWORD });
    expect(await waiting()).to.deep.equal([{ accountId, customer }]);
    billing.isDown = true;
    await forgetSome(forgetter);
    billing.isDown = false;
    expect(await waiting()).to.have.length(1);
    // As if the process had died after the provider's answer.
    await billing.pages.deleteCustomer(customer);
    await forgetSome(forgetter);
    expect([await waiting(), await findAutoTopUp(app.database, accountId)]).to.deep.equal([[], null]);
    expect(await outcomes()).to.deep.equal(['noted', 'noted']);
    expect((await findAccountPlan(app.database, accountId)).subscription).to.equal(null);
    // A payment that was on its way gives credit that lapses.
    await expirePromoCredit(app.database, 10);
    expect(await findAccount(app.database, accountId)).to.include({ signupAvailable: 0n });
  });

  it('a choice is refused where there is no such plan', async () => {
    expect((await owner.send(`${path}/plan`, { plan: 'gold' })).status).to.equal(404);
    expect((await owner.send(`${path}/plan/end`)).status).to.equal(404);
    expect((await owner.get(`${path}/plan/payments`)).headers['location']).to.equal(path);
  });
});
