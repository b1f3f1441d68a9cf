/** Reconciliation in tests that have no workflows and no store. */
import type { Database } from '../../db/database.ts';
import type { Check, ReconciliationReport, Sources } from '../../db/reconciliation/check.ts';
import { runChecks } from '../../db/reconciliation/reconcile.ts';

/** No workflow is open, and every file is there. */
export const NOTHING_OUTSIDE: Pick<Sources, 'workflows' | 'files'> = {
  workflows: { listOpen: async function* () {}, isOpen: async () => false },
  files: { has: async () => true, keyOf: (url) => url },
};

/** Runs some checks on what a database, or a transaction of it, has now. */
export function checkBooks(database: Database, checks: readonly Check[]): Promise<ReconciliationReport> {
  return runChecks(checks, { snapshot: database, database, ...NOTHING_OUTSIDE });
}
