/** Creates tasks for requests of OpenAI's media endpoints, and waits for their end. */
import { setTimeout as sleep } from 'node:timers/promises';
import { againIfLost } from '../../../db/connections.ts';
import type { Database } from '../../../db/database.ts';
import { findAccountTask } from '../../../db/queries/tasks.ts';
import type { Caller } from '../../../db/queries/api-keys.ts';
import { assertNotExhausted } from '../../../domain/api-key.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { isObject } from '../../../domain/json.ts';
import { isFinal, type Task } from '../../../domain/task.ts';
import type { CreateTaskRequest } from '../../services/create-task.ts';
import { createOnce } from '../../services/idempotency.ts';
import type { CheckLinks } from '../../services/place-task.ts';
import type { ApiServices } from '../../services/services.ts';
import type { Context } from '../../state.ts';
import { createTask } from './create.ts';

interface MediaAsk {
  readonly caller: Caller;
  readonly context: Context;
  /** What an `Idempotency-Key` stands for. */
  readonly body: unknown;
  /** @throws ServiceError `bad_request` */
  readonly parse: () => CreateTaskRequest;
}

/** Creates the task once for each `Idempotency-Key`. @returns the task, as created */
export async function taskOfRequest(
  { parse, ...request }: MediaAsk,
  services: ApiServices,
  checkLinks?: CheckLinks,
): Promise<Task> {
  const created = await createOnce(request, services, (claim) => {
    assertNotExhausted(request.caller.key);
    return createTask({ ...request, params: {}, query: {}, claim, body: parse() }, services, checkLinks);
  });
  const answer: unknown = JSON.parse(created.body);
  const id = isObject(answer) && isObject(answer['data']) ? String(answer['data']['id']) : '';
  return ownTask(request.caller.account.id, id, services.database);
}

async function ownTask(accountId: string, id: string, database: Database): Promise<Task> {
  const task = await againIfLost(() => findAccountTask(database, accountId, id));
  if (task === null) throw new ServiceError('not_found', 'There is no such task in this account.');
  return task;
}

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 1_000;

interface Wait {
  /** By `performance.now()`. */
  readonly untilMs: number;
  readonly socket: { readonly destroyed: boolean };
}

/** Waits until a task is final, the time is over, or its client has left. @returns the task as it is then */
export async function untilFinal(
  task: Task,
  { untilMs, socket }: Wait,
  { database }: Pick<ApiServices, 'database'>,
): Promise<Task> {
  let current = task;
  for (let pauseMs = FIRST_PAUSE_MS; !isFinal(current.status); pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS)) {
    if (performance.now() + pauseMs > untilMs || socket.destroyed) return current;
    await sleep(pauseMs);
    current = await ownTask(task.accountId, task.id, database);
  }
  return current;
}

/**
 * Waits until a task has succeeded.
 *
 * @throws ServiceError with the code of a task that failed; `processing_timeout` when it has not ended by then
 */
export async function untilSucceeded(task: Task, wait: Wait, services: Pick<ApiServices, 'database'>): Promise<Task> {
  const current = await untilFinal(task, wait, services);
  if (!isFinal(current.status)) throw notReady(current.id);
  if (current.failure === null) return current;
  throw new ServiceError(current.failure.code, current.failure.message);
}

/** SDKs must not send the request again: it would be charged twice. */
function notReady(taskId: string): ServiceError {
  return new ServiceError(
    'processing_timeout',
    `The picture is not ready yet, and will be charged when it is. Read it with GET /v1/tasks/${taskId}.`,
    { retryable: false, headers: { 'x-should-retry': 'false' } },
  );
}
