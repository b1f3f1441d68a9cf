/** Creates tasks for requests of OpenAI's media endpoints and of capabilities, and waits until they are final. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isUnavailable } from '../../../db/connections.ts';
import type { Caller } from '../../../db/queries/api-keys.ts';
import { assertNotExhausted } from '../../../domain/api-key.ts';
import { ServiceError, toServiceError, UNREPEATABLE } from '../../../domain/errors.ts';
import { type JsonObject, objectOf } from '../../../domain/json.ts';
import { isFinal, type Task } from '../../../domain/task.ts';
import type { CreateTaskRequest } from '../../../services/tasks/create-task.ts';
import { createOnce } from '../../../services/tasks/idempotency.ts';
import { type CheckLinks, acceptTask, type Series } from '../../../services/tasks/accept-task.ts';
import type { TaskServices } from '../../../services/services.ts';
import type { ApiServices } from '../../services.ts';
import type { Context } from '../../state.ts';

interface MediaTaskRequest {
  readonly caller: Caller;
  readonly context: Context;
  /** The request that an `Idempotency-Key` identifies. */
  readonly body: unknown;
  /** Used instead of the header `Idempotency-Key`. */
  readonly key?: string | undefined;
  /** @throws ServiceError `bad_request` */
  readonly parse: () => CreateTaskRequest;
}

/** A task that exists, even while the database cannot be read. */
export interface CreatedTask extends Pick<Task, 'accountId' | 'id'> {
  /** The task in the answer to its create call. */
  readonly presented: JsonObject;
}

/** Creates the task once for each `Idempotency-Key`. */
export async function taskOfRequest(
  request: MediaTaskRequest,
  services: ApiServices,
  checkLinks?: CheckLinks,
): Promise<CreatedTask> {
  return createOneOf(request, { index: 0, count: 1 }, services, checkLinks);
}

/**
 * Creates several equal tasks, each once per `Idempotency-Key`. Refuses the first if the account cannot pay for all.
 *
 * @returns the tasks: fewer than `count` if some were refused after the first
 * @throws ServiceError when no task was created; `idempotency_conflict` while an earlier request with the key creates
 *   them
 */
export async function tasksOfRequest(
  request: MediaTaskRequest,
  count: number,
  services: ApiServices,
  checkLinks?: CheckLinks,
): Promise<readonly CreatedTask[]> {
  const first = await createOneOf(request, { index: 0, count }, services, checkLinks);
  const others = await Promise.allSettled(
    Array.from({ length: count - 1 }, (_, before) => createOneOf(request, { index: before + 1, count }, services)),
  );
  const conflict = others.find(
    (other) => other.status === 'rejected' && toServiceError(other.reason).code === 'idempotency_conflict',
  );
  if (conflict?.status === 'rejected') throw conflict.reason;
  return [first, ...others.flatMap((other) => (other.status === 'fulfilled' ? [other.value] : []))];
}

async function createOneOf(
  { parse, caller, context, body, key }: MediaTaskRequest,
  series: Series,
  services: ApiServices,
  checkLinks?: CheckLinks,
): Promise<CreatedTask> {
  const { requestId } = context.state;
  const created = await createOnce({ caller, context, body, key, index: series.index }, services, async (claim) => {
    assertNotExhausted(caller.key);
    const placed = await acceptTask({ caller, request: parse(), claim, requestId, series }, services, checkLinks);
    context.state.createdTaskId = placed.taskId;
    return placed;
  });
  const answer: unknown = JSON.parse(created.body);
  const presented = objectOf(objectOf(answer)['data']);
  return { accountId: caller.account.id, id: String(presented['id']), presented };
}

const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 1_000;

interface Wait {
  /** By `performance.now()`. */
  readonly untilMs: number;
  readonly socket: { readonly destroyed: boolean };
}

/**
 * Waits until a task is final, the time is over, or the client disconnects, also while the database is unavailable.
 *
 * @returns the task as it was read last; null if it was never read
 */
export async function waitUntilFinal(
  task: Pick<Task, 'accountId' | 'id'>,
  wait: Wait,
  services: Pick<TaskServices, 'readWaitedTask'>,
): Promise<Task | null> {
  return pollUntil(({ status }) => isFinal(status), task, wait, services);
}

/** Reads a task, also after an outage of the database. @throws ServiceError that names the task once the time is over */
export async function readCreated(
  task: Pick<Task, 'accountId' | 'id'>,
  wait: Wait,
  services: Pick<TaskServices, 'readWaitedTask'>,
): Promise<Task> {
  const read = await pollUntil(() => true, task, wait, services);
  if (read === null) throw notReady([task.id]);
  return read;
}

async function pollUntil(
  isDone: (task: Task) => boolean,
  task: Pick<Task, 'accountId' | 'id'>,
  { untilMs, socket }: Wait,
  { readWaitedTask }: Pick<TaskServices, 'readWaitedTask'>,
): Promise<Task | null> {
  let current: Task | null = null;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 1.5, MAX_PAUSE_MS)) {
    try {
      current = await readWaitedTask(task);
    } catch (error) {
      if (!isUnavailable(error)) throw unreadable(task.id, error);
    }
    if (current !== null && isDone(current)) return current;
    if (performance.now() + pauseMs > untilMs || socket.destroyed) return current;
    await sleep(pauseMs);
  }
}

/**
 * Waits until all tasks are final.
 *
 * @param onFailed runs before the error if all tasks failed
 * @returns the tasks that succeeded, at least one
 * @throws ServiceError with the code of the first task if all failed; `processing_timeout` when one is not final in
 *   time
 */
export async function waitForSucceeded(
  tasks: readonly Pick<Task, 'accountId' | 'id'>[],
  wait: Wait,
  services: Pick<TaskServices, 'readWaitedTask'>,
  onFailed: () => Promise<void> = async () => {},
): Promise<readonly Task[]> {
  const read = await Promise.all(tasks.map((task) => waitUntilFinal(task, wait, services)));
  const ended = read.flatMap((task) => (task !== null && isFinal(task.status) ? [task] : []));
  if (ended.length < tasks.length) throw notReady(tasks.map(({ id }) => id));
  const succeeded = ended.filter(({ failure }) => failure === null);
  const [failure] = ended.flatMap((task) => task.failure ?? []);
  if (succeeded.length > 0 || failure === undefined) return succeeded;
  await onFailed();
  throw new ServiceError(failure.code, failure.message);
}

function notReady(taskIds: readonly string[]): ServiceError {
  return new ServiceError(
    'processing_timeout',
    `The request is not complete yet. Each task is charged when it succeeds. Poll ${taskIds.map((id) => `GET /v1/tasks/${id}`).join(', ')}.`,
    UNREPEATABLE,
  );
}

function unreadable(taskId: string, cause: unknown): ServiceError {
  if (cause instanceof ServiceError) return cause;
  return new ServiceError(
    'internal_error',
    `Something went wrong on our side, after the task was created. Poll GET /v1/tasks/${taskId}; if it fails, quote the request id.`,
    { ...UNREPEATABLE, cause },
  );
}
