import * as field from '../../../domain/resource/field.ts';
import { nested } from '../../../domain/resource/resource.ts';

const OUTCOMES = [
  'credited',
  'credited_before',
  'contradicted',
  'taken_back',
  'given_back',
  'noted',
  'ignored',
] as const;

interface PaymentOutcome {
  readonly outcome: (typeof OUTCOMES)[number];
  readonly transferId?: string;
  readonly reason?: string;
}

export const PAYMENT_EVENT = nested<PaymentOutcome>({
  object: field.constant('payment_event'),
  outcome: field.oneOf(OUTCOMES)('outcome'),
  transfer_id: field.id('transfer').orAbsent(({ transferId }) => transferId, 'The id of the top-up or the adjustment'),
  reason: field.text.orAbsent(({ reason }) => reason, 'The reason why nothing was credited'),
});
