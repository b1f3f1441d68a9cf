import { newId } from '../../domain/ids.ts';
import type { AppContext } from '../state.ts';

/** Gives every request an id, which clients can quote to support. */
export function requestId({ state, res }: AppContext, next: () => Promise<unknown>): Promise<unknown> {
  state.requestId = newId('request');
  res.setHeader('x-request-id', state.requestId);
  // The SDKs of the messages format look for it here.
  res.setHeader('request-id', state.requestId);
  return next();
}
