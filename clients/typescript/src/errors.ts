/** The errors of the client. Every one of them is a {@link GenwayError}. */
import type { Batch, Task } from './types.ts';

export class GenwayError extends Error {
  override get name(): string {
    return this.constructor.name;
  }
}

/** The facts about a refusal. */
export interface Refusal {
  readonly status: number;
  /** One of the codes of the API, such as `insufficient_credits`; empty if the answer did not come from Genway. */
  readonly code: string;
  readonly message: string;
  /** Quote it when you ask for support. */
  readonly requestId: string | null;
  /** Whether sending the same request again can succeed. */
  readonly isRetryable: boolean;
  readonly retryAfterSeconds: number | null;
}

/** The API refused the request. */
export class APIError extends GenwayError {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | null;
  readonly isRetryable: boolean;
  readonly retryAfterSeconds: number | null;

  constructor({ status, code, message, requestId, isRetryable, retryAfterSeconds }: Refusal) {
    super(message);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.isRetryable = isRetryable;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The request is wrong: the message names the field. */
export class BadRequestError extends APIError {}
/** Moderation refused the prompt, an input or the result. */
export class ContentPolicyError extends BadRequestError {}
/** The key is missing, wrong, expired, disabled or exhausted. */
export class AuthenticationError extends APIError {}
/** The balance or the limit of the key does not cover the price. */
export class InsufficientCreditsError extends APIError {}
/** The key may not do this. */
export class PermissionDeniedError extends APIError {}
export class NotFoundError extends APIError {}
/** The idempotency key was used for another request, or the state of the object does not allow the call. */
export class ConflictError extends APIError {}
export class PayloadTooLargeError extends APIError {}
/** Too many requests, or too many running tasks. */
export class RateLimitError extends APIError {}
/** The model or a part of the service is not available now. */
export class UnavailableError extends APIError {}
/** An unexpected fault of the service. */
export class InternalServerError extends APIError {}

const BY_STATUS: Readonly<Record<number, typeof APIError>> = {
  400: BadRequestError,
  401: AuthenticationError,
  402: InsufficientCreditsError,
  403: PermissionDeniedError,
  404: NotFoundError,
  405: BadRequestError,
  409: ConflictError,
  413: PayloadTooLargeError,
  429: RateLimitError,
  500: InternalServerError,
  502: UnavailableError,
  503: UnavailableError,
  504: UnavailableError,
};

export function errorOf(refusal: Refusal): APIError {
  if (refusal.code === 'content_policy_violation') return new ContentPolicyError(refusal);
  return new (BY_STATUS[refusal.status] ?? APIError)(refusal);
}

/** The error in the body of an answer or in an event of a stream, in the envelope of any format. */
export function reportedIn(body: unknown): { code: string; message: string | null; isRetryable: boolean | null } {
  const { code, type, message, retryable } = partsOf(partsOf(body)['error']);
  return {
    code: typeof code === 'string' ? code : typeof type === 'string' ? type : '',
    message: typeof message === 'string' ? message : null,
    isRetryable: typeof retryable === 'boolean' ? retryable : null,
  };
}

function partsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

/** No answer arrived: the connection failed or broke off. */
export class APIConnectionError extends GenwayError {}

/** No answer arrived in time. */
export class APITimeoutError extends APIConnectionError {}

/** A task failed. Its price was refunded. */
export class TaskFailedError extends GenwayError {
  readonly task: Task;
  readonly code: string;
  /** Whether the same request can succeed when it is sent again. */
  readonly isRetryable: boolean;

  constructor(task: Task) {
    super(task.error_message ?? `${task.id} failed`);
    this.task = task;
    this.code = task.error_code ?? 'processing_failed';
    this.isRetryable = task.retryable ?? false;
  }
}

/** A task or batch was not final in time. It goes on: wait for it again with `tasks.wait` or `batches.wait`. */
export class WaitTimeoutError extends GenwayError {
  /** As it was last seen. */
  readonly task: Task | Batch;

  constructor(task: Task | Batch) {
    super(`${task.id} is still ${task.status}. Wait for it again, or read it later.`);
    this.task = task;
  }
}

/** A delivery that Genway did not sign, or signed too long ago. Answer it with status 401. */
export class WebhookVerificationError extends GenwayError {}
