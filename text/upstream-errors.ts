/**
 * From an upstream's failure to the code a client gets: contract 7.2. What the upstream wrote stays inside:
 * its words may name addresses and accounts that clients have no business with.
 */
import { ServiceError, type ErrorCode } from '../domain/errors.ts';
import { isObject, type JsonObject } from '../domain/json.ts';
import { JsonSizer } from './json/size.ts';
import type { ServerSentEvent } from './sse.ts';

/**
 * What is wrong with an upstream that fails, by which it is decided whom to ask next and what to leave alone for a while:
 * its address, its key, its key for the model, the model, all of it for a moment, or nothing that it says.
 */
export const UPSTREAM_FAULTS = [
  'unreachable',
  'key_refused',
  'access_refused',
  'model_unknown',
  'rate_limited',
  'failed',
  'silent',
] as const;
export type UpstreamFault = (typeof UPSTREAM_FAULTS)[number];

interface UpstreamErrorOptions {
  readonly status?: number | null | undefined;
  readonly told?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly cause?: unknown;
}

/** What a client may read about an upstream that refused or failed, and what only operators may. */
export class UpstreamError extends ServiceError {
  /** Null where the request is at fault: every upstream would refuse it. */
  readonly fault: UpstreamFault | null;
  /** The HTTP status of its answer; null where it gave none, or told the error inside a successful answer. */
  readonly upstreamStatus: number | null;
  /** The upstream's own sentence, which may hold secrets and quote the request; empty where it said none. */
  readonly told: string;

  constructor({ code, message, fault }: Failure, options: UpstreamErrorOptions = {}) {
    const { status = null, told = '', retryAfterSeconds, cause } = options;
    super(code, message, { retryAfterSeconds, cause });
    this.fault = fault;
    this.upstreamStatus = status;
    this.told = told;
  }
}

/** A failure as clients are told of it, and what it says of its upstream. */
export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly fault: UpstreamFault | null;
}

const REFUSED: Failure = {
  code: 'bad_request',
  message: 'The model refused the request as invalid: check its fields and their combination.',
  fault: null,
};
const MODERATED: Failure = {
  code: 'content_policy_violation',
  message: 'The prompt, an input or the answer to it was refused by moderation; change the prompt or the input.',
  fault: null,
};
const TOO_LONG: Failure = {
  code: 'bad_request',
  message: 'The prompt does not fit the context window of the model; shorten it.',
  fault: null,
};
const UNREADABLE: Failure = {
  code: 'bad_request',
  message: 'An image or file of the request cannot be fetched or read; send it in a common format and size.',
  fault: null,
};
const UNAVAILABLE: Failure = {
  code: 'processing_unavailable',
  message: 'The model is not available at the moment; try again later or use another model.',
  fault: 'failed',
};
export const UNREACHABLE: Failure = { ...UNAVAILABLE, fault: 'unreachable' };
const KEY_REFUSED: Failure = { ...UNAVAILABLE, fault: 'key_refused' };
const ACCESS_REFUSED: Failure = { ...UNAVAILABLE, fault: 'access_refused' };
const MODEL_UNKNOWN: Failure = { ...UNAVAILABLE, fault: 'model_unknown' };
const TIMED_OUT: Failure = {
  code: 'processing_timeout',
  message: 'The model did not answer in time; try again.',
  fault: 'failed',
};
export const SILENT: Failure = { ...TIMED_OUT, fault: 'silent' };
export const FAILED: Failure = {
  code: 'processing_failed',
  message: 'The model failed to answer; try again.',
  fault: 'failed',
};
const OVERLOADED: Failure = {
  code: 'rate_limit_exceeded',
  message: 'The capacity of the model is exceeded; wait and send fewer requests.',
  fault: 'rate_limited',
};

/** Statuses not listed are failures. An upstream's 401, 402, 403 and 404 are about the gateway, not about its client. */
const FAILURE_BY_STATUS: Readonly<Record<number, Failure>> = {
  400: REFUSED,
  401: KEY_REFUSED,
  402: KEY_REFUSED,
  403: ACCESS_REFUSED,
  404: MODEL_UNKNOWN,
  408: TIMED_OUT,
  413: REFUSED,
  422: REFUSED,
  429: OVERLOADED,
  503: UNAVAILABLE,
  504: TIMED_OUT,
  529: UNAVAILABLE,
};

/** Clients are always told how long to wait before they send fewer requests: contract 2.3. */
const DEFAULT_WAIT_SECONDS = 5;

/** The codes and types by which upstreams name a failure more closely than by its status. */
const FAILURE_BY_CODE: Readonly<Record<string, Failure>> = {
  content_filter: MODERATED,
  content_policy_violation: MODERATED,
  moderation_blocked: MODERATED,
  data_inspection_failed: MODERATED,
  image_content_policy_violation: MODERATED,
  bio_policy: MODERATED,
  context_length_exceeded: TOO_LONG,
  invalid_request_error: REFUSED,
  invalid_prompt: REFUSED,
  invalid_image: UNREADABLE,
  invalid_image_format: UNREADABLE,
  invalid_base64_image: UNREADABLE,
  invalid_image_url: UNREADABLE,
  image_too_large: UNREADABLE,
  image_too_small: UNREADABLE,
  image_file_too_large: UNREADABLE,
  image_parse_error: UNREADABLE,
  unsupported_image_media_type: UNREADABLE,
  failed_to_download_image: UNREADABLE,
  INVALID_ARGUMENT: REFUSED,
  // The gateway's own account lacks something.
  FAILED_PRECONDITION: KEY_REFUSED,
  authentication_error: KEY_REFUSED,
  invalid_api_key: KEY_REFUSED,
  UNAUTHENTICATED: KEY_REFUSED,
  billing_error: KEY_REFUSED,
  billing_not_active: KEY_REFUSED,
  permission_error: ACCESS_REFUSED,
  PERMISSION_DENIED: ACCESS_REFUSED,
  not_found_error: MODEL_UNKNOWN,
  model_not_found: MODEL_UNKNOWN,
  NOT_FOUND: MODEL_UNKNOWN,
  rate_limit_error: OVERLOADED,
  rate_limit_exceeded: OVERLOADED,
  too_many_requests: OVERLOADED,
  RESOURCE_EXHAUSTED: OVERLOADED,
  overloaded_error: UNAVAILABLE,
  // The account that has no quota is the gateway's, not its client's.
  insufficient_quota: KEY_REFUSED,
  service_unavailable_error: UNAVAILABLE,
  UNAVAILABLE,
  DEADLINE_EXCEEDED: TIMED_OUT,
  timeout_error: TIMED_OUT,
};

