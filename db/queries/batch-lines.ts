/** The lines of batches and their contents: see `db/schema/0012-batches.sql`. The caller encrypts the contents. */
import type { BatchLineStatus } from '../../domain/batch.ts';
import type { Database } from '../database.ts';
import { camelCased, type RowOf } from '../row.ts';

export interface NewBatchLine {
  readonly number: number;
  readonly customId: string;
  readonly encryptedRequest: Buffer;
  /** The requested model; null for none. */
  readonly model?: string | null;
}

/** A line whose current attempt belongs to the caller. */
export interface ClaimedLine {
  readonly number: number;
  readonly attempt: number;
  readonly encryptedRequest: Buffer;
}

/** A final line. */
export interface EndedLine {
  readonly number: number;
  readonly customId: string;
  readonly status: Exclude<BatchLineStatus, 'waiting'>;
  readonly attempt: number;
  readonly responseStatus: number | null;
  readonly requestId: string | null;
  /** Null for a line without an answer. */
  readonly encryptedAnswer: Buffer | null;
}

/** One page of lines is at most this large, unless its first line is larger. */
const PAGE_BYTES = 8 * 2 ** 20;
const PAGE_LINES = 100;
/** Deleted at once. */
const DELETED_LINES = 10_000;

/** The id of the content of an attempt of a line; attempt 0 is the request. */
export function contentId(batchId: string, number: number, attempt: number): string {
  return `${batchId}/${String(number).padStart(5, '0')}/${String(attempt).padStart(3, '0')}`;
}

/** SQL for {@link contentId}. */
function contentIdOf(attempt: string): string {
  return `line.batch_id || '/' || lpad(line.number::text, 5, '0') || '/' || lpad((${attempt})::text, 3, '0')`;
}

/** SQL that holds of a batch while its input is read, also if it is cancelled meanwhile: each of its lines is then listed. */
export const IS_PREPARING = 'in_progress_at IS NULL AND finalizing_at IS NULL AND ended_at IS NULL';

/**
 * Inserts lines of a batch whose input is being read. Lines that another process has inserted stay as they are.
 *
 * @throws Error if the input was read completely before
 */
export async function insertBatchLines(
  database: Database,
  batchId: string,
  lines: readonly NewBatchLine[],
): Promise<void> {
  const { rows } = await database.raw<{ rows: object[] }>(
    /* sql */ `
    WITH preparing AS MATERIALIZED (
      SELECT id FROM batches WHERE id = :batchId AND ${IS_PREPARING} FOR SHARE),
    contents AS (
      INSERT INTO batch_contents (id, encrypted_content)
      SELECT given.* FROM preparing, unnest(:ids::text[], :requests::bytea[]) AS given
      ON CONFLICT DO NOTHING),
    lines AS (
      INSERT INTO batch_lines (batch_id, number, custom_id, model)
      SELECT :batchId, given.* FROM preparing, unnest(:numbers::integer[], :customIds::text[], :models::text[]) AS given
      ON CONFLICT DO NOTHING)
    SELECT FROM preparing`,
    {
      batchId,
      ids: lines.map(({ number }) => contentId(batchId, number, 0)),
      requests: lines.map(({ encryptedRequest }) => encryptedRequest),
      numbers: lines.map(({ number }) => number),
      customIds: lines.map(({ customId }) => customId),
      models: lines.map(({ model = null }) => model),
    },
  );
  if (rows.length === 0) throw new Error(`the input of ${batchId} was read by another process`);
}

/** SQL that holds of lines that run as direct requests. `:batchModels` are the models with a route to a vendor's batches. */
const IS_DIRECT = `status = 'waiting' AND job_id IS NULL
  AND (runs_directly OR model IS NULL OR model <> ALL (:batchModels::text[]))`;

/**
 * Starts a new attempt of the next waiting lines after a number, in their order. An earlier attempt can then no longer
 * answer them.
 *
 * @param batchModels the models whose lines wait for a vendor's batches
 */
export async function claimBatchLines(
  database: Database,
  batchId: string,
  { after, batchModels = [] }: { readonly after: number; readonly batchModels?: readonly string[] },
): Promise<readonly ClaimedLine[]> {
  const { rows } = await database.raw<{ rows: RowOf<ClaimedLine>[] }>(
    /* sql */ `
    WITH next AS MATERIALIZED (
      SELECT line.batch_id, line.number, content.id,
        sum(octet_length(content.encrypted_content)) OVER (ORDER BY line.number) AS total,
        row_number() OVER (ORDER BY line.number) AS place
      FROM (SELECT batch_id, number FROM batch_lines
        WHERE batch_id = :batchId AND ${IS_DIRECT} AND number > :after
        ORDER BY number LIMIT :limit FOR NO KEY UPDATE) AS line
      JOIN batch_contents AS content ON content.id = ${contentIdOf('0')}),
    claimed AS (
      UPDATE batch_lines AS line SET attempt = line.attempt + 1 FROM next
      WHERE line.batch_id = next.batch_id AND line.number = next.number AND (total <= :bytes OR place = 1)
      RETURNING line.number, line.attempt, next.id)
    SELECT number, attempt, encrypted_content AS encrypted_request
    FROM claimed JOIN batch_contents USING (id) ORDER BY number`,
    { batchId, after, batchModels, limit: PAGE_LINES, bytes: PAGE_BYTES },
  );
  return rows.map(camelCased);
}

