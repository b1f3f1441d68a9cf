/**
 * Erases customers' content: prompts, inputs, results, upstreams' messages about them, and the names of end users.
 *
 * {@link CONTENT_COPIES} lists every place that has a copy. An erasure counts at once: whatever returns a copy or makes
 * another one checks {@link isDueTask} or {@link isDue}. The sweeps delete the copies themselves.
 *
 * A new copy joins the list, with the table and the columns that have it. If the copy belongs to a task, `eraseTasks` erases it,
 * otherwise a line of `CONTENT_SWEEPS`. `test/services/operations/erasure.test.ts` searches all tables, files and
 * histories for a marker after an erasure: let it make a copy there.
 */
import type { Database } from '../database.ts';
import type { Sweep } from '../sweeps.ts';
import { lockAccount } from './accounts.ts';
import { deleteEndUserBudgets } from './end-user-budgets.ts';

/** A final task whose content must be erased. */
export interface TaskContent {
  readonly taskId: string;
  /** The links to its results. */
  readonly urls: readonly string[];
  /** Its deliveries. Their workflows have the same ids. */
  readonly deliveryIds: readonly string[];
}

/** The amount of an account's content that must still be erased. */
export interface RemainingContent {
  /** Counted up to {@link MAX_COUNTED}. */
  readonly tasks: number;
  readonly uploads: number;
}

export const MAX_COUNTED = 10_000;
const ERASED_MESSAGE = 'The message of this failure was erased.';

/** Every place with a copy of content, and what erases the copy. Encrypted columns count: nobody can search them. */
export const CONTENT_COPIES = {
  'budgets.end_user': 'eraseContent',
  'tasks.request, output, error_message, end_user': 'eraseTasks',
  'submissions.detail, files': 'eraseTasks',
  'upstream_failures.message': 'eraseTasks',
  'late_results.output': 'eraseTasks',
  'events.payload': 'eraseTasks',
  'delivery_attempts.error, answer': 'eraseTasks',
  'delivery_attempts.answer': 'answers of receivers to events without a task',
  'files of results, late results and uploads': 'the sweep of files',
  'histories of tasks and deliveries': 'the sweep of files',
  'uploads.filename': 'the sweep of files',
  'batches.metadata': 'metadata of batches',
  'batch_lines.custom_id': 'the end of the batch, within two days',
  'batch_contents.encrypted_content': 'the end of the batch, within two days',
  'idempotency_keys.encrypted_body': 'responses of create calls',
  'sent_forms.encrypted_answer': 'answers to forms',
  'stored_responses.encrypted_content': 'stored responses of accounts',
  'realtime_secrets.encrypted_settings': 'client secrets of accounts',
  'refused_calls.path, reasons': 'refused calls of accounts',
  'text_attempts.message': 'messages about text requests',
  'text_requests.end_user': 'end users of text requests',
} as const;

/** SQL for whether the content that was made at a time is erased, or must be. `owner` is a row of `accounts`. */
export function isDue(time: string): string {
  return `(${time} < erase_content_before(owner)) IS TRUE`;
}

/** SQL for whether a row of `idempotency_keys` has an answer in text: calls that create something answer 201. */
export const IS_TEXT = '(task_id IS NULL AND status = 200)';

/** As {@link isDue}, for the content of a task. @param taskId SQL for the id of the task */
export function isDueTask(taskId: string): string {
  return `(${taskId} < first_id_at('task_', erase_content_before(owner))) IS TRUE`;
}

/** SQL for the content of a row `owner` of `accounts` that must be erased, including tasks and uploads in use. */
const DUE_TASKS = /* sql */ `
  SELECT id, created_at, output FROM tasks
  WHERE tasks.account_id = owner.id AND tasks.id < first_id_at('task_', erase_content_before(owner))
    AND tasks.created_at < erase_content_before(owner) AND erased_at IS NULL`;
/** The answers of a batch are as old as the batch, whose id names its files. */
const DUE_UPLOADS = /* sql */ `
  SELECT id FROM uploads
  WHERE uploads.account_id = owner.id AND deleted_at IS NULL AND (uploads.created_at < erase_content_before(owner)
    OR purpose = 'batch_output' AND uploads.id < first_id_at('file_', erase_content_before(owner)))`;

/** Has the bindings of {@link findContentToErase}. */
export const CONTENT_TO_ERASE = /* sql */ `
  SELECT due.id, due.output, ARRAY(SELECT id FROM deliveries WHERE task_id = due.id) AS delivery_ids
  FROM accounts AS owner CROSS JOIN LATERAL (${DUE_TASKS}
    AND completed_at < now() - make_interval(secs => :endedForSeconds)
    AND NOT EXISTS (SELECT FROM deliveries WHERE task_id = tasks.id AND status = 'pending')
    ORDER BY id LIMIT :limit) AS due
  WHERE owner.content_days IS NOT NULL OR owner.erase_before IS NOT NULL
  LIMIT :limit`;

