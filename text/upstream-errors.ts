/**
 * From an upstream's failure to the code that the client gets: contract 7.2. The upstream's own message stays inside,
 * because it may name addresses and accounts that are none of the client's business.
 */
import type { UpstreamFault } from '../domain/circuit.ts';
import { ServiceError, type ErrorCode } from '../domain/errors.ts';
import { isObject, type JsonObject, objectOf, stringOf } from '../domain/json.ts';
import { type ContextOverflow, readOverflow, UNCOUNTED_OVERFLOW } from './context-overflow.ts';

interface UpstreamErrorOptions {
  readonly status?: number | null | undefined;
  readonly vendorMessage?: string | undefined;
  readonly requestedWaitSeconds?: number | null | undefined;
  readonly overflow?: ContextOverflow | null | undefined;
  readonly cause?: unknown;
}

/** Every 429 says how long to wait: contract 2.3. */
const DEFAULT_WAIT_SECONDS = 5;

/** A refusal or failure of an upstream: what the client may read about it, and what only operators may. */
export class UpstreamError extends ServiceError {
  /** Null when the request is at fault, so that every upstream would refuse it. */
  readonly fault: UpstreamFault | null;
  /** The HTTP status of the answer; null without an answer, or for an error inside a successful one. */
  readonly upstreamStatus: number | null;
  /** The upstream's own message, which may contain secrets and quote the request; empty when there was none. */
  readonly vendorMessage: string;
  /** How long it asked to be left alone; null if it did not. Clients get `retryAfterSeconds`. */
  readonly requestedWaitSeconds: number | null;
  /** The upstream's report on a prompt that does not fit the model's context; null for any other failure. */
  readonly overflow: ContextOverflow | null;

  constructor({ code, message, fault }: Failure, options: UpstreamErrorOptions = {}) {
    const { status = null, vendorMessage = '', requestedWaitSeconds = null, overflow = null, cause } = options;
    const defaultWait = fault === 'rate_limited' ? DEFAULT_WAIT_SECONDS : undefined;
    super(code, message, { retryAfterSeconds: requestedWaitSeconds ?? defaultWait, cause });
    this.fault = fault;
    this.upstreamStatus = status;
    this.vendorMessage = vendorMessage;
    this.requestedWaitSeconds = requestedWaitSeconds;
    this.overflow = overflow;
  }
}

/** A failure as the client reads it, and what it says about the upstream. */
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
  message: 'The prompt, an input or the answer was refused by moderation; change the prompt or the input.',
  fault: null,
};
const TOO_LONG: Failure = {
  code: 'bad_request',
  message: 'The prompt does not fit the context window of the model; shorten it.',
  fault: null,
};
const UNREADABLE: Failure = {
  code: 'bad_request',
  message: 'An image or file in the request cannot be fetched or read; send it in a common format and size.',
  fault: null,
};
const UNAVAILABLE: Failure = {
  code: 'processing_unavailable',
  message: 'The model is not available at the moment; try again later or use another model.',
  fault: 'failed',
};
export const UNREACHABLE: Failure = { ...UNAVAILABLE, fault: 'unreachable' };
export const KEY_REFUSED: Failure = { ...UNAVAILABLE, fault: 'key_refused' };
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
  message: "The model's capacity is exceeded; wait, and send fewer requests.",
  fault: 'rate_limited',
};

/** Other statuses are failures. An upstream's 401, 402, 403 and 404 concern the gateway, not its client. */
const FAILURE_BY_STATUS: Readonly<Record<number, Failure>> = {
  400: REFUSED,
  401: KEY_REFUSED,
  402: KEY_REFUSED,
  403: ACCESS_REFUSED,
  404: MODEL_UNKNOWN,
  408: TIMED_OUT,
  410: MODEL_UNKNOWN,
  413: REFUSED,
  422: REFUSED,
  429: OVERLOADED,
  503: UNAVAILABLE,
  504: TIMED_OUT,
  529: UNAVAILABLE,
};

