import { createBatcher } from '../../db/batcher.ts';
import type { ApiKey, Caller } from '../../db/queries/api-keys.ts';
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

/** Where a key stands in its requests a minute, with the request that was just counted. */
export interface Allowance {
  /** Tell the client; sent with every answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** The 429 for a request beyond the limit; null within it. */
  readonly refusal: ServiceError | null;
}

/** Requests that a key may make in a minute. */
export interface RequestLimits {
  /** Unless the key has a limit of its own. */
  readonly requestsPerMinute: number;
  /** Of those that only read, which are counted apart: polling must not use up what creating needs. */
  readonly readsPerMinute: number;
}

/** Counts one request of a key. @param kind `write` when absent */
export type CountRequest = (key: Pick<ApiKey, 'id' | 'rateLimitRpm'>, kind?: 'read' | 'write') => Promise<Allowance>;

/** Counts the requests of each key, over all processes. */
export function createRequestCounter(
  database: Database,
  { requestsPerMinute, readsPerMinute }: RequestLimits,
): CountRequest {
  const counter = createBatcher<CountedRequest, RequestWindow>((counted) => countRequests(database, counted), {
    maxItems: MAX_COUNTED_AT_ONCE,
    again: (counted) => readRequestCounts(database, counted),
  });
  return async ({ id, rateLimitRpm }, kind = 'write') => {
    const reads = kind === 'read';
    const writes = rateLimitRpm ?? requestsPerMinute;
    const limit = reads ? Math.max(readsPerMinute, writes) : writes;
    return allowanceOf(limit, await counter.add({ apiKeyId: id, reads }));
  };
}

/**
 * Holds each key to its requests a minute, and tells the client where it stands.
 *
 * @returns the caller, when the request is within the limit
 * @throws ServiceError 429
 */
export type HoldToLimit = (context: Context, caller: Caller) => Promise<Caller>;

export function createRequestLimit(countRequest: CountRequest): HoldToLimit {
  return async (context, caller) => {
    const kind = READS.has(context.method) ? 'read' : 'write';
    const { headers, refusal } = await countRequest(caller.key, kind);
    context.set(headers);
    if (refusal !== null) throw refusal;
    return caller;
  };
}

function allowanceOf(limit: number, { position, secondsLeft }: RequestWindow): Allowance {
  const remaining = Math.max(0, limit - position);
  return {
    headers: {
      'RateLimit-Limit': String(limit),
      'RateLimit-Remaining': String(remaining),
      'RateLimit-Reset': String(secondsLeft),
      // The names that clients of the chat-completions and responses formats look for, with the duration that goes with them.
      'x-ratelimit-limit-requests': String(limit),
      'x-ratelimit-remaining-requests': String(remaining),
      'x-ratelimit-reset-requests': `${secondsLeft}s`,
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
