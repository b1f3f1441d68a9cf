/** Errors in the middle of a response stream. Errors before it have the envelope of chat completions. */
import type { ServiceError } from '../../domain/errors.ts';
import { renderError } from '../chat-completions/errors.ts';
import { encodeEvent } from '../sse.ts';
import { messageWithRequestId } from '../wire-format.ts';

/**
 * An `error` event. It has its fields twice: at the top level, as documented, and under `error`, as the format's
 * original service sends them and its own client needs them in order to throw.
 */
export function renderStreamError(error: ServiceError, requestId: string, eventCount = 0): string {
  const event = {
    type: 'error',
    sequence_number: eventCount,
    code: error.formatCode ?? error.code,
    message: messageWithRequestId(error, requestId),
    param: null,
    ...renderError(error, requestId),
  };
  return encodeEvent(JSON.stringify(event), 'error');
}
