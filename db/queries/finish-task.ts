import { createdAtMsOf, newId } from '../../domain/ids.ts';
import type { Submission } from '../../domain/media-route.ts';
import { isFinal, type Task, type TaskEnding } from '../../domain/task.ts';
import { WEBHOOKS } from '../../domain/policy.ts';
import { renderEvent, TASK_EVENT } from '../../domain/webhook-event.ts';
import { retryOnLostConnection } from '../connections.ts';
import type { Database } from '../database.ts';
import { withPartitions } from '../partitions.ts';
import { findTask, type TaskRow, tasksById, toTask } from './tasks.ts';

/** The event of an outcome. Its payload shows the final task. */
export interface EventOfEnding {
  readonly id: string;
  readonly type: 'task.succeeded' | 'task.failed';
  readonly payload: (task: Task) => string;
}

export type EndedSubmission = Pick<Submission, 'provider' | 'model' | 'submittedAt' | 'outcome' | 'code' | 'detail'>;

export interface FinishedTask {
  readonly task: Task;
  /** The settlement or the refund. */
  readonly resolutionId: string;
  /** One for each endpoint that subscribed to the event; empty if the task was already final. */
  readonly deliveryIds: readonly string[];
  /** False if the task was already final, so that this call changed nothing. */
  readonly applied: boolean;
  /** The submission that an upstream accepted, otherwise the last one; null also if the task was already final. */
  readonly submission: EndedSubmission | null;
}

/** A task to end. */
export interface Finish {
  readonly taskId: string;
  readonly ending: TaskEnding;
  /** Null for an outcome without an event (a processing timeout), or whose event was sent before. */
  readonly event: EventOfEnding | null;
  /** The id, and thereby the time, of the settlement or refund that a restored database has lost. */
  readonly lostId?: string | undefined;
}

/**
 * Ends a task: writes the settlement or refund, final status, event and deliveries in one statement (`finish_tasks`),
 * so that a process that stops halfway leaves no locks. Another call with any outcome changes nothing and returns the
 * first outcome.
 *
 * @param event as in {@link Finish}
 * @param lostId as in {@link Finish}
 * @throws Error if there is no such task
 */
export async function finishTask(
  database: Database,
  taskId: string,
  ending: TaskEnding,
  event: EventOfEnding | null,
  lostId?: string,
): Promise<FinishedTask> {
  const [finished] = await retryOnLostConnection(() => finishTasks(database, [{ taskId, ending, event, lostId }]));
  if (!finished) throw new Error(`there is no task ${taskId}`);
  return finished;
}

/**
 * Ends several tasks like {@link finishTask}, all in one statement or none.
 *
 * @returns one result for each task, in order; null where there is no such task
 */
export async function finishTasks(
  database: Database,
  finishes: readonly Finish[],
): Promise<readonly (FinishedTask | null)[]> {
  const { tasks, now } = await readTasks(database, finishes);
  const items = finishes.flatMap((finish, index) => {
    const task = tasks.get(finish.taskId);
    return task && !isFinal(task.status) ? [{ index, ...toItem(finish, task, now) }] : [];
  });
  const rows = items.length === 0 ? [] : await finishRows(database, items);
  const applied = new Map(
    rows.flatMap((row) => {
      const item = items[Number(row.place) - 1];
      return item && row.applied ? [[item.index, row] as const] : [];
    }),
  );
  return Promise.all(
    finishes.map(async ({ taskId }, index) => {
      const row = applied.get(index);
      if (row)
        return {
          task: toTask(row),
          resolutionId: row.resolution_id ?? '',
          deliveryIds: row.delivery_ids,
          applied: true,
          submission: submissionOf(row),
        };
      return tasks.has(taskId) ? alreadyFinished(database, taskId) : null;
    }),
  );
}

