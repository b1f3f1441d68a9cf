import { createBatcher } from '../../db/batcher.ts';
import { retryOnLostConnection } from '../../db/connections.ts';
import type { Database } from '../../db/database.ts';
import { type Caller, findCallers, replaceKeyDigest } from '../../db/queries/api-keys.ts';
import { pepperMark } from '../../db/queries/secrets.ts';
import { digestApiKey } from './api-key-digest.ts';
import { cached } from '../cached.ts';

/** The owner of an API key; null for an unknown key. */
export type FindCaller = (apiKey: string) => Promise<Caller | null>;

/** The peppers under which keys may be stored, the current one first. */
export type KeyPeppers = readonly [Buffer, ...Buffer[]];

const MAX_LOOKUPS_AT_ONCE = 100;
/** Text requests succeed while the database restarts. */
const CACHE = { forMs: 1_000, staleForMs: 2_000, maxEntries: 10_000 };

/** Queries the database every time, so that a deleted or disabled key stops working at once in every process. */
export function createFindCaller(database: Database, peppers: KeyPeppers): FindCaller {
  const callers = createBatcher<string, Caller | null>((apiKeys) => findOwners(database, apiKeys, peppers), {
    maxItems: MAX_LOOKUPS_AT_ONCE,
  });
  return (apiKey) => callers.add(apiKey);
}

/** Caches callers for a second, for calls whose hold checks the key again. */
export function createCachedFindCaller(database: Database, peppers: KeyPeppers): FindCaller {
  return cached(async (apiKey) => {
    const [caller] = await retryOnLostConnection(() => findOwners(database, [apiKey], peppers));
    return caller ?? null;
  }, CACHE);
}

/** Returns the owners in the order of the keys. Moves keys from earlier peppers to the current one. */
async function findOwners(
  database: Database,
  apiKeys: readonly string[],
  peppers: KeyPeppers,
): Promise<readonly (Caller | null)[]> {
  const digests = peppers.map((pepper) => apiKeys.map((apiKey) => digestApiKey(apiKey, pepper)));
  const callers = await findCallers(database, digests.flat());
  return apiKeys.map((_, index) => {
    const pepper = peppers.findIndex((_, which) => callers[which * apiKeys.length + index]);
    const [from, to] = [digests[pepper]?.[index], digests[0]?.[index]];
    // Not awaited: if it fails, the next use of the key tries again.
    if (pepper > 0 && from && to) {
      replaceKeyDigest(database, { from, to, pepperMark: pepperMark(peppers[0]) }).catch(() => undefined);
    }
    return callers[pepper * apiKeys.length + index] ?? null;
  });
}
