/** Lets pages of other origins request a path: https://fetch.spec.whatwg.org/#http-cors-protocol */
import type { Context } from '../state.ts';

/** Headers of answers that pages may read. */
const EXPOSED = 'Location, Retry-After, x-request-id';
const MAX_AGE_SECONDS = 600;

/**
 * Allows any origin to request the path and read the answer. The credential decides which origins may use it, and no
 * browser sends a credential by itself.
 *
 * @param methods the methods to allow in the answer to a preflight
 */
export function allowOrigin(context: Pick<Context, 'get' | 'set'>, methods?: string): void {
  if (context.get('Origin') === '') return;
  context.set({ 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': EXPOSED });
  const headers = context.get('Access-Control-Request-Headers');
  if (methods === undefined || headers === '') return;
  context.set({
    'Access-Control-Allow-Methods': methods,
    'Access-Control-Allow-Headers': headers,
    'Access-Control-Max-Age': String(MAX_AGE_SECONDS),
    Vary: 'Access-Control-Request-Headers',
  });
}
