import { expect } from 'chai';
import { startProcess, type RunningProcess } from '../../bin/stack/child-process.ts';
import { findFreePort } from '../../bin/stack/ports.ts';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../support/eventually.ts';
import { PAYMENT_METHODS } from '../../catalogue/site-money.ts';
import { parseUsd } from '../../domain/money.ts';
import { CardRefusedError, CheckoutUnavailableError } from '../../providers/checkout.ts';
import { createStripeCheckout } from '../../providers/stripe-checkout.ts';
import { goProgram, hasGo, WITHOUT_GO } from '../support/go-programs.ts';
import { serveLocally } from '../../lab/stack/local-server.ts';
import { startRecordingReceiver } from '../support/receiver.ts';
import { rejectionOf } from '../support/rejection.ts';

const STRIPE_MOCK = { title: 'stripe-mock 0.203.0', source: 'github.com/stripe/stripe-mock@v0.203.0' };
const ORDER = {
  accountId: 'acc_1',
  amount: parseUsd('25.50'),
  description: 'Prepaid credit',
  methods: null,
  returnUrl: 'https://gateway.example/console',
};

const describeWithGo = hasGo() ? describe : describe.skip;

describeWithGo(`a page of Stripe to pay on${hasGo() ? '' : ` (${WITHOUT_GO})`}`, function () {
  // The first run builds the program.
  this.timeout(600_000);
  let stripe: RunningProcess;
  let apiUrl: string;

  before(async () => {
    const [command, port, tlsPort] = await Promise.all([
      goProgram('stripe-mock', STRIPE_MOCK),
      findFreePort(),
      findFreePort(),
    ]);
    stripe = await startProcess({
      command,
      args: ['-http-port', String(port), '-https-port', String(tlsPort)],
      output: () => undefined,
    });
    apiUrl = `http://127.0.0.1:${port}`;
    await waitUntil(() => fetch(apiUrl), { timeoutMs: PATIENCE_MS });
  });
  after(() => stripe.stop(5_000));

  it('a checkout page is requested as Stripe’s API describes, and is found again', async () => {
    const checkout = createStripeCheckout({ secretKey: 'sk_test_123', apiUrl });
    const id = await checkout.open(ORDER);
    expect(id).to.match(/^cs_/);
    expect(await checkout.open({ ...ORDER, methods: PAYMENT_METHODS })).to.match(/^cs_/);
    expect(await checkout.find(id)).to.have.all.keys('accountId', 'url');
  });

  it('saves a card, which is charged later, as its API describes both', async () => {
    const checkout = createStripeCheckout({ secretKey: 'sk_test_123', apiUrl });
    const { accountId, amount, returnUrl } = ORDER;
    const urls = { savedUrl: `${returnUrl}/automatic`, returnUrl };
    expect(await checkout.openCard({ accountId, amount, threshold: parseUsd(10), ...urls })).to.match(/^cs_/);
    const card = { customer: 'cus_1', paymentMethod: 'pm_1' };
    // stripe-mock has one payment, which is not paid.
    const refusal = await rejectionOf(checkout.chargeCard({ accountId, amount, ...card, attemptId: 'a', returnUrl }));
    expect(refusal).to.be.instanceOf(CardRefusedError);
  });

  it('sells a plan, changes it and ends it as Stripe’s API describes', async () => {
    const checkout = createStripeCheckout({ secretKey: 'sk_test_123', apiUrl });
    const { accountId, returnUrl } = ORDER;
    const page = await checkout.openSubscription({ accountId, price: 'price_1', customer: 'cus_1', returnUrl });
    expect(page).to.match(/^cs_/);
    await checkout.expireSubscriptionPage(page);
    const found = await checkout.findSubscription('sub_1');
    expect(found).to.have.all.keys('id', 'accountId', 'customer', 'status', 'item', 'price', 'endsAt');
    expect(await checkout.findInvoice('in_1')).to.have.all.keys(
      'id',
      'subscriptionId',
      'isPaid',
      'createdAt',
      'paid',
      'paymentIds',
      'periods',
    );
    // This version of stripe-mock does not know how a period starts now in the API that the package calls.
    await checkout.changePrice({ id: 'sub_1', item: 'si_1', price: 'price_2', startsNow: false });
    for (const ends of [true, false]) await checkout.setEnding('sub_1', ends);
    expect(await checkout.openPortal({ customer: 'cus_1', returnUrl })).to.match(/^https:/);
  });

  it('a checkout page is not created for a key that Stripe refuses', async () => {
    const checkout = createStripeCheckout({ secretKey: 'guessed', apiUrl });
    expect(await rejectionOf(checkout.open(ORDER))).to.be.instanceOf(CheckoutUnavailableError);
  });
});

