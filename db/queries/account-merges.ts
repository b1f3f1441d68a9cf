/** Merges of two accounts of one person: see `db/schema/0009-finance.sql`. */
import type { MergeSide } from '../../domain/account-merge.ts';
import { newId } from '../../domain/ids.ts';
import { type PicoUsd, smaller } from '../../domain/money.ts';
import { type Database, onlyRow } from '../database.ts';
import { type IdPage } from '../page.ts';
import { withPartitions } from '../partitions.ts';
import { columnsOf, readRow, type RowOf } from '../row.ts';
import { lockAccounts } from './accounts.ts';
import { markRecalled } from './allowances.ts';
import { IS_RUNNING } from './plans.ts';
import { movePromoCredit, sumPromoCredit } from './promo-grants.ts';
import { insertTransfer } from './transfers.ts';

export interface NewAccountMerge {
  readonly id: string;
  /** The account whose money moves, and which is then closed. */
  readonly sourceId: string;
  readonly targetId: string;
  readonly reason: string;
  /** Who requests the merge. */
  readonly author: string;
}

export interface AccountMerge extends NewAccountMerge {
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** Null while the merge is pending. */
  readonly outcome: MergeOutcome | 'expired' | null;
  readonly decidedBy: string | null;
  readonly decidedAt: Date | null;
  /** When nothing of the source was on hold any more; null before. */
  readonly completedAt: Date | null;
}

export type MergeOutcome = 'approved' | 'rejected' | 'withdrawn';

/** @param rest SQL for the conditions, the order and a lock */
async function readMerges(
  database: Database,
  rest: string,
  given: { readonly [name: string]: string | number | null },
): Promise<AccountMerge[]> {
  const { rows } = await database.raw<{ rows: RowOf<AccountMerge>[] }>(
    /* sql */ `
    SELECT merge.*, CASE WHEN outcome IS NULL AND expires_at <= now() THEN 'expired' ELSE outcome END AS outcome
    FROM account_merges AS merge ${rest}`,
    given,
  );
  return rows.map((row) => readRow(row, {}));
}

/**
 * Requests a merge, once per id.
 *
 * @param approvedBy its author, if it needs no second approval; otherwise null
 * @returns whether this call requested the merge
 */
export async function insertAccountMerge(
  database: Database,
  merge: NewAccountMerge,
  { approvedBy, pendingDays }: { readonly approvedBy: string | null; readonly pendingDays: number },
): Promise<boolean> {
  const inserted = await database('account_merges')
    .insert({
      ...columnsOf(merge),
      requires_second_approval: approvedBy === null,
      expires_at: database.raw('now() + make_interval(days => :pendingDays)', { pendingDays }),
      ...(approvedBy !== null && { outcome: 'approved', decided_by: approvedBy, decided_at: database.fn.now() }),
    })
    .onConflict('id')
    .ignore()
    .returning('id');
  return inserted.length > 0;
}

/** Lists the merges of all accounts or of one account, newest first. */
export function listAccountMerges(
  database: Database,
  { accountId, before, limit }: IdPage & { readonly accountId?: string | undefined },
): Promise<readonly AccountMerge[]> {
  const rest = `WHERE (:accountId::text IS NULL OR :accountId IN (source_id, target_id)) AND (:before::text IS NULL OR merge.id < :before)
    ORDER BY merge.id DESC LIMIT :limit`;
  return readMerges(database, rest, { accountId: accountId ?? null, before: before ?? null, limit });
}

/** Lists the merges that wait for a second person, oldest first. */
export function listPendingMerges(database: Database, limit: number): Promise<readonly AccountMerge[]> {
  const rest = 'WHERE outcome IS NULL AND expires_at > now() ORDER BY merge.id LIMIT :limit';
  return readMerges(database, rest, { limit });
}

export async function findAccountMerge(database: Database, id: string): Promise<AccountMerge | null> {
  const [found] = await readMerges(database, 'WHERE merge.id = :id', { id });
  return found ?? null;
}

