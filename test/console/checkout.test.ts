import { expect } from 'chai';
import { findAutoTopUp } from '../../db/queries/auto-top-ups.ts';
import { createStripeCheckout } from '../../providers/stripe-checkout.ts';
import { mountConsole } from '../../console/serve.ts';
import { newId } from '../../domain/ids.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { describeInBrowser } from '../support/browser.ts';
import { Visitor } from '../support/console.ts';
import { announcePaymentEvent } from '../support/payments.ts';
import { SimulatedStripe } from '../support/stripe.ts';

const SECRET = 'whsec_of_a_test';
/** Expects that nobody pays. */
const AMOUNTS = ['', '0', '0.99', '10000.01', '1.001', '-5', '1e3', 'much', '9'.repeat(100_000)] as const;

describeInBrowser('paying on the pages of Stripe', (browser) => {
  const stripe = new SimulatedStripe();
  let app: TestApp;
  let accountId: string;

  before(async () => {
    await stripe.start();
    const checkout = createStripeCheckout({ secretKey: 'sk_test_1', apiUrl: stripe.url, origin: stripe.url });
    app = await startTestApp({ mountPages: mountConsole, settings: { checkout, paymentWebhookSecret: SECRET } });
    ({ accountId } = await app.createAccount());
  });
  after(async () => {
    await app.stop();
    await stripe.stop();
  });

  const payer = (email: string, account_id = accountId): Promise<Visitor> =>
    Visitor.invited(app, { email, account_id, member_role: 'finance' });

  it('redirects a member from an amount to its checkout page, and credits the payment', async () => {
    const tab = await browser.open(app.baseUrl);
    const { page } = tab;
    await tab.signIn(await payer('payer@example.com'));
    await page.goto(`${app.baseUrl}/console/accounts/${accountId}/billing`);
    await page.getByLabel('Amount', { exact: true }).fill('25.50');
    await page.getByRole('button', { name: 'Add funds' }).click();
    await page.getByRole('heading', { name: 'Pay here' }).waitFor();
    expect(stripe.sessions.map(({ id, cents }) => [id, cents])).to.deep.equal([['cs_1', 2_550]]);
    const paid = { payment_intent: 'pi_1', payment_status: 'paid', amount_total: 2_550, currency: 'usd' };
    const object = { ...paid, metadata: { account_id: accountId } };
    const event = { type: 'checkout.session.completed', data: { object } };
    expect((await announcePaymentEvent(app.baseUrl, SECRET, event)).status).to.equal(200);
    await page.goto(`${app.baseUrl}/console/accounts/${accountId}/billing`);
    await page.getByText('$25.50').first().waitFor();
    expect(tab.complaints).to.deep.equal([]);
    await tab.close();
  });

  describe('an amount outside the limits', () => {
    for (const [index, amount] of AMOUNTS.entries()) {
      it(`refuses an amount outside its limits: ${JSON.stringify(amount.slice(0, 10))}`, async () => {
        const member = await payer(`odd-${index}@example.com`);
        const path = `/console/accounts/${accountId}/billing/checkout`;
        const { status, text } = await member.send(path, { amount_usd: amount });
        expect([status, text.includes('from 1 to 10,000 USD')]).to.deep.equal([400, true]);
      });
    }
  });

  it('creates one checkout page for a form that is sent twice, and shows no page of another account', async () => {
    const member = await payer('twice@example.com');
    const path = `/console/accounts/${accountId}/billing/checkout`;
    const before = stripe.sessions.length;
    const form = { form_id: newId('form'), amount_usd: '5' };
    const answers = await Promise.all([member.send(path, form), member.send(path, form)]);
    expect(answers.map(({ status }) => status)).to.deep.equal([303, 303]);
    expect(stripe.sessions).to.have.length(before + 1);
    const { accountId: other } = await app.createAccount();
    const stranger = await payer('stranger@example.com', other);
    for (const id of ['cs_1', 'cs_999', '..%2f..%2fbalance']) {
      const { status } = await stranger.get(`/console/accounts/${other}/billing/checkout/${id}`);
      expect(status, id).to.equal(404);
    }
  });

  it('records a member’s consent to automatic top-ups once a card was given, and none without', async () => {
    const member = await payer('auto@example.com');
    const billing = `/console/accounts/${accountId}/billing`;
    const refused = await member.send(`${billing}/automatic`, { threshold_usd: '0', amount_usd: '20' });
    expect(refused.status).to.equal(400);
    await member.send(`${billing}/automatic`, { threshold_usd: '10', amount_usd: '20' });
    const { id = '' } = stripe.sessions.at(-1) ?? {};
    expect((await member.get(billing)).text).not.to.include('to the saved card');
    for (const other of ['cs_1', 'cs_999']) await member.get(`${billing}/automatic/${other}`);
    expect(await findAutoTopUp(app.database, accountId)).to.equal(null);
    await member.get(`${billing}/automatic/${id}`);
    expect((await member.get(billing)).text).to.include('below $10.00, Genway charges $20.00 to the saved card');
    await member.send(`${billing}/automatic/stop`);
    expect(await findAutoTopUp(app.database, accountId)).to.equal(null);
    await member.get(`${billing}/automatic/${id}`);
    expect(await findAutoTopUp(app.database, accountId), 'a reload of the address agrees on nothing').to.equal(null);
  });

  it('reports when Stripe does not answer', async () => {
    const member = await payer('down@example.com');
    stripe.isDown = true;
    const { status, text } = await member.send(`/console/accounts/${accountId}/billing/checkout`, { amount_usd: '5' });
    stripe.isDown = false;
    expect([status, text.includes('The payment provider does not respond')]).to.deep.equal([503, true]);
  });
});
