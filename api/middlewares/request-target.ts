import { badRequest } from '../../domain/errors.ts';
import type { AppContext } from '../state.ts';

/** Refuses a target that cannot be parsed (`GET http://[ HTTP/1.1`) before anything reads its path. */
export function requestTarget(context: AppContext, next: () => Promise<unknown>): Promise<unknown> {
  if (!hasPath(context)) throw badRequest('The request target is not a valid URL.');
  return next();
}

function hasPath(context: AppContext): boolean {
  try {
    return context.path !== '';
  } catch {
    return false;
  }
}
