import type { AppContext } from '../state.ts';

/** What a rejected client gets, as from a network edge: plain text, no envelope (contract 5). */
const REJECTION = 'error code: 1010';

/**
 * Turns away clients whose `User-Agent` holds one of the given texts, in any case, before anything else is done for them. A
 * client that sends none, or one of its own, passes.
 */
export function rejectUserAgent(rejected: readonly string[]) {
  const texts = rejected.map((text) => text.toLowerCase());
  return async (context: AppContext, next: () => Promise<unknown>): Promise<void> => {
    const userAgent = context.get('user-agent').toLowerCase();
    if (!texts.some((text) => userAgent.includes(text))) return void (await next());
    context.status = 403;
    context.type = 'text/plain';
    context.body = REJECTION;
  };
}
