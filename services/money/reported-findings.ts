/** The findings of a reconciliation with their acknowledgements. */
import type { Database } from '../../db/database.ts';
import { listAcknowledgements } from '../../db/queries/acknowledgements.ts';
import { type Reconciliation } from '../../db/queries/reconciliations.ts';
import { type ReportedFinding } from '../resources/reconciliations.ts';

function keyOf(...facts: readonly string[]): string {
  return facts.join('\n');
}

/** The findings of a report, in its order. */
export async function readFindings(
  database: Database,
  { id, report }: Reconciliation,
): Promise<readonly ReportedFinding[]> {
  if (!report || report.findings.length === 0) return [];
  const acknowledgements = await listAcknowledgements(database, id);
  const byFinding = new Map(
    acknowledgements.map((found) => [keyOf(found.checkName, found.subject, found.detail), found] as const),
  );
  return report.findings.map((finding) => ({
    ...finding,
    acknowledgement: byFinding.get(keyOf(finding.check, finding.subject, finding.detail)) ?? null,
  }));
}
