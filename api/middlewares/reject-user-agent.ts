import type { AppContext } from '../state.ts';

/** What a rejected client gets, as from a network edge: plain text, no envelope (specification section 5). */
export const REJECTION = 'error code: 1010';

/**
 * Turns away clients whose `User-Agent` holds one of the given texts, in any case, before anything else is done for them. A
 * client that sends none, or one of its own, passes.
 */
export function rejectUserAgent(rejected: readonly string[]) {
  const isRejected = userAgentCheck(rejected);
  return async (context: AppContext, next: () => Promise<unknown>): Promise<void> => {
    if (!isRejected(context.get('user-agent'))) {
      await next();
      return;
    }
    context.status = 403;
    context.type = 'text/plain';
    context.body = REJECTION;
  };
}

/** Whether a `User-Agent` holds one of the given texts, in any case. */
export function userAgentCheck(rejected: readonly string[]): (userAgent: string) => boolean {
  const texts = rejected.map((text) => text.toLowerCase());
  return (userAgent) => texts.some((text) => userAgent.toLowerCase().includes(text));
}