/** Names that say less than the status they come with, and count only without one. */
const VAGUE_CODES = new Set(['invalid_request_error']);

/**
 * The error for an upstream's failure.
 *
 * @param status the HTTP status, or null for an error inside a stream
 * @param codes what the upstream calls the failure, the most exact first; what is not a string is passed over
 * @param told the upstream's own sentence; what is not a string counts as none
 */
export function upstreamError(
  status: number | null,
  codes: readonly unknown[],
  told?: unknown,
  retryAfterSeconds?: number,
): UpstreamError {
  const known = codes.filter((code) => typeof code === 'string' && Object.hasOwn(FAILURE_BY_CODE, code)) as string[];
  const exact = known.find((code) => status === null || !VAGUE_CODES.has(code));
  const named =
    (exact === undefined ? undefined : FAILURE_BY_CODE[exact]) ??
    (status === null ? undefined : FAILURE_BY_STATUS[status]) ??
    FAILED;
  // Other keys of the upstream may have access to the model.
  const failure = named === MODEL_UNKNOWN && status === 403 ? ACCESS_REFUSED : named;
  const wait = retryAfterSeconds ?? (failure === OVERLOADED ? DEFAULT_WAIT_SECONDS : undefined);
  return new UpstreamError(failure, { status, told: stringOf(told), retryAfterSeconds: wait });
}

/**
 * The sentence in which an upstream says why it answers without success.
 *
 * @param body its answer: JSON, or the text where it is none
 * @param error what the answer holds where its format puts errors
 */
export function sentenceOf(body: unknown, error: JsonObject): unknown {
  if (typeof body === 'string') return body;
  const { message, detail, error: flat } = objectOf(body);
  return error['message'] ?? message ?? detail ?? flat;
}

/** Under which finish reasons the upstreams of all formats say that moderation refused an answer or cut it; in lower case. */
const MODERATION_REASONS: ReadonlySet<string> = new Set([
  'content_filter',
  'content_filtered',
  'content_policy_violation',
  'moderation',
  'refusal',
  'sensitive',
  'guardrail_intervened',
  'safety',
  'recitation',
  'language',
  'blocklist',
  'prohibited_content',
  'spii',
  'model_armor',
  'image_safety',
  'image_prohibited_content',
  'image_recitation',
]);

/** What the names of reasons have that are in no table: vendors add filters, each with a reason of its own. */
const MODERATION_WORDS =
  /safety|filter|moderat|sensitive|guardrail|armor|prohibit|blocked|blocklist|violat|polic(y|ies)/;

/**
 * What an upstream's finish reason says of moderation.
 *
 * @throws ServiceError `content_policy_violation` when that refused the answer or cut it
 */
export function throwIfModerated(finishReason: string): void {
  const reason = finishReason.toLowerCase();
  if (!MODERATION_REASONS.has(reason) && !MODERATION_WORDS.test(reason)) return;
  throw upstreamError(null, ['content_policy_violation']);
}

/** The error for an answer of an upstream that cannot be understood. */
export function malformedAnswer(cause?: unknown): ServiceError {
  return new ServiceError('processing_failed', 'The model sent an answer that cannot be read; try again.', { cause });
}

/** The error for an answer that is too long to be read. Whose fault that is depends on what was asked for. */
export class AnswerTooLongError extends ServiceError {
  constructor() {
    super('processing_failed', 'The answer of the model is too long to read.');
  }
}

/**
 * The JSON object that an upstream's event carries.
 *
 * @throws ServiceError `processing_failed` when it is not one
 */
export function parseEventData(event: ServerSentEvent): JsonObject {
  const data = parseAnswer(event.data);
  if (!isObject(data)) throw malformedAnswer();
  return data;
}

/** A shorter text cannot hold more than can be read in passing. */
const LONG_TEXT = 256 * 1024;
/** Far above what probabilities of every token of a long answer come to. */
const ANSWER_LIMITS = { maxDepth: 512, maxValues: 1_000_000 };

/**
 * The JSON that an upstream sent.
 *
 * @throws ServiceError `processing_failed` when it is none, or would take up the process when it is read
 */
export function parseAnswer(text: string): unknown {
  if (text.length >= LONG_TEXT) checkSize(text);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw malformedAnswer(error);
  }
}

function checkSize(text: string): void {
  try {
    new JsonSizer(ANSWER_LIMITS).push(Buffer.from(text));
  } catch {
    throw new AnswerTooLongError();
  }
}

/** Readers of what upstreams send: a field of another type counts as absent, for upstreams are not to be corrected. */
export function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** A count, or null when there is none. */
export function countOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

export function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
