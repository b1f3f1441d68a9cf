/** The error envelope that chat completions and responses share: contract 7.1. */
import type { ServiceError } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { encodeEvent } from '../sse.ts';
import { messageWithRequestId, waitOf } from '../wire-format.ts';

export function renderError(error: ServiceError, requestId: string): JsonObject {
  const { code, formatCode = code } = error;
  const message = messageWithRequestId(error, requestId);
  return { error: { message, type: 'svc_error', code: formatCode, ...waitOf(error) } };
}

export function renderStreamError(error: ServiceError, requestId: string): string {
  return encodeEvent(JSON.stringify(renderError(error, requestId)));
}
