/**
 * A payment provider's events, signed and shaped like Stripe's: https://docs.stripe.com/webhooks and
 * https://docs.stripe.com/api/events. A payment belongs to the account in its metadata's `account_id`, or in the
 * `client_reference_id` of its payment link.
 */
import { createHmac } from 'node:crypto';
import Joi from 'joi';
import { isId } from '../domain/ids.ts';
import { PICO_PER_CENT, type PicoUsd } from '../domain/money.ts';
import type { PaymentReturn } from '../domain/returned-payment.ts';
import { isSameSecret } from '../domain/same-secret.ts';

const MAX_AGE_SECONDS = 300;

/** The event is not from the payment provider, or is too old. Do nothing. */
export class UnsignedPaymentEventError extends Error {
  override readonly name = 'UnsignedPaymentEventError';
}

/** The event is genuine, but cannot be credited. */
export class UnusablePaymentEventError extends Error {
  override readonly name = 'UnusablePaymentEventError';
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

/** The effect of an event: a payment to credit, a returned payment, or the reason to ignore the event. */
export type PaymentEvent =
  | { readonly payment: Payment }
  | { readonly returned: ReturnOfPayment }
  | { readonly ignored: string };

/**
 * Checks the header `Stripe-Signature`: `t=<Unix seconds>,v1=<hex HMAC-SHA256 of "t.body">`, with several `v1` while
 * the secret is being replaced. Ignores other schemes in the header.
 *
 * @param rawBody byte for byte, before parsing
 * @throws UnsignedPaymentEventError
 */
export function verifyPaymentEvent(
  { signatureHeader, rawBody }: { readonly signatureHeader: string; readonly rawBody: Uint8Array },
  secret: string,
  nowMs: number = Date.now(),
): void {
  const parts = signatureHeader.split(',').map((part) => part.trim().split('=', 2));
  const valuesOf = (scheme: string) => parts.flatMap(([name, value = '']) => (name === scheme ? [value] : []));
  const [timestamp = ''] = valuesOf('t');
  const expected = createHmac('sha256', secret).update(`${timestamp}.`).update(rawBody).digest();
  const isSigned = valuesOf('v1').some((signature) => isSameSecret(expected, Buffer.from(signature, 'hex')));
  if (!isSigned) throw new UnsignedPaymentEventError('the signature does not match the body');
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(nowMs / 1000 - Number(timestamp)) > MAX_AGE_SECONDS) {
    throw new UnsignedPaymentEventError(`the timestamp is more than ${MAX_AGE_SECONDS} seconds away`);
  }
}

interface EventDocument {
  readonly type: string;
  readonly data: { readonly object: unknown };
}

interface Metadata {
  readonly account_id?: string;
  readonly attempt_id?: string;
}

interface PaymentIntentDocument {
  readonly id: string;
  readonly amount_received: number;
  readonly currency: string;
  readonly metadata: Metadata;
}

