import type { TopUp } from '../../../db/queries/credits.ts';

export function presentCreditedPayment({ transferId, applied }: TopUp) {
  return { object: 'payment_event', outcome: applied ? 'credited' : 'credited_before', transfer_id: transferId };
}

export function presentIgnoredEvent(reason: string) {
  return { object: 'payment_event', outcome: 'ignored', reason };
}
