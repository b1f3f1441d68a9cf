/** Reconciliation in tests without workflows and without a store. */
import type { Database } from '../../db/database.ts';
import { finishReconciliation, insertReconciliation } from '../../db/queries/reconciliations.ts';
import type { Check, ReconciliationReport, Sources } from '../../db/reconciliation/check.ts';
import { runChecks } from '../../db/reconciliation/reconcile.ts';
import { newId } from '../../domain/ids.ts';

/** No workflow is open, and every file exists. */
export const NOTHING_OUTSIDE: Pick<Sources, 'workflows' | 'files'> = {
  workflows: { listOpen: async function* () {}, isOpen: async () => false },
  files: { sizeOf: async () => 1, keyOf: (url) => url },
};

/** Runs some checks on the current rows of a database, or of a transaction. */
export function checkBooks(database: Database, checks: readonly Check[]): Promise<ReconciliationReport> {
  return runChecks(checks, { snapshot: database, database, ...NOTHING_OUTSIDE });
}

/** Writes the report of a complete reconciliation without running its checks. @returns its id */
export async function writeReport(database: Database, findings = 0): Promise<string> {
  const id = newId('reconciliation');
  await insertReconciliation(database, { id, requestedBy: 'schedule' });
  const check = { check: 'account_balances', question: 'Do they agree?', findings, durationMs: 1 };
  await finishReconciliation(database, id, { checks: [check], findings: [] });
  return id;
}
