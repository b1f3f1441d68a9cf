/** Lists and restarts unfinished work: in pages for `genway recover`, and overdue work. */
import type { Database } from '../database.ts';
import { createdAtOf, MAY_STILL_RENDER_SQL, type TaskToStart, type TaskToStartRow, toTaskToStart } from './tasks.ts';

/** A page starts after the last id of the previous one. */
export interface Page {
  readonly after?: string | undefined;
  readonly limit: number;
}

/** A task that is queued or processing. */
export interface UnfinishedTask extends TaskToStart {
  /** Whether the start of its workflow is confirmed. */
  readonly isStarted: boolean;
  /** Whether its deadline has passed, by the database's clock. */
  readonly isOutOfTime: boolean;
}

/** Oldest first. */
export async function listUnfinishedTasks(
  database: Database,
  { after = '', limit }: Page,
): Promise<readonly UnfinishedTask[]> {
  const { rows } = await database.raw<{ rows: (TaskToStartRow & { is_started: boolean; is_out_of_time: boolean })[] }>(
    /* sql */ `
    SELECT id, account_id, model, kind, price, deadline_at, request_id,
      workflow_started_at IS NOT NULL AS is_started, deadline_at <= now() AS is_out_of_time
    FROM tasks WHERE status IN ('queued', 'processing') AND id > :after ORDER BY id LIMIT :limit`,
    { after, limit },
  );
  return rows.map(toTaskToStart);
}

/** Makes the relay start a task's workflow again. @returns false if the task has ended in the meantime */
export async function restartTask(database: Database, taskId: string): Promise<boolean> {
  const restarted = await database('tasks')
    .where({ id: taskId, created_at: createdAtOf(taskId) })
    .whereIn('status', ['queued', 'processing'])
    .update({
      workflow_started_at: null,
      // From now on, only a workflow may end the task, because the record of its submission may be lost.
      taken_up_at: database.raw('coalesce(taken_up_at, now())'),
      next_start_at: database.fn.now(),
    });
  return restarted === 1;
}

/**
 * Lists tasks that failed in the last seconds and may have a job at an upstream, oldest first. Only their workflows
 * know whether the jobs were cancelled.
 */
export async function listFailedWithJob(
  database: Database,
  { after = '', limit, lastSeconds }: Page & { readonly lastSeconds: number },
): Promise<readonly TaskToStart[]> {
  const { rows } = await database.raw<{ rows: TaskToStartRow[] }>(
    /* sql */ `
    SELECT id, account_id, model, kind, price, deadline_at, request_id FROM tasks
    WHERE status = 'failed' AND id > :after AND completed_at > now() - make_interval(secs => :lastSeconds)
      -- For the months alone: no task takes so long.
      AND created_at > now() - make_interval(secs => :lastSeconds) - interval '2 days' AND ${MAY_STILL_RENDER_SQL}
    ORDER BY id LIMIT :limit`,
    { after, limit, lastSeconds },
  );
  return rows.map(toTaskToStart);
}

/** Lists the ids of pending deliveries with a started workflow, oldest first. */
export async function listStartedDeliveries(
  database: Database,
  { after = '', limit }: Page,
): Promise<readonly string[]> {
  const rows = await database<{ id: string; status: string }>('deliveries')
    .where({ status: 'pending' })
    .whereNotNull('workflow_started_at')
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .select('id');
  return rows.map(({ id }) => id);
}

/** Finds when the newest task was created; null if there is none. */
export async function findNewestTaskTime(database: Database): Promise<Date | null> {
  const row = await database<{ id: string }>('tasks').orderBy('id', 'desc').first('id');
  return row ? createdAtOf(row.id) : null;
}

/** Returns the ids of tasks that the database does not have. */
export async function findUnknownTasks(database: Database, taskIds: readonly string[]): Promise<ReadonlySet<string>> {
  return findUnknown(
    database,
    /* sql */ `SELECT given.id FROM unnest(:ids::text[]) AS given(id)
      LEFT JOIN tasks ON tasks.id = given.id AND tasks.created_at = id_created_at(given.id) WHERE tasks.id IS NULL`,
    taskIds,
  );
}

/** Returns the ids of deliveries that the database does not have. */
export async function findUnknownDeliveries(
  database: Database,
  deliveryIds: readonly string[],
): Promise<ReadonlySet<string>> {
  return findUnknown(
    database,
    /* sql */ `SELECT given.id FROM unnest(:ids::text[]) AS given(id)
      WHERE NOT EXISTS (SELECT FROM deliveries WHERE deliveries.id = given.id)`,
    deliveryIds,
  );
}

async function findUnknown(database: Database, sql: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const { rows } = await database.raw<{ rows: { id: string }[] }>(sql, { ids: [...ids] });
  return new Set(rows.map(({ id }) => id));
}

/**
 * Claims overdue tasks. After `againSeconds`, they can be claimed again if they are still not final.
 *
 * @param graceSeconds the time after the deadline in which a task's own workflow can end the task
 */
export async function claimOverdueTasks(
  database: Database,
  { graceSeconds, againSeconds, limit }: { graceSeconds: number; againSeconds: number; limit: number },
): Promise<readonly TaskToStart[]> {
  const { rows } = await database.raw<{ rows: TaskToStartRow[] }>(
    /* sql */ `
    -- Materialised: as a plain subquery it could run, and lock, more than once.
    WITH overdue AS MATERIALIZED (
      SELECT id, created_at FROM tasks
      WHERE status IN ('queued', 'processing') AND workflow_started_at IS NOT NULL
        AND deadline_at < now() - make_interval(secs => :graceSeconds) AND next_start_at <= now()
      ORDER BY next_start_at LIMIT :limit FOR UPDATE SKIP LOCKED)
    UPDATE tasks SET next_start_at = now() + make_interval(secs => :againSeconds)
    FROM overdue WHERE tasks.id = overdue.id AND tasks.created_at = overdue.created_at
    RETURNING tasks.id, tasks.account_id, tasks.model, tasks.kind, tasks.price, tasks.deadline_at, tasks.request_id`,
    { graceSeconds, againSeconds, limit },
  );
  return rows.map(toTaskToStart);
}
