import type { BonusStep } from '../../catalogue/site-money.ts';
import type { Database } from '../../db/database.ts';
import { withPartitions } from '../../db/partitions.ts';
import { PaymentOfAnotherAccountError, type TopUp, topUp } from '../../db/queries/credits.ts';
import { endPromoGrant, grantPromoCredit } from '../../db/queries/promo-grants.ts';
import { lockPayment, type ReturnEffect, returnPayment } from '../../db/queries/returned-payments.ts';
import { daysAfter } from '../../domain/day.ts';
import { ServiceError } from '../../domain/errors.ts';
import { formatUsd, type PicoUsd } from '../../domain/money.ts';
import type { PaymentReturn } from '../../domain/returned-payment.ts';
import { suspendOnCommit } from '../people/account-actions.ts';
import { survivingAccount } from '../people/existing-account.ts';
import { type DualControl, type ManualAdjustment, adjustAlone } from './dual-control.ts';

/** A credit, and whether it suspended the account. */
interface Credited extends TopUp {
  readonly isSuspended: boolean;
  /** Whether a part of the payment went back to the payer before the credit. */
  readonly isReturned: boolean;
}

/**
 * Credits an account once per reference, less the part of the payment that was already returned. Suspends the account
 * if the payment is disputed.
 *
 * @throws ServiceError `idempotency_conflict` when the reference was credited with another amount or to another account
 */
export function creditOnce(
  database: Database,
  credit: { readonly accountId: string; readonly amount: PicoUsd; readonly reference: string },
): Promise<Credited> {
  const { accountId, amount, reference } = credit;
  return database.transaction(async (transaction) => {
    await lockPayment(transaction, credit);
    const credited = await topUp(transaction, credit).catch((error: unknown) => {
      if (!(error instanceof PaymentOfAnotherAccountError)) throw error;
      throw new ServiceError(
        'idempotency_conflict',
        `The reference ${reference} was already credited to another account. Use a new reference.`,
      );
    });
    if (credited.amount !== amount) {
      throw new ServiceError(
        'idempotency_conflict',
        `The reference ${reference} was already credited with ${formatUsd(credited.amount)} USD. Use a new reference.`,
      );
    }
    const returned = await returnPayment(transaction, reference, null);
    const isSuspended = returned?.requiresSuspension === true;
    if (isSuspended) await suspendForDispute(transaction, accountId, reference);
    return { ...credited, isSuspended, isReturned: returned !== null };
  });
}

/** The reference of a payment that the payment provider announces. A manual credit uses the same reference. */
export function referenceOfPayment(id: string): string {
  return `payment:${id}`;
}

/**
 * Credits a payment of the payment provider, and its bonus in the same transaction, once. A payment that went back to
 * its payer has no bonus.
 *
 * @param bonus null for none
 * @throws ServiceError `idempotency_conflict` as {@link creditOnce}
 */
export function creditPayment(
  database: Database,
  { id, accountId, amount }: { readonly id: string; readonly accountId: string; readonly amount: PicoUsd },
  bonus: BonusStep | null = null,
): Promise<Credited> {
  const reference = referenceOfPayment(id);
  return withPartitions(database, () =>
    database.transaction(async (transaction) => {
      const credited = await creditOnce(transaction, { accountId, amount, reference });
      if (bonus !== null && credited.applied && !credited.isReturned) {
        await grantPromoCredit(transaction, {
          accountId,
          amount: (amount * BigInt(bonus.percent)) / 100n,
          expiresAt: daysAfter(credited.createdAt, bonus.days),
          reference,
          author: 'payment provider',
          reason: `bonus of ${bonus.percent} %`,
        });
      }
      return credited;
    }),
  );
}

/**
 * Applies a return of a payment: takes the returned funds and what is left of the promo credit that the payment gave, and
 * suspends the account of a new dispute. Money that a won dispute or a failed refund gave back brings no promo credit back.
 *
 * @param change null when the payment is credited, perhaps after its return
 * @returns null if nothing of the payment went back; `promoTransferId` took promo credit, or is null
 */
export async function applyReturnOf(
  transaction: Database,
  reference: string,
  change: PaymentReturn | null,
): Promise<(ReturnEffect & { readonly promoTransferId: string | null }) | null> {
  const done = await returnPayment(transaction, reference, change);
  if (done === null) return null;
  const { accountId, promoReference, requiresSuspension } = done;
  if (accountId === null || promoReference === null) return { ...done, promoTransferId: null };
  const promoTransferId = await endPromoGrant(transaction, { accountId, reference: promoReference });
  if (requiresSuspension) await suspendForDispute(transaction, accountId, reference);
  return { ...done, promoTransferId };
}

/** Suspends the account with the money of a disputed payment until an operator reopens it. */
export async function suspendForDispute(transaction: Database, accountId: string, reference: string): Promise<void> {
  const { id } = await survivingAccount(transaction, accountId);
  await suspendOnCommit(transaction, id, { author: 'payment provider', reason: `${reference} is disputed` });
}

/**
 * Credits a payment manually, once per reference.
 *
 * @throws ServiceError `forbidden` if the amount needs a second approval; `idempotency_conflict` as {@link creditOnce}
 */
export function creditByHand(
  services: DualControl & { readonly database: Database },
  { accountId, amount, reference, author }: ManualAdjustment & { readonly reference: string },
): Promise<TopUp> {
  return services.database.transaction(async (transaction) => {
    // Before `adjustAlone` locks the account: `creditOnce` locks in the same order.
    await lockPayment(transaction, { accountId, reference });
    return adjustAlone({ ...services, database: transaction }, { accountId, amount, author }, async (database) => {
      const credited = await creditOnce(database, { accountId, amount, reference });
      return { id: credited.transferId, ...credited };
    });
  });
}
