import { expect } from 'chai';
import { endpointsFor } from '../../../../api/endpoints.ts';
import { createOpenApiDocument } from '../../../../api/openapi/document.ts';
import { CATALOGUE } from '../../../support/catalogue.ts';
import { reopenAccount } from '../../../../services/people/account-actions.ts';
import { findAccount } from '../../../../db/queries/accounts.ts';
import { claimTopUps, setAutoTopUp } from '../../../../db/queries/auto-top-ups.ts';
import { adjust, topUp } from '../../../../db/queries/credits.ts';
import { readLedgerHealth } from '../../../../db/queries/ledger-health.ts';
import { listRefusedPayments } from '../../../../db/queries/refused-payments.ts';
import { picoUsd } from '../../../../db/database.ts';
import { LEDGER_CHECKS } from '../../../../db/reconciliation/ledger-checks.ts';
import { newId } from '../../../../domain/ids.ts';
import { parseUsd } from '../../../../domain/money.ts';
import { startTestApp, useTestApp } from '../../../support/app.ts';
import { createKey, createTaskRow, finishAsFailed } from '../../../support/factories.ts';
import { call } from '../../../support/stack.ts';
import { announcePaymentEvent, signPaymentEvent } from '../../../support/payments.ts';
import { checkBooks } from '../../../support/reconciliation.ts';

const SECRET = 'whsec_the-secret-of-the-payments';

/** The check of payments reads the database only. */
interface Body {
  readonly data?: { readonly outcome: string; readonly transfer_id?: string; readonly reason?: string };
  readonly error?: { readonly code: string; readonly message: string };
}

interface Answer extends Body {
  readonly status: number;
}

type Fields = Readonly<Record<string, unknown>>;

