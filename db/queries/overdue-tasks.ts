import type { Database } from '../database.ts';
import { camelCased } from '../row.ts';
import type { TaskToStart, TaskToStartRow } from './tasks.ts';

/**
 * Claims tasks that should have ended by now. They are offered again after `againSeconds` if they have still not ended.
 *
 * @param graceSeconds the time after its deadline that a task's own workflow has to end it
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
    RETURNING tasks.id, tasks.account_id, tasks.model, tasks.kind, tasks.deadline_at, tasks.request_id`,
    { graceSeconds, againSeconds, limit },
  );
  return rows.map(camelCased);
}
