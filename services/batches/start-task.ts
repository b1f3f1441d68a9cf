/** Creates the task of a line of a batch by the rules of a direct create: contract 4.17. */
import type { Caller } from '../../db/queries/api-keys.ts';
import { isUnavailable } from '../../db/connections.ts';
import { contentId, type TaskLine, type TaskLineEnd } from '../../db/queries/batch-lines.ts';
import type { Encryption } from '../../db/encryption.ts';
import type { TaskBatchEndpoint } from '../../domain/batch.ts';
import { presentError } from '../../domain/error-envelope.ts';
import { ServiceError, toServiceError } from '../../domain/errors.ts';
import { newId } from '../../domain/ids.ts';
import type { Task } from '../../domain/task.ts';
import { acceptTask, type AcceptServices, type CheckLinks } from '../tasks/accept-task.ts';
import type { CreateTaskRequest, TaskLimits } from '../tasks/create-task.ts';
import { concernsBatch } from './answer-line.ts';

/** What an endpoint of media does with a request. */
export interface MediaEndpoint {
  /** @throws ServiceError `bad_request` */
  readonly parse: (body: unknown) => CreateTaskRequest;
  readonly checkLinks?: CheckLinks;
}

/** Creates and cancels tasks as the endpoints of media do. */
export interface LineTasks extends AcceptServices {
  readonly endpoints: Readonly<Record<TaskBatchEndpoint, MediaEndpoint>>;
  readonly limits: Pick<TaskLimits, 'concurrentTasks'>;
  /** Cancels a task for its customer. @throws ServiceError for a task that continues or is final */
  readonly cancelTask: (task: Task) => Promise<unknown>;
}

interface LineToStart extends TaskLine {
  readonly batchId: string;
  readonly endpoint: TaskBatchEndpoint;
  readonly caller: Caller;
  /** The request's body. */
  readonly body: unknown;
}

/**
 * `created`: the line has its task. `ended`: the request is refused for ever. `claimed`: another process started the
 * line. `refused`: no line of the batch can start now.
 */
export type StartOutcome =
  | { readonly kind: 'created'; readonly taskId: string }
  | { readonly kind: 'ended'; readonly end: TaskLineEnd }
  | { readonly kind: 'claimed' }
  | { readonly kind: 'refused'; readonly error: ServiceError };

/**
 * Can be repeated: the transaction that creates the task gives it to the line, and a line has one task.
 *
 * @throws Error if the database is unavailable: the line then waits, unless it has its task
 */
export async function startTask(
  { batchId, endpoint, number, attempt, caller, body }: LineToStart,
  { tasks, encryption }: { readonly tasks: LineTasks; readonly encryption: Encryption },
): Promise<StartOutcome> {
  const requestId = newId('request');
  const { parse, checkLinks } = tasks.endpoints[endpoint];
  try {
    const request = { ...parse(body), batchLine: { batchId, number } };
    const { taskId } = await acceptTask({ caller, request, claim: null, requestId }, tasks, checkLinks);
    return { kind: 'created', taskId };
  } catch (thrown) {
    if (!(thrown instanceof ServiceError) && isUnavailable(thrown)) throw thrown;
    const error = toServiceError(thrown);
    if (error.code === 'idempotency_conflict') return { kind: 'claimed' };
    if (concernsBatch(error)) return { kind: 'refused', error };
    return { kind: 'ended', end: endRefused({ batchId, number, attempt, requestId }, error, encryption) };
  }
}

/** The end of a line whose request is refused, with the error of a direct create. */
export function endRefused(
  { batchId, number, attempt, requestId }: TaskLine & { readonly batchId: string; readonly requestId: string },
  error: ServiceError,
  encryption: Encryption,
): TaskLineEnd {
  const answer = JSON.stringify(presentError(error, requestId));
  return {
    number,
    attempt,
    taskId: null,
    status: 'failed',
    responseStatus: error.status,
    requestId,
    encryptedAnswer: encryption.encryptCompact(answer, contentId(batchId, number, attempt)),
  };
}