describe('a plan at Stripe', () => {
  const at = (day: number) => Date.UTC(2026, 10, day) / 1000;
  const line = (price: string, proration: boolean) => ({
    period: { start: at(1), end: at(30) },
    pricing: { type: 'price_details', price_details: { price, product: 'prod_1' } },
    parent: { type: 'subscription_item_details', subscription_item_details: { proration, subscription: 'sub_1' } },
  });

  it('has the whole periods of a paid invoice, and no parts of periods', async () => {
    const invoice = {
      id: 'in_1',
      status: 'paid',
      created: at(1),
      amount_paid: 1_000,
      currency: 'usd',
      payments: {
        data: [
          { status: 'canceled', payment: { type: 'payment_intent', payment_intent: 'pi_0' } },
          { status: 'paid', payment: { type: 'payment_intent', payment_intent: 'pi_1' } },
          { status: 'paid', payment: { type: 'payment_intent', payment_intent: 'pi_2' } },
          { status: 'paid', payment: { type: 'payment_record', payment_record: 'pr_1' } },
        ],
      },
      parent: { subscription_details: { subscription: 'sub_1' } },
    };
    const lines = {
      data: [line('price_old', true), line('price_1', false), { ...line('price_2', false), parent: null }],
    };
    const receiver = await startRecordingReceiver((response, number) =>
      response.end(JSON.stringify(number === 2 ? lines : invoice)),
    );
    const checkout = createStripeCheckout({ secretKey: 'sk_test_123', apiUrl: receiver.url });
    expect(await checkout.findInvoice('in_1')).to.deep.equal({
      id: 'in_1',
      subscriptionId: 'sub_1',
      isPaid: true,
      createdAt: new Date(at(1) * 1000),
      paid: parseUsd(10),
      paymentIds: ['pi_1', 'pi_2'],
      periods: [{ price: 'price_1', quantity: 1, startsAt: new Date(at(1) * 1000), endsAt: new Date(at(30) * 1000) }],
    });
    await receiver.close();
  });

  it('is sold on a page that expires, unless the page sold the plan before', async () => {
    const answers = [
      [200, { id: 'cs_1', status: 'expired', subscription: null }],
      [400, { error: { type: 'invalid_request_error', message: 'Only Checkout Sessions with a status in ["open"].' } }],
      [200, { id: 'cs_2', status: 'complete', subscription: 'sub_1' }],
    ] as const;
    const requests: string[] = [];
    const receiver = await serveLocally(({ method, url }, response) => {
      const [status, body] = answers[requests.push(`${method} ${url}`) - 1] ?? [500, {}];
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
    const checkout = createStripeCheckout({ secretKey: 'sk_test_123', apiUrl: receiver.url });
    expect(await checkout.expireSubscriptionPage('cs_1')).to.equal(null);
    expect(await checkout.expireSubscriptionPage('cs_2')).to.equal('sub_1');
    await receiver.close();
    expect(requests).to.deep.equal([
      'POST /v1/checkout/sessions/cs_1/expire',
      'POST /v1/checkout/sessions/cs_2/expire',
      'GET /v1/checkout/sessions/cs_2',
    ]);
  });

  it('pays a whole new period at once for a dearer plan, and nothing before the next one for a cheaper plan', async () => {
    const answer = { id: 'sub_1', cancel_at: null, cancel_at_period_end: false };
    const receiver = await startRecordingReceiver((response) => response.end(JSON.stringify(answer)));
    const checkout = createStripeCheckout({ secretKey: 'sk_test_123', apiUrl: receiver.url });
    for (const startsNow of [true, false])
      await checkout.changePrice({ id: 'sub_1', item: 'si_1', price: 'p', startsNow });
    await receiver.close();
    const changes = receiver.requests.filter(({ body }) => body.length > 0);
    const sent = changes.map(({ body }) => Object.fromEntries(new URLSearchParams(body)));
    const both = {
      'items[0][id]': 'si_1',
      'items[0][price]': 'p',
      cancel_at_period_end: 'false',
      proration_behavior: 'none',
    };
    expect(sent).to.deep.equal([
      { ...both, 'billing_cycle_anchor[type]': 'now', payment_behavior: 'error_if_incomplete' },
      both,
    ]);
  });
});

describe('the end of a plan at Stripe', () => {
  const day = Date.UTC(2026, 11, 1) / 1000;
  const RENEWS = { cancel_at: null, cancel_at_period_end: false };

  for (const [how, end, isFound, renewal] of [
    ['by its period alone', { ...RENEWS, cancel_at_period_end: true }, true, ['cancel_at_period_end', 'false']],
    ['by a date alone, as in the portal', { ...RENEWS, cancel_at: day }, true, ['cancel_at', '']],
    ['by both', { cancel_at: day, cancel_at_period_end: true }, true, ['cancel_at_period_end', 'false']],
    ['by neither', RENEWS, false, ['cancel_at_period_end', 'false']],
  ] as const) {
    it(`is found and taken back if Stripe states the end ${how}`, async () => {
      const item = { id: 'si_1', price: { id: 'price_1' }, current_period_end: day };
      const answer = {
        id: 'sub_1',
        customer: 'cus_1',
        status: 'active',
        metadata: {},
        items: { data: [item] },
        ...end,
      };
      const receiver = await startRecordingReceiver((response) => response.end(JSON.stringify(answer)));
      const checkout = createStripeCheckout({ secretKey: 'sk_test_123', apiUrl: receiver.url });
      const found = await checkout.findSubscription('sub_1');
      expect(found?.endsAt).to.deep.equal(isFound ? new Date(day * 1000) : null);
      await checkout.setEnding('sub_1', false);
      await receiver.close();
      expect([...new URLSearchParams(receiver.requests.at(-1)?.body)]).to.deep.equal([renewal]);
    });
  }
});

describe('a checkout page', () => {
  it('is for the amount in cents, and names the account for the payment and for its refunds', async () => {
    const receiver = await startRecordingReceiver((response) => response.end('{"id":"cs_1"}'));
    const checkout = createStripeCheckout({ secretKey: 'sk_test_123', apiUrl: receiver.url });
    expect(await checkout.open(ORDER)).to.equal('cs_1');
    await receiver.close();
    const [request] = receiver.requests;
    const sent = new URLSearchParams(request?.body);
    expect(request?.headers['authorization']).to.equal('Bearer sk_test_123');
    expect(request?.headers['idempotency-key'], 'so that asking again after a lost answer makes no other').to.be.a(
      'string',
    );
    expect(Object.fromEntries(sent)).to.include({
      mode: 'payment',
      'line_items[0][price_data][currency]': 'usd',
      'line_items[0][price_data][unit_amount]': '2550',
      'metadata[account_id]': 'acc_1',
      'payment_intent_data[metadata][account_id]': 'acc_1',
    });
  });

  it('offers the methods that the operator names, with the client that WeChat Pay needs', async () => {
    const receiver = await startRecordingReceiver((response) => response.end('{"id":"cs_1"}'));
    const checkout = createStripeCheckout({ secretKey: 'sk_test_123', apiUrl: receiver.url });
    await checkout.open({ ...ORDER, methods: ['card', 'wechat_pay'] });
    await checkout.open(ORDER);
    await receiver.close();
    const [named, usual] = receiver.requests.map(({ body }) => Object.fromEntries(new URLSearchParams(body)));
    expect(named).to.include({
      'payment_method_types[0]': 'card',
      'payment_method_types[1]': 'wechat_pay',
      'payment_method_options[wechat_pay][client]': 'web',
    });
    expect(usual).not.to.have.property('payment_method_types[0]');
  });

  it('charges a card once for each attempt, off session, for the account, with the address that Stripe requires', async () => {
    const receiver = await startRecordingReceiver((response) => response.end('{"id":"pi_1","status":"succeeded"}'));
    const checkout = createStripeCheckout({ secretKey: 'sk_test_123', apiUrl: receiver.url });
    const { accountId, amount, returnUrl } = ORDER;
    const charge = { accountId, amount, customer: 'cus_1', paymentMethod: 'pm_1', attemptId: 'attempt-1', returnUrl };
    expect(await checkout.chargeCard(charge)).to.deep.equal({ id: 'pi_1' });
    await receiver.close();
    const [request] = receiver.requests;
    expect(request?.headers['idempotency-key']).to.equal('attempt-1');
    expect(Object.fromEntries(new URLSearchParams(request?.body))).to.deep.equal({
      amount: '2550',
      currency: 'usd',
      customer: 'cus_1',
      payment_method: 'pm_1',
      off_session: 'true',
      confirm: 'true',
      return_url: returnUrl,
      'metadata[account_id]': 'acc_1',
      'metadata[attempt_id]': 'attempt-1',
    });
  });

  for (const [what, status, body, kind] of [
    ['that the bank declines', 402, { error: { type: 'card_error', message: 'Declined.' } }, CardRefusedError],
    [
      'that Stripe no longer has',
      400,
      { error: { type: 'invalid_request_error', code: 'resource_missing' } },
      CardRefusedError,
    ],
    [
      'of an operator who may not charge cards',
      400,
      { error: { type: 'invalid_request_error', code: 'account_invalid' } },
      CheckoutUnavailableError,
    ],
    ['that needs its owner', 200, { id: 'pi_1', status: 'requires_action' }, CardRefusedError],
    ['that is still processed', 200, { id: 'pi_1', status: 'processing' }, CheckoutUnavailableError],
    ['of which Stripe says nothing', 500, { error: { type: 'api_error' } }, CheckoutUnavailableError],
  ] as const) {
    it(`distinguishes a card ${what}`, async () => {
      const receiver = await serveLocally((_request, response) =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
      );
      const checkout = createStripeCheckout({ secretKey: 'sk_test_123', apiUrl: receiver.url });
      const { accountId, amount, returnUrl } = ORDER;
      const charge = { accountId, amount, customer: 'cus_1', paymentMethod: 'pm_1', attemptId: 'attempt-2', returnUrl };
      expect(await rejectionOf(checkout.chargeCard(charge))).to.be.instanceOf(kind);
      await receiver.close();
    });
  }

  it('is null if Stripe has none with this id', async () => {
    const receiver = await serveLocally((_request, response) => {
      response.writeHead(404, { 'content-type': 'application/json' });
      response.end('{"error":{"type":"invalid_request_error","code":"resource_missing","message":"No such session"}}');
    });
    const checkout = createStripeCheckout({ secretKey: 'sk_test_123', apiUrl: receiver.url });
    expect(await checkout.find('cs_2')).to.equal(null);
    await receiver.close();
  });
});
