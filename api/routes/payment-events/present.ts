import * as field from '../../../domain/resource/field.ts';
import { nested } from '../../../domain/resource/resource.ts';

interface PaymentOutcome {
  readonly outcome: 'credited' | 'credited_before' | 'contradicted' | 'ignored';
  readonly transferId?: string;
  readonly reason?: string;
}

export const PAYMENT_EVENT = nested<PaymentOutcome>({
  object: field.constant('payment_event'),
  outcome: field.oneOf(['credited', 'credited_before', 'contradicted', 'ignored'])('outcome'),
  transfer_id: field.id('transfer').orAbsent(({ transferId }) => transferId, 'The top-up'),
  reason: field.text.orAbsent(({ reason }) => reason, 'Why nothing was credited'),
});
