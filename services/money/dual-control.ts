/** Manual adjustments above an amount need a second person's approval: docs/decisions/2026-11-22-two-people-correct-large-amounts.md. */
import type { Database } from '../../db/database.ts';
import { withPartitions } from '../../db/partitions.ts';
import { lockAccount } from '../../db/queries/accounts.ts';
import {
  insertUnapprovedAdjustment,
  type UnapprovedAdjustment,
  sumUnapprovedAdjustments,
} from '../../db/queries/unapproved-adjustments.ts';
import { ServiceError } from '../../domain/errors.ts';
import { formatDollars, type PicoUsd } from '../../domain/money.ts';
import { CORRECTIONS } from '../../domain/policy.ts';
import type { MoneyServices } from '../services.ts';

export interface DualControl {
  readonly money: Pick<MoneyServices, 'secondApprovalAbove'>;
  readonly publicUrl: string;
}

/** A manual adjustment by one person. */
export interface ManualAdjustment {
  readonly accountId: string;
  /** Added to the balance, or deducted if negative. */
  readonly amount: PicoUsd;
  readonly author: string;
}

/** The amount, alone or with recent adjustments, needs a second approval. The message says where to ask for it. */
export class SecondApprovalRequiredError extends ServiceError {
  constructor(limit: PicoUsd, { publicUrl }: DualControl) {
    super(
      'forbidden',
      `Corrections above ${formatDollars(limit)} for one account within ${CORRECTIONS.addUpHours} hours need the approval ` +
        `of a second person. Request the correction at ${publicUrl}/console/staff/corrections.`,
    );
  }
}

/**
 * Makes a manual adjustment, up to the amount that needs a second approval. The adjustments of an account within a day
 * count together. A concurrent adjustment waits, and is refused if the sum is too large by then.
 *
 * @param move writes the transfer in the given transaction, or finds the transfer of an earlier call
 * @throws SecondApprovalRequiredError, and then moves nothing
 */
export async function adjustAlone<Moved extends { readonly id: string; readonly applied: boolean }>(
  { database, ...dualControl }: DualControl & { readonly database: Database },
  adjustment: ManualAdjustment,
  move: (database: Database) => Promise<Moved>,
): Promise<Moved> {
  if (dualControl.money.secondApprovalAbove === null) return move(database);
  assertNeedsNoSecondApproval(adjustment.amount, dualControl);
  return withPartitions(database, () =>
    database.transaction(async (transaction) => {
      await lockAccount(transaction, adjustment.accountId);
      const moved = await move(transaction);
      if (moved.applied) await recordManualAdjustment(transaction, dualControl, { ...adjustment, id: moved.id });
      return moved;
    }),
  );
}

/**
 * Records an adjustment that was just made, and adds it to the account's recent ones. The account must be locked.
 *
 * @throws SecondApprovalRequiredError if the sum is too large: the transaction must be rolled back
 */
export async function recordManualAdjustment(
  transaction: Database,
  dualControl: DualControl,
  { accountId, amount, ...moved }: ManualAdjustment & Pick<UnapprovedAdjustment, 'id'>,
): Promise<void> {
  if (dualControl.money.secondApprovalAbove === null) return;
  const lately = await sumUnapprovedAdjustments(transaction, { accountId, hours: CORRECTIONS.addUpHours });
  assertNeedsNoSecondApproval(lately + absolute(amount), dualControl);
  await insertUnapprovedAdjustment(transaction, { ...moved, accountId, amount: absolute(amount) });
}

/** A request of one person, about which another person decides. */
export interface PendingRequest {
  readonly author: string;
  /** Null while the request is pending. */
  readonly outcome: 'approved' | 'rejected' | 'withdrawn' | 'expired' | null;
  readonly decidedBy: string | null;
}

/** A decision about a request. */
export interface Decision {
  readonly outcome: 'approved' | 'rejected' | 'withdrawn';
  readonly by: string;
}

/**
 * Refuses a decision about a request that is decided or expired, and a decision of the wrong person.
 *
 * @param what the name of the request, such as `correction`
 * @throws ServiceError `idempotency_conflict`; `forbidden`
 */
export function assertMayDecide(
  request: PendingRequest,
  { outcome, by, what }: Decision & { readonly what: string },
): void {
  if (request.outcome === 'expired') {
    throw new ServiceError('idempotency_conflict', `The ${what} has expired. Request it again.`);
  }
  if (request.outcome !== null) {
    throw new ServiceError(
      'idempotency_conflict',
      `${request.decidedBy ?? 'Another person'} has already decided: the ${what} is ${request.outcome}.`,
    );
  }
  if (outcome === 'withdrawn' && by !== request.author) {
    throw new ServiceError('forbidden', `Only ${request.author} can withdraw this ${what}. You may reject it.`);
  }
  if (outcome !== 'withdrawn' && by === request.author) {
    throw new ServiceError('forbidden', `A second person must decide about your ${what}. You may withdraw it.`);
  }
}

/** @throws SecondApprovalRequiredError */
function assertNeedsNoSecondApproval(amount: PicoUsd, dualControl: DualControl): void {
  const { secondApprovalAbove } = dualControl.money;
  if (secondApprovalAbove !== null && absolute(amount) > secondApprovalAbove)
    throw new SecondApprovalRequiredError(secondApprovalAbove, dualControl);
}

function absolute(amount: PicoUsd): PicoUsd {
  return amount < 0n ? -amount : amount;
}
