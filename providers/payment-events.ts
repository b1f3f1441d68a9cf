/**
 * Stripe's events: https://docs.stripe.com/webhooks. A payment belongs to the account in its metadata's `account_id`,
 * or in the `client_reference_id` of its payment link.
 */
import Joi from 'joi';
import type { default as Stripe } from 'stripe';
import { isId } from '../domain/ids.ts';
import { PICO_PER_CENT, type PicoUsd } from '../domain/money.ts';
import type { PaymentReturn } from '../domain/returned-payment.ts';

const MAX_AGE_SECONDS = 300;

/** The event is not from the payment provider, or is too old. Do nothing. */
export class UnsignedPaymentEventError extends Error {
  override readonly name = 'UnsignedPaymentEventError';
}

/** The event is genuine, but cannot be credited. */
export class UnusablePaymentEventError extends Error {
  override readonly name = 'UnusablePaymentEventError';
  /** The payment's own id; null for an event that cannot be read. */
  readonly paymentId: string | null;

  constructor(message: string, { paymentId, ...options }: ErrorOptions & { readonly paymentId?: string } = {}) {
    super(message, options);
    this.paymentId = paymentId ?? null;
  }
}

export interface Payment {
  /** The payment's own id, the same in every event about it. */
  readonly id: string;
  readonly accountId: string;
  readonly amount: PicoUsd;
  /** The attempt of an automatic top-up; null for other payments. */
  readonly attemptId: string | null;
}

/** Money of a payment that went back to the payer. */
export interface ReturnOfPayment {
  /** The payment's own id. */
  readonly id: string;
  readonly change: PaymentReturn;
}

/** A change of a subscription, or of an invoice of one. The provider knows the facts: events may come late and in any order. */
export interface PlanChange {
  readonly kind: 'subscription' | 'invoice';
  readonly id: string;
}

/** The effect of an event: a payment to credit, a returned payment, a changed plan, or the reason to ignore the event. */
export type PaymentEvent =
  | { readonly payment: Payment }
  | { readonly returned: ReturnOfPayment }
  | { readonly changed: PlanChange }
  | { readonly ignored: string };

type Metadata = Stripe.Metadata | null;
type PaymentIntent = Pick<Stripe.PaymentIntent, 'id' | 'amount_received' | 'currency'> & { metadata: Metadata };
type CheckoutSession = OfPayment &
  Pick<Stripe.Checkout.Session, 'payment_status' | 'amount_total' | 'currency' | 'metadata' | 'client_reference_id'>;
type Charge = Pick<Stripe.Charge, 'amount_refunded' | 'currency'> & OfPayment;
type Refund = Pick<Stripe.Refund, 'id' | 'amount' | 'currency' | 'status'> & OfPayment;
type Dispute = Pick<Stripe.Dispute, 'id' | 'amount' | 'currency' | 'status'> &
  OfPayment & { readonly balance_transactions: readonly Pick<Stripe.BalanceTransaction, 'amount' | 'currency'>[] };

/** Events do not expand the payment. Null if the object is not about a single payment: for example, of a subscription. */
interface OfPayment {
  readonly payment_intent: string | null;
}

/** The common fields of payment intents and checkout sessions. */
interface PaidDocument {
  readonly id: string | null;
  readonly isPaid: boolean;
  readonly cents: number;
  readonly currency: string;
  /** Undefined or empty if the payment is not for an account. */
  readonly accountId: string | undefined;
  readonly attemptId: string | null;
}

const metadataValue = Joi.string().max(255).allow('');
const metadata = Joi.object({ account_id: metadataValue, attempt_id: metadataValue }).unknown().allow(null);
const cents = Joi.number().integer().min(0).max(Number.MAX_SAFE_INTEGER).required();
const currency = Joi.string().required();
const paymentId = Joi.string().max(200);
const payment_intent = paymentId.allow(null).default(null);

const eventSchema = Joi.object<Pick<Stripe.Event, 'type' | 'created' | 'data'>>({
  type: Joi.string().required(),
  created: Joi.number().integer().min(0).default(0),
  data: Joi.object({ object: Joi.object().required() }).unknown().required(),
}).unknown();

const paymentIntentSchema = Joi.object<PaymentIntent>({
  id: paymentId.required(),
  amount_received: cents,
  currency,
  metadata,
}).unknown();

const checkoutSessionSchema = Joi.object<CheckoutSession>({
  payment_intent,
  payment_status: Joi.string().required(),
  amount_total: cents.allow(null),
  currency: currency.allow(null),
  metadata,
  client_reference_id: Joi.string().max(255).allow(null, ''),
}).unknown();

