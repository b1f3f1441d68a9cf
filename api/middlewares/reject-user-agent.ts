import type { AppContext } from '../state.ts';

/** The answer to a rejected client, like a network edge's: plain text, no envelope (contract 5). */
const REJECTION = 'error code: 1010';

/** Rejects clients whose `User-Agent` contains one of the texts, ignoring case, before doing anything else. */
export function rejectUserAgent(rejected: readonly string[]) {
  const texts = rejected.map((text) => text.toLowerCase());
  return (context: AppContext, next: () => Promise<unknown>): Promise<unknown> | void => {
    const userAgent = context.get('user-agent').toLowerCase();
    if (!texts.some((text) => userAgent.includes(text))) return next();
    context.status = 403;
    context.type = 'text/plain';
    context.body = REJECTION;
  };
}
