/**
 * After a restore of the database to an earlier moment, ends a task with the outcome in its workflow's history, and
 * with the same ledger row. Endpoints that have received the task's event do not receive it again.
 */
import type { Database } from '../../db/database.ts';
import { eventOf, type FinishedTask, finishTask } from '../../db/queries/finish-task.ts';
import type { RecordedEnding } from '../../domain/task.ts';
import type { WorkflowAccess } from './workflow-access.ts';

/** @throws ServiceError `processing_unavailable` when Temporal does not answer; the task then stays as it is */
export async function endAsRecorded(
  { database, workflows }: { readonly database: Database; readonly workflows: Pick<WorkflowAccess, 'describe'> },
  taskId: string,
  recorded: RecordedEnding,
): Promise<FinishedTask> {
  const event = (await isToBeAnnounced(workflows, recorded)) ? eventOf(recorded.ending) : null;
  return finishTask(database, taskId, recorded.ending, event, recorded.resolutionId);
}

/** Sends the event again, to all endpoints and under a new id, unless all of them are known to have received it. */
async function isToBeAnnounced(
  workflows: Pick<WorkflowAccess, 'describe'>,
  { ending, deliveryIds }: RecordedEnding,
): Promise<boolean> {
  if (ending.status === 'failed' && ending.failure.code === 'processing_timeout') return false;
  const deliveries = await Promise.all(deliveryIds.map((deliveryId) => workflows.describe(deliveryId)));
  return deliveries.length === 0 || deliveries.some((delivery) => delivery?.outcome !== 'delivered');
}
