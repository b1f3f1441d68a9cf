import { createBatcher } from '../../db/batcher.ts';
import type { Database } from '../../db/database.ts';
import { countRequests, type RequestWindow } from '../../db/queries/request-windows.ts';
import { ServiceError } from '../../domain/errors.ts';
import { callerOf, type Middleware } from '../state.ts';

const MAX_COUNTED_AT_ONCE = 500;

/**
 * Holds each key to its requests a minute, over all processes, and tells the client where it stands. Comes after
 * `authenticate`.
 *
 * @param defaultRequestsPerMinute for keys without a limit of their own
 */
export function limitRequests(database: Database, defaultRequestsPerMinute: number): Middleware {
  const counter = createBatcher<string, RequestWindow>((keyIds) => countRequests(database, keyIds), {
    maxItems: MAX_COUNTED_AT_ONCE,
  });
  return async (context, next) => {
    const { key } = callerOf(context);
    const limit = key.rateLimitRpm ?? defaultRequestsPerMinute;
    const { position, secondsLeft } = await counter.add(key.id);
    context.set({
      'RateLimit-Limit': String(limit),
      'RateLimit-Remaining': String(Math.max(0, limit - position)),
      'RateLimit-Reset': String(secondsLeft),
    });
    if (position > limit) {
      throw new ServiceError(
        'rate_limit_exceeded',
        `The API key may make ${limit} requests a minute. Wait ${secondsLeft} s and send fewer requests.`,
        { retryAfterSeconds: secondsLeft },
      );
    }
    await next();
  };
}
