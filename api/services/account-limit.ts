import type { Database } from '../../db/database.ts';
import { countRequests } from '../../db/queries/request-windows.ts';
import { ServiceError } from '../../domain/errors.ts';

/** Counts one action of an account. @throws ServiceError `rate_limit_exceeded` beyond the limit */
export type LimitAccount = (accountId: string) => Promise<void>;

/**
 * Holds each account to so many actions of a kind a minute, over all processes and all its keys: those that cost nothing, and
 * would hold up what others pay for.
 *
 * @param limit `what` names the actions, in the plural, in what is counted and in the refusal
 */
export function createAccountLimit(
  database: Database,
  { what, perMinute }: { readonly what: string; readonly perMinute: number },
): LimitAccount {
  return async (accountId) => {
    const [window] = await countRequests(database, [{ apiKeyId: `${what} of ${accountId}`, reads: false }]);
    if (!window || window.position <= perMinute) return;
    throw new ServiceError(
      'rate_limit_exceeded',
      `An account may ask for ${perMinute} ${what} a minute. Wait ${window.secondsLeft} s.`,
      { retryAfterSeconds: window.secondsLeft },
    );
  };
}
