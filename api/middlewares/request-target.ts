import { badRequest } from '../../domain/errors.ts';
import type { AppContext } from '../state.ts';

/** Longer than any address that Genway hands out. */
const MAX_QUERY_LENGTH = 8 * 1024;
const MAX_QUERY_PARAMETERS = 100;

/** The version of a base URL to which a client adds its own: `/v1/v1/models`. */
const DOUBLED_VERSION = /^\/v1(?:beta)?(?=\/v1(?:beta)?\/)/;

/**
 * Refuses a target that cannot be parsed (`GET http://[ HTTP/1.1`), or whose query is too large, before anything reads
 * the target. Serves a path whose version is doubled. Reads the query once for all others: Koa's own `query` takes quadratic time.
 */
export function requestTarget(context: AppContext, next: () => Promise<unknown>): Promise<unknown> {
  if (!hasPath(context)) throw badRequest('The request target is not a valid URL.');
  if (DOUBLED_VERSION.test(context.path)) context.path = context.path.replace(DOUBLED_VERSION, '');
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
