/** Waiting for tasks. */
import { TaskFailedError, WaitTimeoutError } from './errors.ts';
import type { RequestOptions } from './http.ts';
import { poll } from './poll.ts';
import type { Task } from './types.ts';

export interface WaitOptions {
  /** Called with the task after each look. */
  readonly onProgress?: (task: Task) => void;
  /** Defaults to an hour. */
  readonly timeoutMs?: number;
  /** Defaults to what the task asks for, `poll_after_seconds`. */
  readonly pollMs?: number;
  readonly signal?: AbortSignal;
}

const HOUR_MS = 3_600_000;
const POLL_SECONDS = 5;

/**
 * Resolves with the task once it has succeeded. Goes on while the API cannot be reached, because the task does.
 *
 * @throws TaskFailedError, WaitTimeoutError, or the reason of the signal
 */
export async function waitFor(
  task: Task,
  read: (id: string, options: RequestOptions) => Promise<Task>,
  { onProgress, timeoutMs = HOUR_MS, pollMs, signal }: WaitOptions = {},
): Promise<Task> {
  return poll(task, (reading) => read(task.id, reading), {
    timeoutMs,
    pollMs: (latest) => pollMs ?? (latest.poll_after_seconds ?? POLL_SECONDS) * 1000,
    hasEnded: (latest) => {
      if (latest.status === 'failed') throw new TaskFailedError(latest);
      return latest.status === 'succeeded';
    },
    timedOut: (latest) => new WaitTimeoutError(latest),
    ...(onProgress && { onProgress }),
    signal,
  });
}

/** A task that is being created. `await` gives the task as it was created, `wait()` the task with its result. */
export class CreatedTask implements PromiseLike<Task> {
  readonly #created: Promise<Task>;
  readonly #wait: (task: Task, options?: WaitOptions) => Promise<Task>;

  constructor(created: Promise<Task>, wait: (task: Task, options?: WaitOptions) => Promise<Task>) {
    this.#created = created;
    this.#wait = wait;
  }

  then<One = Task, Other = never>(
    onTask?: ((task: Task) => One | PromiseLike<One>) | null,
    onError?: ((error: unknown) => Other | PromiseLike<Other>) | null,
  ): Promise<One | Other> {
    return this.#created.then(onTask, onError);
  }

  /** @throws APIError, TaskFailedError, WaitTimeoutError, or the reason of the signal */
  async wait(options?: WaitOptions): Promise<Task> {
    return this.#wait(await this.#created, options);
  }
}
