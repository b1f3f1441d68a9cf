import { badRequest } from '../../domain/errors.ts';
import type { AppContext } from '../state.ts';

/** Longer than any address that Genway hands out. */
const MAX_QUERY_LENGTH = 8 * 1024;
const MAX_QUERY_PARAMETERS = 100;

/**
 * Refuses a target that cannot be parsed (`GET http://[ HTTP/1.1`), or whose query is too large, before anything reads
 * the target. Reads the query once for all others: Koa's own `query` takes quadratic time.
 */
export function requestTarget(context: AppContext, next: () => Promise<unknown>): Promise<unknown> {
  if (!hasPath(context)) throw badRequest('The request target is not a valid URL.');
  context.state.query = readParameters(context.querystring);
  return next();
}

function hasPath(context: AppContext): boolean {
  try {
    return context.path !== '';
  } catch {
    return false;
  }
}

/** @throws ServiceError `bad_request` */
function readParameters(query: string): URLSearchParams {
  if (query.length > MAX_QUERY_LENGTH || query.split('&').length > MAX_QUERY_PARAMETERS) {
    throw badRequest(
      `The query is too large. Send at most ${MAX_QUERY_LENGTH} bytes and ${MAX_QUERY_PARAMETERS} parameters.`,
    );
  }
  return new URLSearchParams(query);
}
