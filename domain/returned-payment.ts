/** Payments that went back to their payer, wholly or in part: by refunds and by disputes. */
import { larger, type PicoUsd, smaller } from './money.ts';

/** A payer's claim at the bank, whose amount is gone until it is won. */
interface Dispute {
  readonly amount: PicoUsd;
  readonly isWon: boolean;
  /** Whether the account was suspended for it, which happens once, even if an operator reopens the account. */
  readonly hasSuspended: boolean;
}

/** A payment with what went back of it. */
export interface ReturnedPayment {
  /** All refunds together. */
  readonly refunded: PicoUsd;
  readonly disputes: ReadonlyMap<string, Dispute>;
  /** What the account has given for it. */
  readonly taken: PicoUsd;
}

/** What an event says: what is refunded by now, or how a dispute stands. */
export type PaymentReturn =
  | { readonly refunded: PicoUsd }
  | { readonly dispute: Omit<Dispute, 'hasSuspended'> & { readonly id: string } };

/** The payment after an event, which may be an old one: refunds only grow, and a won dispute stays won. */
export function withReturn(payment: ReturnedPayment, change: PaymentReturn): ReturnedPayment {
  if ('refunded' in change) return { ...payment, refunded: larger(change.refunded, payment.refunded) };
  const { id, amount, isWon } = change.dispute;
  const known = payment.disputes.get(id);
  const dispute = { amount, isWon: isWon || (known?.isWon ?? false), hasSuspended: known?.hasSuspended ?? false };
  return { ...payment, disputes: new Map(payment.disputes).set(id, dispute) };
}

/** Whether the account is to be suspended: for a dispute that is not won, and that has not suspended it. */
export function mustSuspend({ disputes }: ReturnedPayment): boolean {
  return [...disputes.values()].some(({ isWon, hasSuspended }) => !isWon && !hasSuspended);
}

/** The payment after the account was suspended for its disputes. */
export function withSuspension(payment: ReturnedPayment): ReturnedPayment {
  const suspended = [...payment.disputes].map(
    ([id, dispute]) => [id, { ...dispute, hasSuspended: dispute.hasSuspended || !dispute.isWon }] as const,
  );
  return { ...payment, disputes: new Map(suspended) };
}

/** What the account owes of what was credited. */
export function dueOf({ refunded, disputes }: ReturnedPayment, credited: PicoUsd): PicoUsd {
  const lost = [...disputes.values()].reduce((sum, { amount, isWon }) => sum + (isWon ? 0n : amount), 0n);
  return smaller(refunded + lost, credited);
}
