/** Receives announcements of payments (docs/finance.md, "Payments"). Not part of the public contract. */
import { bonusStepOf } from '../../../catalogue/site-money.ts';
import { findAccount } from '../../../db/queries/accounts.ts';
import { endTopUp } from '../../../db/queries/auto-top-ups.ts';
import { recordContradictedPayment } from '../../../db/queries/credits.ts';
import { referenceOfInvoice } from '../../../db/queries/plans.ts';
import { forgetRefusedPayment, recordRefusedPayment } from '../../../db/queries/refused-payments.ts';
import { badRequest, ServiceError } from '../../../domain/errors.ts';
import { isId } from '../../../domain/ids.ts';
import {
  type Payment,
  type PaymentEvent,
  type PlanChange,
  readPaymentEvent,
  type ReturnOfPayment,
  UnsignedPaymentEventError,
  UnusablePaymentEventError,
} from '../../../providers/payment-events.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { signedBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { text } from '../../../domain/json-schema.ts';
import { applyReturnOf, creditPayment, referenceOfPayment } from '../../../services/money/credit-once.ts';
import { applyInvoice, applySubscription } from '../../../services/money/plans.ts';
import type { ApiServices } from '../../services.ts';
import { isStorable } from '../../../domain/storable-text.ts';
import { PAYMENT_EVENT } from './present.ts';

/** Names all events that Genway cannot read, which are of a version of the provider's API that Genway does not know. */
const UNREADABLE = 'event';

export const paymentEventEndpoints = endpoints('Service', {
  /** Served only where the payment provider's secret is configured. */
  announcePayment: endpoint({
    request: 'POST /v1/payment-events',
    access: 'open',
    summary: 'Announce a payment (for the payment provider)',
    description:
      'Takes Stripe’s events and signatures. `payment_intent.succeeded` and `checkout.session.completed` in USD credit the ' +
      'account in `metadata.account_id`, once for each payment. `charge.refunded` and `charge.dispute.*` deduct the money that the ' +
      'payer got back, and a new dispute suspends the account. `refund.failed`, and `refund.updated` or `charge.refund.updated` of a ' +
      'failed or canceled refund, return its amount. `invoice.paid` and `customer.subscription.*` change the plan of an ' +
      'account. Other events are ignored.',
    headers: [
      {
        name: 'stripe-signature',
        in: 'header',
        description: '`t=<Unix seconds>,v1=<hex HMAC-SHA256 of "t.body">`; at most 5 minutes old',
        schema: text(),
      },
    ],
    body: signedBody(),
    answers: { 200: dataOf(PAYMENT_EVENT.schema, 'The outcome') },
    refusals: ['not_found', 'internal_error'],
    handle: async ({ body: readBody, context }, services) => {
      const { paymentWebhookSecret: secret } = services.money;
      if (secret === null) throw new Error('payment events are served without a secret');
      const rawBody = await readBody();
      const signatureHeader = context.get('stripe-signature');
      const event = await read({ signatureHeader, rawBody }, secret, services);
      if ('ignored' in event) return { data: PAYMENT_EVENT.present({ outcome: 'ignored', reason: event.ignored }) };
      if ('returned' in event) return { data: await debitReturn(event.returned, services) };
      if ('changed' in event) return { data: await applyChange(event.changed, services) };
      return { data: await credit(event.payment, services) };
    },
  }),
});

async function credit(payment: Payment, { database, log, site }: ApiServices) {
  const { id, accountId, amount, attemptId } = payment;
  const reference = referenceOfPayment(id);
  try {
    if (!isId('account', accountId) || !(await findAccount(database, accountId))) {
      throw new ServiceError('not_found', 'There is no such account. Check account_id in the metadata.');
    }
    const { transferId, applied, isSuspended } = await creditPayment(
      database,
      payment,
      attemptId === null ? bonusStepOf(site.payments, amount) : null,
    );
    if (isSuspended) warnOfDispute(log, id, accountId);
    // The process that charged the card may not have received the answer.
    if (attemptId !== null) await endTopUp(database, { accountId, attemptId }, null);
    await forgetRefusedPayment(database, reference);
    return PAYMENT_EVENT.present({ outcome: applied ? 'credited' : 'credited_before', transferId });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    log.warn({ paymentId: id, code: error.code }, 'could not credit a payment');
    if (error.code !== 'idempotency_conflict') {
      await reportRefusal(database, reference, error);
      throw error;
    }
    // Another announcement would change nothing: a person must resolve the conflict.
    await recordContradictedPayment(database, { accountId, amount, reference });
    return PAYMENT_EVENT.present({ outcome: 'contradicted', reason: error.message });
  }
}