/** Whether a line has no final status. */
export async function hasWaitingLines(database: Database, batchId: string): Promise<boolean> {
  return (await database('batch_lines').where({ batch_id: batchId, status: 'waiting' }).first('number')) !== undefined;
}

/** Whether a direct line has no final status. A process that was taken for dead may have started lines anew, and not answered them. */
export async function hasDirectLines(
  database: Database,
  batchId: string,
  batchModels: readonly string[],
): Promise<boolean> {
  const { rows } = await database.raw<{ rows: object[] }>(
    `SELECT FROM batch_lines WHERE batch_id = :batchId AND ${IS_DIRECT} LIMIT 1`,
    { batchId, batchModels },
  );
  return rows.length > 0;
}

/**
 * Takes back attempts that called nothing. An earlier attempt that is still in progress can then answer its line again.
 */
export async function releaseBatchLines(
  database: Database,
  batchId: string,
  lines: readonly Pick<ClaimedLine, 'number' | 'attempt'>[],
): Promise<void> {
  if (lines.length === 0) return;
  await database.raw(
    /* sql */ `
    UPDATE batch_lines AS line SET attempt = line.attempt - 1
    FROM unnest(:numbers::integer[], :attempts::smallint[]) AS released(number, attempt)
    WHERE line.batch_id = :batchId AND line.number = released.number AND line.attempt = released.attempt
      AND line.status = 'waiting'`,
    { batchId, numbers: lines.map(({ number }) => number), attempts: lines.map(({ attempt }) => attempt) },
  );
}

/** Stores answers, which count once their lines are final with the same attempts. May be repeated. */
export async function storeBatchAnswers(
  database: Database,
  answers: readonly { readonly id: string; readonly encryptedAnswer: Buffer }[],
): Promise<void> {
  await database.raw(
    /* sql */ `
    INSERT INTO batch_contents (id, encrypted_content)
    SELECT DISTINCT ON (id) id, answer FROM unnest(:ids::text[], :answers::bytea[]) AS given(id, answer)
    ON CONFLICT (id) DO UPDATE SET encrypted_content = EXCLUDED.encrypted_content`,
    { ids: answers.map(({ id }) => id), answers: answers.map(({ encryptedAnswer }) => encryptedAnswer) },
  );
}

/** Ends a line that was refused before its request could cost anything, if the attempt is still the current one. */
export async function failBatchLine(
  database: Database,
  line: { readonly batchId: string; readonly number: number; readonly attempt: number },
  answer: { readonly responseStatus: number; readonly requestId: string },
): Promise<void> {
  await database('batch_lines')
    .where({ batch_id: line.batchId, number: line.number, attempt: line.attempt, status: 'waiting' })
    .update({ status: 'failed', response_status: answer.responseStatus, request_id: answer.requestId });
}

/** A line of a batch of tasks that waits for its task. */
export interface UnstartedLine {
  readonly number: number;
  /** The attempt that its task will be; a further one after the retry of an operator. */
  readonly attempt: number;
  readonly encryptedRequest: Buffer;
}

