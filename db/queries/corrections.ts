/** Corrections under dual control: see `db/schema/0009-finance.sql`. */
import type { PicoUsd } from '../../domain/money.ts';
import type { Database } from '../database.ts';
import { columnsOf, readRow, type RowOf } from '../row.ts';

export type CorrectionOutcome = 'approved' | 'rejected' | 'withdrawn';

export interface NewCorrection {
  readonly id: string;
  readonly accountId: string;
  /** The amount that the account gets; negative if the correction takes money. */
  readonly amount: PicoUsd;
  /** The reference of a manually credited payment; null for an adjustment. */
  readonly reference: string | null;
  readonly reason: string;
  /** Who requests the correction. */
  readonly author: string;
}

export interface Correction extends NewCorrection {
  readonly accountName: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** Null while the correction is pending. */
  readonly outcome: CorrectionOutcome | 'expired' | null;
  readonly decidedBy: string | null;
  readonly decidedAt: Date | null;
  /** The transfer of an approved correction. */
  readonly transferId: string | null;
}

/** Reads corrections with the names of their accounts. @param rest SQL for the conditions, the order and a lock */
async function readCorrections(
  database: Database,
  rest: string,
  given: { readonly [name: string]: string | number },
): Promise<Correction[]> {
  const { rows } = await database.raw<{ rows: RowOf<Correction>[] }>(
    /* sql */ `
    SELECT correction.*, account.name AS account_name,
      CASE WHEN outcome IS NULL AND expires_at <= now() THEN 'expired' ELSE outcome END AS outcome
    FROM corrections AS correction JOIN accounts AS account ON account.id = correction.account_id ${rest}`,
    given,
  );
  return rows.map((row) => readRow(row, { amounts: ['amount'] }));
}

/**
 * Requests a correction, once per id.
 *
 * @returns the correction with this id: this one or an earlier one, which may differ
 */
export async function insertCorrection(
  database: Database,
  correction: NewCorrection,
  pendingDays: number,
): Promise<Correction> {
  await database('corrections')
    .insert({
      ...columnsOf(correction),
      expires_at: database.raw('now() + make_interval(days => :pendingDays)', { pendingDays }),
    })
    .onConflict('id')
    .ignore();
  const written = await findCorrection(database, correction.id);
  if (!written) throw new Error(`the correction ${correction.id} was not written`);
  return written;
}

/** Whether the correction was requested, whatever its outcome. */
export async function hasCorrection(database: Database, id: string): Promise<boolean> {
  return (await findCorrection(database, id)) !== null;
}

async function findCorrection(database: Database, id: string): Promise<Correction | null> {
  const [found] = await readCorrections(database, 'WHERE correction.id = :id', { id });
  return found ?? null;
}

/** Locks a correction, so that nobody else decides it until the transaction ends; null if there is none. */
export async function lockCorrection(transaction: Database, id: string): Promise<Correction | null> {
  const [locked] = await readCorrections(transaction, 'WHERE correction.id = :id FOR UPDATE OF correction', { id });
  return locked ?? null;
}

/** Decides a pending correction. @param transferId the transfer of an approved correction */
export async function decideCorrection(
  transaction: Database,
  id: string,
  decision: { readonly outcome: CorrectionOutcome; readonly by: string; readonly transferId: string | null },
): Promise<void> {
  await transaction('corrections').where({ id }).update({
    outcome: decision.outcome,
    decided_by: decision.by,
    decided_at: transaction.fn.now(),
    transfer_id: decision.transferId,
  });
}

/** Lists the corrections that wait for a second person, oldest first. */
export function listPendingCorrections(database: Database, limit: number): Promise<readonly Correction[]> {
  const rest = 'WHERE outcome IS NULL AND expires_at > now() ORDER BY correction.id LIMIT :limit';
  return readCorrections(database, rest, { limit });
}

/** Lists the approved, rejected, withdrawn and expired corrections, newest first. */
export function listDecidedCorrections(database: Database, limit: number): Promise<readonly Correction[]> {
  const rest = 'WHERE outcome IS NOT NULL OR expires_at <= now() ORDER BY correction.id DESC LIMIT :limit';
  return readCorrections(database, rest, { limit });
}
