/** Errors in the middle of a response stream. Errors before it have the envelope of chat completions. */
import type { ServiceError } from '../../domain/errors.ts';
import { renderError } from '../chat-completions/errors.ts';
import { encodeEvent } from '../sse.ts';
import { type BrokenStream, messageWithRequestId } from '../wire-format.ts';
import { renderFailed } from './render-result.ts';

/** The end of a stream that fails, as the format's own service sends it. Models as specified have an `error` event. */
export function renderStreamError(error: ServiceError, requestId: string, broken: BrokenStream): string {
  if (broken.compatibility === 'specification') return renderErrorEvent(error, requestId, broken.eventCount);
  const { formatCode: code = error.code } = error;
  const response = {
    ...renderFailed(broken.context),
    error: { code, message: messageWithRequestId(error, requestId) },
  };
  const event = { type: 'response.failed', sequence_number: broken.eventCount, response };
  return encodeEvent(JSON.stringify(event), event.type);
}

/**
 * An `error` event, which has its fields twice: at the top level, as documented, and under `error`, as the format's
 * original service sends them and its own client needs them in order to throw.
 */
function renderErrorEvent(error: ServiceError, requestId: string, eventCount: number): string {
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
