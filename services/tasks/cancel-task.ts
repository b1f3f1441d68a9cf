/** Cancels a task for an operator or its customer: refunds the hold, and fails the task with `processing_failed`. */
import { eventOf, finishTask } from '../../db/queries/finish-task.ts';
import { findCancellation, type OperatorAction, recordOperatorAction } from '../../db/queries/operator-actions.ts';
import { findAccountTask, mayStillRender } from '../../db/queries/tasks.ts';
import { badRequest, ServiceError } from '../../domain/errors.ts';
import { CANCELLED_BY_CUSTOMER, CANCELLED_BY_OPERATOR, isFinal, type Task } from '../../domain/task.ts';
import { TASK_MESSAGES } from '../../domain/task-messages.ts';
import type { Services, TaskServices } from '../services.ts';

export interface Cancelling extends Pick<Services, 'database' | 'metrics'> {
  readonly tasks: Pick<TaskServices, 'workflows'> & { readonly starter: Pick<TaskServices['starter'], 'start'> };
}

/**
 * Cancels the task's workflow. If none runs, fails the task here, and starts a workflow that cancels its job. Another
 * call repeats only the steps that failed. A result that is being charged at this moment stays charged.
 *
 * @throws ServiceError `bad_request` for a task that is final for another reason; `processing_unavailable` when
 *   Temporal does not answer: call again
 */
export async function cancelTask(
  cancelling: Cancelling,
  task: Task,
  { author, reason }: { author: string; reason: string },
): Promise<OperatorAction> {
  const { database, metrics, tasks } = cancelling;
  if (isFinal(task.status)) {
    const earlier = await findCancellation(database, task.id);
    if (!earlier) throw badRequest(`The task has ${task.status}, which is final. It can no longer be cancelled.`);
    await abandonJob(cancelling, task);
    return earlier;
  }
  const action = await recordOperatorAction(database, { taskId: task.id, kind: 'cancel', author, reason });
  if (!(await tasks.workflows.cancel(task.id))) {
    const ending = { status: 'failed', failure: CANCELLED_BY_OPERATOR } as const;
    const { applied, task: ended } = await finishTask(database, task.id, ending, eventOf(ending));
    if (applied) metrics.taskEnded(ended);
    await abandonJob(cancelling, task);
  }
  return action;
}

/**
 * Cancels a task for its customer, if its upstream certainly renders nothing for it. Another call changes nothing.
 *
 * @returns the task, failed and refunded
 * @throws ServiceError 409 with the reason when the task continues or is final; `processing_unavailable` when the
 *   outcome is unknown: call again
 */
export async function cancelOwnTask(cancelling: Cancelling, task: Task): Promise<Task> {
  const { database, tasks } = cancelling;
  if (isCancelledByCustomer(task)) return task;
  if (isFinal(task.status)) throw tooLate(`The task has ${task.status}.`);
  const answer = await tasks.workflows.cancelByCustomer(task.id);
  // Another request may have cancelled the task meanwhile, or its workflow may have completed just before the call.
  const found = (await findAccountTask(database, task.accountId, task.id)) ?? task;
  const current = answer === null && !isFinal(found.status) ? await cancelUnstarted(cancelling, found) : found;
  if (isCancelledByCustomer(current)) return current;
  throw tooLate(answer?.isCancelled === false ? answer.reason : `The task has ${current.status}.`);
}

/** Ends a task without a running workflow. No upstream has it, unless Temporal lost its history. */
async function cancelUnstarted(cancelling: Cancelling, task: Task): Promise<Task> {
  const { database, metrics } = cancelling;
  if (await mayStillRender(database, task.id)) throw tooLate(TASK_MESSAGES.recovering);
  const ending = { status: 'failed', failure: CANCELLED_BY_CUSTOMER } as const;
  const { applied, task: ended } = await finishTask(database, task.id, ending, eventOf(ending));
  if (applied) metrics.taskEnded(ended);
  await abandonJob(cancelling, task);
  return ended;
}

function isCancelledByCustomer({ failure }: Pick<Task, 'failure'>): boolean {
  return failure?.cancelledBy === 'customer';
}

function tooLate(reason: string): ServiceError {
  return new ServiceError('bad_request', `The task cannot be cancelled. ${reason}`, { status: 409 });
}

/** Starts the workflow again, which only cancels the job of a failed task. A completed workflow stays closed. */
async function abandonJob({ database, tasks }: Cancelling, task: Task): Promise<void> {
  if (!(await mayStillRender(database, task.id)) || (await tasks.starter.start(task))) return;
  throw new ServiceError(
    'processing_unavailable',
    'The task was refunded, but its job could not be cancelled: Temporal does not answer. Try again.',
  );
}
