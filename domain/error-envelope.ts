/** The common error envelope: contract 2.3. */
import type { ServiceError } from './errors.ts';

export interface ErrorEnvelope {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly retryable: boolean;
    readonly request_id: string;
    readonly retry_after_seconds?: number;
  };
}

export function presentError(error: ServiceError, requestId: string): ErrorEnvelope {
  return {
    error: {
      code: error.code,
      message: error.message,
      retryable: error.retryable,
      request_id: requestId,
      ...(error.retryAfterSeconds !== undefined && { retry_after_seconds: error.retryAfterSeconds }),
    },
  };
}

/** The common envelope, with the fields that clients of OpenAI's API read: contract 7.1. */
export function presentTypedError(error: ServiceError, requestId: string): object {
  return { error: { ...presentError(error, requestId).error, type: 'svc_error', param: null } };
}

/** The common envelope, with the fields that clients of Anthropic's API read: contract 7.1. */
export function presentMessagesError(error: ServiceError, requestId: string): object {
  return { type: 'error', error: { type: error.code, ...presentError(error, requestId).error } };
}

/** The headers of an error response, including `Retry-After`. */
export function errorHeaders(error: ServiceError): Record<string, string> {
  return {
    ...error.headers,
    ...(error.retryAfterSeconds !== undefined && { 'Retry-After': String(error.retryAfterSeconds) }),
  };
}
