import { badRequest } from '../../domain/errors.ts';
import type { AppContext } from '../state.ts';

/** Refuses a target that cannot be parsed (`GET http://[ HTTP/1.1`) before anything reads its path. */
export async function requestTarget(context: AppContext, next: () => Promise<unknown>): Promise<void> {
  if (!hasPath(context)) throw badRequest('The request target is not a valid URL.');
  await next();
}

function hasPath(context: AppContext): boolean {
  try {
    return context.path !== '';
  } catch {
    return false;
  }
}