/** Requests the erasure of the account's current content once it is not in use. Deletes end users' budgets at once. */
export async function eraseContent(transaction: Database, accountId: string): Promise<void> {
  // A claim of a late result copies content under this lock, so that it comes before the erasure or sees it.
  await lockAccount(transaction, accountId);
  await deleteEndUserBudgets(transaction, accountId);
  await transaction('accounts')
    .where({ id: accountId })
    .update({ erase_before: transaction.raw('clock_timestamp()') });
}

/** Counts the content of the account that must still be erased. */
export async function countRemainingContent(database: Database, accountId: string): Promise<RemainingContent> {
  const { rows } = await database.raw<{ rows: RemainingContent[] }>(
    /* sql */ `
    SELECT (SELECT count(*)::integer FROM (${DUE_TASKS} LIMIT :most) AS due) AS tasks,
      (SELECT count(*)::integer FROM (${DUE_UPLOADS} LIMIT :most) AS due) AS uploads
    FROM accounts AS owner WHERE id = :accountId`,
    { accountId, most: MAX_COUNTED },
  );
  return rows[0] ?? { tasks: 0, uploads: 0 };
}

/**
 * Finds tasks of all accounts whose content must be erased. Skips running tasks and tasks with pending deliveries.
 *
 * @param endedForSeconds how long a task must have been final, so that its workflow has also ended
 */
export async function findContentToErase(
  database: Database,
  { endedForSeconds, limit }: { readonly endedForSeconds: number; readonly limit: number },
): Promise<readonly TaskContent[]> {
  const { rows } = await database.raw<{
    rows: { id: string; output: { url: string }[] | null; delivery_ids: string[] }[];
  }>(CONTENT_TO_ERASE, { endedForSeconds, limit });
  return rows.map(({ id, output, delivery_ids: deliveryIds }) => ({
    taskId: id,
    urls: (output ?? []).map(({ url }) => url),
    deliveryIds,
  }));
}

/** Erases the content of final tasks, but keeps what the ledger needs. Deletes their events. */
export async function eraseTasks(database: Database, taskIds: readonly string[]): Promise<void> {
  await database.raw(
    /* sql */ `
    WITH erased AS (
      UPDATE tasks SET erased_at = now(), output = CASE WHEN output IS NOT NULL THEN '[]'::jsonb END,
        request = request - ARRAY['images', 'referenceVideos', 'referenceAudios', 'parameters', 'parameterLinks']
          || '{"prompt": ""}',
        error_message = CASE WHEN error_message IS NOT NULL THEN :message END, end_user = NULL
      FROM unnest(:taskIds::text[]) AS given(task_id)
      WHERE tasks.id = task_id AND created_at = id_created_at(task_id) AND erased_at IS NULL),
    details AS (
      UPDATE submissions SET detail = NULL, files = NULL
      FROM (SELECT * FROM submissions WHERE task_id = ANY (:taskIds) FOR UPDATE) AS before
      WHERE (submissions.task_id, submissions.attempt, submissions.task_created_at)
        = (before.task_id, before.attempt, before.task_created_at)
      RETURNING before.detail),
    latest AS (UPDATE upstream_failures SET message = '' WHERE message IN (SELECT detail FROM details WHERE detail <> '')),
    late AS (DELETE FROM late_results WHERE task_id = ANY (:taskIds)),
    attempts AS (DELETE FROM delivery_attempts USING deliveries
      WHERE delivery_id = deliveries.id AND task_id = ANY (:taskIds)),
    done AS (DELETE FROM deliveries WHERE task_id = ANY (:taskIds))
    DELETE FROM events WHERE task_id = ANY (:taskIds)`,
    { taskIds, message: ERASED_MESSAGE },
  );
}

/** Marks expired uploads for removal, unless a task that may use them still runs. */
async function expireUploads(database: Database, limit: number): Promise<number> {
  const { rowCount } = await database.raw<{ rowCount: number }>(
    /* sql */ `
    UPDATE uploads SET deleted_at = now() WHERE id = ANY (ARRAY(
      SELECT due.id FROM accounts AS owner CROSS JOIN LATERAL (${DUE_UPLOADS} ORDER BY id LIMIT :limit) AS due
      WHERE (owner.content_days IS NOT NULL OR owner.erase_before IS NOT NULL)
        AND NOT EXISTS (SELECT FROM tasks WHERE tasks.account_id = owner.id AND status IN ('queued', 'processing')
          AND tasks.created_at < erase_content_before(owner))
      LIMIT :limit))`,
    { limit },
  );
  return rowCount;
}

