import type { TopUp } from '../../../db/queries/credits.ts';
import { exactly, idOf, object, oneOfTexts, optional, text } from '../../openapi/json-schema.ts';

export const PaymentEventSchema = object({
  object: exactly('payment_event'),
  outcome: oneOfTexts(['credited', 'credited_before', 'ignored']),
  transfer_id: optional(idOf('transfer', 'The top-up')),
  reason: optional(text('Why the event was ignored')),
});

export function presentCreditedPayment({ transferId, applied }: TopUp) {
  return { object: 'payment_event', outcome: applied ? 'credited' : 'credited_before', transfer_id: transferId };
}

export function presentIgnoredEvent(reason: string) {
  return { object: 'payment_event', outcome: 'ignored', reason };
}