type FinishedRow = TaskRow & {
  readonly place: string;
  readonly applied: boolean;
  readonly delivery_ids: string[];
  readonly job_provider: string | null;
  readonly job_model: string | null;
  readonly job_submitted_at: Date | null;
  readonly job_outcome: Submission['outcome'];
  readonly job_code: Submission['code'];
  readonly job_detail: string | null;
};

function submissionOf(row: FinishedRow): FinishedTask['submission'] {
  const { job_provider: provider, job_model: model, job_submitted_at: submittedAt } = row;
  if (provider === null || model === null || submittedAt === null) return null;
  return { provider, model, submittedAt, outcome: row.job_outcome, code: row.job_code, detail: row.job_detail };
}

async function finishRows(database: Database, items: readonly object[]): Promise<readonly FinishedRow[]> {
  // A refund that pays a debt writes a transfer into the current month.
  const { rows } = await withPartitions(database, () =>
    database.raw<{ rows: FinishedRow[] }>(
      /* sql */ `
      SELECT place, applied, delivery_ids, (task).*, (job).provider AS job_provider, (job).model AS job_model,
        (job).submitted_at AS job_submitted_at, (job).outcome AS job_outcome, (job).code AS job_code, (job).detail AS job_detail
      FROM finish_tasks(:items::jsonb)`,
      { items: JSON.stringify(items) },
    ),
  );
  return rows;
}

/** Converts to an input of `finish_tasks`. */
function toItem({ ending, event, lostId }: Finish, task: Task, now: Date) {
  const moment = now < task.createdAt ? task.createdAt : now;
  const resolutionId = lostId ?? newId('transfer', moment.getTime());
  const finished = asFinished(task, ending, resolutionId, new Date(createdAtMsOf('transfer', resolutionId)));
  return {
    id: task.id,
    created_at: task.createdAt,
    account_id: task.accountId,
    status: finished.status,
    resolution_id: resolutionId,
    completed_at: finished.completedAt,
    output: finished.output,
    error_code: finished.failure?.code ?? null,
    error_message: finished.failure?.message ?? null,
    cancelled_by: finished.failure?.cancelledBy ?? null,
    event_id: event?.id ?? null,
    event_type: event?.type ?? null,
    payload: event?.payload(finished) ?? null,
    delivery_ids: Array.from({ length: event ? WEBHOOKS.maxEndpoints : 0 }, () => newId('delivery', moment.getTime())),
  };
}

/** Creates the event that announces an outcome to clients. */
export function eventOf({ status }: TaskEnding): EventOfEnding {
  const id = newId('event');
  const type = `task.${status}` as const;
  return { id, type, payload: (task) => renderEvent(TASK_EVENT, { id, type, task }) };
}

/** Reads the existing tasks by id, and the database's current time. */
async function readTasks(
  database: Database,
  finishes: readonly Finish[],
): Promise<{ readonly tasks: ReadonlyMap<string, Task>; readonly now: Date }> {
  const ids = finishes.map(({ taskId }) => taskId);
  const rows = await tasksById(database, ids).select<(TaskRow & { now: Date })[]>(
    '*',
    database.raw('clock_timestamp() AS now'),
  );
  return { tasks: new Map(rows.map((row) => [row.id, toTask(row)])), now: rows[0]?.now ?? new Date() };
}

/** Returns the task with its outcome, as the database will store it. */
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

async function alreadyFinished(database: Database, taskId: string): Promise<FinishedTask> {
  const task = await findTask(database, taskId);
  if (!task || task.resolutionId === null) throw new Error(`task ${taskId} is final without a resolution`);
  const deliveries = await database<{ id: string; task_id: string; status: string }>('deliveries')
    .where({ task_id: task.id, status: 'pending' })
    .whereNull('workflow_started_at')
    .orderBy('id')
    .select('id');
  return {
    task,
    resolutionId: task.resolutionId,
    deliveryIds: deliveries.map(({ id }) => id),
    applied: false,
    submission: null,
  };
}
