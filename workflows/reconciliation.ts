/** Compares the books with each other and with Temporal, on a schedule and on demand. What it finds is a report, not an error. */
import { log, proxyActivities, setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';
import type { ReconciliationActivities, ReconciliationSummary } from '../activities/reconciliation.ts';
import { SEARCH_ATTRIBUTES } from '../domain/search-attributes.ts';

export interface ReconciliationInput {
  /** Of the one that an operator asked for; null on the schedule. */
  readonly reconciliationId: string | null;
}

const { beginReconciliation } = proxyActivities<ReconciliationActivities>({
  startToCloseTimeout: '30 seconds',
  summary: 'Note that it began',
});

const { compareBooks } = proxyActivities<ReconciliationActivities>({
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '1 minute',
  retry: { initialInterval: '10 seconds', maximumInterval: '10 minutes' },
  summary: 'Make all checks on one state of the database',
});

export async function reconciliation({ reconciliationId }: ReconciliationInput): Promise<ReconciliationSummary> {
  upsertSearchAttributes([{ key: SEARCH_ATTRIBUTES.kind, value: 'reconciliation' }]);
  const id = await beginReconciliation(reconciliationId);
  setCurrentDetails(`Making the checks of ${id}. Which one is in the heartbeat of the pending activity.`);
  const summary = await compareBooks(id);
  const outcome = summary.findings === 0 ? 'clean' : 'findings';
  upsertSearchAttributes([{ key: SEARCH_ATTRIBUTES.outcome, value: outcome }]);
  setCurrentDetails(`Ended with ${summary.findings} findings. Read them with GET /admin/v1/reconciliations/${id}.`);
  if (summary.findings > 0) log.error('the books do not agree', { ...summary });
  return summary;
}
