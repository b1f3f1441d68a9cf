/** The error envelope of the messages format: contract 7.1. */
import type { ServiceError } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { encodeEvent } from '../sse.ts';
import { messageWithRequestId, waitOf } from '../wire-format.ts';

export function renderError(error: ServiceError, requestId: string): JsonObject {
  const { code: type, details } = error;
  const message = messageWithRequestId(error, requestId);
  return { type: 'error', error: { type, message, ...(details !== undefined && { details }), ...waitOf(error) } };
}

export function renderStreamError(error: ServiceError, requestId: string): string {
  return encodeEvent(JSON.stringify(renderError(error, requestId)), 'error');
}
