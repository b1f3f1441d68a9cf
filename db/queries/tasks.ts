import { createdAtMsOf, isId } from '../../domain/ids.ts';
import type { Canceller, GeneratedMedia, Task } from '../../domain/task.ts';
import { isTaskErrorCode, type TaskErrorCode } from '../../domain/errors.ts';
import { attemptedAt, type AttemptFilter } from '../attempt-filter.ts';
import { type Database, onlyRow, picoUsd } from '../database.ts';
import { type IdPage, newestFirst } from '../page.ts';
import { createdIn, type Period } from '../period.ts';
import { columnsOf, type OptionalFields, readRow, type RowOf } from '../row.ts';

/** The fields that a new task does not have. */
type LaterFields = 'completedAt' | 'failure' | 'output' | 'providerJobId' | 'resolutionId' | 'status' | 'updatedAt';

export interface NewTask extends Omit<Task, LaterFields> {
  /** From this time on, the relay starts the workflow, unless it was started before. */
  readonly nextStartAt: Date;
  /** The account's default limit on concurrent tasks. */
  readonly maxConcurrentTasks: number;
  /** The number of the line of the batch; null for a direct create. */
  readonly batchLine: number | null;
  /** The uploads that the task uses, which no longer expire. */
  readonly uploadIds: readonly string[];
  readonly idempotency: {
    readonly key: string;
    readonly claimToken: string;
    readonly status: number;
    readonly encryptedBody: Buffer;
  } | null;
}

const CREATE_OUTCOMES = [
  'created',
  'claim_lost',
  'key_deleted',
  'key_disabled',
  'key_expired',
  'key_exhausted',
  'account_suspended',
  'key_limit',
  'budget_limit',
  'end_user_limit',
  'never_topped_up',
  'insufficient_credits',
  'too_many_tasks',
] as const;

/** The outcome of creating a task. Every outcome except `created` stores nothing. */
export type CreateOutcome = (typeof CREATE_OUTCOMES)[number];

export type TaskRow = Omit<RowOf<Task>, 'failure'> & {
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly cancelled_by: Canceller | null;
  readonly workflow_started_at: Date | null;
  readonly next_start_at: Date;
  readonly taken_up_at: Date | null;
};

/**
 * Creates many tasks in one transaction: see `db/functions/create-tasks.sql`.
 *
 * @param again whether the same tasks were sent before with an unknown outcome: existing tasks count as `created`
 * @returns one outcome for each task, in order
 */
export async function createTasks(
  database: Database,
  tasks: readonly NewTask[],
  { again = false } = {},
): Promise<readonly CreateOutcome[]> {
  const { rows } = await database.raw<{ rows: { id: string; outcome: string }[] }>(
    'SELECT id, outcome FROM create_tasks(:tasks::jsonb, :again)',
    { tasks: JSON.stringify(tasks.map(toItem)), again },
  );
  const outcomes = new Map(rows.map((row) => [row.id, row.outcome]));
  return tasks.map((task) => {
    const outcome = CREATE_OUTCOMES.find((known) => known === outcomes.get(task.id));
    if (!outcome) throw new Error(`create_tasks returned ${outcomes.get(task.id)} for ${task.id}`);
    return outcome;
  });
}

/**
 * Checks whether {@link createTasks} would create tasks now, without reserving money. For use before expensive work.
 *
 * @returns null if the tasks could be created
 */
