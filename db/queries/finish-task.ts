import { createdAtMsOf, newId } from '../../domain/ids.ts';
import { type GeneratedMedia, isFinal, type Task, type TaskFailure } from '../../domain/task.ts';
import { WEBHOOKS } from '../../domain/policy.ts';
import { renderEvent } from '../../domain/webhook-event.ts';
import { againIfLost } from '../connections.ts';
import type { Database } from '../database.ts';
import { taskById, type TaskRow, toTask } from './tasks.ts';

/** The ending of a task. */
export type TaskEnding =
  | { readonly status: 'succeeded'; readonly output: readonly GeneratedMedia[] }
  | { readonly status: 'failed'; readonly failure: TaskFailure };

/** The event that the ending causes; its payload shows the task after the ending. */
export interface EventOfEnding {
  readonly id: string;
  readonly type: 'task.succeeded' | 'task.failed';
  readonly payload: (task: Task) => string;
}

export interface FinishedTask {
  readonly task: Task;
  /** The settlement or the refund. */
  readonly resolutionId: string;
  /** One for each endpoint that subscribed to the event; empty if the task was already final. */
  readonly deliveryIds: readonly string[];
  /** False if the task was already final, so that this call changed nothing. */
  readonly applied: boolean;
}

/**
 * Ends a task: settlement or refund, final status, event and deliveries, in one statement (migration 0009), so that
 * nothing waits for the locks of a process that stops halfway. Calling it again with any ending changes nothing and
 * returns the first ending.
 *
 * @param event null for an ending that causes none (a processing timeout) or was announced before
 * @param lostId the id of the settlement or refund, and so the time, of an ending that a restored database has lost
 * @throws Error if there is no such task
 */
export async function finishTask(
  database: Database,
  taskId: string,
  ending: TaskEnding,
  event: EventOfEnding | null,
  lostId?: string,
): Promise<FinishedTask> {
  return againIfLost(async () => {
    const read = await readTask(database, taskId);
    if (!read) throw new Error(`there is no task ${taskId}`);
    if (isFinal(read.task.status)) return alreadyFinished(database, read.task);
    const resolutionId = lostId ?? newId('transfer', read.now.getTime());
    const finished = asFinished(read.task, ending, resolutionId, new Date(createdAtMsOf('transfer', resolutionId)));
    const deliveryIds = Array.from({ length: event ? WEBHOOKS.maxEndpoints : 0 }, () =>
      newId('delivery', read.now.getTime()),
    );
    const { rows } = await database.raw<{ rows: (TaskRow & { applied: boolean; delivery_ids: string[] })[] }>(
      /* sql */ `
      SELECT finished.applied, finished.delivery_ids, (finished.task).* FROM finish_task(:id, :createdAt, :status,
        :resolutionId, :completedAt, :output, :errorCode, :errorMessage, :eventId, :eventType, :payload, :deliveryIds)
        AS finished`,
      {
        id: taskId,
        createdAt: finished.createdAt,
        status: finished.status,
        resolutionId,
        completedAt: finished.completedAt,
        output: finished.output && JSON.stringify(finished.output),
        errorCode: finished.failure?.code ?? null,
        errorMessage: finished.failure?.message ?? null,
        eventId: event?.id ?? null,
        eventType: event?.type ?? null,
        payload: event?.payload(finished) ?? null,
        deliveryIds,
      },
    );
    const [row] = rows;
    if (!row) throw new Error(`task ${taskId} cannot have disappeared`);
    const task = toTask(row);
    if (!row.applied) return alreadyFinished(database, task);
    return { task, resolutionId, deliveryIds: row.delivery_ids, applied: true };
  });
}

/** The event that announces an ending to clients. */
export function eventOf({ status }: TaskEnding): EventOfEnding {
  const id = newId('event');
  const type = `task.${status}` as const;
  return { id, type, payload: (task) => renderEvent({ id, type, task }) };
}

/** The task, and the database's current time. */
async function readTask(database: Database, taskId: string): Promise<{ task: Task; now: Date } | null> {
  const query = taskById(database, taskId);
  const row = await query?.select<(TaskRow & { now: Date })[]>('*', database.raw('clock_timestamp() AS now')).first();
  if (!row) return null;
  const task = toTask(row);
  return { task, now: row.now < task.createdAt ? task.createdAt : row.now };
}

/** The task as it will be in the database. */
function asFinished(task: Task, ending: TaskEnding, resolutionId: string, now: Date): Task {
  return {
    ...task,
    status: ending.status,
    resolutionId,
    output: ending.status === 'succeeded' ? ending.output : null,
    failure: ending.status === 'failed' ? ending.failure : null,
    completedAt: now,
    updatedAt: now,
  };
}

async function alreadyFinished(database: Database, task: Task): Promise<FinishedTask> {
  if (task.resolutionId === null) throw new Error(`task ${task.id} is final without a resolution`);
  const deliveries = await database<{ id: string; task_id: string; status: string }>('deliveries')
    .where({ task_id: task.id, status: 'pending' })
    .whereNull('workflow_started_at')
    .orderBy('id')
    .select('id');
  return { task, resolutionId: task.resolutionId, deliveryIds: deliveries.map(({ id }) => id), applied: false };
}
