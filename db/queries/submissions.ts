/** Submissions to upstreams and their outcomes: see `db/schema/0004-tasks.sql`. */
import type { TaskErrorCode } from '../../domain/errors.ts';
import type { Submission, SubmissionOutcome, VendorCost } from '../../domain/media-route.ts';
import type { PicoUsd } from '../../domain/money.ts';
import type { GeneratedMedia } from '../../domain/task.ts';
import { type Database, isDatabaseError, onlyRow, UNIQUE_VIOLATION } from '../database.ts';
import { createdAtOf, tasksById } from './tasks.ts';
import { columnsOf, readRow, type RowOf } from '../row.ts';

type SubmissionRow = RowOf<StoredSubmission> & { readonly task_created_at: Date };

export interface StoredSubmission extends Submission {
  /** The files of the render, once they are stored. */
  readonly files: readonly GeneratedMedia[] | null;
  /** When the render of these files ended at the vendor; null if the vendor did not report a time. */
  readonly endedAt: Date | null;
  readonly cost: PicoUsd | null;
}

export type NewSubmission = Pick<
  Submission,
  'taskId' | 'attempt' | 'route' | 'provider' | 'vendor' | 'model' | 'fingerprint'
>;

/** A row of `submissions`, for a function. */
function toItem(submission: Pick<Submission, 'taskId' | 'attempt'>): string {
  return JSON.stringify(columnsOf({ ...submission, taskCreatedAt: createdAtOf(submission.taskId) }));
}

/** Lists the submissions of a task, oldest first. */
export async function listSubmissions(database: Database, taskId: string): Promise<readonly StoredSubmission[]> {
  return listSubmissionsOf(database, [taskId]);
}

/** Lists the submissions of several tasks, each task's oldest first. */
export async function listSubmissionsOf(
  database: Database,
  taskIds: readonly string[],
): Promise<readonly StoredSubmission[]> {
  const { rows } = await database.raw<{ rows: SubmissionRow[] }>(
    'SELECT * FROM list_submissions(:taskIds, :createdAts)',
    { taskIds, createdAts: taskIds.map(createdAtOf) },
  );
  return rows.map(toSubmission);
}

/**
 * Records that a task is about to be submitted to an upstream, before anything is sent. The task's provider is this
 * upstream from then on.
 *
 * @param isRendering whether the task counts as processing from now on, because the upstream answers with the files
 * @returns null if the task is final or already has a job
 * @throws Error if another submission of the task is open or was accepted
 */
export async function openSubmission(
  database: Database,
  submission: NewSubmission,
  { isRendering = false } = {},
): Promise<StoredSubmission | null> {
  const { rows } = await database.raw<{ rows: SubmissionRow[] }>(
    'SELECT * FROM open_submission(:given::jsonb, :isRendering)',
    { given: toItem(submission), isRendering },
  );
  return rows[0] ? toSubmission(rows[0]) : null;
}

/** The outcome of a submission. */
export interface Settlement {
  readonly outcome: SubmissionOutcome;
  readonly evidence: string;
  readonly code?: Submission['code'];
  readonly detail?: string | null;
  /** For an accepted submission with a job to wait for. */
  readonly jobId?: string | null;
  readonly isRouteExcluded?: boolean;
  readonly possibleLoss?: PicoUsd | null;
}

/**
 * Records the outcome of a submission; only the first record counts. Sets the task's job unless the task is final.
 *
 * @returns whether this record was the first
 * @throws Error for which {@link isJobOfAnotherTask} is true; nothing is recorded then
 */
export async function settleSubmission(
  database: Database,
  { taskId, attempt }: Pick<Submission, 'taskId' | 'attempt'>,
  { outcome, evidence, code = null, detail = null, jobId = null, isRouteExcluded = false, possibleLoss }: Settlement,
): Promise<boolean> {
  const settled = { taskId, attempt, outcome, evidence, code, detail, jobId, isRouteExcluded, possibleLoss };
  const { rows } = await database.raw<{ rows: { is_first: boolean }[] }>(
    'SELECT settle_submission(:given::jsonb) AS is_first',
    { given: toItem(settled) },
  );
  return onlyRow(rows).is_first;
}

/** Whether {@link settleSubmission} failed because the vendor's job belongs to another task. */
export function isJobOfAnotherTask(error: unknown): boolean {
  return isDatabaseError(error, UNIQUE_VIOLATION);
}

