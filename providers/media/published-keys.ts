/** The keys with which a vendor signs announcements, fetched from the address where the vendor publishes them. */
import type { JWK } from 'jose';
import type { Dispatcher } from 'undici';
import { isObject, listOf, objectOf } from '../../domain/json.ts';
import { PROVIDER_ANSWER_MS } from '../../domain/step-limits.ts';
import { documentOf, exchange } from './exchange.ts';

export interface PublishedKeys {
  /**
   * Whether one of the keys satisfies a check. If none does, fetches the keys again, since the vendor may have replaced
   * them; but not within 30 seconds of the last attempt.
   */
  some(verifies: (key: JWK) => Promise<boolean>): Promise<boolean>;
}

const KEPT_MS = 3_600_000;
/** Limits requests to the vendor: not every forged callback may cause one. */
const FETCHED_AGAIN_AFTER_MS = 30_000;
const MAX_BYTES = 2 ** 18;

/**
 * @param url undefined if the vendor publishes no keys: then no check succeeds
 * @param nowMs milliseconds since 1970
 */
export function createPublishedKeys(
  url: string | undefined,
  { dispatcher, nowMs }: { readonly dispatcher: Dispatcher; readonly nowMs: () => number },
): PublishedKeys {
  let kept: { readonly keys: Promise<readonly JWK[]>; readonly sinceMs: number } | null = null;

  /** @param maxAgeMs fetches the keys again if they are older */
  function keysWithin(maxAgeMs: number): Promise<readonly JWK[]> {
    if (url === undefined) return Promise.resolve([]);
    if (kept === null || nowMs() - kept.sinceMs > maxAgeMs) {
      const previous = kept?.keys ?? [];
      // While the vendor does not answer, its previous keys stay valid.
      kept = { keys: fetchKeys(url, dispatcher).catch(() => previous), sinceMs: nowMs() };
    }
    return kept.keys;
  }

  return {
    async some(verifies) {
      const known = await keysWithin(KEPT_MS);
      if (await someOf(known, verifies)) return true;
      const fresh = await keysWithin(FETCHED_AGAIN_AFTER_MS);
      return fresh !== known && (await someOf(fresh, verifies));
    },
  };
}

async function someOf(keys: readonly JWK[], verifies: (key: JWK) => Promise<boolean>): Promise<boolean> {
  return (await Promise.all(keys.map(verifies))).includes(true);
}

async function fetchKeys(url: string, dispatcher: Dispatcher): Promise<readonly JWK[]> {
  const call = {
    method: 'GET',
    url: new URL(url),
    headers: {},
    dispatcher,
    timeoutMs: PROVIDER_ANSWER_MS,
    maxResponseBytes: MAX_BYTES,
  } as const;
  const answer = await exchange(call, new AbortController().signal);
  return listOf(objectOf(documentOf(answer))['keys']).filter(isKey);
}

/** RFC 7517, section 4.1. */
function isKey(value: unknown): value is JWK {
  return isObject(value) && typeof value['kty'] === 'string';
}
