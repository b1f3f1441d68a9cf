import type { Logger } from 'pino';
import { isUnavailable } from '../../db/connections.ts';
import { ServiceError, toServiceError } from '../../domain/errors.ts';
import { errorHeaders, presentError } from '../../domain/error-envelope.ts';
import type { AppContext } from '../state.ts';

const UNAVAILABLE_RETRY_SECONDS = 5;

/** The one place where errors become HTTP. What is not a {@link ServiceError} is a bug: logged, and told as 500. */
export function errors(log: Logger) {
  return async (context: AppContext, next: () => Promise<unknown>): Promise<void> => {
    try {
      await next();
    } catch (error) {
      const shown = toGateError(error);
      if (shown.code === 'internal_error' || isUnavailable(shown.cause)) {
        log.error({ err: error, request_id: context.state.requestId, path: context.path }, 'request failed');
      }
      context.set(errorHeaders(shown));
      context.status = shown.status;
      const { requestId, presentError: present = presentError } = context.state;
      context.body = present(shown, requestId);
    }
  };
}

/** The error as a client may see it, of a request that has not got further than the gateway itself, which depends on its database first of all. */
function toGateError(error: unknown): ServiceError {
  if (error instanceof ServiceError || !isUnavailable(error)) return toServiceError(error);
  return new ServiceError(
    'processing_unavailable',
    'The service cannot reach a part of itself at the moment. Wait a little and try again.',
    { retryAfterSeconds: UNAVAILABLE_RETRY_SECONDS, cause: error },
  );
}
