import { createBatcher } from '../../db/batcher.ts';
import { againIfLost } from '../../db/connections.ts';
import type { Database } from '../../db/database.ts';
import { type Caller, findCaller, findCallers } from '../../db/queries/api-keys.ts';
import { digestApiKey } from './api-key-digest.ts';
import { cached } from './cached.ts';

/** The owner of an API key; null when nobody has it. */
export type FindCaller = (apiKey: string) => Promise<Caller | null>;

const MAX_LOOKUPS_AT_ONCE = 100;
const CACHE = { forMs: 1_000, maxEntries: 10_000 };

/** Asks the database each time, so that a deleted or disabled key stops working at once in every process. */
export function createFindCaller(database: Database, keyPepper: Buffer): FindCaller {
  const callers = createBatcher<Buffer, Caller | null>((digests) => findCallers(database, digests), {
    maxItems: MAX_LOOKUPS_AT_ONCE,
  });
  return (apiKey) => callers.add(digestApiKey(apiKey, keyPepper));
}

/** Remembers callers for a second, for calls of which holding the money checks the key again. */
export function createCachedFindCaller(database: Database, keyPepper: Buffer): FindCaller {
  return cached((apiKey) => againIfLost(() => findCaller(database, digestApiKey(apiKey, keyPepper))), CACHE);
}
