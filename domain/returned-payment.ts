/** Payments that refunds or disputes returned to the payer, fully or in part. */
import { larger, type PicoUsd, smaller } from './money.ts';

/** A payer's claim at the bank. Genway lacks the amount unless it wins the dispute. */
interface Dispute {
  readonly amount: PicoUsd;
  readonly isWon: boolean;
  /** Whether the dispute suspended the account. A dispute suspends once, even if an operator reopens the account. */
  readonly hasSuspended: boolean;
}

/** A payment with its refunds and disputes. */
export interface ReturnedPayment {
  /** All refunds together. */
  readonly refunded: PicoUsd;
  readonly disputes: ReadonlyMap<string, Dispute>;
  /** The amount already taken from the account. */
  readonly taken: PicoUsd;
}

/** A payment provider's event: the total refunded so far, or the state of a dispute. */
export type PaymentReturn =
  | { readonly refunded: PicoUsd }
  | { readonly dispute: Omit<Dispute, 'hasSuspended'> & { readonly id: string } };

/** Returns the payment after an event. Events may arrive late: refunds only grow, and a won dispute stays won. */
export function applyReturn(payment: ReturnedPayment, change: PaymentReturn): ReturnedPayment {
  if ('refunded' in change) return { ...payment, refunded: larger(change.refunded, payment.refunded) };
  const { id, amount, isWon } = change.dispute;
  const known = payment.disputes.get(id);
  const dispute = { amount, isWon: isWon || (known?.isWon ?? false), hasSuspended: known?.hasSuspended ?? false };
  return { ...payment, disputes: new Map(payment.disputes).set(id, dispute) };
}

/** Whether a dispute must suspend the account: it is not won, and has not suspended the account before. */
export function requiresSuspension({ disputes }: ReturnedPayment): boolean {
  return [...disputes.values()].some(({ isWon, hasSuspended }) => !isWon && !hasSuspended);
}

/** Returns the payment after its disputes suspended the account. */
export function withSuspension(payment: ReturnedPayment): ReturnedPayment {
  const suspended = [...payment.disputes].map(
    ([id, dispute]) => [id, { ...dispute, hasSuspended: dispute.hasSuspended || !dispute.isWon }] as const,
  );
  return { ...payment, disputes: new Map(suspended) };
}

/** The part of the credited amount that the account owes. */
export function amountDue({ refunded, disputes }: ReturnedPayment, credited: PicoUsd): PicoUsd {
  const lost = [...disputes.values()].reduce((sum, { amount, isWon }) => sum + (isWon ? 0n : amount), 0n);
  return smaller(refunded + lost, credited);
}
