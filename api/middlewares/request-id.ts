import { newId } from '../../domain/ids.ts';
import type { AppContext } from '../state.ts';

/** Gives every request an id, which clients can quote to support. */
export async function requestId(context: AppContext, next: () => Promise<unknown>): Promise<void> {
  context.state.requestId = newId('request');
  context.set('x-request-id', context.state.requestId);
  await next();
}
