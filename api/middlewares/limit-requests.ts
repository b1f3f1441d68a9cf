import { createBatcher } from '../../db/batcher.ts';
import type { ApiKey } from '../../db/queries/api-keys.ts';
import type { Database } from '../../db/database.ts';
import { countRequests, type RequestWindow } from '../../db/queries/request-windows.ts';
import { ServiceError } from '../../domain/errors.ts';
import { callerOf, type Middleware } from '../state.ts';

const MAX_COUNTED_AT_ONCE = 500;

/** Where a key stands in its requests a minute, with the request that was just counted. */
export interface Allowance {
  /** Tell the client; sent with every answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** The 429 for a request beyond the limit; null within it. */
  readonly refusal: ServiceError | null;
}

/** Counts one request of a key. */
export type CountRequest = (key: Pick<ApiKey, 'id' | 'rateLimitRpm'>) => Promise<Allowance>;

/**
 * Counts the requests of each key, over all processes.
 *
 * @param defaultRequestsPerMinute for keys without a limit of their own
 */
export function createRequestCounter(database: Database, defaultRequestsPerMinute: number): CountRequest {
  const counter = createBatcher<string, RequestWindow>((keyIds) => countRequests(database, keyIds), {
    maxItems: MAX_COUNTED_AT_ONCE,
  });
  return async ({ id, rateLimitRpm }) => {
    const limit = rateLimitRpm ?? defaultRequestsPerMinute;
    return allowanceOf(limit, await counter.add(id));
  };
}

/** Holds each key to its requests a minute, and tells the client where it stands. Comes after `authenticate`. */
export function limitRequests(countRequest: CountRequest): Middleware {
  return async (context, next) => {
    const { headers, refusal } = await countRequest(callerOf(context).key);
    context.set(headers);
    if (refusal !== null) throw refusal;
    await next();
  };
}

function allowanceOf(limit: number, { position, secondsLeft }: RequestWindow): Allowance {
  return {
    headers: {
      'RateLimit-Limit': String(limit),
      'RateLimit-Remaining': String(Math.max(0, limit - position)),
      'RateLimit-Reset': String(secondsLeft),
    },
    refusal:
      position <= limit
        ? null
        : new ServiceError(
            'rate_limit_exceeded',
            `The API key may make ${limit} requests a minute. Wait ${secondsLeft} s and send fewer requests.`,
            { retryAfterSeconds: secondsLeft },
          ),
  };
}