const chargeSchema = Joi.object<Charge>({ payment_intent, amount_refunded: cents, currency }).unknown();

const refundSchema = Joi.object<Refund>({
  id: paymentId.required(),
  payment_intent,
  amount: cents,
  currency,
  status: Joi.string().allow(null).default(null),
}).unknown();

const disputeSchema = Joi.object<Dispute>({
  id: paymentId.required(),
  payment_intent,
  amount: cents,
  currency,
  status: Joi.string().required(),
  balance_transactions: Joi.array()
    .items(Joi.object({ amount: Joi.number().integer().required(), currency }).unknown())
    .default([]),
}).unknown();

const changedSchema = Joi.object<{ readonly id: string }>({ id: paymentId.required() }).unknown();
const subscribedSchema = Joi.object<{ readonly subscription: string | null }>({
  subscription: paymentId.allow(null).default(null),
}).unknown();

interface ReturnedDocument {
  readonly id: string | null;
  /** The currency of the payment; null if it is unknown. */
  readonly currency: string | null;
  /** Null if no money moved. */
  readonly change: PaymentReturn | null;
}

/**
 * Reads an event, after its signature (the header `Stripe-Signature`) is checked.
 *
 * @param rawBody byte for byte, before parsing
 * @throws UnsignedPaymentEventError unless the secret signed the body at most five minutes before `nowMs`
 * @throws UnusablePaymentEventError if the event cannot be read, or has a currency other than USD
 */
export async function readPaymentEvent(
  { signatureHeader, rawBody }: { readonly signatureHeader: string; readonly rawBody: Uint8Array },
  secret: string,
  nowMs: number,
): Promise<PaymentEvent> {
  const { type, created, data } = check(eventSchema, await verifiedEvent());
  const read = Object.hasOwn(READERS, type) ? READERS[type] : undefined;
  return read ? read(data.object, created) : { ignored: `Events of the type ${type} credit nothing.` };

  async function verifiedEvent(): Promise<Stripe.Event> {
    // Most processes take no payments, and the package takes 20 MB.
    const { default: stripe } = await import('stripe');
    try {
      return stripe.webhooks.constructEvent(rawBody, signatureHeader, secret, MAX_AGE_SECONDS, undefined, nowMs);
    } catch (error) {
      if (error instanceof SyntaxError) throw new UnusablePaymentEventError('the body is not JSON', { cause: error });
      const message = `the signature is wrong or more than ${MAX_AGE_SECONDS} seconds old, or the body is a thin event`;
      throw new UnsignedPaymentEventError(message, { cause: error });
    }
  }
}

/** Reads each kind of event. @param created when the event happened, in Unix seconds */
const READERS: Readonly<Record<string, (object: unknown, created: number) => PaymentEvent>> = {
  'payment_intent.succeeded': (object) => toPayment(readPaymentIntent(object)),
  'checkout.session.completed': (object) => readSubscribed(object) ?? toPayment(readCheckoutSession(object)),
  // For payments that take days; the earlier `completed` reported the session as unpaid.
  'checkout.session.async_payment_succeeded': (object) => toPayment(readCheckoutSession(object)),
  'charge.refunded': (object, created) => toReturn(readRefundedCharge(object, created)),
  // The same failure may have all three events, or any of them.
  'charge.refund.updated': (object, created) => toReturn(readRefund(object, created)),
  'refund.updated': (object, created) => toReturn(readRefund(object, created)),
  'refund.failed': (object, created) => toReturn(readRefund(object, created)),
  'charge.dispute.created': (object) => toReturn(readDispute(object)),
  'charge.dispute.updated': (object) => toReturn(readDispute(object)),
  'charge.dispute.funds_withdrawn': (object) => toReturn(readDispute(object)),
  'charge.dispute.funds_reinstated': (object) => toReturn(readDispute(object)),
  'charge.dispute.closed': (object) => toReturn(readDispute(object)),
  'invoice.paid': (object) => readChange('invoice', object),
  'invoice.payment_failed': (object) => readChange('invoice', object),
  'customer.subscription.created': (object) => readChange('subscription', object),
  'customer.subscription.updated': (object) => readChange('subscription', object),
  'customer.subscription.deleted': (object) => readChange('subscription', object),
};

