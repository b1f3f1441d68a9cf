/** Checks that every order became one task, one render, one charge or refund. */
import Joi from 'joi';
import { dataReader, listReader } from '../../stack/answers.ts';
import { ask } from '../../stack/client.ts';
import type { MediaOrder } from '../load/media.ts';
import { type Check, type CheckResult, type Evidence, isForgotten, sqlCheck } from './check.ts';
import { mapAtOnce } from './map-at-once.ts';

interface Task {
  readonly id: string;
  readonly status: string;
  readonly error_code: string | null;
  readonly output: { readonly media: readonly { readonly url: string }[] } | null;
}

interface Job {
  readonly id: string;
  readonly key: string;
  readonly status: string;
  readonly created_at: string;
  readonly ended_at: string | null;
}

const readTask = dataReader<Task>({
  id: Joi.string(),
  status: Joi.string(),
  error_code: Joi.string().allow(null),
  output: Joi.object().allow(null),
});
const readJobs = listReader<Job>({
  id: Joi.string(),
  key: Joi.string(),
  status: Joi.string(),
  created_at: Joi.string(),
  ended_at: Joi.string().allow(null),
});

const ASKED_AT_ONCE = 8;
/** The simulator lists at most this many at a time. */
const MOST_JOBS = 2_000;

/** A task in the database. */
interface TaskRow {
  readonly id: string;
  readonly status: string;
  readonly error_code: string | null;
  readonly provider_job_id: string | null;
  readonly completed_at: Date | null;
  readonly deadline_at: Date;
  readonly batch_id: string | null;
}

async function readTasks(database: Evidence['database']): Promise<ReadonlyMap<string, TaskRow>> {
  const rows = await database<TaskRow>('tasks').select(
    'id',
    'status',
    'error_code',
    'provider_job_id',
    'completed_at',
    'deadline_at',
    'batch_id',
  );
  return new Map(rows.map((row) => [row.id, row]));
}

/** Whether the task of an order may be gone, because the database was restored to an earlier moment. */
function mayBeGone(evidence: Evidence, { answeredAtMs }: MediaOrder): boolean {
  return isForgotten(evidence, answeredAtMs);
}

async function checkAnswers({ orders }: Evidence): Promise<CheckResult> {
  const unanswered = orders.filter(({ taskId }) => taskId === null);
  return {
    promise: 'every create call was answered 201 in the end',
    failures: unanswered.map(({ calls, refusal }) =>
      refusal ? `answered ${refusal.status}: ${refusal.text}` : `no answer to ${calls} calls`,
    ),
  };
}

async function checkFaults({ mediaAnswers, textAnswers }: Evidence): Promise<CheckResult> {
  const ofMedia = mediaAnswers.get(500) ?? 0;
  const ofText = textAnswers.filter(({ status }) => status === 500);
  return {
    promise: 'nothing was answered with 500',
    failures: [
      ...(ofMedia > 0 ? [`${ofMedia} create calls and polls`] : []),
      ...ofText.map(({ requestId, process }) => `${requestId} of ${process}`),
    ],
  };
}

async function checkKeys(evidence: Evidence): Promise<CheckResult> {
  const { orders, database } = evidence;
  const answered = new Set(orders.flatMap(({ taskId }) => taskId ?? []));
  const tasks = await readTasks(database);
  const missing = orders.filter(({ taskId }) => taskId !== null && !tasks.has(taskId));
  const direct = [...tasks.values()].filter(({ batch_id: batchId }) => batchId === null);
  const unknown = direct.map(({ id }) => id).filter((id) => !answered.has(id));
  // A call without an answer may have created its task.
  const unanswered = orders.filter(({ taskId }) => taskId === null).length;
  return {
    promise: 'no idempotency key made two tasks, and none was lost',
    failures: [
      ...(unknown.length > unanswered ? unknown.map((id) => `${id} was made, but no client was told`) : []),
      ...(answered.size < orders.length - unanswered ? ['two keys were answered with the same task'] : []),
      ...missing.flatMap((order) =>
        mayBeGone(evidence, order) ? [] : [`${order.taskId} was answered with 201 and is not in the database`],
      ),
    ],
  };
}

/** The tasks in the API now: final, unchanged since they were seen final, with results that can be fetched. */
async function checkTasks(evidence: Evidence): Promise<CheckResult> {
  const { orders, stack } = evidence;
  const failures = await mapAtOnce(ASKED_AT_ONCE, orders, async (order) => {
    const { taskId, customer, final, isGone } = order;
    if (taskId === null) return [];
    const { status, text } = await ask(`${stack.apiUrls[0]}/v1/tasks/${taskId}`, { token: customer.apiKey });
    if (status === 404 && mayBeGone(evidence, order)) return [];
    if (status !== 200 || isGone) return [`${taskId} answers ${status}${isGone ? ', and was gone for a while' : ''}`];
    const task = readTask(text);
    if (task.status !== 'succeeded' && task.status !== 'failed') return [`${taskId} is ${task.status}`];
    if (final !== null && final.text !== text && !isForgotten(evidence, final.endedAtMs)) {
      return [`${taskId} was final and has changed: ${final.text} became ${text}`];
    }
    return unfetchable(task);
  });
  return {
    promise: 'every 201 has a final task that never changed, and its results are there',
    failures: failures.flat(),
  };
}

