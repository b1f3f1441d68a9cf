/** Errors in the middle of a native stream. Errors before it have the envelope of chat completions. */
import type { ServiceError } from '../../domain/errors.ts';
import { encodeEvent } from '../sse.ts';
import { messageWithRequestId } from '../wire-format.ts';

/** An event in which the format's SDKs find an error: they look for a number as its code, so the status has the code. */
export function renderStreamError(error: ServiceError, requestId: string): string {
  const { status: code, code: status } = error;
  return encodeEvent(JSON.stringify({ error: { code, message: messageWithRequestId(error, requestId), status } }));
}