/** Records the files of a render whose upstream answered with them, once all are stored. */
export async function recordFiles(
  database: Database,
  { taskId, attempt }: Pick<Submission, 'taskId' | 'attempt'>,
  stored: StoredFiles,
): Promise<void> {
  await database<SubmissionRow>('submissions')
    .where({ task_id: taskId, task_created_at: createdAtOf(taskId), attempt })
    .whereNull('outcome')
    .update({
      ...toColumns(database, stored),
      outcome: 'accepted',
      evidence: 'the answer',
      settled_at: database.fn.now(),
    });
}

/** Records the files of a job, once all are stored. */
export async function recordStoredFiles(
  database: Database,
  taskId: string,
  { files, endedAt }: StoredFiles,
): Promise<void> {
  await database.raw('SELECT record_stored_files(:taskId, :createdAt, :files::jsonb, :endedAt)', {
    taskId,
    createdAt: createdAtOf(taskId),
    files: JSON.stringify(files),
    endedAt,
  });
}

export interface StoredFiles {
  readonly files: readonly GeneratedMedia[];
  /** When the render ended at the vendor; null if the vendor did not report a time. */
  readonly endedAt: Date | null;
}

function toColumns(database: Database, { files, endedAt }: StoredFiles) {
  return { files: database.raw(':files::jsonb', { files: JSON.stringify(files) }), ended_at: endedAt };
}

/** Records the known cost of an accepted or refused submission. */
export async function recordCost(
  database: Database,
  taskId: string,
  { reported, cost }: { readonly reported: VendorCost | null; readonly cost: PicoUsd | null },
): Promise<void> {
  await database<SubmissionRow>('submissions')
    .where({ task_id: taskId, task_created_at: createdAtOf(taskId) })
    .whereIn('outcome', ['accepted', 'refused'])
    .update({
      vendor_cost: reported && database.raw(':reported::jsonb', { reported: JSON.stringify(reported) }),
      cost: cost?.toString() ?? null,
    });
}

/**
 * Records why an accepted job led to no result, unless the content of its task was erased. The first reason stays: a job
 * that is cancelled after its deadline then fails.
 */
export async function recordNoResult(
  database: Database,
  taskId: string,
  { code, detail }: Pick<Submission, 'detail'> & { readonly code: TaskErrorCode },
): Promise<void> {
  await database<SubmissionRow>('submissions')
    .where({ task_id: taskId, task_created_at: createdAtOf(taskId), outcome: 'accepted', code: null })
    .whereNotExists(tasksById(database, [taskId]).whereNotNull('erased_at'))
    .update({ code, detail });
}

/** Returns the ids of the vendor's jobs that belong to other tasks. */
export async function findOwnedJobs(
  database: Database,
  { taskId, vendor, jobIds }: { taskId: string; vendor: string; jobIds: readonly string[] },
): Promise<ReadonlySet<string>> {
  const owned = await database<{ vendor: string; job_id: string; task_id: string }>('vendor_jobs')
    .where({ vendor })
    .whereIn('job_id', [...jobIds])
    .whereNot('task_id', taskId)
    .pluck('job_id');
  return new Set(owned);
}

/**
 * Whether a job in a vendor's list may belong to another submission of about the same time whose outcome is open or
 * unknown. Call this after reading the list, so that no earlier submission is missed.
 *
 * @param fingerprint restricts the search to bodies with this fingerprint; null for any body of the model
 */
export async function hasAmbiguousSubmissions(
  database: Database,
  submission: Pick<Submission, 'taskId' | 'vendor' | 'model' | 'submittedAt'>,
  { fingerprint, withinMs }: { fingerprint: string | null; withinMs: number },
): Promise<boolean> {
  const query = database<SubmissionRow>('submissions')
    .where({ vendor: submission.vendor })
    .whereRaw(`(outcome IS NULL OR outcome = 'unknown')`)
    .where('submitted_at', '>=', new Date(submission.submittedAt.getTime() - withinMs))
    .whereNot('task_id', submission.taskId);
  if (fingerprint === null) void query.where({ model: submission.model });
  else void query.where({ fingerprint });
  return (await query.first('task_id')) !== undefined;
}

function toSubmission(row: SubmissionRow): StoredSubmission {
  return readRow(row, { amounts: ['possible_loss', 'cost'] });
}
