/** What the chat-completions and responses formats have in common: credentials, headers and errors. */
import { RETRY_AFTER_SECONDS, TextFailure, type FailureKind } from './failure.ts';
import { bearerOf, newId, type FailedAnswer, type SimulatedFormat } from './format.ts';

interface Wording {
  readonly status: number;
  readonly type: string;
  readonly code: string | null;
  readonly message: string;
}

const WORDINGS: Readonly<Record<FailureKind, Wording>> = {
  bad_request: {
    status: 400,
    type: 'invalid_request_error',
    code: null,
    message: 'The request is invalid.',
  },
  content_policy_violation: {
    status: 400,
    type: 'invalid_request_error',
    code: 'content_policy_violation',
    message: 'Your request was rejected as a result of our safety system.',
  },
  unauthenticated: {
    status: 401,
    type: 'invalid_request_error',
    code: 'invalid_api_key',
    message: 'Incorrect API key provided. You can find your API key in your account settings.',
  },
  no_funds: {
    status: 429,
    type: 'insufficient_quota',
    code: 'insufficient_quota',
    message: 'You exceeded your current quota, please check your plan and billing details.',
  },
  forbidden: {
    status: 403,
    type: 'invalid_request_error',
    code: 'model_not_found',
    message: 'The project does not have access to the model.',
  },
  not_found: {
    status: 404,
    type: 'invalid_request_error',
    code: 'model_not_found',
    message: 'The model does not exist or you do not have access to it.',
  },
  too_large: {
    status: 413,
    type: 'invalid_request_error',
    code: null,
    message: 'The request is too large.',
  },
  rate_limit_exceeded: {
    status: 429,
    type: 'requests',
    code: 'rate_limit_exceeded',
    message: 'Rate limit reached for requests per minute. Please try again in 1s.',
  },
  processing_failed: {
    status: 500,
    type: 'server_error',
    code: null,
    message: 'The server had an error while processing your request. Sorry about that!',
  },
  processing_unavailable: {
    status: 503,
    type: 'service_unavailable_error',
    code: 'service_unavailable_error',
    message: 'The engine is currently overloaded, please try again later.',
  },
  processing_timeout: {
    status: 504,
    type: 'timeout_error',
    code: 'timeout_error',
    message: 'The request timed out.',
  },
};

/** `{message, type, param, code}`. */
export function openaiError(failure: TextFailure): {
  readonly message: string;
  readonly type: string;
  readonly param: null;
  readonly code: string | null;
} {
  const { type, code, message } = WORDINGS[failure.kind];
  return { message: failure.message || message, type, param: null, code };
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
      status: failure.status ?? WORDINGS[failure.kind].status,
      headers: failure.kind === 'rate_limit_exceeded' ? retry : {},
      body: JSON.stringify({ error: openaiError(failure) }),
    };
  },
};