/** The next lines after a number that have no task, in their order. */
export async function listUnstartedLines(
  database: Database,
  batchId: string,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<readonly UnstartedLine[]> {
  const { rows } = await database.raw<{ rows: RowOf<UnstartedLine>[] }>(
    /* sql */ `
    SELECT number, attempt, encrypted_request FROM (
      SELECT line.number, line.attempt + 1 AS attempt, content.encrypted_content AS encrypted_request,
        sum(octet_length(content.encrypted_content)) OVER (ORDER BY line.number) AS total,
        row_number() OVER (ORDER BY line.number) AS place
      FROM (SELECT batch_id, number, attempt FROM batch_lines
        WHERE batch_id = :batchId AND status = 'waiting' AND task_id IS NULL AND number > :after
        ORDER BY number LIMIT :limit) AS line
      JOIN batch_contents AS content ON content.id = ${contentIdOf('0')}) AS page
    WHERE total <= :bytes OR place = 1 ORDER BY number`,
    { batchId, after, limit: Math.min(limit, PAGE_LINES), bytes: PAGE_BYTES },
  );
  return rows.map(camelCased);
}

/** An attempt of a line of a batch of tasks. */
export type TaskLine = Pick<UnstartedLine, 'number' | 'attempt'>;

/** The lines whose tasks are not recorded as final, by the id of the task. */
export async function findLinesWithTasks(database: Database, batchId: string): Promise<Map<string, TaskLine>> {
  const rows = await database('batch_lines')
    .where({ batch_id: batchId, status: 'waiting' })
    .whereNotNull('task_id')
    .select<(TaskLine & { task_id: string })[]>('number', 'attempt', 'task_id');
  return new Map(rows.map(({ task_id: taskId, ...line }) => [taskId, line]));
}

/** The end of an attempt of a line of a batch of tasks. */
export interface TaskLineEnd extends TaskLine {
  /** Null for a line whose task was not created. */
  readonly taskId: string | null;
  readonly status: 'succeeded' | 'failed';
  readonly responseStatus: number;
  readonly requestId: string;
  /** Encrypted for the content of the attempt. */
  readonly encryptedAnswer: Buffer;
}

/** Ends lines with their answers. Skips lines that are final, and lines that have another task or attempt. */
export async function endTaskLines(database: Database, batchId: string, ends: readonly TaskLineEnd[]): Promise<void> {
  if (ends.length === 0) return;
  await database.raw(
    /* sql */ `
    WITH given AS (
      SELECT * FROM unnest(:numbers::integer[], :attempts::smallint[], :taskIds::text[], :statuses::text[],
        :responseStatuses::smallint[], :requestIds::text[], :ids::text[], :answers::bytea[])
      AS given(number, attempt, task_id, status, response_status, request_id, id, answer)),
    ended AS (
      UPDATE batch_lines AS line SET status = given.status, attempt = given.attempt, response_status = given.response_status,
        request_id = given.request_id
      FROM given WHERE line.batch_id = :batchId AND line.number = given.number AND line.status = 'waiting'
        AND line.attempt + (given.task_id IS NULL)::integer = given.attempt AND line.task_id IS NOT DISTINCT FROM given.task_id
      RETURNING given.id, given.answer)
    INSERT INTO batch_contents (id, encrypted_content) SELECT id, answer FROM ended`,
    {
      batchId,
      attempts: ends.map(({ attempt }) => attempt),
      numbers: ends.map(({ number }) => number),
      taskIds: ends.map(({ taskId }) => taskId),
      statuses: ends.map(({ status }) => status),
      responseStatuses: ends.map(({ responseStatus }) => responseStatus),
      requestIds: ends.map(({ requestId }) => requestId),
      ids: ends.map(({ number, attempt }) => contentId(batchId, number, attempt)),
      answers: ends.map(({ encryptedAnswer }) => encryptedAnswer),
    },
  );
}

/** Ends all lines that have neither an answer nor a task. Attempts in progress can then no longer answer them. */
export async function endWaitingLines(
  database: Database,
  batchId: string,
  status: 'expired' | 'cancelled',
): Promise<number> {
  const { rowCount } = await database.raw<{ rowCount: number }>(
    `UPDATE batch_lines SET status = :status WHERE batch_id = :batchId AND status = 'waiting' AND task_id IS NULL`,
    { batchId, status },
  );
  return rowCount;
}

/** Reads final lines in their order, page by page: those that succeeded, or all others. */
export async function* readEndedLines(
  database: Database,
  batchId: string,
  { succeeded }: { readonly succeeded: boolean },
): AsyncGenerator<EndedLine> {
  for (let after = 0; ;) {
    const { rows } = await database.raw<{ rows: RowOf<EndedLine>[] }>(
      /* sql */ `
      WITH page AS (
        SELECT line.*, content.encrypted_content AS encrypted_answer,
          sum(octet_length(content.encrypted_content)) OVER (ORDER BY line.number) AS total,
          row_number() OVER (ORDER BY line.number) AS place
        FROM (SELECT * FROM batch_lines
          WHERE batch_id = :batchId AND number > :after AND status <> 'waiting' AND (status = 'succeeded') = :succeeded
          ORDER BY number LIMIT 500) AS line
        LEFT JOIN batch_contents AS content ON content.id = ${contentIdOf('line.attempt')}
          AND line.status IN ('succeeded', 'failed'))
      SELECT number, custom_id, status, attempt, response_status, request_id, encrypted_answer
      FROM page WHERE place = 1 OR coalesce(total, 0) <= :bytes ORDER BY number`,
      { batchId, after, succeeded, bytes: PAGE_BYTES },
    );
    yield* rows.map(camelCased);
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.number;
  }
}

/** Deletes the lines and contents of a batch, some at a time. */
export async function deleteBatchLines(database: Database, batchId: string): Promise<void> {
  for (;;) {
    const { rows } = await database.raw<{ rows: { deleted: number }[] }>(
      /* sql */ `
      WITH contents AS (
        DELETE FROM batch_contents WHERE id IN (
          SELECT id FROM batch_contents WHERE id > :batchId || '/' AND id < :batchId || '0' LIMIT :limit) RETURNING 1),
      lines AS (
        DELETE FROM batch_lines WHERE batch_id = :batchId AND number IN (
          SELECT number FROM batch_lines WHERE batch_id = :batchId LIMIT :limit) RETURNING 1)
      SELECT (SELECT count(*) FROM contents)::integer + (SELECT count(*) FROM lines)::integer AS deleted`,
      { batchId, limit: DELETED_LINES },
    );
    if (rows[0]?.deleted === 0) return;
  }
}
