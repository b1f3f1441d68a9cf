/**
 * What Genway asks of anything that renders media. Each protocol that an upstream may speak is a folder beside this file and
 * exports a factory that returns a {@link MediaProvider}.
 */
import type { TaskErrorCode } from '../domain/errors.ts';
import type { RenderInputs } from '../domain/task.ts';

/** What to render, and for which task. */
export interface RenderRequest extends RenderInputs {
  /** The Genway task id; doubles as the upstream's idempotency key, so that one task is never rendered twice. */
  readonly taskId: string;
  /** Where the upstream may announce the end of the job; absent when callbacks are off. */
  readonly callbackUrl?: string;
}

/** What the upstream says about a job. */
export type JobState =
  | { readonly state: 'running'; readonly progressPercent: number | null; readonly detail: string | null }
  | { readonly state: 'succeeded'; readonly results: readonly JobResult[] }
  | { readonly state: 'failed'; readonly code: TaskErrorCode; readonly message: string }
  /** The upstream knows no such job. */
  | { readonly state: 'unknown' };

export interface JobResult {
  /** Where the file can be fetched, with the provider's credentials, through `fetchResult`. */
  readonly url: string;
  readonly mimeType: string | null;
}

/** An open download. The caller must consume or cancel `body`. */
export interface ResultDownload {
  readonly body: ReadableStream<Uint8Array>;
  readonly contentType: string | null;
  readonly contentLength: number | null;
}

/** The upstream refused the job: a verdict. Trying the same again is pointless or, when `retryable`, wanted later. */
export class JobRefusedError extends Error {
  override readonly name = 'JobRefusedError';
  readonly code: TaskErrorCode;
  constructor(code: TaskErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** No verdict: the upstream could not be reached or made no sense. The same call may be made again. */
export class ProviderUnreachableError extends Error {
  override readonly name = 'ProviderUnreachableError';
}

/** An upstream that renders media as asynchronous jobs. */
export interface MediaProvider {
  /** The name by which configuration, histories and operators call it. */
  readonly name: string;
  /**
   * Hands the job over; at most one job exists for a task id however often this is called.
   * @returns the upstream's job id
   * @throws JobRefusedError | ProviderUnreachableError
   */
  submit(request: RenderRequest, signal: AbortSignal): Promise<string>;
  /** Finds the job of an earlier submission whose answer was lost. @returns its id, or null when none was accepted. */
  findByTask(taskId: string, signal: AbortSignal): Promise<string | null>;
  /** @throws ProviderUnreachableError */
  status(jobId: string, signal: AbortSignal): Promise<JobState>;
  /** @throws ProviderUnreachableError | JobRefusedError with `result_transfer_failed` when the file is gone */
  fetchResult(result: JobResult, signal: AbortSignal): Promise<ResultDownload>;
  /** Asks the upstream to stop; no error when the job has ended already. */
  cancel(jobId: string, signal: AbortSignal): Promise<void>;
}
