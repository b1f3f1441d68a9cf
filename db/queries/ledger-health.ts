import { toUsdNumber } from '../../domain/money.ts';
import { type Database, onlyRow, picoUsd } from '../database.ts';
import { openFindingsSql } from './acknowledgements.ts';
import { UNRESOLVED_PAYMENTS } from './refused-payments.ts';

/** The findings of the last reconciliation, and recent losses. */
export interface LedgerHealth {
  /** The charges of text requests in the last 24 hours that accounts could not pay. */
  readonly absorbedUsd: number;
  /** The findings of the last reconciliation without a confirmed acknowledgement; 0 before the first. */
  readonly findings: number;
  /** Announcements of payments and of changes of plans that Genway refused, and that nobody resolved. */
  readonly refusedPayments: number;
  /** The time since the last reconciliation; before the first one, since the creation of the first account. */
  readonly secondsSinceReconciliation: number;
}

export async function readLedgerHealth(database: Database): Promise<LedgerHealth> {
  const { rows } = await database.raw<{
    rows: { absorbed: string; findings: number; refused: number; seconds_since: number }[];
  }>(/* sql */ `
    SELECT
      (SELECT coalesce(sum(amount), 0)::text FROM transfers
        WHERE kind = 'absorbed_loss' AND created_at > now() - interval '24 hours') AS absorbed,
      (${openFindingsSql('last')})::int AS findings,
      (SELECT count(*)::int FROM ${UNRESOLVED_PAYMENTS}) AS refused,
      extract(epoch FROM now() - coalesce(last.finished_at, (SELECT min(created_at) FROM accounts), now()))::float8
        AS seconds_since
    FROM (SELECT 1) AS always LEFT JOIN LATERAL (
      SELECT checks, findings, finished_at FROM reconciliations WHERE finished_at IS NOT NULL ORDER BY id DESC LIMIT 1) AS last
      ON true`);
  const { absorbed, findings, refused: refusedPayments, seconds_since: secondsSinceReconciliation } = onlyRow(rows);
  return { absorbedUsd: toUsdNumber(picoUsd(absorbed)), findings, refusedPayments, secondsSinceReconciliation };
}