/** Codes and types with which upstreams describe a failure more precisely than by its status. */
const FAILURE_BY_CODE: Readonly<Record<string, Failure>> = {
  content_filter: MODERATED,
  content_policy_violation: MODERATED,
  moderation_blocked: MODERATED,
  image_content_policy_violation: MODERATED,
  bio_policy: MODERATED,
  cyber_policy: MODERATED,
  // Of Alibaba.
  data_inspection_failed: MODERATED,
  DataInspectionFailed: MODERATED,
  // Of Volcengine.
  SensitiveContentDetected: MODERATED,
  InputTextSensitiveContentDetected: MODERATED,
  InputImageSensitiveContentDetected: MODERATED,
  InputVideoSensitiveContentDetected: MODERATED,
  OutputTextSensitiveContentDetected: MODERATED,
  context_length_exceeded: TOO_LONG,
  model_max_prompt_tokens_exceeded: TOO_LONG,
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
  billing_hard_limit_reached: KEY_REFUSED,
  exceeded_current_quota_error: KEY_REFUSED,
  Arrearage: KEY_REFUSED,
  AccountOverdueError: KEY_REFUSED,
  service_unavailable_error: UNAVAILABLE,
  // Of Azure.
  ResponsibleAIPolicyViolation: MODERATED,
  DeploymentNotFound: MODEL_UNKNOWN,
  // Of Amazon Bedrock: https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html
  ValidationException: REFUSED,
  AccessDeniedException: ACCESS_REFUSED,
  ExpiredTokenException: KEY_REFUSED,
  IncompleteSignatureException: KEY_REFUSED,
  InvalidSignatureException: KEY_REFUSED,
  MissingAuthenticationTokenException: KEY_REFUSED,
  UnrecognizedClientException: KEY_REFUSED,
  ResourceNotFoundException: MODEL_UNKNOWN,
  ThrottlingException: OVERLOADED,
  ModelNotReadyException: OVERLOADED,
  ServiceQuotaExceededException: OVERLOADED,
  ModelTimeoutException: TIMED_OUT,
  ServiceUnavailableException: UNAVAILABLE,
  ModelErrorException: FAILED,
  ModelStreamErrorException: FAILED,
  InternalServerException: FAILED,
  UNAVAILABLE,
  DEADLINE_EXCEEDED: TIMED_OUT,
  timeout_error: TIMED_OUT,
};

/** Failures behind which only the message may reveal a prompt that is too long. */
const MAY_BE_TOO_LONG: ReadonlySet<Failure> = new Set([REFUSED, FAILED]);

/**
 * Sentences that tell more than the status and the name beside them. Clouds refuse a model that a route cannot have like an
 * invalid request, or like a project without rights; vendors refuse an account that has reached its limit like an invalid
 * request, and what their moderation finds like an account without rights or a fault of their own.
 */
const FAILURE_BY_SENTENCE: readonly (readonly [sentence: RegExp, failure: Failure])[] = [
  [/\bmodel identifier is invalid\b|\bon-demand throughput isn.t supported\b/i, MODEL_UNKNOWN],
  [/\bis not servable in region\b|\bis in deprecation\b/i, MODEL_UNKNOWN],
  [/\boperation does not work with the specified model\b/i, MODEL_UNKNOWN],
  [/\bnot allowed to use Publisher Model\b|\bnot allowed from unsupported countries\b/i, ACCESS_REFUSED],
  // At the beginning only: a message that quotes a request must not close an account to every client.
  [/^Your organization must be verified\b/i, ACCESS_REFUSED],
  [/^(?:You have|Your organization has) reached (?:your|its) specified API usage limits\b/i, KEY_REFUSED],
  [/^This organization has been disabled\b/i, KEY_REFUSED],
  [/^Usage credits are required\b/i, KEY_REFUSED],
  [/^Insufficient balance\b|^余额不足/i, KEY_REFUSED],
  [/^Content violates usage guidelines\b|^Content Exists Risk\b/i, MODERATED],
  [/\byour prompt was flagged\b|\byour input was flagged\b/i, MODERATED],
  [/\b(?:input|output) new_sensitive\b/i, MODERATED],
  [/^System detected potentially unsafe or sensitive content\b|可能包含不安全或敏感内容/i, MODERATED],
];
/** The rest of a longer message quotes the request. */
const MAX_SENTENCE_LENGTH = 300;

