/** Reports of reconciliations. */
import type { Database } from '../database.ts';
import type { CheckResult, Finding, ReconciliationReport } from '../reconciliation/check.ts';
import { type IdPage, newestFirst } from '../page.ts';
import { openFindingsSql } from './acknowledgements.ts';
import { camelCased, type RowOf } from '../row.ts';

export interface Reconciliation {
  readonly id: string;
  readonly requestedBy: 'schedule' | 'operator';
  readonly createdAt: Date;
  /** Null while the reconciliation is running. */
  readonly finishedAt: Date | null;
  /** The number of findings without a confirmed acknowledgement; null while the reconciliation is running. */
  readonly openFindings: number | null;
  readonly report: ReconciliationReport | null;
}

type ReconciliationRow = Omit<RowOf<Reconciliation>, 'report'> & {
  readonly checks: readonly CheckResult[] | null;
  readonly findings: readonly Finding[] | null;
};

/** Records that a reconciliation was requested, unless it is already recorded. */
export async function insertReconciliation(
  database: Database,
  { id, requestedBy }: Pick<Reconciliation, 'id' | 'requestedBy'>,
): Promise<void> {
  await database('reconciliations').insert({ id, requested_by: requestedBy }).onConflict('id').ignore();
}

/** Stores the first report of a reconciliation; further ones are ignored. */
export async function finishReconciliation(
  database: Database,
  id: string,
  report: ReconciliationReport,
): Promise<void> {
  await database('reconciliations')
    .where({ id })
    .whereNull('finished_at')
    .update({
      finished_at: database.fn.now(),
      checks: JSON.stringify(report.checks),
      findings: JSON.stringify(report.findings),
    });
}

export async function findReconciliation(database: Database, id: string): Promise<Reconciliation | null> {
  const row = await withOpenFindings(database).where({ id }).first();
  return row ? toReconciliation(row) : null;
}

/** Newest first. @param before the id of the last reconciliation on the previous page */
export async function listReconciliations(database: Database, page: IdPage): Promise<readonly Reconciliation[]> {
  return (await newestFirst(withOpenFindings(database), page)).map(toReconciliation);
}

function withOpenFindings(database: Database) {
  return database<ReconciliationRow>('reconciliations').select<ReconciliationRow[]>(
    '*',
    database.raw(`(${openFindingsSql('reconciliations')})::int AS open_findings`),
  );
}

function toReconciliation({ checks, findings, ...row }: ReconciliationRow): Reconciliation {
  return { ...camelCased(row), report: checks && findings ? { checks, findings } : null };
}
