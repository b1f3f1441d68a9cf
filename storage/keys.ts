/** The keys, links and caching of stored objects. Keys need no escaping in file systems, stores and links. */

const MAX_KEY_LENGTH = 512;
/** Segments of letters, digits, `.`, `_` and `-` that do not start with a full stop: no `..`, no hidden files. */
const KEY_PATTERN = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/;

/** The start of the keys of objects that only the service reads. Their links are never given to clients. */
export const PRIVATE_PREFIX = 'private/';

export function isStorageKey(text: string): boolean {
  return text.length <= MAX_KEY_LENGTH && KEY_PATTERN.test(text);
}

/** @throws RangeError if `key` could lead out of the store or would need escaping */
export function assertStorageKey(key: string): void {
  if (!isStorageKey(key)) throw new RangeError(`not a storage key: ${JSON.stringify(key)}`);
}

/** The public link of `key` below `publicUrl`. */
export function publicLink(publicUrl: string, key: string): string {
  assertStorageKey(key);
  return `${publicUrl.replace(/(?<!\/)\/+$/, '')}/${key}`;
}

/** The key in a link that {@link publicLink} made; null for any other link. */
export function keyOfLink(publicUrl: string, link: string): string | null {
  const base = `${publicUrl.replace(/(?<!\/)\/+$/, '')}/`;
  const key = link.startsWith(base) ? link.slice(base.length) : '';
  return isStorageKey(key) ? key : null;
}

/**
 * `Cache-Control` of every object. An object never changes, since its key contains an id, but its customer can delete
 * it: shared caches revalidate it for each request, and readers keep their own copies for an hour. Contract 2.2.
 */
export const CACHE_CONTROL = 'public, max-age=3600, s-maxage=0';
