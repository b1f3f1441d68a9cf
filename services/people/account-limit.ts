import type { Database } from '../../db/database.ts';
import { countRequests } from '../../db/queries/request-windows.ts';
import { ServiceError } from '../../domain/errors.ts';

/** A limit on how often an account may perform an action per minute. */
export interface ActionLimit {
  /** The actions, in the plural; used for counting and in the refusal. */
  readonly what: string;
  readonly perMinute: number;
}

/**
 * Counts an action of an account, across all processes and keys. Used for actions that cost nothing but could hold up
 * what others pay for.
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
    `An account may request ${perMinute} ${what} a minute. Wait ${window.secondsLeft} s.`,
    { retryAfterSeconds: window.secondsLeft },
  );
}