export async function findTaskRefusal(
  database: Database,
  task: Pick<NewTask, 'accountId' | 'apiKeyId' | 'endUser' | 'model' | 'price' | 'maxConcurrentTasks'> & {
    readonly count: number;
  },
): Promise<Exclude<CreateOutcome, 'created'> | null> {
  const { rows } = await database.raw<{ rows: { refusal: string | null }[] }>(
    /* sql */ `
    SELECT task_refusal(accounts, api_keys, budget.rest, budget.end_user,
      (SELECT count(*) FROM tasks WHERE account_id = accounts.id AND status IN ('queued', 'processing'))
        + :count - 1,
      :price, :maxConcurrentTasks) AS refusal
    FROM accounts JOIN api_keys ON api_keys.account_id = accounts.id
    LEFT JOIN LATERAL (
      SELECT end_user, usage_limit - used_of_budget(budgets, now()) AS rest FROM budgets
      WHERE id = ANY (budgets_of(accounts.id, :endUser, :model)) ORDER BY rest LIMIT 1
    ) AS budget ON true
    WHERE accounts.id = :accountId AND api_keys.id = :apiKeyId`,
    {
      accountId: task.accountId,
      apiKeyId: task.apiKeyId,
      endUser: task.endUser,
      model: task.model,
      price: task.price.toString(),
      count: task.count,
      maxConcurrentTasks: task.maxConcurrentTasks,
    },
  );
  const refusal = rows[0] ? rows[0].refusal : 'key_deleted';
  const outcome = CREATE_OUTCOMES.find((known) => known === refusal);
  return outcome === undefined || outcome === 'created' ? null : outcome;
}

/** Finds a task of the account by its id; null also for a task of another account. */
export async function findAccountTask(database: Database, accountId: string, taskId: string): Promise<Task | null> {
  const row = await tasksById(database, [taskId]).where({ account_id: accountId }).first();
  return row ? toTask(row) : null;
}

/** Finds the account's tasks among the given ids. */
export async function findAccountTasks(
  database: Database,
  accountId: string,
  taskIds: readonly string[],
): Promise<readonly Task[]> {
  if (taskIds.length === 0) return [];
  return (await tasksById(database, taskIds).where({ account_id: accountId })).map(toTask);
}

/** Finds a task of any account by its id, for workers and operators. */
export async function findTask(database: Database, taskId: string): Promise<Task | null> {
  const row = await tasksById(database, [taskId]).first();
  return row ? toTask(row) : null;
}

/** What a step needs to know before it submits a task or stores its result. */
export interface TaskStep {
  readonly task: Task;
  readonly submissionCount: number;
  /** The files of the accepted submission; null if none are stored. */
  readonly storedFiles: readonly GeneratedMedia[] | null;
}

/** Finds a task of any account for a step, which saves the step a query for its submissions. */
export async function findTaskStep(database: Database, taskId: string): Promise<TaskStep | null> {
  if (!isId('task', taskId)) return null;
  const { rows } = await database.raw<{
    rows: (TaskRow & { submission_count: number; stored_files: readonly GeneratedMedia[] | null })[];
  }>(`SELECT (step.task).*, submission_count, stored_files FROM find_step(:taskId, :createdAt) AS step`, {
    taskId,
    createdAt: createdAtOf(taskId),
  });
  const [row] = rows;
  return row ? { task: toTask(row), submissionCount: row.submission_count, storedFiles: row.stored_files } : null;
}

/** Finds the final tasks among the given ids. */
export async function findFinalTasks(database: Database, taskIds: readonly string[]): Promise<readonly Task[]> {
  if (taskIds.length === 0) return [];
  return (await tasksById(database, taskIds).whereNotNull('completed_at')).map(toTask);
}

/** How many tasks an account may create now. @param limit the default limit on its concurrent tasks */
export async function countFreeTasks(database: Database, accountId: string, limit: number): Promise<number> {
  const { rows } = await database.raw<{ rows: { limit: number }[] }>(
    'SELECT coalesce(max_concurrent_tasks, :limit)::integer AS limit FROM accounts WHERE id = :accountId',
    { accountId, limit },
  );
  return Math.max(onlyRow(rows).limit - (await countRunningTasks(database, accountId)), 0);
}

/** Counts the tasks of an account that are not final. */
export async function countRunningTasks(database: Database, accountId: string): Promise<number> {
  const running = database<TaskRow>('tasks')
    .where({ account_id: accountId })
    .whereIn('status', ['queued', 'processing']);
  return Number(onlyRow(await running.count<{ count: string }[]>('*')).count);
}

export type TaskFilter = OptionalFields<Task, 'accountId' | 'batchId' | 'status' | 'model' | 'kind'> & {
  readonly errorCode?: TaskErrorCode | undefined;
  /** Whether the list has only tasks that are past their deadline without being final. */
  readonly isOverdue?: boolean | undefined;
  /** Whether the list has tasks whose customer has deleted the result; by default it does. */
  readonly includeDeleted?: boolean;
} & AttemptFilter &
  Period &
  IdPage;