/** Locks a merge, so that nobody else decides it until the transaction ends; null if there is none. */
export async function lockMerge(transaction: Database, id: string): Promise<AccountMerge | null> {
  const [locked] = await readMerges(transaction, 'WHERE merge.id = :id FOR UPDATE OF merge', { id });
  return locked ?? null;
}

export async function decideMerge(
  transaction: Database,
  id: string,
  { outcome, by }: { readonly outcome: MergeOutcome; readonly by: string },
): Promise<void> {
  await transaction('account_merges')
    .where({ id })
    .update({ outcome, decided_by: by, decided_at: transaction.fn.now() });
}

/** What a merge shows of an account, and what may forbid the merge. */
export interface MergeFacts extends MergeSide {
  readonly keys: number;
  readonly budgets: number;
}

export async function readMergeFacts(database: Database, accountId: string): Promise<MergeFacts> {
  const { rows } = await database.raw<{ rows: RowOf<MergeFacts, 'openBatches' | 'keys' | 'budgets'>[] }>(
    /* sql */ `
    SELECT merged_into, suspended_at, debt,
      plan.invoice_id IS NOT NULL OR EXISTS (SELECT FROM subscriptions WHERE account_id = owner.id AND ${IS_RUNNING}) AS has_plan,
      EXISTS (SELECT FROM auto_top_ups WHERE account_id = owner.id AND attempt_id IS NOT NULL) AS is_topping_up,
      (SELECT count(*) FROM batches WHERE account_id = owner.id AND ended_at IS NULL) AS open_batches,
      plan.seats, ARRAY(SELECT user_id FROM account_members WHERE account_id = owner.id) AS member_ids,
      (SELECT count(*) FROM api_keys WHERE account_id = owner.id AND deleted_at IS NULL) AS keys,
      (SELECT count(*) FROM budgets WHERE account_id = owner.id) AS budgets
    FROM accounts AS owner LEFT JOIN LATERAL current_plan(owner.id, now()) AS plan ON true WHERE owner.id = :accountId`,
    { accountId },
  );
  return readRow(onlyRow(rows), { amounts: ['debt'], counts: ['open_batches', 'keys', 'budgets'] });
}

/**
 * Closes the source of an approved merge: the source spends nothing from the commit on, its text processes return their
 * money, and the members of both accounts belong to both. A member of both keeps both roles. Both accounts must be locked.
 */
export async function closeSource(
  transaction: Database,
  { sourceId, targetId }: Pick<AccountMerge, 'sourceId' | 'targetId'>,
): Promise<void> {
  await transaction('accounts')
    .where({ id: sourceId })
    .update({ suspended_at: transaction.fn.now(), merged_into: targetId, low_balance: null });
  await markRecalled(transaction, { accountId: sourceId });
  await transaction('auto_top_ups').where({ account_id: sourceId }).delete();
  await transaction('account_invitations').where({ account_id: sourceId }).delete();
  for (const [from, to] of [
    [sourceId, targetId],
    [targetId, sourceId],
  ] as const) {
    await transaction.raw(
      /* sql */ `
      INSERT INTO account_members (account_id, user_id, role)
      SELECT :to, user_id, role FROM account_members WHERE account_id = :from ON CONFLICT DO NOTHING`,
      { from, to },
    );
  }
}

/**
 * Moves the money of merged accounts: first their balance, and later what their tasks refund and what late payments
 * credit. A merged account that owes for a returned payment gets the money from the account that has it now, after
 * perhaps several merges. Each amount moves in one transaction, so a crash moves all of it or nothing, and the next call
 * continues.
 *
 * @param limit the most accounts
 * @returns the number of accounts; fewer than `limit` if none is left
 */
