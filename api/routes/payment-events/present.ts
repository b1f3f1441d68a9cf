import type { TopUp } from '../../../db/queries/credits.ts';
import { exactly, idOf, object, oneOfTexts, optional, text } from '../../openapi/json-schema.ts';

export const PaymentEventSchema = object({
  object: exactly('payment_event'),
  outcome: oneOfTexts(['credited', 'credited_before', 'contradicted', 'ignored']),
  transfer_id: optional(idOf('transfer', 'The top-up')),
  reason: optional(text('Why nothing was credited')),
});

export function presentCreditedPayment({ transferId, applied }: TopUp) {
  return { object: 'payment_event', outcome: applied ? 'credited' : 'credited_before', transfer_id: transferId };
}

/** @param reason how the payment was credited before */
export function presentContradictedPayment(reason: string) {
  return { object: 'payment_event', outcome: 'contradicted', reason };
}

export function presentIgnoredEvent(reason: string) {
  return { object: 'payment_event', outcome: 'ignored', reason };
}
