import type { Database } from '../../db/database.ts';
import { countRequests } from '../../db/queries/request-windows.ts';
import { ServiceError } from '../../domain/errors.ts';

/** So many actions of a kind that an account may take in a minute. */
export interface ActionLimit {
  /** The actions, in the plural: in what is counted and in the refusal. */
  readonly what: string;
  readonly perMinute: number;
}

/**
 * Counts one action of an account, over all processes and all its keys. Held to a limit are those actions that cost nothing, and
 * would hold up what others pay for.
 *
 * @throws ServiceError `rate_limit_exceeded` beyond the limit
 */
export async function countAction(
  database: Database,
  accountId: string,
  { what, perMinute }: ActionLimit,
): Promise<void> {
  const [window] = await countRequests(database, [{ apiKeyId: `${what} of ${accountId}`, reads: false }]);
  if (!window || window.position <= perMinute) return;
  throw new ServiceError(
    'rate_limit_exceeded',
    `An account may ask for ${perMinute} ${what} a minute. Wait ${window.secondsLeft} s.`,
    { retryAfterSeconds: window.secondsLeft },
  );
}