export async function moveMergedMoney(database: Database, limit: number): Promise<number> {
  const { rows } = await database.raw<{ rows: MergedAccounts[] }>(
    /* sql */ `
    SELECT source.id AS "sourceId", source.merged_into AS "targetId", payer.id AS "payerId"
    FROM accounts AS source CROSS JOIN LATERAL (
      WITH RECURSIVE later AS (
        SELECT id, merged_into, funded_available FROM accounts WHERE id = source.merged_into
        UNION ALL
        SELECT target.id, target.merged_into, target.funded_available
        FROM later JOIN accounts AS target ON target.id = later.merged_into)
      SELECT id, funded_available FROM later WHERE merged_into IS NULL) AS payer
    WHERE source.merged_into IS NOT NULL AND ${HAS_NO_ALLOWANCE}
      AND (source.signup_available + source.funded_available > 0 OR (source.debt > 0 AND payer.funded_available > 0)
        OR (source.signup_reserved + source.funded_reserved = 0 AND EXISTS (SELECT FROM account_merges
          WHERE source_id = source.id AND outcome = 'approved' AND completed_at IS NULL)))
    ORDER BY source.id LIMIT :limit`,
    { limit },
  );
  for (const accounts of rows) await moveMoney(database, accounts);
  return rows.length;
}

/** A text request in progress may cost more than its hold, so its account keeps its balance until the request ends. */
const HAS_NO_ALLOWANCE = 'NOT EXISTS (SELECT FROM text_allowances WHERE account_id = source.id)';

interface MergedAccounts {
  readonly sourceId: string;
  readonly targetId: string;
  /** The account that pays what the source owes: the target, or the account into which the target was merged. */
  readonly payerId: string;
}

interface Movable {
  readonly debt: PicoUsd;
  readonly funded: PicoUsd;
  readonly signup: PicoUsd;
  readonly reserved: PicoUsd;
  readonly payerFunded: PicoUsd;
  readonly now: Date;
}

function moveMoney(database: Database, { sourceId, targetId, payerId }: MergedAccounts): Promise<void> {
  return withPartitions(database, () =>
    database.transaction(async (transaction) => {
      await lockAccounts(transaction, [sourceId, targetId, payerId]);
      const { rows } = await transaction.raw<{ rows: RowOf<Movable>[] }>(
        /* sql */ `
        SELECT source.debt, source.funded_available AS funded, source.signup_available AS signup,
          source.signup_reserved + source.funded_reserved AS reserved, payer.funded_available AS payer_funded,
          clock_timestamp() AS now
        FROM accounts AS source JOIN accounts AS payer ON payer.id = :payerId
        WHERE source.id = :sourceId AND ${HAS_NO_ALLOWANCE}`,
        { sourceId, payerId },
      );
      const [row] = rows;
      if (!row) return;
      const { debt, funded, signup, reserved, payerFunded, now } = readRow(row, {
        amounts: ['debt', 'funded', 'signup', 'reserved', 'payer_funded'],
      });
      const owed = smaller(debt, payerFunded);
      await move(transaction, { from: payerId, to: sourceId, amount: owed, signupAmount: 0n, now });
      const { available: promo } = await sumPromoCredit(transaction, sourceId);
      const lasting = signup - promo;
      await move(transaction, { from: sourceId, to: targetId, amount: funded + lasting, signupAmount: lasting, now });
      const isAllMoved = await movePromoCredit(transaction, { from: sourceId, to: targetId });
      if (isAllMoved && reserved === 0n) {
        await transaction('account_merges')
          .where({ source_id: sourceId, outcome: 'approved', completed_at: null })
          .update({ completed_at: now });
      }
    }),
  );
}

async function move(
  transaction: Database,
  {
    from,
    to,
    now: createdAt,
    ...amounts
  }: {
    readonly from: string;
    readonly to: string;
    readonly amount: PicoUsd;
    readonly signupAmount: PicoUsd;
    readonly now: Date;
  },
): Promise<void> {
  if (amounts.amount === 0n) return;
  const legs = [
    { kind: 'merge_out', accountId: from, reference: to },
    { kind: 'merge_in', accountId: to, reference: from },
  ] as const;
  for (const leg of legs) await insertTransfer(transaction, { ...amounts, ...leg, id: newId('transfer'), createdAt });
}
