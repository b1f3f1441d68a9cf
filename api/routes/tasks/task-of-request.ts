/** Creates tasks for requests of OpenAI's media endpoints and of capabilities, and waits until they are final. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '../../../db/queries/api-keys.ts';
import { assertNotExhausted } from '../../../domain/api-key.ts';
import { ServiceError, toServiceError } from '../../../domain/errors.ts';
import { isObject } from '../../../domain/json.ts';
import { isFinal, type Task } from '../../../domain/task.ts';
import type { CreateTaskRequest } from '../../../services/tasks/create-task.ts';
import { createOnce } from '../../../services/tasks/idempotency.ts';
import { readOwnTask } from '../../../services/tasks/waited-task.ts';
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

/** Creates the task once for each `Idempotency-Key`. @returns the task, as created */
export async function taskOfRequest(
  request: MediaTaskRequest,
  services: ApiServices,
  checkLinks?: CheckLinks,
): Promise<Task> {
  return createOneOf(request, { index: 0, count: 1 }, services, checkLinks);
}

/**
 * Creates several equal tasks, each once per `Idempotency-Key`. Refuses the first if the account cannot pay for all.
 *
 * @returns the tasks, as created: fewer than `count` if some were refused after the first
 * @throws ServiceError when no task was created; `idempotency_conflict` while an earlier request with the key creates
 *   them
 */
export async function tasksOfRequest(
  request: MediaTaskRequest,
  count: number,
  services: ApiServices,
  checkLinks?: CheckLinks,
): Promise<readonly Task[]> {
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
): Promise<Task> {
  const { requestId } = context.state;
  const created = await createOnce({ caller, context, body, key, index: series.index }, services, async (claim) => {
    assertNotExhausted(caller.key);
    const placed = await acceptTask({ caller, request: parse(), claim, requestId, series }, services, checkLinks);
    context.state.createdTaskId = placed.taskId;
    return placed;
  });
  const answer: unknown = JSON.parse(created.body);
  const id = isObject(answer) && isObject(answer['data']) ? String(answer['data']['id']) : '';
  return readOwnTask(services.database, { accountId: caller.account.id, id });
}

const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 1_000;

interface Wait {
  /** By `performance.now()`. */
  readonly untilMs: number;
  readonly socket: { readonly destroyed: boolean };
}

/** Waits until a task is final, the time is over, or the client disconnects. @returns the task at that time */
export async function waitUntilFinal(
  task: Task,
  { untilMs, socket }: Wait,
  { readWaitedTask }: Pick<TaskServices, 'readWaitedTask'>,
): Promise<Task> {
  let current = task;
  for (let pauseMs = FIRST_PAUSE_MS; !isFinal(current.status); pauseMs = Math.min(pauseMs * 1.5, MAX_PAUSE_MS)) {
    if (performance.now() + pauseMs > untilMs || socket.destroyed) return current;
    await sleep(pauseMs);
    current = await readWaitedTask(task);
  }
  return current;
}

/**
 * Waits until all tasks are final.
 *
 * @returns the tasks that succeeded, at least one
 * @throws ServiceError with the code of the first task if all failed; `processing_timeout` when one is not final in
 *   time
 */
export async function waitForSucceeded(
  tasks: readonly Task[],
  wait: Wait,
  services: Pick<TaskServices, 'readWaitedTask'>,
): Promise<readonly Task[]> {
  const ended = await Promise.all(tasks.map((task) => waitUntilFinal(task, wait, services)));
  if (!ended.every(({ status }) => isFinal(status))) throw notReady(ended.map(({ id }) => id));
  const succeeded = ended.filter(({ failure }) => failure === null);
  const [failure] = ended.flatMap((task) => task.failure ?? []);
  if (succeeded.length === 0 && failure !== undefined) throw new ServiceError(failure.code, failure.message);
  return succeeded;
}

/** SDKs must not send the request again: it would be charged twice. */
function notReady(taskIds: readonly string[]): ServiceError {
  return new ServiceError(
    'processing_timeout',
    `The request is not complete yet. Each picture is charged when it is ready. Poll ${taskIds.map((id) => `GET /v1/tasks/${id}`).join(', ')}.`,
    { retryable: false, headers: { 'x-should-retry': 'false' } },
  );
}
