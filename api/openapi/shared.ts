/** Parts that all operations share: credentials, parameters, headers, the error envelope and lists. */
import { ERRORS, type ErrorCode } from '../../domain/errors.ts';
import type { ErrorEnvelope } from '../../domain/error-envelope.ts';
import {
  boolean,
  integer,
  type JsonSchema,
  objectOf,
  oneOfTexts,
  optional,
  ref,
  text,
} from '../../domain/json-schema.ts';
import { REFUSAL_STATUSES, type RefusalStatus } from '../endpoint/answers.ts';
import { headersNamed, RATE_LIMIT_HEADERS, REFUSALS } from './operation.ts';

export const SECURITY_SCHEMES = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key, with or without its `sk-`. Keep it on trusted servers.',
  },
  messagesApiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-api-key',
    description: 'An API key, in the messages format.',
  },
  nativeApiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-native-api-key',
    description: 'An API key, in the native format.',
  },
  nativeApiKeyParameter: {
    type: 'apiKey',
    in: 'query',
    name: 'key',
    description: 'An API key, in the native format, if no header contains one.',
  },
  adminToken: {
    type: 'http',
    scheme: 'bearer',
    description:
      'An admin token with one of the roles that a call names: `operator`, `finance` or `readonly`. GENWAY_ADMIN_TOKEN is an operator.',
  },
  metricsToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'GENWAY_METRICS_TOKEN, or the operators’ token by default.',
  },
};

export const HEADERS = {
  'x-request-id': header('The id of the request. Quote the id to support', text()),
  'RateLimit-Limit': header(
    'The maximum of requests per minute for the key. GET requests and other requests count separately',
    integer(),
  ),
  'RateLimit-Remaining': header('The remaining requests in this minute', integer()),
  'RateLimit-Reset': header('The time until the limit resets, in seconds', integer()),
  'x-ratelimit-limit-requests': header('The same as `RateLimit-Limit`', integer()),
  'x-ratelimit-remaining-requests': header('The same as `RateLimit-Remaining`', integer()),
  'x-ratelimit-reset-requests': header('The same as `RateLimit-Reset`, written as `12s`', text()),
  'Retry-After': header('The time to wait, in seconds, as in `retry_after_seconds`', integer()),
  Upgrade: header('`websocket`', text()),
  Location: header('The path of what the request created', text()),
  'Idempotent-Replayed': header('`true` if the answer repeats the first answer', text()),
};

function header(description: string, schema: JsonSchema): JsonSchema {
  return { description, schema };
}

export const SHARED_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  CommonError: objectOf<ErrorEnvelope>(
    {
      error: objectOf<ErrorEnvelope['error']>({
        code: oneOfTexts(Object.keys(ERRORS), 'The code of the error, for programs'),
        message: text('The cause and the remedy, for people. Do not parse this text'),
        retryable: boolean('Whether the same request can succeed later'),
        request_id: text('The id of the request. Quote the id to support'),
        retry_after_seconds: optional(integer('The time to wait, in seconds, as in `Retry-After`')),
      }),
    },
    'The common envelope of errors.',
  ),
};

/** The description of each refusal status, and the error codes that use it. */
const MEANINGS: Readonly<Record<RefusalStatus, readonly [description: string, codes: readonly ErrorCode[]]>> = {
  400: ['The request or its content is refused. Change the request.', ['bad_request', 'content_policy_violation']],
  401: [
    'The key is missing, wrong, disabled, expired or, for calls that create or change a resource, exhausted.',
    ['missing_api_key', 'invalid_api_key'],
  ],
  402: ['The balance or the rest of the key’s limit does not cover the price.', ['insufficient_credits']],
  403: ['The account, the key or the address may not do this.', ['forbidden', 'access_denied']],
  404: ['The account has no such resource.', ['not_found']],
  408: ['The body arrived too slowly. Repeat the request.', ['read_request_body_failed']],
  409: [
    'The idempotency key or reference is in use or belongs to another request, or the state of the account, task or batch does not allow the action.',
    ['idempotency_conflict', 'bad_request'],
  ],
  410: ['What the request names has ended.', ['realtime_session_expired']],
  413: ['The body is too large.', ['read_request_body_failed']],
  426: ['The request does not ask for a WebSocket.', ['bad_request']],
  429: ['Too many requests, or too many tasks at once.', ['rate_limit_exceeded', 'user_concurrency_exceeded']],
  500: ['An internal error happened. Retry once.', ['internal_error']],
  503: [
    'The call is not possible now. Back off and retry.',
    ['processing_unavailable', 'processing_timeout', 'processing_failed', 'result_transfer_failed'],
  ],
};

/** Headers of some refusals, besides `x-request-id`. */
const HEADERS_OF_REFUSALS: Readonly<Partial<Record<RefusalStatus, readonly string[]>>> = {
  426: ['Upgrade'],
  429: ['Retry-After', ...RATE_LIMIT_HEADERS],
  503: ['Retry-After'],
};

/**
 * The response object of a refusal.
 *
 * @param schema its envelope
 * @param exampleOf an error with that code in the envelope
 */
export function refusalOf(
  status: RefusalStatus,
  schema: JsonSchema,
  exampleOf: (code: ErrorCode, message: string, status: RefusalStatus) => unknown,
): JsonSchema {
  const [description, codes] = MEANINGS[status];
  const examples = Object.fromEntries(
    codes.map((code) => [code, { value: exampleOf(code, EXAMPLE_MESSAGES[code] ?? description, status) }]),
  );
  return {
    description,
    headers: headersNamed(['x-request-id', ...(HEADERS_OF_REFUSALS[status] ?? [])]),
    content: { 'application/json': { schema, examples } },
  };
}

export const EXAMPLE_REQUEST_ID = 'req_0mc9x1k2v0q5x8w2n7b4t6y1z3a9s8d7';

const EXAMPLE_MESSAGES: Readonly<Partial<Record<ErrorCode, string>>> = {
  bad_request: '"duration" is outside its supported range',
  missing_api_key: 'No API key was sent. Send "Authorization: Bearer <API_KEY>".',
  invalid_api_key: 'The API key is wrong. Check it, or create a new one.',
  rate_limit_exceeded: 'The API key may make 600 requests a minute. Wait 12 s and send fewer requests.',
};

/** An error in the common envelope. A body that arrived too slowly (408) can be retried unchanged. */
export const exampleError = (code: ErrorCode, message: string, status?: RefusalStatus) => ({
  error: {
    code,
    message,
    retryable: status === 408 || ERRORS[code].retryable,
    request_id: EXAMPLE_REQUEST_ID,
    ...(code === 'rate_limit_exceeded' && { retry_after_seconds: 12 }),
  },
});

export const SHARED_RESPONSES: Readonly<Record<string, JsonSchema>> = Object.fromEntries(
  REFUSAL_STATUSES.map((status) => [REFUSALS[status], refusalOf(status, ref('CommonError'), exampleError)]),
);
