/** Files that steps write for tasks. Each is recorded before it is written, so that unused files can be removed. */
import { STORE_SURELY_OVER_MS } from '../../domain/step-limits.ts';
import type { Database } from '../database.ts';
import { createdAtOf } from './tasks.ts';

export interface ResultFile {
  /** The key in storage. */
  readonly key: string;
  readonly taskId: string;
}

/** A file of a final task. */
export interface DoneResultFile extends ResultFile {
  /** The links in the output of the task, or of its late result. */
  readonly urls: readonly string[];
}

/** Records a file that is about to be written. */
export async function recordResultFile(database: Database, key: string, taskId: string): Promise<void> {
  await database('result_files').insert({ key, task_id: taskId, task_created_at: createdAtOf(taskId) });
}

/** Lists the keys of the files that steps wrote, or were about to write, for a task. */
export async function listResultFiles(database: Database, taskId: string): Promise<readonly string[]> {
  const rows = await database<{ key: string; task_id: string }>('result_files')
    .where({ task_id: taskId })
    .select('key');
  return rows.map(({ key }) => key);
}

/** Finds files of final tasks that no step can still be writing, oldest first. */
export async function findDoneResultFiles(database: Database, limit: number): Promise<readonly DoneResultFile[]> {
  const { rows } = await database.raw<{ rows: { key: string; task_id: string; output: { url: string }[] | null }[] }>(
    /* sql */ `
    SELECT file.key, file.task_id, coalesce(task.output, late.output) AS output
    FROM result_files AS file
    LEFT JOIN tasks AS task ON task.id = file.task_id AND task.created_at = file.task_created_at
    LEFT JOIN late_results AS late ON late.task_id = file.task_id
    WHERE file.created_at < now() - make_interval(secs => :seconds)
      AND (task.id IS NULL OR task.status IN ('succeeded', 'failed'))
    ORDER BY file.created_at
    LIMIT :limit`,
    { seconds: STORE_SURELY_OVER_MS / 1000, limit },
  );
  return rows.map(({ key, task_id: taskId, output }) => ({ key, taskId, urls: (output ?? []).map(({ url }) => url) }));
}

/** Deletes the records of files that were removed or that their task refers to. */
export async function deleteResultFiles(database: Database, keys: readonly string[]): Promise<void> {
  await database('result_files').whereIn('key', keys).delete();
}

/** Records that a task's customer deletes its result. Recording it again changes nothing. */
export async function recordDeletedResults(database: Database, taskId: string): Promise<void> {
  await database('deleted_results').insert({ task_id: taskId }).onConflict().ignore();
}

/** Whether a task's customer has deleted its result. */
export async function hasDeletedResults(database: Database, taskId: string): Promise<boolean> {
  return (await database('deleted_results').where({ task_id: taskId }).first()) !== undefined;
}
