/** Announcements of the payment provider that Genway refused: see `db/schema/0003-ledger.sql`. */
import type { Database } from '../database.ts';
import type { RowOf } from '../row.ts';

export interface RefusedPayment {
  /** The reference of a payment or of an invoice, or the id of a subscription or of an event. */
  readonly subject: string;
  readonly reason: string;
}

export async function recordRefusedPayment(database: Database, refused: RefusedPayment): Promise<void> {
  await database('refused_payments')
    .insert({ ...refused, refused_at: database.raw('clock_timestamp()') })
    .onConflict('subject')
    .merge();
}

/** Forgets a refusal, because a repetition of the announcement took effect. */
export async function forgetRefusedPayment(database: Database, subject: string): Promise<void> {
  await database('refused_payments').where({ subject }).delete();
}

/** SQL for the refusals that nobody resolved by a credit under the payment's reference, or by a refund of the payment. */
export const UNRESOLVED_PAYMENTS = /* sql */ `refused_payments AS refused
  WHERE NOT EXISTS (SELECT FROM top_ups WHERE reference = refused.subject AND reference LIKE 'payment:%')
    AND NOT EXISTS (SELECT FROM returned_payments WHERE reference = refused.subject)`;

/** Lists the unresolved refusals, the latest first. */
export async function listRefusedPayments(database: Database, limit: number): Promise<readonly RefusedPayment[]> {
  const { rows } = await database.raw<{ rows: RowOf<RefusedPayment>[] }>(
    `SELECT subject, reason FROM ${UNRESOLVED_PAYMENTS} ORDER BY refused_at DESC LIMIT :limit`,
    { limit },
  );
  return rows;
}