function readSentence(message: string): Failure | undefined {
  const read = message.slice(0, MAX_SENTENCE_LENGTH);
  return FAILURE_BY_SENTENCE.find(([sentence]) => sentence.test(read))?.[1];
}

/** Names that say less than the status, and count only when there is no status. */
const VAGUE_CODES = new Set(['invalid_request_error']);

/**
 * The error for an upstream's failure.
 *
 * @param status the HTTP status; null for an error inside a stream
 * @param codes the upstream's names for the failure, the most precise first; anything but strings is skipped
 * @param vendorMessage the upstream's own message; anything but a string counts as none
 */
export function upstreamError(
  status: number | null,
  codes: readonly unknown[],
  vendorMessage?: unknown,
  retryAfterSeconds?: number,
): UpstreamError {
  const known = codes.filter((code) => typeof code === 'string' && Object.hasOwn(FAILURE_BY_CODE, code)) as string[];
  const exact = known.find((code) => status === null || !VAGUE_CODES.has(code));
  const named =
    readSentence(stringOf(vendorMessage)) ??
    (exact === undefined ? undefined : FAILURE_BY_CODE[exact]) ??
    (status === null ? undefined : FAILURE_BY_STATUS[status]) ??
    FAILED;
  // Other keys of the upstream may have access to the model.
  const failure = named === MODEL_UNKNOWN && status === 403 ? ACCESS_REFUSED : named;
  const reported = named === TOO_LONG || MAY_BE_TOO_LONG.has(named) ? readOverflow(stringOf(vendorMessage)) : null;
  const overflow = named === TOO_LONG ? (reported ?? UNCOUNTED_OVERFLOW) : reported;
  return new UpstreamError(overflow === null ? failure : TOO_LONG, {
    status,
    overflow,
    vendorMessage: stringOf(vendorMessage),
    requestedWaitSeconds: retryAfterSeconds,
  });
}

/**
 * The message in which an upstream says why it refuses or fails.
 *
 * @param body the answer: JSON, or text if it is not JSON
 * @param error what the answer has where its format puts errors
 */
export function readErrorMessage(body: unknown, error: JsonObject): unknown {
  if (typeof body === 'string') return body;
  const { message, detail, error: flat } = objectOf(body);
  return error['message'] ?? message ?? detail ?? flat;
}

/** The error in an answer or event that has one; some upstreams send its message alone. Null for no error. */
export function errorIn({ error }: JsonObject): JsonObject | null {
  if (isObject(error)) return error;
  return typeof error === 'string' && error !== '' ? { message: error } : null;
}

/** Finish reasons, in lower case, that mean that moderation refused or cut an answer. */
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

/** For reasons in no table: vendors add filters, each with a reason of its own. */
const MODERATION_WORDS =
  /safety|filter|moderat|sensitive|guardrail|armor|prohibit|blocked|blocklist|violat|polic(y|ies)/;

/** @throws ServiceError `content_policy_violation` when the reason says that moderation refused or cut the answer */
export function throwIfModerated(finishReason: string): void {
  const reason = finishReason.toLowerCase();
  if (!MODERATION_REASONS.has(reason) && !MODERATION_WORDS.test(reason)) return;
  throw upstreamError(null, ['content_policy_violation']);
}

/** The error for an upstream's answer that cannot be understood. */
export function malformedAnswer(cause?: unknown): ServiceError {
  return new ServiceError('processing_failed', "The model's answer cannot be read; try again.", { cause });
}

/** An event of a stream that is not JSON. */
export class UnreadableEventError extends ServiceError {
  constructor(cause?: unknown) {
    super('processing_failed', malformedAnswer().message, { cause });
  }
}

/** An answer too long to be read. The fault may lie with the request. */
export class AnswerTooLongError extends ServiceError {
  constructor() {
    super('processing_failed', "The model's answer is too long to read.");
  }
}