const ATTEMPTS_WITH_FAULT = /* sql */ `
  SELECT FROM submissions WHERE task_id = tasks.id AND task_created_at = tasks.created_at
    AND submissions.outcome IN ('not_taken', 'unknown') AND coalesce(submissions.code, 'failed') = :fault
    AND submissions.provider = coalesce(:upstream, submissions.provider)`;

/** Tasks, newest first. */
export async function listTasks(database: Database, filter: TaskFilter): Promise<readonly Task[]> {
  const { accountId, batchId, status, model, kind, errorCode, isOverdue = false, includeDeleted = true } = filter;
  const query = database<TaskRow>('tasks').where(columnsOf({ accountId, batchId, status, model, kind, errorCode }));
  // The index of failed tasks has the codes.
  if (errorCode !== undefined) void query.where('status', 'failed');
  if (isOverdue) void query.whereIn('status', ['queued', 'processing']).where('deadline_at', '<', database.fn.now());
  attemptedAt(query, filter, { upstreamColumn: 'provider', attemptsWithFault: ATTEMPTS_WITH_FAULT });
  createdIn(query, filter);
  if (!includeDeleted) void query.whereNotExists(database('deleted_results').whereRaw('task_id = tasks.id'));
  // The id contains the time, which excludes newer partitions.
  if (filter.before !== undefined) void query.where('created_at', '<=', createdAtOf(filter.before));
  return (await newestFirst(query, filter)).map(toTask);
}

/** Lists the newest tasks of a key among the `among` newest tasks of its account: no index has the tasks of a key. */
export async function listTasksOfKey(
  database: Database,
  { accountId, apiKeyId, among, limit }: Pick<Task, 'accountId' | 'apiKeyId'> & Record<'among' | 'limit', number>,
): Promise<readonly Task[]> {
  const newest = newestFirst(database<TaskRow>('tasks').where({ account_id: accountId }), { limit: among });
  const query = database<TaskRow>(newest.as('newest')).where({ api_key_id: apiKeyId });
  return (await newestFirst(query, { limit })).map(toTask);
}

/** Records that Temporal has accepted the workflows of these tasks. Skips final tasks. */
export async function markWorkflowsStarted(database: Database, taskIds: readonly string[]): Promise<void> {
  await database.raw('SELECT mark_workflows_started(:taskIds, :createdAts)', {
    taskIds,
    createdAts: taskIds.map(createdAtOf),
  });
}

/**
 * Records that a worker has started the task's workflow. Does nothing for a final task.
 *
 * @returns the current task
 */
export async function markTaskStarted(database: Database, taskId: string): Promise<Task | null> {
  if (!isId('task', taskId)) return null;
  const { rows } = await database.raw<{ rows: TaskRow[] }>('SELECT * FROM take_up_task(:taskId, :createdAt)', {
    taskId,
    createdAt: createdAtOf(taskId),
  });
  return rows[0] ? toTask(rows[0]) : findTask(database, taskId);
}

/** Returns when a worker started each task, in milliseconds; null if the task ended before. Omits other tasks. */
export async function findTaskStartTimes(
  database: Database,
  taskIds: readonly string[],
): Promise<ReadonlyMap<string, number | null>> {
  const rows = await tasksById(database, taskIds)
    .whereRaw('(taken_up_at IS NOT NULL OR completed_at IS NOT NULL)')
    .select('id', 'taken_up_at');
  return new Map(rows.map((row) => [row.id, row.taken_up_at?.getTime() ?? null]));
}

/**
 * SQL for a row of `tasks`: an upstream has or may have a job of the task, or its files are stored. Only its workflow
 * ends such a task, however late, because only a workflow finds out whether the render ended in time, and cancels the
 * job.
 */
export const MAY_STILL_RENDER_SQL = /* sql */ `EXISTS (
  SELECT FROM submissions WHERE submissions.task_id = tasks.id AND submissions.task_created_at = tasks.created_at
    AND (submissions.outcome IS NULL OR submissions.job_id IS NOT NULL OR submissions.files IS NOT NULL))`;

