import { createBatcher } from '../../db/batcher.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import type { Database } from '../../db/database.ts';
import type { UncountedRequest } from '../../db/text-money/billing.ts';
import {
  type CountedRequest,
  countRequests,
  readRequestCounts,
  type RequestWindow,
} from '../../db/queries/request-windows.ts';
import { tooManyRequests } from '../../domain/request-limit.ts';
import { isReadRequest } from '../http-server.ts';
import type { Context } from '../state.ts';

const MAX_COUNTED_AT_ONCE = 500;

/** Whether a request changes nothing and costs nothing. */
export function isRead({ req, state }: Context): boolean {
  return state.isRead ?? isReadRequest(req);
}

/** Requests that a key may make per minute. */
export interface RequestLimits {
  /** Applies unless the key has its own limit. */
  readonly requestsPerMinute: number;
  /** For reads, which are counted separately so that polling does not use up the limit for creating. */
  readonly readsPerMinute: number;
}

/** Limits each key's requests per minute, across all processes. Answers get the rate limit headers. */
export interface RequestLimit {
  /**
   * Counts a key's request.
   *
   * @returns the caller, if the request is within the limit
   * @throws ServiceError 429
   */
  enforce(context: Context, caller: Caller): Promise<Caller>;
  /**
   * Defers counting a request to its hold, which saves a statement: see `state.uncounted`. If the key has reached its
   * limit in this minute, counts the request at once, so that a refusal remains cheap.
   *
   * @throws ServiceError 429
   */
  deferCounting(context: Context, caller: Caller): Promise<Caller>;
  /** The requests per minute that the key may make, apart from reads. */
  limitOf(caller: Caller): number;
}

export function createRequestLimit(
  database: Database,
  { requestsPerMinute, readsPerMinute }: RequestLimits,
): RequestLimit {
  const counter = createBatcher<CountedRequest, RequestWindow>((counted) => countRequests(database, counted), {
    maxItems: MAX_COUNTED_AT_ONCE,
    again: (counted) => readRequestCounts(database, counted),
  });
  /** When the minute ends in which a key has reached its limit, by `performance.now()`. */
  const usedUpUntilMs = new Map<string, number>();

  const limitOf = (rateLimitRpm: number | null): number => rateLimitRpm ?? requestsPerMinute;

  function startCount(context: Context, { key: { id, rateLimitRpm } }: Caller): UncountedRequest {
    const reads = isRead(context);
    const writesPerMinute = limitOf(rateLimitRpm);
    const limit = reads ? Math.max(readsPerMinute, writesPerMinute) : writesPerMinute;
    const counted = (window: RequestWindow): void => {
      setHeaders(context, limit, window);
      if (!reads && window.position > limit) usedUpUntilMs.set(id, performance.now() + window.secondsLeft * 1000);
    };
    return {
      limit,
      counted,
      count: async () => {
        const window = await counter.add({ apiKeyId: id, reads });
        counted(window);
        if (window.position > limit) throw tooManyRequests(limit, window.secondsLeft);
      },
    };
  }

  return {
    limitOf: ({ key: { rateLimitRpm } }) => limitOf(rateLimitRpm),

    async enforce(context, caller) {
      await startCount(context, caller).count();
      return caller;
    },

    async deferCounting(context, caller) {
      const request = startCount(context, caller);
      const untilMs = usedUpUntilMs.get(caller.key.id);
      if (untilMs === undefined) context.state.uncounted = request;
      else {
        if (untilMs <= performance.now()) usedUpUntilMs.delete(caller.key.id);
        await request.count();
      }
      return caller;
    },
  };
}

/** Sets the headers on Node's response, which costs a fraction of the time of Koa's. */
function setHeaders({ res }: Context, limit: number, { position, secondsLeft }: RequestWindow): void {
  if (res.headersSent) return;
  const remaining = Math.max(0, limit - position);
  res.setHeader('RateLimit-Limit', limit);
  res.setHeader('RateLimit-Remaining', remaining);
  res.setHeader('RateLimit-Reset', secondsLeft);
  // The header names, and the duration format, that clients of the chat-completions and responses formats expect.
  res.setHeader('x-ratelimit-limit-requests', limit);
  res.setHeader('x-ratelimit-remaining-requests', remaining);
  res.setHeader('x-ratelimit-reset-requests', `${secondsLeft}s`);
}
