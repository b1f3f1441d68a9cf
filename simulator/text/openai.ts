/** Shared by the chat-completions and responses formats: credentials, headers and errors. */
import { RETRY_AFTER_SECONDS, TextFailure, type FailureKind } from './failure.ts';
import { bearerOf, newId, type FailedAnswer, type SimulatedFormat } from './format.ts';

type Wording = readonly [status: number, type: string, code: string | null, message: string];

const WORDINGS: Readonly<Record<FailureKind, Wording>> = {
  bad_request: [400, 'invalid_request_error', null, 'The request is invalid.'],
  content_policy_violation: [
    400,
    'invalid_request_error',
    'content_policy_violation',
    'Your request was rejected as a result of our safety system.',
  ],
  unauthenticated: [
    401,
    'invalid_request_error',
    'invalid_api_key',
    'Incorrect API key provided. You can find your API key in your account settings.',
  ],
  no_funds: [
    429,
    'insufficient_quota',
    'insufficient_quota',
    'You exceeded your current quota, please check your plan and billing details.',
  ],
  forbidden: [403, 'invalid_request_error', 'model_not_found', 'The project does not have access to the model.'],
  not_found: [
    404,
    'invalid_request_error',
    'model_not_found',
    'The model does not exist or you do not have access to it.',
  ],
  context_exceeded: [
    400,
    'invalid_request_error',
    'context_length_exceeded',
    "This model's maximum context length is {limit} tokens. However, your messages resulted in {input} tokens. Please reduce the length of the messages.",
  ],
  too_large: [413, 'invalid_request_error', null, 'The request is too large.'],
  rate_limit_exceeded: [
    429,
    'requests',
    'rate_limit_exceeded',
    'Rate limit reached for requests per minute. Please try again in 1s.',
  ],
  processing_failed: [
    500,
    'server_error',
    null,
    'The server had an error while processing your request. Sorry about that!',
  ],
  processing_unavailable: [
    503,
    'service_unavailable_error',
    'service_unavailable_error',
    'The engine is currently overloaded, please try again later.',
  ],
  processing_timeout: [504, 'timeout_error', 'timeout_error', 'The request timed out.'],
};

/** `{message, type, param, code}`. */
export function openaiError(failure: TextFailure): {
  readonly message: string;
  readonly type: string;
  readonly param: null;
  readonly code: string | null;
} {
  const [, type, code, message] = WORDINGS[failure.kind];
  return { message: failure.wordedBy(message), type, param: null, code };
}

/** The parts of a format that do not depend on its bodies. */
export const openaiCommon: Pick<SimulatedFormat, 'contentTypes' | 'requireCredential' | 'headers' | 'renderFailure'> = {
  contentTypes: { whole: 'application/json', stream: 'text/event-stream; charset=utf-8' },

  requireCredential({ headers }, apiKey) {
    const token = bearerOf(headers);
    if (token === undefined) {
      throw new TextFailure('unauthenticated', {
        message: "You didn't provide an API key. Send it in an Authorization header: Authorization: Bearer YOUR_KEY.",
      });
    }
    if (apiKey !== undefined && token !== apiKey) throw new TextFailure('unauthenticated');
  },

  headers: () => ({
    'openai-version': '2020-10-01',
    'openai-processing-ms': '1',
    'x-request-id': newId('req_'),
  }),

  renderFailure(failure): FailedAnswer {
    const retry = { 'retry-after': String(RETRY_AFTER_SECONDS) };
    return {
      status: failure.status ?? WORDINGS[failure.kind][0],
      headers: failure.kind === 'rate_limit_exceeded' ? retry : {},
      body: JSON.stringify({ error: openaiError(failure) }),
    };
  },
};