/** Deletes upstreams' messages about text requests that have expired. */
async function eraseTextAttempts(database: Database, limit: number): Promise<number> {
  const { rows } = await database.raw<{ rows: { count: number }[] }>(
    /* sql */ `
    WITH gone AS (
      DELETE FROM text_attempts WHERE ctid = ANY (ARRAY(
        SELECT due.ctid FROM accounts AS owner CROSS JOIN LATERAL (
          SELECT ctid FROM text_attempts WHERE account_id = owner.id AND ended_at < erase_content_before(owner)
          LIMIT :limit) AS due
        WHERE owner.content_days IS NOT NULL OR owner.erase_before IS NOT NULL
        LIMIT :limit))
      RETURNING message),
    latest AS (UPDATE upstream_failures SET message = '' WHERE message IN (SELECT message FROM gone WHERE message <> ''))
    SELECT count(*)::integer AS count FROM gone`,
    { limit },
  );
  return rows[0]?.count ?? 0;
}

/** Erases the names of end users from text requests that have expired. */
async function eraseEndUsers(database: Database, limit: number): Promise<number> {
  const { rowCount } = await database.raw<{ rowCount: number }>(
    /* sql */ `
    UPDATE text_requests SET end_user = NULL
    FROM (
      SELECT due.* FROM accounts AS owner CROSS JOIN LATERAL (
        SELECT id, created_at FROM text_requests
        WHERE account_id = owner.id AND end_user IS NOT NULL AND created_at < erase_content_before(owner)
        LIMIT :limit) AS due
      WHERE owner.content_days IS NOT NULL OR owner.erase_before IS NOT NULL
      LIMIT :limit) AS due
    WHERE text_requests.id = due.id AND text_requests.created_at = due.created_at AND end_user IS NOT NULL`,
    { limit },
  );
  return rowCount;
}

/**
 * Makes a sweep that changes rows with content.
 *
 * @param change `DELETE FROM table`, or `UPDATE table SET …` @param rows SQL for the rows of the account `owner` to change
 */
function changeDueRows(table: string, change: string, rows: string): Sweep {
  return async (database, limit) => {
    const { rowCount } = await database.raw<{ rowCount: number }>(
      /* sql */ `
      ${change} WHERE ctid = ANY (ARRAY(
        SELECT due.ctid FROM accounts AS owner CROSS JOIN LATERAL (
          SELECT ctid FROM ${table} WHERE ${rows} LIMIT :limit) AS due
        WHERE owner.content_days IS NOT NULL OR owner.erase_before IS NOT NULL
        LIMIT :limit))`,
      { limit },
    );
    return rowCount;
  };
}

/** The sweeps that change only rows. `activities/sweep.ts` erases tasks together with their files. */
export const CONTENT_SWEEPS = {
  'responses of create calls': changeDueRows(
    'idempotency_keys',
    'UPDATE idempotency_keys SET encrypted_body = NULL',
    `account_id = owner.id AND encrypted_body IS NOT NULL AND ${isDueTask('task_id')}`,
  ),
  'answers in text of idempotent calls': changeDueRows(
    'idempotency_keys',
    'DELETE FROM idempotency_keys',
    `account_id = owner.id AND ${IS_TEXT} AND ${isDue('completed_at')}`,
  ),
  'answers to forms': changeDueRows(
    'sent_forms',
    'UPDATE sent_forms SET encrypted_answer = NULL, content_of = NULL',
    `content_of = owner.id AND ${isDue('sent_at')}`,
  ),
  'answers of receivers to events without a task': changeDueRows(
    'delivery_attempts',
    'UPDATE delivery_attempts SET answer = NULL',
    `answer IS NOT NULL AND delivery_id IN (
      SELECT id FROM deliveries WHERE account_id = owner.id AND task_id IS NULL AND ${isDue('deliveries.created_at')})`,
  ),
  'refused calls of accounts': changeDueRows(
    'refused_calls',
    'DELETE FROM refused_calls',
    `account_id = owner.id AND ${isDue('refused_at')}`,
  ),
  'stored responses of accounts': changeDueRows(
    'stored_responses',
    'DELETE FROM stored_responses',
    `account_id = owner.id AND ${isDue('created_at')}`,
  ),
  'client secrets of accounts': changeDueRows(
    'realtime_secrets',
    'DELETE FROM realtime_secrets',
    `account_id = owner.id AND ${isDue('created_at')}`,
  ),
  'metadata of batches': changeDueRows(
    'batches',
    'UPDATE batches SET metadata = NULL',
    `account_id = owner.id AND metadata IS NOT NULL AND ended_at IS NOT NULL AND ${isDue('created_at')}`,
  ),
  'expired uploads': expireUploads,
  'messages about text requests': eraseTextAttempts,
  'end users of text requests': eraseEndUsers,
} satisfies Readonly<Record<string, Sweep>>;