/** Whether an upstream has or may have a job of the task, or its files are stored. The task may be final. */
export async function mayStillRender(database: Database, taskId: string): Promise<boolean> {
  const row = await tasksById(database, [taskId]).whereRaw(MAY_STILL_RENDER_SQL).first('id');
  return row !== undefined;
}

/** A task without a confirmed start of its workflow. */
export type TaskToStart = Pick<Task, 'id' | 'accountId' | 'model' | 'kind' | 'price' | 'deadlineAt' | 'requestId'>;

/**
 * Claims tasks whose workflows are due to start. Other callers get other tasks. A claim ends after `retryAfterSeconds`,
 * in case the caller dies. Accounts take turns.
 *
 * @param served the accounts of the latest starts, once for each start: accounts with many recent starts come later
 */
export async function claimTasksToStart(
  database: Database,
  { limit, retryAfterSeconds, served = [] }: { limit: number; retryAfterSeconds: number; served?: readonly string[] },
): Promise<readonly TaskToStart[]> {
  const { rows } = await database.raw<{ rows: TaskToStartRow[] }>(
    'SELECT * FROM claim_tasks(:limit, :retryAfterSeconds, :served)',
    { limit, retryAfterSeconds, served },
  );
  return rows.map(toTaskToStart);
}

export type TaskToStartRow = Pick<
  TaskRow,
  'id' | 'account_id' | 'model' | 'kind' | 'price' | 'deadline_at' | 'request_id'
>;

export function toTaskToStart<Row extends TaskToStartRow>(row: Row) {
  return readRow(row, { amounts: ['price'] });
}

/** Finds tasks past their deadline whose workflow was never started and that no upstream renders. */
export async function findExpiredTasks(database: Database, limit: number): Promise<readonly string[]> {
  const rows = await database<TaskRow>('tasks')
    .whereNull('workflow_started_at')
    .whereNull('taken_up_at')
    .whereIn('status', ['queued', 'processing'])
    .where('next_start_at', '<=', database.fn.now())
    .where('deadline_at', '<=', database.fn.now())
    .whereRaw(`NOT ${MAY_STILL_RENDER_SQL}`)
    .limit(limit)
    .select('id');
  return rows.map(({ id }) => id);
}

/** The creation time of a task, which is also the `opened_at` of its transfers. */
export function createdAtOf(taskId: string): Date {
  return new Date(createdAtMsOf('task', taskId));
}

/** Reads tasks by their ids. Other text has no task. */
export function tasksById(database: Database, ids: readonly string[]) {
  const taskIds = ids.filter((id) => isId('task', id));
  const keys = { taskIds, createdAts: taskIds.map(createdAtOf) };
  return database<TaskRow>(database.raw('find_tasks(:taskIds, :createdAts) AS tasks', keys));
}

function toItem({ uploadIds, idempotency, ...task }: NewTask): Record<string, unknown> {
  return {
    ...columnsOf(task),
    ...(uploadIds.length > 0 && { upload_ids: uploadIds }),
    ...(idempotency && {
      idempotency: {
        key: idempotency.key,
        claim_token: idempotency.claimToken,
        status: idempotency.status,
        encrypted_body: idempotency.encryptedBody.toString('base64'),
      },
    }),
  };
}

export function toTask(row: TaskRow): Task {
  return {
    id: row.id,
    accountId: row.account_id,
    apiKeyId: row.api_key_id,
    kind: row.kind,
    model: row.model,
    capabilityVersion: row.capability_version,
    provider: row.provider,
    request: row.request,
    price: picoUsd(row.price),
    priceList: row.price_list,
    billableDurationSeconds: row.billable_duration_seconds,
    requestId: row.request_id,
    batchId: row.batch_id,
    endUser: row.end_user,
    status: row.status,
    reservationId: row.reservation_id,
    resolutionId: row.resolution_id,
    providerJobId: row.provider_job_id,
    output: row.output,
    failure:
      row.error_code !== null && isTaskErrorCode(row.error_code)
        ? {
            code: row.error_code,
            message: row.error_message ?? '',
            ...(row.cancelled_by !== null && { cancelledBy: row.cancelled_by }),
          }
        : null,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    completedAt: row.completed_at,
    deadlineAt: row.deadline_at,
  };
}