/** A refused change is announced again for days, which a person can use. */
async function applyChange({ kind, id }: PlanChange, services: ApiServices) {
  if (services.money.checkout === null) {
    return PAYMENT_EVENT.present({ outcome: 'ignored', reason: 'Plans need the key of the payment provider.' });
  }
  const subject = kind === 'invoice' ? referenceOfInvoice(id) : id;
  try {
    const applied = kind === 'invoice' ? await applyInvoice(services, id) : await applySubscription(services, id);
    await forgetRefusedPayment(services.database, subject);
    if (applied === null) return PAYMENT_EVENT.present({ outcome: 'ignored', reason: 'It is not for an account.' });
    return PAYMENT_EVENT.present({ outcome: applied === 1 ? 'credited' : 'noted' });
  } catch (error) {
    if (error instanceof ServiceError) {
      services.log.warn({ kind, id, code: error.code }, 'could not apply a change of a plan');
      await reportRefusal(services.database, subject, error);
    }
    throw error;
  }
}

async function debitReturn({ id, change }: ReturnOfPayment, { database, log }: ApiServices) {
  const reference = referenceOfPayment(id);
  const returned = await database.transaction((transaction) => applyReturnOf(transaction, reference, change));
  if (!returned || returned.accountId === null) {
    return PAYMENT_EVENT.present({ outcome: 'noted', reason: 'The payment has not been credited.' });
  }
  const { accountId, taken, requiresSuspension } = returned;
  if (requiresSuspension) warnOfDispute(log, id, accountId);
  const transferId = returned.transferId ?? returned.promoTransferId;
  if (transferId === null) return PAYMENT_EVENT.present({ outcome: 'noted' });
  return PAYMENT_EVENT.present({ outcome: taken < 0n ? 'given_back' : 'taken_back', transferId });
}

function warnOfDispute(log: ApiServices['log'], paymentId: string, accountId: string): void {
  log.warn({ paymentId, accountId }, 'suspended the account of a disputed payment');
}

/** Shows a refusal to operators until a repetition of the announcement takes effect. */
async function reportRefusal(database: ApiServices['database'], subject: string, { message: reason }: Error) {
  if (isStorable(`${subject} ${reason}`)) await recordRefusedPayment(database, { subject, reason });
}

/** @throws ServiceError 400 `invalid_signature`, `bad_request` */
async function read(
  message: Parameters<typeof readPaymentEvent>[0],
  secret: string,
  services: ApiServices,
): Promise<PaymentEvent> {
  try {
    const event = await readPaymentEvent(message, secret, services.clock.nowMs());
    if (!('ignored' in event) && !isStorable(idsOf(event).join(' '))) {
      throw new UnusablePaymentEventError('an id in it has a NUL character or an unpaired surrogate');
    }
    return event;
  } catch (error) {
    if (error instanceof UnsignedPaymentEventError) {
      throw new ServiceError('invalid_signature', `The event was refused: ${error.message}.`, { status: 400 });
    }
    if (!(error instanceof UnusablePaymentEventError)) throw error;
    await reportRefusal(
      services.database,
      error.paymentId === null ? UNREADABLE : referenceOfPayment(error.paymentId),
      error,
    );
    throw badRequest(`The event was refused: ${error.message}.`);
  }
}

function idsOf(event: Exclude<PaymentEvent, { ignored: string }>): readonly string[] {
  if ('payment' in event) return [event.payment.id, event.payment.attemptId ?? ''];
  if ('changed' in event) return [event.changed.id];
  const { id, change } = event.returned;
  if ('failedRefund' in change) return [id, change.failedRefund.id];
  return 'dispute' in change ? [id, change.dispute.id] : [id];
}
