import { createBatcher } from '../../db/batcher.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import type { Database } from '../../db/database.ts';
import {
  type CountedRequest,
  countRequests,
  readRequestCounts,
  type RequestWindow,
} from '../../db/queries/request-windows.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Context } from '../state.ts';

const MAX_COUNTED_AT_ONCE = 500;
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** Requests that a key may make per minute. */
export interface RequestLimits {
  /** Applies unless the key has its own limit. */
  readonly requestsPerMinute: number;
  /** For reads, which are counted separately so that polling does not use up the allowance for creating. */
  readonly readsPerMinute: number;
}

/**
 * Counts a key's request and sets the rate limit headers.
 *
 * @returns the caller, if the request is within the limit
 * @throws ServiceError 429
 */
export type HoldToLimit = (context: Context, caller: Caller) => Promise<Caller>;

/** Limits each key's requests per minute, across all processes. */
export function createRequestLimit(
  database: Database,
  { requestsPerMinute, readsPerMinute }: RequestLimits,
): HoldToLimit {
  const counter = createBatcher<CountedRequest, RequestWindow>((counted) => countRequests(database, counted), {
    maxItems: MAX_COUNTED_AT_ONCE,
    again: (counted) => readRequestCounts(database, counted),
  });
  return async (context, caller) => {
    const { id, rateLimitRpm } = caller.key;
    const reads = READS.has(context.method);
    const writesPerMinute = rateLimitRpm ?? requestsPerMinute;
    const limit = reads ? Math.max(readsPerMinute, writesPerMinute) : writesPerMinute;
    const window = await counter.add({ apiKeyId: id, reads });
    context.set(headersOf(limit, window));
    if (window.position > limit) throw tooManyRequests(limit, window);
    return caller;
  };
}

function headersOf(limit: number, { position, secondsLeft }: RequestWindow): Record<string, string> {
  const remaining = Math.max(0, limit - position);
  return {
    'RateLimit-Limit': String(limit),
    'RateLimit-Remaining': String(remaining),
    'RateLimit-Reset': String(secondsLeft),
    // The header names, and the duration format, that clients of the chat-completions and responses formats expect.
    'x-ratelimit-limit-requests': String(limit),
    'x-ratelimit-remaining-requests': String(remaining),
    'x-ratelimit-reset-requests': `${secondsLeft}s`,
  };
}

function tooManyRequests(limit: number, { secondsLeft }: RequestWindow): ServiceError {
  return new ServiceError(
    'rate_limit_exceeded',
    `The API key may make ${limit} requests a minute. Wait ${secondsLeft} s and send fewer requests.`,
    { retryAfterSeconds: secondsLeft },
  );
}
