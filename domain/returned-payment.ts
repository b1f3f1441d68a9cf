/** Payments that went back to their payer, wholly or in part: by refunds and by disputes. */
import { larger, type PicoUsd, smaller } from './money.ts';

/** A payer's claim at the bank, whose amount is gone until it is won. */
interface Dispute {
  readonly amount: PicoUsd;
  readonly isWon: boolean;
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
export type PaymentReturn = { readonly refunded: PicoUsd } | { readonly dispute: Dispute & { readonly id: string } };

/** The payment after an event, which may be an old one: refunds only grow, and a won dispute stays won. */
export function withReturn(payment: ReturnedPayment, change: PaymentReturn): ReturnedPayment {
  if ('refunded' in change) return { ...payment, refunded: larger(change.refunded, payment.refunded) };
  const { id, amount, isWon } = change.dispute;
  const known = payment.disputes.get(id);
  const dispute = { amount, isWon: isWon || (known?.isWon ?? false) };
  return { ...payment, disputes: new Map(payment.disputes).set(id, dispute) };
}

/** What the account owes of what was credited. */
export function dueOf({ refunded, disputes }: ReturnedPayment, credited: PicoUsd): PicoUsd {
  const lost = [...disputes.values()].reduce((sum, { amount, isWon }) => sum + (isWon ? 0n : amount), 0n);
  return smaller(refunded + lost, credited);
}
