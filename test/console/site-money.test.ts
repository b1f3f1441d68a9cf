import { expect } from 'chai';
import { OWN_SITE, type Site } from '../../catalogue/site.ts';
import type { CheckoutOrder } from '../../providers/checkout.ts';
import { createStripeCheckout } from '../../providers/stripe-checkout.ts';
import { listPromoGrants } from '../../db/queries/promo-grants.ts';
import { reconcile } from '../../db/reconciliation/reconcile.ts';
import { parseUsd } from '../../domain/money.ts';
import { reloadAccount } from '../support/factories.ts';
import { announcePaymentEvent } from '../support/payments.ts';
import { NOTHING_OUTSIDE } from '../support/reconciliation.ts';
import { useAccount, useTestConsole, useVisitor } from '../support/console.ts';

const SITE: Site = {
  ...OWN_SITE,
  payments: { methods: ['card', 'alipay'], minUsd: 5, bonuses: [{ fromUsd: 100, percent: 5, days: 90 }] },
  displayCurrency: { code: 'CNY', usdRate: 7.1, date: '2026-11-29' },
};

describe('the money of a site in the console', () => {
  const orders: CheckoutOrder[] = [];
  const checkout = {
    ...createStripeCheckout({ secretKey: 'sk_test_1' }),
    open: async (order: CheckoutOrder) => {
      orders.push(order);
      return 'cs_1';
    },
  };
  const app = useTestConsole({ site: () => SITE, settings: { checkout, paymentWebhookSecret: 'whsec_1' } });
  const owned = useAccount(app, { fundedUsd: 10 });
  const payer = useVisitor(app, () => ({
    email: 'payer@example.com',
    account_id: owned.accountId,
    member_role: 'finance',
  }));
  const billing = (): string => `/console/accounts/${owned.accountId}/billing`;

  it('stands beside the balance and the prices in USD, with the day of the rate', async () => {
    const { text } = await payer.get(billing());
    expect(text).to.include('+5 % from 100 USD, as credit that expires after 90 days.');
    expect(text)
      .to.include('$10.00')
      .and.match(/About CNY\s71\.00, at the rate of 2026-11-29\. Charges are in USD\./);
    expect((await payer.get(`/console/accounts/${owned.accountId}`)).text).to.match(/About CNY\s71\.00/);
    expect((await payer.get(`/console/accounts/${owned.accountId}/models`)).text)
      .to.match(/\$0\.10\/s \(CNY\s0\.71\)/)
      .and.match(/1 USD is 7\.1 CNY, the rate of 2026-11-29/);
  });

  it('gives a payment its bonus once, and ends the rest of the bonus when the payment goes back', async () => {
    const { accountId } = await app.createAccount();
    const announce = (type: string, object: object) =>
      announcePaymentEvent(app.baseUrl, 'whsec_1', { type, data: { object } });
    const metadata = { account_id: accountId };
    const paid = { payment_intent: 'pi_1', payment_status: 'paid', amount_total: 20_000, currency: 'usd', metadata };
    await announce('checkout.session.completed', { ...paid, payment_status: 'unpaid' });
    expect(await app.database('promo_grants').where({ account_id: accountId })).to.deep.equal([]);
    await announce('checkout.session.async_payment_succeeded', paid);
    await announce('payment_intent.succeeded', { id: 'pi_1', amount_received: 20_000, currency: 'usd', metadata });
    const [grant, ...others] = await listPromoGrants(app.database, { accountId, limit: 5 });
    expect(others).to.deep.equal([]);
    expect(grant).to.include({ amount: parseUsd(10), available: parseUsd(10), reference: 'payment:pi_1' });
    await announce('charge.refunded', { payment_intent: 'pi_1', amount_refunded: 5_000, currency: 'usd' });
    const [ended] = await listPromoGrants(app.database, { accountId, limit: 5 });
    expect(ended).to.include({ available: 0n, expired: parseUsd(10) });
    const { fundedAvailable, signupAvailable } = await reloadAccount(app.database, { id: accountId });
    expect([fundedAvailable, signupAvailable]).to.deep.equal([parseUsd(150), 0n]);
    await announce('charge.refunded', { payment_intent: 'pi_2', amount_refunded: 1, currency: 'usd' });
    await announce('payment_intent.succeeded', { id: 'pi_2', amount_received: 20_000, currency: 'usd', metadata });
    expect(await listPromoGrants(app.database, { accountId, limit: 5 })).to.have.length(1);
    const { findings } = await reconcile(app.database, NOTHING_OUTSIDE);
    expect(findings).to.deep.equal([]);
  });

  it('opens payment pages from the minimum on, with the methods of the operator', async () => {
    const refused = await payer.send(`${billing()}/checkout`, { amount_usd: '4.99' });
    expect([refused.status, refused.text.includes('from 5 to 10,000 USD')]).to.deep.equal([400, true]);
    expect((await payer.send(`${billing()}/checkout`, { amount_usd: '5' })).status).to.equal(303);
    expect(orders.map(({ methods }) => methods)).to.deep.equal([['card', 'alipay']]);
  });
});
