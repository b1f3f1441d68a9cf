/** Ends a task by an operator's word: the hold is given back, and the task fails with `processing_failed`. */
import type { Database } from '../../db/database.ts';
import { eventOf, finishTask } from '../../db/queries/finish-task.ts';
import { findCancellation, type OperatorAction, recordOperatorAction } from '../../db/queries/operator-actions.ts';
import { badRequest } from '../../domain/errors.ts';
import { CANCELLED_BY_OPERATOR, isFinal, type Task } from '../../domain/task.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { WorkflowAccess } from '../../temporal/workflow-access.ts';

/**
 * Asks the task's workflow to clean up behind itself, or ends the task here where no workflow runs. Asking again repeats
 * what did not succeed, and changes nothing else. A result that is being charged at this moment stays charged.
 *
 * @throws ServiceError `bad_request` for a task that is final for another reason; `processing_unavailable` when Temporal does
 *   not answer: ask again
 */
export async function cancelTask(
  { database, workflows, metrics }: { database: Database; workflows: WorkflowAccess; metrics: Metrics },
  task: Task,
  { author, reason }: { author: string; reason: string },
): Promise<OperatorAction> {
  if (isFinal(task.status)) {
    const earlier = await findCancellation(database, task.id);
    if (!earlier) throw badRequest(`The task has ${task.status} and is final. It cannot be cancelled any more.`);
    return earlier;
  }
  const action = await recordOperatorAction(database, { taskId: task.id, kind: 'cancel', author, reason });
  if (!(await workflows.cancel(task.id))) {
    const ending = { status: 'failed', failure: CANCELLED_BY_OPERATOR } as const;
    const { applied, task: ended } = await finishTask(database, task.id, ending, eventOf(ending));
    if (applied) metrics.taskEnded(ended);
  }
  return action;
}
