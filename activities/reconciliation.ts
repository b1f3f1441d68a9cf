/** Runs the checks of a reconciliation and stores its report. */
import { Context } from '@temporalio/activity';
import type { Database } from '../db/database.ts';
import { finishReconciliation, insertReconciliation } from '../db/queries/reconciliations.ts';
import type { FileLookup, WorkflowLookup } from '../db/reconciliation/check.ts';
import { reconcile } from '../db/reconciliation/reconcile.ts';
import { newId } from '../domain/ids.ts';

export interface ReconciliationDependencies {
  readonly database: Database;
  readonly workflows: WorkflowLookup;
  readonly storage: FileLookup;
}

/** The result as shown in the history; the report contains the rows. */
export interface ReconciliationSummary {
  readonly reconciliationId: string;
  readonly findings: number;
  /** The checks with findings. */
  readonly failedChecks: readonly string[];
}

export type ReconciliationActivities = ReturnType<typeof createReconciliationActivities>;

const HEARTBEAT_MS = 10_000;

export function createReconciliationActivities({ database, workflows, storage }: ReconciliationDependencies) {
  return {
    /** @param reconciliationId null to create one @returns its id */
    async beginReconciliation(reconciliationId: string | null): Promise<string> {
      const id = reconciliationId ?? newId('reconciliation');
      await insertReconciliation(database, { id, requestedBy: reconciliationId === null ? 'schedule' : 'operator' });
      return id;
    },

    /** Runs all checks. Only reads, so it can be repeated. */
    async compareBooks(reconciliationId: string): Promise<ReconciliationSummary> {
      const context = Context.current();
      let check = '';
      const beating = setInterval(() => context.heartbeat({ check }), HEARTBEAT_MS);
      try {
        const report = await reconcile(database, { workflows, files: storage }, (name) => {
          check = name;
          context.heartbeat({ check });
        });
        await finishReconciliation(database, reconciliationId, report);
        const failed = report.checks.filter(({ findings }) => findings > 0);
        return {
          reconciliationId,
          findings: failed.reduce((total, { findings }) => total + findings, 0),
          failedChecks: failed.map(({ check }) => check),
        };
      } finally {
        clearInterval(beating);
      }
    },
  };
}
