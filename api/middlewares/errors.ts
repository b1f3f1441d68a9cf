import type { Logger } from 'pino';
import { isUnavailable } from '../../db/connections.ts';
import { isUnstorable } from '../../db/database.ts';
import type { RefusedCall } from '../../db/queries/refused-calls.ts';
import type { RefusalRecorder } from '../../db/refusal-recorder.ts';
import { badRequest, type ErrorCode, ServiceError, toServiceError } from '../../domain/errors.ts';
import { errorHeaders, presentError } from '../../domain/error-envelope.ts';
import type { AppContext, PresentError } from '../state.ts';

/** The functions that render errors, by path, for paths whose errors do not have the common envelope. */
export type Presenters = ReadonlyMap<string, PresentError>;

const UNAVAILABLE_RETRY_SECONDS = 5;
/** The statuses of refused calls about which the caller can do something. */
const REFUSED = { min: 400, max: 429 };

/**
 * Converts all errors to HTTP answers, which link to `publicUrl`. Any but a {@link ServiceError} is a bug: it is logged and answered with 500.
 * Records refused calls of known keys.
 */
export function errors(
  log: Logger,
  publicUrl: string,
  presenters: Presenters,
  refusals: Pick<RefusalRecorder, 'record'> | undefined,
) {
  return async (context: AppContext, next: () => Promise<unknown>): Promise<void> => {
    try {
      await next();
    } catch (error) {
      const shown = toClientError(error);
      if (shown.code === 'internal_error' || isUnavailable(shown.cause)) {
        log.error({ err: error, request_id: context.state.requestId, path: context.path }, 'request failed');
      }
      context.state.errorCode = shown.code;
      const call = refusedCallOf(context, shown);
      if (call) refusals?.record(call);
      context.set(errorHeaders(shown));
      context.status = shown.status;
      const { requestId, presentError: present = presenterFor(context, presenters) } = context.state;
      context.body = present(shown, requestId, publicUrl);
    }
  };
}

/** Null if the call has no known key, or was not refused. */
function refusedCallOf(context: AppContext, { status, code, message: reason }: ServiceError): RefusedCall | null {
  const { apiKey, requestId } = context.state;
  if (apiKey === undefined || !(isUnserved(context, code) || (status >= REFUSED.min && status <= REFUSED.max)))
    return null;
  // A target without a path has no key.
  const { method, path } = context;
  return { apiKeyId: apiKey.id, accountId: apiKey.accountId, method, path, status, code, requestId, reason };
}

/** Whether nothing else records the call: a text request that was tried answers by itself, and a task has its own row. */
function isUnserved({ state }: AppContext, code: ErrorCode): boolean {
  return code === 'processing_unavailable' && state.createdTaskId === undefined;
}

/** For a request that reached no endpoint: a wrong method, or a refusal before the route was known. */
function presenterFor(context: AppContext, presenters: Presenters): PresentError {
  try {
    return presenters.get(context.path) ?? presentError;
  } catch {
    // The target has no path.
    return presentError;
  }
}

/** Converts an error for the client. An unavailable component is the gateway's own, usually its database. */
function toClientError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (isUnstorable(error))
    return badRequest('A text in the request has a NUL character or an unpaired surrogate. Remove it.');
  if (!isUnavailable(error)) return toServiceError(error);
  return new ServiceError(
    'processing_unavailable',
    'The service cannot reach one of its own components at the moment. Wait a little and try again.',
    { retryAfterSeconds: UNAVAILABLE_RETRY_SECONDS, cause: error },
  );
}