function toPayment({ id, isPaid, cents, currency, accountId, attemptId }: PaidDocument): PaymentEvent {
  if (id === null) return { ignored: 'It is not about a single payment.' };
  if (!isPaid || cents === 0) return { ignored: 'Nothing has been paid yet.' };
  if (!accountId) return { ignored: 'Its metadata names no account_id: it is not for an account.' };
  if (!isUsd(currency)) throw new UnusablePaymentEventError(`only USD is credited, not ${currency}`, { paymentId: id });
  return { payment: { id, accountId, amount: BigInt(cents) * PICO_PER_CENT, attemptId } };
}

function readChange(kind: PlanChange['kind'], object: unknown): PaymentEvent {
  return { changed: { kind, id: check(changedSchema, object).id } };
}

/** Null if the page sold no subscription. */
function readSubscribed(object: unknown): PaymentEvent | null {
  const { subscription: id } = check(subscribedSchema, object);
  return id === null ? null : { changed: { kind: 'subscription', id } };
}

function toReturn({ id, currency, change }: ReturnedDocument): PaymentEvent {
  if (id === null) return { ignored: 'It is not about a single payment.' };
  if (change === null) return { ignored: 'No money has moved.' };
  if (currency !== null && !isUsd(currency)) return { ignored: `Payments in ${currency} are never credited.` };
  return { returned: { id, change } };
}

function isUsd(currency: string): boolean {
  return currency.toLowerCase() === 'usd';
}

function readRefundedCharge(object: unknown, refundedAt: number): ReturnedDocument {
  const { payment_intent: id, amount_refunded: refunded, currency } = check(chargeSchema, object);
  return { id, currency, change: { refunded: BigInt(refunded) * PICO_PER_CENT, refundedAt } };
}

/** `charge.refunded` announces a refund at its creation. Its failure, days later, returns the money to the operator. */
function readRefund(object: unknown, failedAt: number): ReturnedDocument {
  const { id: refundId, payment_intent: id, amount, currency, status } = check(refundSchema, object);
  const failedRefund = { id: refundId, amount: BigInt(amount) * PICO_PER_CENT, failedAt };
  return { id, currency, change: status === 'failed' || status === 'canceled' ? { failedRefund } : null };
}

/**
 * A bank's inquiry, whose status starts with `warning`, takes no money yet. A dispute that Stripe prevented either gave the
 * payer the money (`resolution`) or none (`block`): https://docs.stripe.com/disputes/prevention
 *
 * A dispute may be in the currency of the payer's bank, though the payment is in USD.
 */
function readDispute(object: unknown): ReturnedDocument {
  const { id: disputeId, payment_intent: id, amount, currency, status, ...dispute } = check(disputeSchema, object);
  const isPrevented = status === 'prevented';
  const moves = dispute.balance_transactions;
  const isWithdrawn = moves.reduce((sum, { amount: moved }) => sum + moved, 0) < 0;
  const hasMoved = isPrevented ? isWithdrawn : !status.startsWith('warning');
  const cents = isUsd(currency) ? amount : withdrawnCents(moves);
  const claim = {
    id: disputeId,
    amount: cents === null ? null : BigInt(cents) * PICO_PER_CENT,
    isWon: status === 'won',
    isPrevented,
  };
  return { id, currency: null, change: hasMoved ? { dispute: claim } : null };
}

/** The cents of USD that a dispute withdrew; null if it withdrew none yet, or withdrew from a balance in another currency. */
function withdrawnCents(moves: Dispute['balance_transactions']): number | null {
  const withdrawn = moves.filter(({ amount, currency }) => amount < 0 && isUsd(currency));
  return withdrawn.length === 0 ? null : withdrawn.reduce((sum, { amount }) => sum - amount, 0);
}

function readPaymentIntent(object: unknown): PaidDocument {
  const { id, amount_received: cents, currency, metadata } = check(paymentIntentSchema, object);
  return {
    id,
    isPaid: true,
    cents,
    currency,
    accountId: metadata?.['account_id'],
    attemptId: metadata?.['attempt_id'] || null,
  };
}

function readCheckoutSession(object: unknown): PaidDocument {
  const session = check(checkoutSessionSchema, object);
  const { payment_intent: id, payment_status, amount_total, currency, client_reference_id: reference } = session;
  // Pages that sell other things have other references.
  const referenced = reference && isId('account', reference) ? reference : undefined;
  return {
    id,
    isPaid: payment_status === 'paid',
    cents: amount_total ?? 0,
    currency: currency ?? '',
    accountId: session.metadata?.['account_id'] || referenced,
    attemptId: null,
  };
}

function check<Value>(schema: Joi.ObjectSchema<Value>, document: unknown): Value {
  const { value, error } = schema.validate(document, { convert: false });
  if (error) throw new UnusablePaymentEventError(`the event is not as expected: ${error.message}`);
  return value;
}
