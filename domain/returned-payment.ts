/** Payments that refunds or disputes returned to the payer, fully or in part. */
import { larger, type PicoUsd, smaller } from './money.ts';

/** A payer's claim at the bank. Genway lacks the amount unless it wins the dispute. */
interface Dispute {
  readonly amount: PicoUsd;
  readonly isWon: boolean;
  /** Whether the payer got the money back before the claim became a dispute, which suspends nobody. */
  readonly isPrevented: boolean;
  /** Whether the dispute suspended the account. A dispute suspends once, even if an operator reopens the account. */
  readonly hasSuspended: boolean;
}

/** A refund that did not reach the payer. */
interface FailedRefund {
  readonly amount: PicoUsd;
  /** In Unix seconds. */
  readonly failedAt: number;
}

/** All refunds together that had not failed at a moment. */
interface Refunded {
  readonly refunded: PicoUsd;
  /** In Unix seconds. */
  readonly refundedAt: number;
}

/** A payment with its refunds and disputes. */
export interface ReturnedPayment extends Refunded {
  readonly failedRefunds: ReadonlyMap<string, FailedRefund>;
  readonly disputes: ReadonlyMap<string, Dispute>;
  /** The amount already taken from the account. */
  readonly taken: PicoUsd;
}

/** A payment provider's event: the total of the refunds at its time, a failed refund, or the state of a dispute. */
export type PaymentReturn =
  | Refunded
  | { readonly failedRefund: FailedRefund & { readonly id: string } }
  | {
      readonly dispute: Omit<Dispute, 'hasSuspended' | 'amount'> & {
        readonly id: string;
        /** Null if the amount in USD is unknown: the whole payment, unless another event reports the amount. */
        readonly amount: PicoUsd | null;
      };
    };

/** More than any payment; {@link amountDue} is at most the payment. */
const WHOLE_PAYMENT: PicoUsd = 10n ** 36n;

/**
 * Returns the payment after an event. Events may arrive late and repeatedly: the latest total counts, the highest of the
 * same second; a refund failed when this was first reported; and a won or prevented dispute stays so.
 */
export function applyReturn(payment: ReturnedPayment, change: PaymentReturn): ReturnedPayment {
  if ('refunded' in change) return isAfter(change, payment) ? { ...payment, ...change } : payment;
  if ('failedRefund' in change) {
    const { id, amount, failedAt } = change.failedRefund;
    const first = Math.min(failedAt, payment.failedRefunds.get(id)?.failedAt ?? failedAt);
    return { ...payment, failedRefunds: new Map(payment.failedRefunds).set(id, { amount, failedAt: first }) };
  }
  const { id, amount, isWon, isPrevented } = change.dispute;
  const known = payment.disputes.get(id);
  const dispute = {
    amount: amount ?? known?.amount ?? WHOLE_PAYMENT,
    isWon: isWon || (known?.isWon ?? false),
    isPrevented: isPrevented || (known?.isPrevented ?? false),
    hasSuspended: known?.hasSuspended ?? false,
  };
  return { ...payment, disputes: new Map(payment.disputes).set(id, dispute) };
}

function isAfter(one: Refunded, other: Refunded): boolean {
  return one.refundedAt === other.refundedAt ? one.refunded > other.refunded : one.refundedAt > other.refundedAt;
}

/** Whether a dispute must suspend the account: it is neither won nor prevented, and has not suspended the account before. */
export function requiresSuspension({ disputes }: ReturnedPayment): boolean {
  return [...disputes.values()].some((dispute) => suspends(dispute) && !dispute.hasSuspended);
}

function suspends({ isWon, isPrevented }: Dispute): boolean {
  return !isWon && !isPrevented;
}

/** Returns the payment after its disputes suspended the account. */
export function withSuspension(payment: ReturnedPayment): ReturnedPayment {
  const suspended = [...payment.disputes].map(
    ([id, dispute]) => [id, { ...dispute, hasSuspended: dispute.hasSuspended || suspends(dispute) }] as const,
  );
  return { ...payment, disputes: new Map(suspended) };
}

/** The part of the credited amount that the account owes. SQL has the same rule in `returned_amount`. */
export function amountDue(payment: ReturnedPayment, credited: PicoUsd): PicoUsd {
  const lost = [...payment.disputes.values()].reduce((sum, { amount, isWon }) => sum + (isWon ? 0n : amount), 0n);
  return smaller(refundedNow(payment) + lost, credited);
}

/** The latest total lacks refunds that failed before it, and has refunds that failed since then. */
function refundedNow({ refunded, refundedAt, failedRefunds }: ReturnedPayment): PicoUsd {
  const failedSince = [...failedRefunds.values()].filter(({ failedAt }) => failedAt >= refundedAt);
  return larger(
    failedSince.reduce((rest, { amount }) => rest - amount, refunded),
    0n,
  );
}
