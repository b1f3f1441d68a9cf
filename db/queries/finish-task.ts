import { newId } from '../../domain/ids.ts';
import type { GeneratedMedia, Task, TaskFailure } from '../../domain/task.ts';
import { isFinal } from '../../domain/task.ts';
import type { Database } from '../database.ts';
import { createdAtOf, type TaskRow, toTask } from './tasks.ts';
import { findTransfer, insertTransfer } from './transfers.ts';

/** How a task ends. */
export type TaskEnding =
  | { readonly status: 'succeeded'; readonly output: readonly GeneratedMedia[] }
  | { readonly status: 'failed'; readonly failure: TaskFailure };

/** The event that the ending causes; its payload is made from the task as it stands after the ending. */
export interface EventOfEnding {
  readonly id: string;
  readonly type: 'task.succeeded' | 'task.failed';
  readonly payload: (task: Task) => string;
}

export interface FinishedTask {
  readonly task: Task;
  /** The settlement or the refund. */
  readonly resolutionId: string;
  /** One for each endpoint that wants the event; empty when the task was final before. */
  readonly deliveryIds: readonly string[];
  /** False when the task was final before this call, which then changed nothing. */
  readonly applied: boolean;
}

/**
 * Ends a task: the settlement or the refund, the final status, the event and its deliveries, all in one transaction.
 * Calling it again, with whatever ending, changes nothing and returns the first ending.
 *
 * @param event null for an ending that causes none (a processing timeout)
 * @throws Error when there is no such task
 */
export async function finishTask(
  database: Database,
  taskId: string,
  ending: TaskEnding,
  event: EventOfEnding | null,
): Promise<FinishedTask> {
  return database.transaction(async (transaction) => {
    const createdAt = createdAtOf(taskId);
    const row = await transaction<TaskRow>('tasks').where({ id: taskId, created_at: createdAt }).forUpdate().first();
    if (!row) throw new Error(`there is no task ${taskId}`);
    const task = toTask(row);
    if (isFinal(task.status)) return alreadyFinished(transaction, task);

    const resolutionId = await insertResolution(transaction, task, ending.status);
    const [updated] = await transaction('tasks')
      .where({ id: taskId, created_at: createdAt })
      .update({
        status: ending.status,
        resolution_id: resolutionId,
        output: ending.status === 'succeeded' ? JSON.stringify(ending.output) : null,
        error_code: ending.status === 'failed' ? ending.failure.code : null,
        error_message: ending.status === 'failed' ? ending.failure.message : null,
        completed_at: transaction.fn.now(),
        updated_at: transaction.fn.now(),
      })
      .returning<TaskRow[]>('*');
    if (!updated) throw new Error(`task ${taskId} cannot have disappeared`);
    const finished = toTask(updated);
    const deliveryIds = event ? await insertEvent(transaction, finished, event) : [];
    return { task: finished, resolutionId, deliveryIds, applied: true };
  });
}

async function alreadyFinished(transaction: Database, task: Task): Promise<FinishedTask> {
  if (task.resolutionId === null) throw new Error(`task ${task.id} is final without a resolution`);
  const deliveries = await transaction<{ id: string; task_id: string; status: string }>('deliveries')
    .where({ task_id: task.id, status: 'pending' })
    .whereNull('workflow_started_at')
    .select('id');
  return { task, resolutionId: task.resolutionId, deliveryIds: deliveries.map(({ id }) => id), applied: false };
}

async function insertResolution(transaction: Database, task: Task, status: TaskEnding['status']): Promise<string> {
  const reservation = await findTransfer(transaction, task.reservationId, task.createdAt);
  if (!reservation) throw new Error(`task ${task.id} has lost its reservation ${task.reservationId}`);
  const id = newId('transfer');
  await insertTransfer(transaction, {
    id,
    kind: status === 'succeeded' ? 'settlement' : 'refund',
    accountId: task.accountId,
    apiKeyId: task.apiKeyId,
    taskId: task.id,
    amount: reservation.amount,
    signupAmount: reservation.signupAmount,
    createdAt: new Date(),
    resolves: { reservationId: task.reservationId, openedAt: task.createdAt },
  });
  return id;
}

async function insertEvent(transaction: Database, task: Task, event: EventOfEnding): Promise<readonly string[]> {
  const endpoints = await transaction<{ id: string; account_id: string }>('webhook_endpoints')
    .where({ account_id: task.accountId })
    .whereNull('deleted_at')
    .whereNull('disabled_at')
    .whereRaw('? = ANY (events)', [event.type])
    .select('id');
  const createdAt = task.completedAt ?? new Date();
  await transaction('events').insert({
    id: event.id,
    account_id: task.accountId,
    type: event.type,
    task_id: task.id,
    payload: event.payload(task),
    created_at: createdAt,
  });
  const deliveries = endpoints.map((endpoint) => ({
    id: newId('delivery'),
    event_id: event.id,
    endpoint_id: endpoint.id,
    account_id: task.accountId,
    task_id: task.id,
    created_at: createdAt,
  }));
  if (deliveries.length > 0) await transaction('deliveries').insert(deliveries);
  return deliveries.map(({ id }) => id);
}