async function unfetchable({ id, status, output }: Task): Promise<string[]> {
  if (status === 'failed') return [];
  const media = output?.media ?? [];
  const failures = media.length === 0 ? [`${id} has no result`] : [];
  for (const { url } of media) {
    const response = await fetch(url);
    const { byteLength } = await response.arrayBuffer();
    if (response.status !== 200 || byteLength === 0) failures.push(`${url} answers ${response.status}`);
  }
  return failures;
}

/** A task may also time out, when a process that it needs is killed again and again; then its deadline has passed. */
async function checkEndings({ orders, database }: Evidence): Promise<CheckResult> {
  const tasks = await readTasks(database);
  const failures = orders.flatMap(({ taskId, ending }: MediaOrder) => {
    const task = tasks.get(taskId ?? '');
    if (!task) return [];
    const actual = task.error_code ?? task.status;
    const isLate = actual === 'processing_timeout' && (task.completed_at ?? 0) >= task.deadline_at;
    return actual === ending || isLate ? [] : [`${taskId} should have ended with ${ending}, but it is ${actual}`];
  });
  return { promise: 'every task ended as its provider said, or at its deadline', failures };
}

const checkResolutions = sqlCheck(
  'every task has one resolution in the ledger: what it cost if it succeeded, a full refund if it failed',
  /* sql */ `
  SELECT format('%s is %s, resolved by %s', task.id, task.status,
      coalesce(string_agg(format('%s of %s', transfers.kind, amount), ' and '), 'nothing')) AS failure
  FROM tasks AS task LEFT JOIN transfers ON transfers.task_id = task.id AND transfers.kind <> 'reservation'
  GROUP BY task.id, task.status, task.price
  HAVING array_agg((transfers.kind, amount)::text) IS DISTINCT FROM
    ARRAY[(CASE task.status WHEN 'succeeded' THEN 'settlement' WHEN 'failed' THEN 'refund' END, task.price)::text]`,
);

async function listJobs({ stack }: Evidence): Promise<readonly Job[]> {
  const { text } = await ask(`${stack.simulatorUrl}/_sim/jobs?limit=${MOST_JOBS}`);
  return readJobs(text);
}

async function checkRenders(evidence: Evidence): Promise<CheckResult> {
  const { database } = evidence;
  const jobs = await listJobs(evidence);
  const tasks = await readTasks(database);
  const rendered = new Map<string, string>();
  const failures = jobs.length === MOST_JOBS ? ['there are more jobs than the simulator lists'] : [];
  for (const { id, key, created_at } of jobs) {
    const task = tasks.get(key);
    if (!task && isForgotten(evidence, Date.parse(created_at))) continue;
    if (!task) failures.push(`${id} was rendered for ${key}, which is no task`);
    else if (rendered.has(key)) failures.push(`${key} was rendered as ${rendered.get(key)} and as ${id}`);
    else if (task.provider_job_id !== null && task.provider_job_id !== id) {
      failures.push(`${key} was rendered as ${id}, but its job is ${task.provider_job_id}`);
    }
    rendered.set(key, id);
  }
  for (const { id, status } of tasks.values()) {
    if (status === 'succeeded' && !rendered.has(id)) failures.push(`${id} succeeded without a render`);
  }
  return { promise: 'every task was rendered once at the provider, and nothing else was', failures };
}

/** The maximum difference between the clocks of the simulator and of the database. */
const CLOCKS_MS = 1_000;

/** A render in time is charged, however late its end was noticed or its result stored. */
async function checkCharges(evidence: Evidence): Promise<CheckResult> {
  const { orders, database } = evidence;
  const tasks = await readTasks(database);
  const good = new Set(orders.flatMap(({ taskId, ending }) => (ending === 'succeeded' ? (taskId ?? []) : [])));
  const failures = (await listJobs(evidence)).flatMap(({ key, status, ended_at }) => {
    const task = tasks.get(key);
    if (!task || !good.has(key) || status !== 'succeeded' || ended_at === null) return [];
    const inTimeMs = task.deadline_at.getTime() - Date.parse(ended_at);
    const isAsDue = inTimeMs > 0 ? task.status === 'succeeded' : task.error_code === 'processing_timeout';
    if (isAsDue || Math.abs(inTimeMs) < CLOCKS_MS) return [];
    return [`${key} was rendered ${inTimeMs / 1000} s before its deadline, and is ${task.error_code ?? task.status}`];
  });
  return {
    promise: 'what was rendered before its deadline was charged, and what was rendered later was not',
    failures,
  };
}

async function checkOrphans(evidence: Evidence): Promise<CheckResult> {
  const open = (await listJobs(evidence)).filter(
    ({ ended_at, created_at }) => ended_at === null && !isForgotten(evidence, Date.parse(created_at)),
  );
  return {
    promise: 'no job is rendering that nobody waits for',
    failures: open.map(({ id, key, status }) => `${id} of ${key} is ${status}`),
  };
}

export const MEDIA_CHECKS: readonly Check[] = [
  checkAnswers,
  checkFaults,
  checkKeys,
  checkTasks,
  checkEndings,
  checkResolutions,
  checkRenders,
  checkCharges,
  checkOrphans,
];
