/** Corrections by two people: one requests the correction, another approves it. */
import type { Database } from '../../db/database.ts';
import { withPartitions } from '../../db/partitions.ts';
import { lockAccount } from '../../db/queries/accounts.ts';
import {
  type Correction,
  type CorrectionOutcome,
  decideCorrection,
  hasCorrection,
  insertCorrection,
  lockCorrection,
  type NewCorrection,
} from '../../db/queries/corrections.ts';
import { adjustOnce } from '../../db/queries/credits.ts';
import { lockPayment } from '../../db/queries/returned-payments.ts';
import { ServiceError } from '../../domain/errors.ts';
import { newId } from '../../domain/ids.ts';
import { CORRECTIONS } from '../../domain/policy.ts';
import { adjustBalance, refuseOverdraft } from './adjust-balance.ts';
import { creditByHand, creditOnce } from './credit-once.ts';
import { existingAccount } from '../people/existing-account.ts';
import { assertMayDecide, type DualControl, SecondApprovalRequiredError } from './dual-control.ts';

/**
 * Corrects a balance at once if one person may; otherwise requests a second approval. A form takes effect once: if it
 * has requested approval, sending it again books nothing, even when recent adjustments no longer count.
 *
 * @param correction the correction to request, if it needs a second approval
 * @param adjustmentId the id of the adjustment, if it needs none
 * @returns whether the correction is booked
 * @throws ServiceError `not_found`; `idempotency_conflict` if another correction has the id; `insufficient_credits`
 */
export async function correct(
  { database, ...dualControl }: DualControl & { readonly database: Database },
  correction: NewCorrection,
  adjustmentId: string,
): Promise<boolean> {
  const { id, accountId, reference } = correction;
  await existingAccount(database, accountId);
  return withPartitions(database, () =>
    database.transaction(async (transaction) => {
      // Announced payments and their returns lock in the same order.
      if (reference === null) await lockAccount(transaction, accountId);
      else await lockPayment(transaction, { accountId, reference });
      const isBooked =
        !(await hasCorrection(transaction, id)) &&
        (await isBookedAlone({ database: transaction, ...dualControl }, correction, adjustmentId));
      if (!isBooked) await requestCorrection(transaction, correction);
      return isBooked;
    }),
  );
}

/** @returns false when the correction needs a second approval, and nothing was booked */
async function isBookedAlone(
  services: DualControl & { readonly database: Database },
  { accountId, amount, reference, author, reason }: NewCorrection,
  adjustmentId: string,
): Promise<boolean> {
  try {
    if (reference === null) {
      await adjustBalance(services, { id: adjustmentId, accountId, amount, author, reason });
    } else {
      await creditByHand(services, { accountId, amount, author, reference });
    }
    return true;
  } catch (error) {
    if (error instanceof SecondApprovalRequiredError) return false;
    throw error;
  }
}

async function requestCorrection(database: Database, correction: NewCorrection): Promise<void> {
  const made = await insertCorrection(database, correction, CORRECTIONS.pendingDays);
  if (made.accountId === correction.accountId && made.amount === correction.amount && made.author === correction.author)
    return;
  throw new ServiceError(
    'idempotency_conflict',
    'This form was sent before with another correction. Open the page again to request another correction.',
  );
}

/**
 * Approves, rejects or withdraws a correction. An approved correction is booked at once, and only
 * once if two people decide at the same moment. The same decision again changes nothing.
 *
 * @param by the person who decides
 * @throws ServiceError `not_found`; `forbidden` when the person may not decide; `idempotency_conflict` when the
 *   correction was decided before or has expired; `insufficient_credits`, and then the correction stays pending
 */
export function decide(
  database: Database,
  { id, outcome, by }: { readonly id: string; readonly outcome: CorrectionOutcome; readonly by: string },
): Promise<void> {
  return withPartitions(database, () =>
    database.transaction(async (transaction) => {
      const correction = await lockCorrection(transaction, id);
      if (!correction) throw new ServiceError('not_found', 'There is no such correction. Open the page again.');
      if (correction.outcome === outcome && correction.decidedBy === by) return;
      assertMayDecide(correction, { outcome, by, what: 'correction' });
      const transferId = outcome === 'approved' ? await bookCorrection(transaction, correction, by) : null;
      await decideCorrection(transaction, id, { outcome, by, transferId });
    }),
  );
}

/** @returns the id of the transfer */
async function bookCorrection(transaction: Database, correction: Correction, approvedBy: string): Promise<string> {
  const { accountId, amount, reference, reason } = correction;
  if (reference !== null) {
    const { transferId, applied } = await creditOnce(transaction, { accountId, amount, reference });
    if (applied) return transferId;
    throw new ServiceError(
      'idempotency_conflict',
      `The reference ${reference} was already credited. Reject this correction.`,
    );
  }
  const author = `${correction.author}, approved by ${approvedBy}`;
  const adjustment = { id: newId('transfer'), accountId, amount, author, reason };
  const { transfer } = await adjustOnce(transaction, adjustment).catch(refuseOverdraft);
  return transfer.id;
}
