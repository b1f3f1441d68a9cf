/** Corrections under dual control: see `db/migrations/0009-finance.ts`. */
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

type CorrectionRow = RowOf<Correction>;

const COLUMNS = /* sql */ `correction.*, account.name AS account_name,
  CASE WHEN outcome IS NULL AND expires_at <= now() THEN 'expired' ELSE outcome END AS outcome`;
const FROM = 'FROM corrections AS correction JOIN accounts AS account ON account.id = correction.account_id';

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
      expires_at: database.raw('now() + make_interval(days => ?)', [pendingDays]),
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
  const { rows } = await database.raw<{ rows: CorrectionRow[] }>(`SELECT ${COLUMNS} ${FROM} WHERE correction.id = ?`, [
    id,
  ]);
  return rows[0] ? toCorrection(rows[0]) : null;
}

/** Locks a correction, so that nobody else decides it until the transaction ends; null if there is none. */
export async function lockCorrection(transaction: Database, id: string): Promise<Correction | null> {
  const { rows } = await transaction.raw<{ rows: CorrectionRow[] }>(
    `SELECT ${COLUMNS} ${FROM} WHERE correction.id = ? FOR UPDATE OF correction`,
    [id],
  );
  return rows[0] ? toCorrection(rows[0]) : null;
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
export async function listPendingCorrections(database: Database, limit: number): Promise<readonly Correction[]> {
  const { rows } = await database.raw<{ rows: CorrectionRow[] }>(
    `SELECT ${COLUMNS} ${FROM} WHERE outcome IS NULL AND expires_at > now() ORDER BY correction.id LIMIT ?`,
    [limit],
  );
  return rows.map(toCorrection);
}

/** Lists the approved, rejected, withdrawn and expired corrections, newest first. */
export async function listDecidedCorrections(database: Database, limit: number): Promise<readonly Correction[]> {
  const { rows } = await database.raw<{ rows: CorrectionRow[] }>(
    `SELECT ${COLUMNS} ${FROM} WHERE outcome IS NOT NULL OR expires_at <= now() ORDER BY correction.id DESC LIMIT ?`,
    [limit],
  );
  return rows.map(toCorrection);
}

function toCorrection(row: CorrectionRow): Correction {
  return readRow(row, { amounts: ['amount'] });
}