describe('POST /v1/payment-events', () => {
  let accountId: string;
  let payments = 0;

  const app = useTestApp({ settings: { paymentWebhookSecret: SECRET } });
  beforeEach(async () => {
    ({ accountId } = await app.createAccount());
  });

  function newPaymentId(): string {
    payments += 1;
    return `pi_${payments}`;
  }

  /** A payment of 12.34 USD, as the payment provider's event of its success. */
  function intentSucceeded(changes: Fields = {}): Fields {
    const object = {
      id: newPaymentId(),
      object: 'payment_intent',
      amount: 1_234,
      amount_received: 1_234,
      currency: 'usd',
      metadata: { account_id: accountId },
      ...changes,
    };
    return { id: 'evt_1', object: 'event', type: 'payment_intent.succeeded', livemode: true, data: { object } };
  }

  /** The same payment, as the event of its checkout page. */
  function checkoutCompleted(changes: Fields = {}, type = 'checkout.session.completed'): Fields {
    const object = {
      id: 'cs_1',
      object: 'checkout.session',
      mode: 'payment',
      payment_intent: newPaymentId(),
      payment_status: 'paid',
      amount_total: 1_234,
      currency: 'usd',
      metadata: { account_id: accountId },
      ...changes,
    };
    return { id: 'evt_2', object: 'event', type, data: { object } };
  }

  /** @param cents total of all refunds of the payment */
  function refunded(paymentId: string | null, cents: number, changes: Fields = {}, created = 0): Fields {
    const object = { id: 'ch_1', payment_intent: paymentId, amount_refunded: cents, currency: 'usd', ...changes };
    return { id: 'evt_3', object: 'event', type: 'charge.refunded', created, data: { object } };
  }

  /** The event of a refund of 10 USD. */
  function refundChanged(paymentId: string | null, { type = 'refund.failed', status = 'failed', created = 0 }): Fields {
    const object = { id: `re_${paymentId}`, object: 'refund', amount: 1_000, charge: 'ch_1', currency: 'usd', status };
    return { id: 'evt_5', object: 'event', type, created, data: { object: { ...object, payment_intent: paymentId } } };
  }

  /** A dispute of 10 USD. */
  function disputed(paymentId: string, { status = 'needs_response', ...changes }: Fields = {}): Fields {
    const dispute = { id: `dp_${paymentId}`, payment_intent: paymentId, amount: 1_000, currency: 'usd', status };
    const object = { ...dispute, ...changes };
    const type = status === 'won' ? 'charge.dispute.closed' : 'charge.dispute.created';
    return { id: 'evt_4', object: 'event', type, data: { object } };
  }

  async function post(body: string, headers: Record<string, string>): Promise<Answer> {
    return readAnswer(await fetch(`${app.baseUrl}/v1/payment-events`, { method: 'POST', body, headers }));
  }

  function sign(body: string, { secret = SECRET, ageSeconds = 0 } = {}): string {
    return signPaymentEvent(body, secret, { ageSeconds });
  }

  async function announce(event: unknown): Promise<Answer> {
    return readAnswer(await announcePaymentEvent(app.baseUrl, SECRET, event));
  }

  async function readAnswer(response: Response): Promise<Answer> {
    // Each test asserts the fields that it reads.
    return { status: response.status, ...((await response.json()) as Body) };
  }

  async function credited(): Promise<unknown[]> {
    const rows = await app
      .database<{ amount: string; reference: string; account_id: string; kind: string }>('transfers')
      .where({ account_id: accountId, kind: 'topup' })
      .select('amount', 'reference');
    return rows.map(({ amount, reference }) => [amount, reference]);
  }

  for (const [kind, event] of [
    ['payment_intent.succeeded', () => intentSucceeded({ id: 'pi_of_intent' })],
    ['checkout.session.completed', () => checkoutCompleted({ payment_intent: 'pi_of_checkout' })],
    [
      'checkout.session.async_payment_succeeded',
      () => checkoutCompleted({ payment_intent: 'pi_of_slow' }, 'checkout.session.async_payment_succeeded'),
    ],
  ] as const) {
    it(`credits exactly the amount that ${kind} reports`, async () => {
      // contract 4.12:6
      const { status, data } = await announce(event());
      expect([status, data?.outcome]).to.deep.equal([200, 'credited']);
      expect(data?.transfer_id).to.match(/^tr_/);
      const [row] = await credited();
      expect(row).to.deep.equal(['12340000000000', `payment:pi_of_${/intent|slow|checkout/.exec(String(row))?.[0]}`]);
    });
  }

  it('credits a payment once, however often and by whichever events it is announced', async () => {
    const id = newPaymentId();
    const events = [intentSucceeded({ id }), checkoutCompleted({ payment_intent: id }), intentSucceeded({ id })];
    const answers = await Promise.all(events.map(announce));
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200]);
    expect(answers.map(({ data }) => data?.outcome)).to.have.members([
      'credited',
      'credited_before',
      'credited_before',
    ]);
    expect(await credited()).to.deep.equal([['12340000000000', `payment:${id}`]]);
  });

  it('completes the attempt of the automatic top-up whose outcome is unknown', async () => {
    const agreed = { threshold: parseUsd(20), amount: parseUsd('12.34'), customer: 'cus_1', paymentMethod: 'pm_1' };
    await setAutoTopUp(app.database, { accountId, ...agreed });
    const attempt = (await claimTopUps(app.database, 10)).find((claimed) => claimed.accountId === accountId);
    const { accountId: other } = await app.createAccount();
    const [theirs, own] = [other, accountId].map((account_id) =>
      intentSucceeded({ metadata: { account_id, attempt_id: attempt?.attemptId } }),
    );
    const attemptNow = async () =>
      (await app.database('auto_top_ups').where({ account_id: accountId }).select('attempt_id', 'paid_count'))[0];
    await announce(theirs);
    expect(await attemptNow()).to.deep.equal({ attempt_id: attempt?.attemptId, paid_count: 0 });
    const answers = [await announce(own), await announce(own)];
    expect(answers.map(({ data }) => data?.outcome)).to.deep.equal(['credited', 'credited_before']);
    expect(await attemptNow()).to.deep.equal({ attempt_id: null, paid_count: 1 });
  });

  it('shows operators a refused payment with its reason, until it is credited by the provider or by hand', async () => {
    await app.database('refused_payments').delete();
    const refusals = () => listRefusedPayments(app.database, 10);
    const [repeated, byHand, euros] = [newPaymentId(), newPaymentId(), newPaymentId()];
    for (const id of [repeated, repeated, byHand]) {
      await announce(intentSucceeded({ id, metadata: { account_id: newId('account') } }));
    }
    await announce(intentSucceeded({ id: euros, currency: 'eur' }));
    const reason = 'There is no such account. Check account_id in the metadata.';
    expect(await refusals()).to.deep.equal([
      { subject: `payment:${euros}`, reason: 'only USD is credited, not eur' },
      { subject: `payment:${byHand}`, reason },
      { subject: `payment:${repeated}`, reason },
    ]);
    await announce(intentSucceeded({ id: repeated }));
    await topUp(app.database, { accountId, amount: parseUsd(1), reference: `payment:${byHand}` });
    expect((await refusals()).map(({ subject }) => subject)).to.deep.equal([`payment:${euros}`]);
    expect((await readLedgerHealth(app.database)).refusedPayments).to.equal(1);
  });

  it('credits nothing for a payment that an operator has credited by hand under its reference', async () => {
    const id = newPaymentId();
    await fetch(`${app.baseUrl}/admin/v1/accounts/${accountId}/topups`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ amount_usd: 12.34, reference: `payment:${id}` }),
    });
    expect((await announce(intentSucceeded({ id }))).data?.outcome).to.equal('credited_before');
    expect(await credited()).to.have.length(1);
  });

  it('accepts a payment that was credited with another amount or to another account, and reports it as a finding', async () => {
    const id = newPaymentId();
    await announce(intentSucceeded({ id }));
    const otherAmount = await announce(intentSucceeded({ id, amount_received: 9 }));
    const { accountId: other } = await app.createAccount();
    const otherAccount = await announce(intentSucceeded({ id, metadata: { account_id: other } }));
    const again = await announce(intentSucceeded({ id, amount_received: 9 }));
    for (const { status, data } of [otherAmount, otherAccount, again]) {
      expect([status, data?.outcome]).to.deep.equal([200, 'contradicted']);
    }
    expect(await credited()).to.deep.equal([['12340000000000', `payment:${id}`]]);
    const check = LEDGER_CHECKS.filter(({ name }) => name === 'payments');
    const { findings } = await checkBooks(app.database, check);
    expect(findings.map(({ detail }) => detail)).to.have.members([
      `payment:${id} was announced with 90000000000 for ${accountId}, but credited with 12340000000000 to ${accountId}`,
      `payment:${id} was announced with 12340000000000 for ${other}, but credited with 12340000000000 to ${accountId}`,
    ]);
  });

  describe('an invalid event', () => {
    async function expectUnsigned(signature: (body: string) => string | undefined): Promise<void> {
      const body = JSON.stringify(intentSucceeded());
      const header = signature(body);
      const answer = await post(body, header === undefined ? {} : { 'stripe-signature': header });
      expect([answer.status, answer.error?.code]).to.deep.equal([400, 'invalid_signature']);
      expect(await credited()).to.deep.equal([]);
    }

    for (const [what, signature] of [
      ['without a signature', () => undefined],
      ['signed with another secret', (body) => sign(body, { secret: 'whsec_guessed' })], // contract 7.2:24
      ['whose body was changed', (body) => sign(`${body} `)],
      ['whose time was changed', (body) => sign(body).replace(/t=\d+/, `t=${Math.floor(Date.now() / 1000) + 1}`)],
      ['that is more than five minutes old', (body) => sign(body, { ageSeconds: 302 })],
      ['signed in a scheme of old', (body) => sign(body).replace('v1=', 'v0=')],
      ['with half of a signature', (body) => sign(body).slice(0, -32)],
      ['with a signature that is none', () => 't=,v1=,=,v1'],
    ] as const satisfies readonly (readonly [string, (body: string) => string | undefined])[]) {
      it(`refuses with 400 an event ${what}`, () => expectUnsigned(signature));
    }

    for (const [what, event] of [
      ['that is no object', () => []],
      ['without a type', () => ({ data: { object: {} } })],
      ['without an amount', () => intentSucceeded({ amount_received: undefined })],
      ['of a fraction of a cent', () => intentSucceeded({ amount_received: 0.5 })],
      ['of less than nothing', () => checkoutCompleted({ amount_total: -1 })],
      ['whose payment has a NUL character', () => intentSucceeded({ id: 'pi_\0' })],
      [
        'whose attempt has a NUL character',
        () => intentSucceeded({ metadata: { account_id: accountId, attempt_id: '\0' } }),
      ],
      ['whose payment has half a character', () => checkoutCompleted({ payment_intent: 'pi_\ud83d' })],
      ['in another currency', () => intentSucceeded({ currency: 'eur' })],
    ] as const satisfies readonly (readonly [string, () => unknown])[]) {
      it(`refuses with 400 an event ${what}`, async () => {
        const { status, error } = await announce(event());
        expect([status, error?.code]).to.deep.equal([400, 'bad_request']);
        expect(await credited()).to.deep.equal([]);
      });
    }

    it('refuses with 400 a signed event that is not JSON', async () => {
      const answer = await post('{', { 'stripe-signature': sign('{') });
      expect([answer.status, answer.error?.code]).to.deep.equal([400, 'bad_request']);
    });
  });

  it('accepts any of several signatures, as while the secret is being changed', async () => {
    const body = JSON.stringify(intentSucceeded());
    const [timestamp, signature] = sign(body).split(',');
    const other = `v1=${'0'.repeat(64)}`;
    const answer = await post(body, { 'stripe-signature': `${timestamp},${other},${signature},v0=abc` });
    expect(answer.status).to.equal(200);
  });

  it('accepts an event that is nearly five minutes old', async () => {
    const body = JSON.stringify(intentSucceeded());
    expect((await post(body, { 'stripe-signature': sign(body, { ageSeconds: 290 }) })).status).to.equal(200);
  });

  for (const id of [newId('account'), 'acc_1', '\0']) {
    it(`answers 404 for the account ${JSON.stringify(id.slice(0, 5))}, which does not exist, and logs it`, async () => {
      const paymentId = newPaymentId();
      const { status, error } = await announce(intentSucceeded({ id: paymentId, metadata: { account_id: id } }));
      expect([status, error?.code]).to.deep.equal([404, 'not_found']);
      expect(app.logged()).to.match(new RegExp(`"paymentId":"${paymentId}".*"could not credit a payment"`));
    });
  }

  for (const [what, event] of [
    ['of another type', () => ({ type: 'charge.updated', data: { object: {} } })],
    ['of a refund of no single payment', () => refunded(null, 1)],
    ['of a refund in another currency', () => refunded('pi_eur', 1, { currency: 'eur' })],
    ['of a refund that did not fail', () => refundChanged('pi_sent', { type: 'refund.updated', status: 'succeeded' })],
    ['of a failed refund of no single payment', () => refundChanged(null, {})],
    ["of a bank's inquiry", () => disputed('pi_asked', { status: 'warning_needs_response' })],
    ['of a type that only objects have', () => ({ type: 'constructor', data: { object: {} } })],
    ['of a payment that names no account', () => intentSucceeded({ metadata: {} })],
    ['of a payment without metadata', () => intentSucceeded({ metadata: null })],
    [
      'of a checkout with a reference of another shop',
      () => checkoutCompleted({ metadata: null, client_reference_id: 'order-7' }),
    ],
    ['of a checkout that is not paid yet', () => checkoutCompleted({ payment_status: 'unpaid' })],
    ['of a checkout that costs nothing', () => checkoutCompleted({ amount_total: 0 })],
    ['of a subscription', () => checkoutCompleted({ mode: 'subscription', payment_intent: null })],
  ] as const satisfies readonly (readonly [string, () => unknown])[]) {
    it(`accepts and ignores an event ${what}`, async () => {
      const { status, data } = await announce(event());
      expect([status, data?.outcome]).to.deep.equal([200, 'ignored']);
      expect(data?.reason).to.be.a('string').that.is.not.equal('');
      expect(await credited()).to.deep.equal([]);
    });
  }

  it('credits the account whose id was in the link to the checkout', async () => {
    const { status, data } = await announce(checkoutCompleted({ metadata: {}, client_reference_id: accountId }));
    expect([status, data?.outcome]).to.deep.equal([200, 'credited']);
  });

  describe('a payment that was returned to its payer', () => {
    /** @param count videos for 1 USD each, which hold their prices */
    async function createTasksOf(count: number): Promise<readonly string[]> {
      const key = await createKey(app.database, { id: accountId });
      const ids = [];
      for (let index = 0; index < count; index += 1) ids.push((await createTaskRow(app.database, key)).id);
      return ids;
    }

    async function creditedPayment(): Promise<string> {
      const id = newPaymentId();
      await announce(intentSucceeded({ id }));
      return id;
    }

    const outcomeOf = async (event: Fields) => (await announce(event)).data?.outcome;
    const fundedNow = async () => (await findAccount(app.database, accountId))?.fundedAvailable;
    const debtNow = async () => {
      const row = await app.database<{ id: string; debt: string }>('accounts').where({ id: accountId }).first('debt');
      return picoUsd(row?.debt ?? '');
    };
    const isSuspended = async () => (await findAccount(app.database, accountId))?.suspendedAt !== null;

    it('debits each refund once, however often and late it is announced', async () => {
      const id = await creditedPayment();
      expect(await outcomeOf(refunded(id, 200))).to.equal('taken_back');
      expect(await outcomeOf(refunded(id, 200))).to.equal('noted');
      expect(await outcomeOf(refunded(id, 500))).to.equal('taken_back');
      expect(await outcomeOf(refunded(id, 200))).to.equal('noted');
      expect(await fundedNow()).to.equal(parseUsd('7.34'));
      const answers = await Promise.all(Array.from({ length: 8 }, () => outcomeOf(refunded(id, 1_234))));
      expect(answers.filter((outcome) => outcome === 'taken_back')).to.have.length(1);
      expect(await fundedNow()).to.equal(0n);
    });

    for (const [type, status] of [
      ['refund.failed', 'failed'],
      ['refund.updated', 'failed'],
      ['refund.updated', 'canceled'],
      ['charge.refund.updated', 'failed'],
      ['charge.refund.updated', 'canceled'],
    ] as const) {
      it(`returns the amount of a refund that ${type} reports as ${status}`, async () => {
        const id = await creditedPayment();
        expect(await outcomeOf(refunded(id, 1_000, {}, 100))).to.equal('taken_back');
        const failed = refundChanged(id, { type, status, created: 200 });
        expect(await outcomeOf(failed)).to.equal('given_back');
        expect(await outcomeOf(failed)).to.equal('noted');
        expect(await fundedNow()).to.equal(parseUsd('12.34'));
      });
    }

    it('returns a failed refund once, in any order of the events, and debits its repetition', async () => {
      const id = await creditedPayment();
      const [first, failed, again] = [
        refunded(id, 1_000, {}, 100),
        refundChanged(id, { created: 200 }),
        refunded(id, 1_000, {}, 300),
      ];
      expect(await outcomeOf(failed)).to.equal('noted');
      expect(await outcomeOf(first)).to.equal('noted');
      expect(await fundedNow()).to.equal(parseUsd('12.34'));
      expect(await outcomeOf(again)).to.equal('taken_back');
      const answers = await Promise.all([failed, first, failed, again].map(outcomeOf));
      expect(new Set(answers)).to.deep.equal(new Set(['noted']));
      expect(await fundedNow()).to.equal(parseUsd('2.34'));
      const checks = LEDGER_CHECKS.filter(({ name }) => name !== 'payments');
      expect((await checkBooks(app.database, checks)).findings).to.deep.equal([]);
    });

    it('forgives the debt of a refund that failed, and returns only what it had debited', async () => {
      const id = await creditedPayment();
      await adjust(app.database, { accountId, amount: -parseUsd(10), author: 'ada', reason: 'spent' });
      expect(await outcomeOf(refunded(id, 1_000, {}, 100))).to.equal('taken_back');
      expect([await fundedNow(), await debtNow()]).to.deep.equal([0n, parseUsd('7.66')]);
      expect(await outcomeOf(refundChanged(id, { created: 200 }))).to.equal('given_back');
      expect([await fundedNow(), await debtNow()]).to.deep.equal([parseUsd('2.34'), 0n]);
      const [last] = await app
        .database('transfers')
        .where({ account_id: accountId, kind: 'adjustment' })
        .orderBy('id', 'desc')
        .pluck('reason');
      expect(last).to.equal(`a refund of payment:${id} failed`);
    });

    it('debits a refund that was announced before the payment', async () => {
      const id = newPaymentId();
      expect(await outcomeOf(refunded(id, 1_000))).to.equal('noted');
      expect(await outcomeOf(intentSucceeded({ id }))).to.equal('credited');
      expect(await fundedNow()).to.equal(parseUsd('2.34'));
    });

    it('suspends the account of a new dispute once, and returns the debited amount when the dispute is won', async () => {
      const id = await creditedPayment();
      expect(await outcomeOf(disputed(id))).to.equal('taken_back');
      expect([await fundedNow(), await isSuspended()]).to.deep.equal([parseUsd('2.34'), true]);
      await reopenAccount(app.database, accountId, { author: 'ada', reason: 'she called' });
      expect(await outcomeOf(disputed(id, { status: 'under_review' }))).to.equal('noted');
      expect(await outcomeOf(disputed(id, { status: 'won' }))).to.equal('given_back');
      expect(await outcomeOf(disputed(id))).to.equal('noted');
      expect([await fundedNow(), await isSuspended()]).to.deep.equal([parseUsd('12.34'), false]);
    });

    it('debits a prevented dispute by what the payer got, and suspends nobody', async () => {
      const blocked = await creditedPayment();
      expect(await outcomeOf(disputed(blocked, { status: 'prevented', balance_transactions: [] }))).to.equal('ignored');
      expect([await fundedNow(), await isSuspended()]).to.deep.equal([parseUsd('12.34'), false]);
      const withdrawn = { status: 'prevented', balance_transactions: [{ amount: -1_000, currency: 'usd' }] };
      expect(await outcomeOf(disputed(blocked, withdrawn))).to.equal('taken_back');
      expect(await outcomeOf(disputed(blocked, withdrawn))).to.equal('noted');
      expect([await fundedNow(), await isSuspended()]).to.deep.equal([parseUsd('2.34'), false]);
    });

    it('debits a dispute in another currency by the USD that it withdrew, and by the whole payment until it withdrew some', async () => {
      const id = await creditedPayment();
      const claim = { amount: 920, currency: 'eur' };
      expect(await outcomeOf(disputed(id, claim))).to.equal('taken_back');
      expect([await fundedNow(), await isSuspended()]).to.deep.equal([0n, true]);
      const withdrawn = { ...claim, balance_transactions: [{ amount: -1_000, currency: 'usd' }] };
      expect(await outcomeOf(disputed(id, withdrawn))).to.equal('given_back');
      expect(await outcomeOf(disputed(id, claim))).to.equal('noted');
      expect(await fundedNow()).to.equal(parseUsd('2.34'));
      const reinstated = [...withdrawn.balance_transactions, { amount: 1_000, currency: 'usd' }];
      expect(await outcomeOf(disputed(id, { ...claim, status: 'won', balance_transactions: reinstated }))).to.equal(
        'given_back',
      );
      expect(await fundedNow()).to.equal(parseUsd('12.34'));
    });

    it('suspends the account once when a disputed payment is credited, unless the dispute was won', async () => {
      const id = newPaymentId();
      expect(await outcomeOf(disputed(id))).to.equal('noted');
      expect([await outcomeOf(intentSucceeded({ id })), await isSuspended()]).to.deep.equal(['credited', true]);
      expect(await fundedNow()).to.equal(parseUsd('2.34'));
      await reopenAccount(app.database, accountId, { author: 'ada', reason: 'she called' });
      expect([await outcomeOf(intentSucceeded({ id })), await isSuspended()]).to.deep.equal(['credited_before', false]);
      const won = newPaymentId();
      await announce(disputed(won));
      await announce(disputed(won, { status: 'won' }));
      expect([await outcomeOf(intentSucceeded({ id: won })), await isSuspended()]).to.deep.equal(['credited', false]);
    });

    it('suspends the account when a disputed payment is credited by hand, and not again when it is announced', async () => {
      const id = newPaymentId();
      await announce(disputed(id));
      const { status } = await call(`${app.baseUrl}/admin/v1/accounts/${accountId}/topups`, {
        key: app.adminToken,
        body: { amount_usd: '12.34', reference: `payment:${id}` },
      });
      expect([status, await isSuspended(), await fundedNow()]).to.deep.equal([201, true, parseUsd('2.34')]);
      await reopenAccount(app.database, accountId, { author: 'ada', reason: 'she called' });
      expect(await outcomeOf(intentSucceeded({ id }))).to.equal('credited_before');
      expect(await outcomeOf(disputed(id))).to.equal('noted');
      expect(await isSuspended()).to.equal(false);
    });

    it('has the same outcome whether the payment or its dispute is announced first, or both at once', async () => {
      for (let round = 0; round < 10; round++) {
        const id = newPaymentId();
        const before = (await fundedNow()) ?? 0n;
        const outcomes = await Promise.all([outcomeOf(intentSucceeded({ id })), outcomeOf(disputed(id))]);
        expect(outcomes[0]).to.equal('credited');
        expect(await fundedNow()).to.equal(before + parseUsd('2.34'));
        expect(await isSuspended()).to.equal(true);
        await reopenAccount(app.database, accountId, { author: 'ada', reason: 'she called' });
      }
    });

    it('debits money that returns from holds, and leaves the rest to the account', async () => {
      const id = await creditedPayment();
      const taskIds = await createTasksOf(11);
      expect(await outcomeOf(refunded(id, 1_000))).to.equal('taken_back');
      expect([await fundedNow(), await debtNow()]).to.deep.equal([0n, parseUsd('8.66')]);
      for (const taskId of taskIds.slice(0, 8)) await finishAsFailed(app.database, { id: taskId });
      expect([await fundedNow(), await debtNow()]).to.deep.equal([0n, parseUsd('0.66')]);
      await Promise.all(taskIds.slice(8).map((taskId) => finishAsFailed(app.database, { id: taskId })));
      expect([await fundedNow(), await debtNow()]).to.deep.equal([parseUsd('2.34'), 0n]);
      const checks = LEDGER_CHECKS.filter(({ name }) => name !== 'payments');
      expect((await checkBooks(app.database, checks)).findings).to.deep.equal([]);
    });

    it('debits the next payment and a correction by the rest, and credits a won dispute as far as nothing else is owed', async () => {
      const spent = await creditedPayment();
      await adjust(app.database, { accountId, amount: -parseUsd('12.34'), author: 'ada', reason: 'spent' });
      expect(await outcomeOf(refunded(spent, 1_234))).to.equal('noted');
      const id = await creditedPayment();
      expect([await fundedNow(), await debtNow()]).to.deep.equal([0n, 0n]);
      await adjust(app.database, { accountId, amount: parseUsd(10), author: 'ada', reason: 'kindness' });
      expect(await outcomeOf(disputed(id))).to.equal('taken_back');
      expect(await outcomeOf(refunded(id, 234))).to.equal('noted');
      expect([await fundedNow(), await debtNow()]).to.deep.equal([0n, parseUsd('2.34')]);
      expect(await outcomeOf(disputed(id, { status: 'won' }))).to.equal('given_back');
      expect([await fundedNow(), await debtNow()]).to.deep.equal([parseUsd('7.66'), 0n]);
    });

    it('debits the remaining balance of the account, and reports the rest as a finding', async () => {
      const id = await creditedPayment();
      await adjust(app.database, { accountId, amount: -parseUsd(10), author: 'ada', reason: 'spent' });
      expect(await outcomeOf(refunded(id, 1_234))).to.equal('taken_back');
      expect(await fundedNow()).to.equal(0n);
      const check = LEDGER_CHECKS.filter(({ name }) => name === 'returned_payments');
      const { findings } = await checkBooks(app.database, check);
      expect(findings.map(({ detail }) => detail)).to.deep.equal([
        `payment:${id}: 12340000000000 returned, 2340000000000 taken back`,
      ]);
    });
  });

  it('the endpoint is in the API description where it is served', async () => {
    const served: unknown = await (await fetch(`${app.baseUrl}/openapi.json`)).json();
    expect(served).to.have.nested.property('paths./v1/payment-events.post');
    const document = createOpenApiDocument(endpointsFor({ canTakePayments: true }), CATALOGUE);
    expect(served).to.deep.equal(JSON.parse(JSON.stringify(document)));
  });
});

describe('without the secret of a payment provider', () => {
  it('there is no POST /v1/payment-events', async () => {
    // contract 4.12:6
    const app = await startTestApp();
    const response = await fetch(`${app.baseUrl}/v1/payment-events`, { method: 'POST', body: '{}' });
    expect(response.status).to.equal(404);
    expect(await response.json()).to.have.nested.property('error.code', 'not_found');
    await app.stop();
  });
});
