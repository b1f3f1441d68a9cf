/** Acknowledgements of findings of reconciliations that cannot be remedied: see `db/schema/0009-finance.sql`. */
import type { Database } from '../database.ts';
import { camelCased, columnsOf, type RowOf } from '../row.ts';

export type AcknowledgementOutcome = 'confirmed' | 'rejected' | 'withdrawn';

export interface NewAcknowledgement {
  readonly id: string;
  /** The report with the finding. */
  readonly reconciliationId: string;
  readonly checkName: string;
  readonly subject: string;
  readonly detail: string;
  readonly reason: string;
  readonly author: string;
  /** Whether the acknowledgement counts only after a second person has confirmed it. */
  readonly requiresSecondApproval: boolean;
}

export interface Acknowledgement extends NewAcknowledgement {
  readonly createdAt: Date;
  /** Null while the acknowledgement waits for a second person. */
  readonly outcome: AcknowledgementOutcome | null;
  readonly decidedBy: string | null;
  readonly decidedAt: Date | null;
}

/** The condition that matches an acknowledgement to its finding in every report. */
const SAME_FINDING = /* sql */ `acknowledgement.check_name = finding ->> 'check'
  AND md5(acknowledgement.subject) = md5(finding ->> 'subject')
  AND md5(acknowledgement.detail) = md5(finding ->> 'detail')`;

/** Records an acknowledgement, unless another one of the same finding is confirmed or pending. */
export async function insertAcknowledgement(database: Database, acknowledgement: NewAcknowledgement): Promise<void> {
  const { author, requiresSecondApproval } = acknowledgement;
  await database('acknowledgements')
    .insert({
      ...columnsOf(acknowledgement),
      ...(!requiresSecondApproval && { outcome: 'confirmed', decided_by: author, decided_at: database.fn.now() }),
    })
    .onConflict(database.raw(`(check_name, md5(subject), md5(detail)) WHERE outcome IS NULL OR outcome = 'confirmed'`))
    .ignore();
}

/** Locks an acknowledgement, so that nobody else decides it until the transaction ends; null if there is none. */
export async function lockAcknowledgement(transaction: Database, id: string): Promise<Acknowledgement | null> {
  const row = await transaction<RowOf<Acknowledgement>>('acknowledgements').where({ id }).forUpdate().first();
  return row ? camelCased(row) : null;
}

export async function decideAcknowledgement(
  transaction: Database,
  id: string,
  { outcome, by }: { readonly outcome: AcknowledgementOutcome; readonly by: string },
): Promise<void> {
  await transaction('acknowledgements')
    .where({ id })
    .update({ outcome, decided_by: by, decided_at: transaction.fn.now() });
}

/** Lists the confirmed and pending acknowledgements of a report's findings. */
export async function listAcknowledgements(
  database: Database,
  reconciliationId: string,
): Promise<readonly Acknowledgement[]> {
  const { rows } = await database.raw<{ rows: RowOf<Acknowledgement>[] }>(
    /* sql */ `
    SELECT DISTINCT acknowledgement.*
    FROM reconciliations AS report CROSS JOIN LATERAL jsonb_array_elements(report.findings) AS finding
    JOIN acknowledgements AS acknowledgement
      ON ${SAME_FINDING} AND (acknowledgement.outcome IS NULL OR acknowledgement.outcome = 'confirmed')
    WHERE report.id = :reconciliationId ORDER BY acknowledgement.id`,
    { reconciliationId },
  );
  return rows.map(camelCased);
}

/** SQL for whether a finding has a confirmed acknowledgement. */
const IS_CONFIRMED = /* sql */ `EXISTS (SELECT FROM acknowledgements AS acknowledgement
  WHERE ${SAME_FINDING} AND acknowledgement.outcome = 'confirmed')`;

/**
 * SQL for the number of a report's findings without a confirmed acknowledgement.
 *
 * @param report the name of the row
 * @param doesNotCount a further condition for findings that do not count
 */
export function openFindingsSql(report: string, doesNotCount = 'false'): string {
  return /* sql */ `(SELECT coalesce(sum((result ->> 'findings')::bigint), 0) FROM jsonb_array_elements(${report}.checks) AS result)
    - (SELECT count(*) FROM jsonb_array_elements(${report}.findings) AS finding WHERE ${IS_CONFIRMED} OR ${doesNotCount})`;
}

/** The subject of a finding about a bill has the month of the bill: `db/reconciliation/bill-check.ts`. */
const IS_BILL_OF_LATER_MONTH = /* sql */ `(finding ->> 'check' = 'vendor_bills'
  AND substring(finding ->> 'subject' FROM ' (\\d{4}-\\d{2}) ') > :month)`;

/** The latest completed reconciliation, with the number of its findings without a confirmed acknowledgement. */
export interface LatestReport {
  readonly reconciliationId: string;
  readonly findings: number;
  readonly startedAt: Date;
}

/** @param month the month to close, such as `2026-10`: bills of later months do not count */
export async function findLatestReport(database: Database, month: string): Promise<LatestReport | null> {
  const { rows } = await database.raw<{ rows: { id: string; created_at: Date; findings: string }[] }>(
    /* sql */ `
    SELECT id, created_at, ${openFindingsSql('report', IS_BILL_OF_LATER_MONTH)} AS findings
    FROM reconciliations AS report WHERE finished_at IS NOT NULL ORDER BY id DESC LIMIT 1`,
    { month },
  );
  const [latest] = rows;
  return latest
    ? { reconciliationId: latest.id, findings: Number(latest.findings), startedAt: latest.created_at }
    : null;
}

/** Counts the findings of the latest report whose acknowledgements wait for a second person; null if none does. */
export async function findPendingAcknowledgements(
  database: Database,
): Promise<{ readonly reconciliationId: string; readonly count: number } | null> {
  const { rows } = await database.raw<{ rows: { reconciliation_id: string; count: number }[] }>(/* sql */ `
    SELECT report.id AS reconciliation_id, count(DISTINCT acknowledgement.id)::int AS count
    FROM (SELECT id, findings FROM reconciliations WHERE finished_at IS NOT NULL ORDER BY id DESC LIMIT 1) AS report
    CROSS JOIN LATERAL jsonb_array_elements(report.findings) AS finding
    JOIN acknowledgements AS acknowledgement ON ${SAME_FINDING} AND acknowledgement.outcome IS NULL
    GROUP BY report.id`);
  const [pending] = rows;
  return pending ? { reconciliationId: pending.reconciliation_id, count: pending.count } : null;
}
