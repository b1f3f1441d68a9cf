/**
 * What a call of a media upstream can end in besides an answer. Of a submission there are four outcomes, and the last decides
 * between one render and two: accepted, refused, not taken, unknown. A call that only reads can be made again, so that
 * {@link ProviderUnreachableError} is all that there is to say.
 */
import type { TaskErrorCode } from '../../domain/errors.ts';
import { messageFor, wordsOf } from './words.ts';

/** The upstream refused the job: a verdict, and the same request would be refused again. */
export class JobRefusedError extends Error {
  override readonly name = 'JobRefusedError';
  readonly code: TaskErrorCode;

  /** @param words the upstream's, for the client; shown for codes that a client can act on, and made presentable here */
  constructor(code: TaskErrorCode, words?: unknown) {
    super(messageFor(code, words));
    this.code = code;
  }
}

interface NotTakenOptions {
  /** Nothing is to be had there for this task: our credential, our money or the model is missing. */
  readonly leavesRoute?: boolean;
  /** When the upstream asks to be tried again. */
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** The upstream certainly has no job of this submission. The message is for operators. */
export class NotTakenError extends Error {
  override readonly name = 'NotTakenError';
  readonly leavesRoute: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, { leavesRoute = false, retryAfterMs, cause }: NotTakenOptions = {}) {
    super(message, { cause });
    this.leavesRoute = leavesRoute;
    this.retryAfterMs = retryAfterMs;
  }
}

/** No verdict: the upstream could not be reached or made no sense. What was only asked may be asked again. */
export class ProviderUnreachableError extends Error {
  override readonly name: string = 'ProviderUnreachableError';
}

/** The upstream may have a job of this submission, which must not be sent again before that is known. */
export class OutcomeUnknownError extends ProviderUnreachableError {
  override readonly name = 'OutcomeUnknownError';
}

export type SubmissionError = JobRefusedError | NotTakenError | OutcomeUnknownError;

/** Reads a text that an upstream must have sent. @throws OutcomeUnknownError */
export function textOf(value: unknown, what: string): string {
  if (typeof value === 'string' && value !== '' && value.length <= MAX_ID_LENGTH && wordsOf(value) !== null)
    return value;
  throw new OutcomeUnknownError(`the upstream named no valid ${what}`);
}

const MAX_ID_LENGTH = 500;
