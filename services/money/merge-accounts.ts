/** Merges of two accounts of one person: one person requests the merge, another approves it. */
import type { Database } from '../../db/database.ts';
import {
  type AccountMerge,
  closeSource,
  decideMerge as recordDecision,
  findAccountMerge,
  insertAccountMerge,
  lockMerge,
  type MergeFacts,
  type NewAccountMerge,
  readMergeFacts,
} from '../../db/queries/account-merges.ts';
import { type Account, lockAccounts } from '../../db/queries/accounts.ts';
import { type BalanceWithHolds, readBalanceWithHolds } from '../../db/queries/balance-entries.ts';
import { recordAccountAction } from '../../db/queries/operator-actions.ts';
import { sumPromoCredit } from '../../db/queries/promo-grants.ts';
import { type Member, listMembers } from '../../db/queries/users.ts';
import { findMergeObstacles, MERGE_OBSTACLES, type MergeObstacle } from '../../domain/account-merge.ts';
import { badRequest, ServiceError } from '../../domain/errors.ts';
import type { PicoUsd } from '../../domain/money.ts';
import { CORRECTIONS } from '../../domain/policy.ts';
import { existingAccount } from '../people/existing-account.ts';
import { assertMayDecide, type Decision, type DualControl } from './dual-control.ts';

/** The two accounts of a merge, by their ids. */
type MergedIds = Pick<NewAccountMerge, 'sourceId' | 'targetId'>;

/** What a person sees of an account before a merge. */
export interface MergeSidePreview {
  readonly account: Account;
  readonly facts: MergeFacts;
  readonly holds: BalanceWithHolds;
  readonly promo: PicoUsd;
  readonly members: readonly Member[];
}

export interface MergePreview {
  readonly source: MergeSidePreview;
  readonly target: MergeSidePreview;
  readonly obstacles: readonly MergeObstacle[];
}

/** @throws ServiceError `not_found` */
export async function previewMerge(database: Database, { sourceId, targetId }: MergedIds): Promise<MergePreview> {
  const source = await previewSide(database, sourceId);
  const target = await previewSide(database, targetId);
  return { source, target, obstacles: findMergeObstacles(source.facts, target.facts) };
}

async function previewSide(database: Database, accountId: string): Promise<MergeSidePreview> {
  const account = await existingAccount(database, accountId);
  const { available: promo } = await sumPromoCredit(database, accountId);
  return {
    account,
    promo,
    facts: await readMergeFacts(database, accountId),
    holds: await readBalanceWithHolds(database, accountId),
    members: await listMembers(database, accountId),
  };
}

type MergeServices = Pick<DualControl, 'money'> & { readonly database: Database };

/**
 * Requests a merge, which waits for a second person where two people decide about large corrections. Otherwise the merge
 * starts at once. A form takes effect once.
 *
 * @throws ServiceError `not_found`; `bad_request` with every reason against the merge
 */
export async function requestMerge(
  { database, money: { secondApprovalAbove } }: MergeServices,
  merge: NewAccountMerge,
): Promise<AccountMerge> {
  await existingAccount(database, merge.sourceId);
  await existingAccount(database, merge.targetId);
  if (merge.sourceId === merge.targetId)
    throw badRequest('An account cannot be merged into itself. Choose another one.');
  const approvedBy = secondApprovalAbove === null ? merge.author : null;
  await database.transaction(async (transaction) => {
    await lockAccounts(transaction, [merge.sourceId, merge.targetId]);
    if ((await findAccountMerge(transaction, merge.id)) !== null) return;
    await assertNoObstacle(transaction, merge);
    const isNew = await insertAccountMerge(transaction, merge, { approvedBy, pendingDays: CORRECTIONS.pendingDays });
    if (isNew && approvedBy !== null) await startMerge(transaction, merge, approvedBy);
  });
  const made = await findAccountMerge(database, merge.id);
  if (made?.sourceId === merge.sourceId && made.targetId === merge.targetId) return made;
  throw new ServiceError(
    'idempotency_conflict',
    'This form was sent before with another merge. Open the page again to request another merge.',
  );
}

/**
 * Merges two accounts by a caller of the administration. The holder of a token may also be a person in the console, who
 * must not approve the token's merge.
 *
 * @throws ServiceError `forbidden` where two people decide; otherwise as {@link requestMerge}
 */
export async function mergeAlone(
  services: MergeServices & Pick<DualControl, 'publicUrl'>,
  merge: NewAccountMerge,
): Promise<AccountMerge> {
  if (services.money.secondApprovalAbove === null) return requestMerge(services, merge);
  throw new ServiceError(
    'forbidden',
    'A merge of accounts needs the approval of a second person. Request the merge at ' +
      `${services.publicUrl}/console/staff/accounts/${merge.sourceId}/merge.`,
  );
}

/**
 * Approves, rejects or withdraws a merge. An approved merge starts at once, and only once if two people decide at the same
 * moment. The same decision again changes nothing.
 *
 * @throws ServiceError `not_found`; `forbidden`; `idempotency_conflict` when the merge was decided before or has expired;
 *   `bad_request` with every reason against the merge, which then stays pending
 */
export function decideMerge(
  database: Database,
  { id, outcome, by }: Decision & { readonly id: string },
): Promise<void> {
  return database.transaction(async (transaction) => {
    const merge = await lockMerge(transaction, id);
    if (!merge) throw new ServiceError('not_found', 'There is no such merge. Open the page again.');
    if (merge.outcome === outcome && merge.decidedBy === by) return;
    assertMayDecide(merge, { outcome, by, what: 'merge' });
    if (outcome === 'approved') {
      await lockAccounts(transaction, [merge.sourceId, merge.targetId]);
      await assertNoObstacle(transaction, merge);
      await startMerge(transaction, merge, by);
    }
    await recordDecision(transaction, id, { outcome, by });
  });
}

/** The relay moves the money: see `moveMergedMoney`. */
async function startMerge(
  transaction: Database,
  { sourceId, targetId, author, reason }: Omit<NewAccountMerge, 'id'>,
  approvedBy: string,
): Promise<void> {
  await closeSource(transaction, { sourceId, targetId });
  const by = {
    kind: 'merge',
    author: author === approvedBy ? author : `${author}, approved by ${approvedBy}`,
  } as const;
  await recordAccountAction(transaction, { ...by, accountId: sourceId, reason: `into ${targetId}: ${reason}` });
  await recordAccountAction(transaction, { ...by, accountId: targetId, reason: `from ${sourceId}: ${reason}` });
}

/** @throws ServiceError `bad_request` */
async function assertNoObstacle(transaction: Database, { sourceId, targetId }: MergedIds): Promise<void> {
  const [source, target] = [await readMergeFacts(transaction, sourceId), await readMergeFacts(transaction, targetId)];
  const obstacles = findMergeObstacles(source, target);
  if (obstacles.length === 0) return;
  const reasons = obstacles.map((obstacle) => MERGE_OBSTACLES[obstacle]).join('; ');
  throw badRequest(`The accounts cannot be merged now: ${reasons}`);
}
