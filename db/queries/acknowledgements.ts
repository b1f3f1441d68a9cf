/** Acknowledgements of findings of reconciliations that cannot be remedied: see `db/migrations/0009-finance.ts`. */
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
    WHERE report.id = ? ORDER BY acknowledgement.id`,
    [reconciliationId],
  );
  return rows.map(camelCased);
}

/** Finds the latest completed reconciliation, with the number of its findings without a confirmed acknowledgement. */
export async function findLatestReport(
  database: Database,
): Promise<{ readonly reconciliationId: string; readonly findings: number } | null> {
  const { rows } = await database.raw<{ rows: { id: string; findings: string }[] }>(/* sql */ `
    SELECT id,
      (SELECT coalesce(sum((result ->> 'findings')::bigint), 0) FROM jsonb_array_elements(checks) AS result)
      - (SELECT count(*) FROM jsonb_array_elements(report.findings) AS finding WHERE EXISTS (
        SELECT FROM acknowledgements AS acknowledgement
        WHERE ${SAME_FINDING} AND acknowledgement.outcome = 'confirmed')) AS findings
    FROM reconciliations AS report WHERE finished_at IS NOT NULL ORDER BY id DESC LIMIT 1`);
  const [latest] = rows;
  return latest ? { reconciliationId: latest.id, findings: Number(latest.findings) } : null;
}