interface CheckoutSessionDocument {
  /** Null if the session is not a single payment: for example, a subscription. */
  readonly payment_intent: string | null;
  readonly payment_status: string;
  readonly amount_total?: number | null;
  readonly currency?: string | null;
  readonly metadata: Metadata;
  /** The reference in the payment link. */
  readonly client_reference_id?: string | null;
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
const metadata = Joi.object({ account_id: metadataValue, attempt_id: metadataValue }).unknown().empty(null).default({});
const cents = Joi.number().integer().min(0).max(Number.MAX_SAFE_INTEGER).required();
const currency = Joi.string().required();
const paymentId = Joi.string().max(200);

const eventSchema = Joi.object<EventDocument>({
  type: Joi.string().required(),
  data: Joi.object({ object: Joi.object().required() }).unknown().required(),
}).unknown();

const paymentIntentSchema = Joi.object<PaymentIntentDocument>({
  id: paymentId.required(),
  amount_received: cents,
  currency,
  metadata,
}).unknown();

const checkoutSessionSchema = Joi.object<CheckoutSessionDocument>({
  payment_intent: paymentId.allow(null).default(null),
  payment_status: Joi.string().required(),
  amount_total: cents.allow(null),
  currency: currency.allow(null),
  metadata,
  client_reference_id: Joi.string().max(255).allow(null, ''),
}).unknown();

interface ChargeDocument {
  readonly payment_intent: string | null;
  readonly amount_refunded: number;
  readonly currency: string;
}

/** https://docs.stripe.com/api/charges/object */
const chargeSchema = Joi.object<ChargeDocument>({
  payment_intent: paymentId.allow(null).default(null),
  amount_refunded: cents,
  currency,
}).unknown();

interface DisputeDocument {
  readonly id: string;
  readonly payment_intent: string | null;
  readonly amount: number;
  readonly currency: string;
  readonly status: string;
}

/** https://docs.stripe.com/api/disputes/object */
const disputeSchema = Joi.object<DisputeDocument>({
  id: paymentId.required(),
  payment_intent: paymentId.allow(null).default(null),
  amount: cents,
  currency,
  status: Joi.string().required(),
}).unknown();

interface ReturnedDocument {
  readonly id: string | null;
  readonly currency: string;
  /** Null if no money moved. */
  readonly change: PaymentReturn | null;
}

/** Reads each kind of event. */
const READERS: Readonly<Record<string, (object: unknown) => PaymentEvent>> = {
  'payment_intent.succeeded': (object) => toPayment(readPaymentIntent(object)),
  'checkout.session.completed': (object) => toPayment(readCheckoutSession(object)),
  // For payments that take days; the earlier `completed` reported the session as unpaid.
  'checkout.session.async_payment_succeeded': (object) => toPayment(readCheckoutSession(object)),
  'charge.refunded': (object) => toReturn(readRefundedCharge(object)),
  'charge.dispute.created': (object) => toReturn(readDispute(object)),
  'charge.dispute.updated': (object) => toReturn(readDispute(object)),
  'charge.dispute.funds_withdrawn': (object) => toReturn(readDispute(object)),
  'charge.dispute.funds_reinstated': (object) => toReturn(readDispute(object)),
  'charge.dispute.closed': (object) => toReturn(readDispute(object)),
};

/**
 * Reads an event after {@link verifyPaymentEvent} has checked its signature.
 *
 * @throws UnusablePaymentEventError if the event cannot be read or has a currency other than USD
 */
export function readPaymentEvent(document: unknown): PaymentEvent {
  const { type, data } = check(eventSchema, document);
  const read = Object.hasOwn(READERS, type) ? READERS[type] : undefined;
  return read ? read(data.object) : { ignored: `Events of the type ${type} credit nothing.` };
}

function toPayment({ id, isPaid, cents, currency, accountId, attemptId }: PaidDocument): PaymentEvent {
  if (id === null) return { ignored: 'It is not about a single payment.' };
  if (!isPaid || cents === 0) return { ignored: 'Nothing has been paid yet.' };
  if (!accountId) return { ignored: 'Its metadata names no account_id: it is not for an account.' };
  if (!isUsd(currency)) throw new UnusablePaymentEventError(`only USD is credited, not ${currency}`);
  return { payment: { id, accountId, amount: BigInt(cents) * PICO_PER_CENT, attemptId } };
}

function toReturn({ id, currency, change }: ReturnedDocument): PaymentEvent {
  if (id === null) return { ignored: 'It is not about a single payment.' };
  if (change === null) return { ignored: 'No money has moved.' };
  if (!isUsd(currency)) return { ignored: `Payments in ${currency} are never credited.` };
  return { returned: { id, change } };
}

function isUsd(currency: string): boolean {
  return currency.toLowerCase() === 'usd';
}

function readRefundedCharge(object: unknown): ReturnedDocument {
  const { payment_intent: id, amount_refunded: refunded, currency } = check(chargeSchema, object);
  return { id, currency, change: { refunded: BigInt(refunded) * PICO_PER_CENT } };
}

/** A bank's inquiry, whose status starts with `warning`, takes no money yet. */
function readDispute(object: unknown): ReturnedDocument {
  const { id: disputeId, payment_intent: id, amount, currency, status } = check(disputeSchema, object);
  const dispute = { id: disputeId, amount: BigInt(amount) * PICO_PER_CENT, isWon: status === 'won' };
  return { id, currency, change: status.startsWith('warning') ? null : { dispute } };
}

function readPaymentIntent(object: unknown): PaidDocument {
  const { id, amount_received: cents, currency, metadata } = check(paymentIntentSchema, object);
  return {
    id,
    isPaid: true,
    cents,
    currency,
    accountId: metadata.account_id,
    attemptId: metadata.attempt_id || null,
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
    accountId: session.metadata.account_id || referenced,
    attemptId: null,
  };
}

function check<Value>(schema: Joi.ObjectSchema<Value>, document: unknown): Value {
  const { value, error } = schema.validate(document, { convert: false });
  if (error) throw new UnusablePaymentEventError(`the event is not as expected: ${error.message}`);
  return value;
}
