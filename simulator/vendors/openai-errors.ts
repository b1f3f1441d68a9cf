/** Errors of OpenAI's APIs: `{"error": {"message", "type", "param", "code"}}`. */
import type { Fault, VendorAnswer } from './simulate-vendor.ts';

const FAILURES: Readonly<Record<string, string>> = {
  content_policy_violation: 'moderation_blocked',
  bad_request: 'invalid_request_error',
};

/** OpenAI's code for an error code of tasks. */
export function openaiCodeOf(code: string): string {
  return FAILURES[code] ?? code;
}

export function openaiFault(fault: Fault): VendorAnswer {
  const { status, headers, ...error } = openaiError(fault);
  return { status, body: { error: { param: null, ...error } }, ...(headers && { headers }) };
}

interface OpenaiError {
  readonly status: number;
  readonly message: string;
  readonly type: string;
  readonly code: string | null;
  readonly param?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const ERRORS: Readonly<Record<Exclude<Fault['kind'], 'invalid' | 'refused' | 'limited'>, OpenaiError>> = {
  unauthorized: {
    status: 401,
    message: 'Incorrect API key provided.',
    type: 'invalid_request_error',
    code: 'invalid_api_key',
  },
  broke: {
    status: 429,
    message: 'You exceeded your current quota.',
    type: 'insufficient_quota',
    code: 'insufficient_quota',
  },
  missing: { status: 404, message: 'Not found.', type: 'invalid_request_error', code: 'not_found' },
  error: { status: 500, message: 'The server had an error.', type: 'server_error', code: null },
};

function openaiError(fault: Fault): OpenaiError {
  if (fault.kind === 'invalid') {
    const { message, field: param } = fault;
    return { status: 400, message, type: 'invalid_request_error', code: 'invalid_value', param };
  }
  if (fault.kind === 'refused') {
    const isModerated = fault.code === 'content_policy_violation';
    return {
      status: fault.code === 'processing_unavailable' ? 503 : 400,
      message: 'The prompt asked for this refusal.',
      type: isModerated ? 'image_generation_user_error' : 'invalid_request_error',
      code: openaiCodeOf(fault.code),
    };
  }
  if (fault.kind === 'limited') {
    const headers = { 'retry-after': String(fault.retryAfterSeconds) };
    return { status: 429, message: 'Rate limit reached.', type: 'requests', code: 'rate_limit_exceeded', headers };
  }
  return ERRORS[fault.kind];
}
