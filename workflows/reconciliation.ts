/** Compares the books with each other and with Temporal, on schedule and on request. Findings are not errors. */
import { log, proxyActivities, setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import type { ReconciliationActivities, ReconciliationSummary } from '../activities/reconciliation.ts';
import { SEARCH_ATTRIBUTES } from '../domain/search-attributes.ts';
import { TASK_QUEUES } from '../domain/task-queues.ts';

export interface ReconciliationInput {
  /** The id of a reconciliation that an operator requested; null for a scheduled one. */
  readonly reconciliationId: string | null;
}

const { beginReconciliation } = proxyActivities<ReconciliationActivities>({
  taskQueue: TASK_QUEUES.schedules,
  startToCloseTimeout: '30 seconds',
  summary: 'Record that the reconciliation has started',
});

const { compareBooks } = proxyActivities<ReconciliationActivities>({
  taskQueue: TASK_QUEUES.schedules,
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '1 minute',
  retry: { initialInterval: '10 seconds', maximumInterval: '10 minutes' },
  summary: 'Run all checks on one snapshot of the database',
});

export async function reconciliation({ reconciliationId }: ReconciliationInput): Promise<ReconciliationSummary> {
  upsertSearchAttributes([{ key: SEARCH_ATTRIBUTES.kind, value: 'reconciliation' }]);
  const id = await beginReconciliation(reconciliationId);
  setCurrentDetails(`Running the checks of ${id}. The heartbeat of the pending activity names the current one.`);
  const summary = await compareBooks(id);
  const outcome = summary.findings === 0 ? 'clean' : 'findings';
  upsertSearchAttributes([{ key: SEARCH_ATTRIBUTES.outcome, value: outcome }]);
  setCurrentDetails(`Ended with ${summary.findings} findings. Read them with GET /admin/v1/reconciliations/${id}.`);
  if (summary.findings > 0) log.error('the ledgers do not agree', { ...summary });
  return summary;
}
