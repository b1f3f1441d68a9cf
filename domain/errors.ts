/**
 * The errors a client can see: contract 7.2. Every refusal in the code is a {@link ServiceError}, which becomes HTTP in
 * one place (`api/middlewares/errors.ts` and the text formats' envelopes).
 */
import { cutText } from './cut-text.ts';
import type { JsonObject } from './json.ts';

interface ErrorKind {
  /** The HTTP status; null for a code that no response has. */
  readonly status: number | null;
  /** Whether sending the same request again can succeed. */
  readonly retryable: boolean;
}

/** All of contract 7.2, in its order. */
export const ERRORS = {
  bad_request: { status: 400, retryable: false },
  content_policy_violation: { status: 400, retryable: false },
  missing_api_key: { status: 401, retryable: false },
  invalid_api_key: { status: 401, retryable: false },
  insufficient_credits: { status: 402, retryable: false },
  forbidden: { status: 403, retryable: false },
  access_denied: { status: 403, retryable: false },
  not_found: { status: 404, retryable: false },
  idempotency_conflict: { status: 409, retryable: false },
  read_request_body_failed: { status: 413, retryable: false },
  rate_limit_exceeded: { status: 429, retryable: true },
  user_concurrency_exceeded: { status: 429, retryable: true },
  internal_error: { status: 500, retryable: true },
  processing_unavailable: { status: 503, retryable: true },
  processing_timeout: { status: 503, retryable: true },
  processing_failed: { status: 503, retryable: true },
  result_transfer_failed: { status: 503, retryable: true },
  realtime_disabled: { status: 503, retryable: false },
  realtime_capacity_unavailable: { status: 503, retryable: true },
  realtime_session_expired: { status: 410, retryable: false },
  origin_not_allowed: { status: 403, retryable: false },
  invalid_client_secret: { status: 401, retryable: false },
  transport_not_allowed: { status: 400, retryable: false },
  invalid_signature: { status: null, retryable: false },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERRORS;

/** The codes of failed tasks: contract 3. */
export const TASK_ERROR_CODES = [
  'content_policy_violation',
  'bad_request',
  'processing_unavailable',
  'processing_timeout',
  'processing_failed',
  'result_transfer_failed',
] as const satisfies readonly ErrorCode[];

export type TaskErrorCode = (typeof TASK_ERROR_CODES)[number];

export function isTaskErrorCode(code: string): code is TaskErrorCode {
  return TASK_ERROR_CODES.some((known) => known === code);
}

/** The rule that a field of a body breaks, so that the console can word the error in another language. */
export interface FieldFault {
  /** The names of the field and of the fields and items in it, outermost first. */
  readonly path: readonly (string | number)[];
  /** The broken rule, such as `number.min`. */
  readonly kind: string;
  /** The values of the rule, such as its `limit`. */
  readonly values: Readonly<Record<string, unknown>>;
}

interface ServiceErrorOptions {
  readonly fieldFault?: FieldFault | undefined;
  /** Whole seconds to wait; sent as `retry_after_seconds` and `Retry-After`. */
  readonly retryAfterSeconds?: number | undefined;
  /** Replaces the status in the table, for the few transport faults (such as 405) that share a code. */
  readonly status?: number | undefined;
  /** Replaces `retryable` in the table, where the status changes whether the same request can succeed. */
  readonly retryable?: boolean | undefined;
  /** Further response headers, such as `Allow`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The part of the error that a client of the messages format reads in `error.details`. */
  readonly details?: JsonObject | undefined;
  /** The code in the envelope of a text format, where its clients know a more precise one. */
  readonly formatCode?: string | undefined;
  readonly cause?: unknown;
}

/**
 * A refusal or failure whose code and message a client may read. The message says what to change. It never contains
 * secrets, upstreams' addresses or anything that another party wrote.
 */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly status: number;
  readonly retryable: boolean;
  readonly retryAfterSeconds: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly details: JsonObject | undefined;
  readonly formatCode: string | undefined;
  readonly fieldFault: FieldFault | null;

  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, { cause: options.cause });
    const kind: ErrorKind = ERRORS[code];
    this.code = code;
    this.status = options.status ?? kind.status ?? 500;
    this.retryable = options.retryable ?? kind.retryable;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.headers = options.headers ?? {};
    this.details = options.details;
    this.formatCode = options.formatCode;
    this.fieldFault = options.fieldFault ?? null;
  }
}

/**
 * For an error of a request that has, or may have, created something that costs money. `x-should-retry` stops the SDKs of
 * OpenAI and Anthropic, which repeat every 5xx.
 */
export const UNREPEATABLE = {
  retryable: false,
  headers: { 'x-should-retry': 'false' },
} as const satisfies ServiceErrorOptions;

/** Messages are cut after this length, because they may quote what the client sent. */
const MAX_MESSAGE_LENGTH = 2_000;

/** The most frequent refusal: 400 `bad_request`. @param message names the field */
export function badRequest(message: string, fieldFault?: FieldFault): ServiceError {
  const isShort = message.length <= MAX_MESSAGE_LENGTH;
  return new ServiceError('bad_request', isShort ? message : `${cutText(message, MAX_MESSAGE_LENGTH)}…`, {
    fieldFault,
  });
}

/** @param allowed the methods that the path has, separated by commas */
export function methodNotAllowed(method: string, path: string, allowed: string): ServiceError {
  return new ServiceError('bad_request', `${method} is not allowed on ${path}; allowed: ${allowed}.`, {
    status: 405,
    headers: { Allow: allowed },
  });
}

/** Returns a {@link ServiceError} as it is, and `internal_error` for any other error. */
export function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  return new ServiceError(
    'internal_error',
    'Something went wrong on our side. Retry once; if it persists, quote the request id.',
    {
      cause: error,
    },
  );
}
