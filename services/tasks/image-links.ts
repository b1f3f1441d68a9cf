/** Checks image links at creation: contract 4.3. */
import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { badRequest } from '../../domain/errors.ts';
import { IMAGE_LINKS } from '../../domain/policy.ts';
import { readImageHeader } from '../../storage/image-header.ts';
import type { Storage } from '../../storage/storage.ts';
import { BodyTooLargeError, type GuardedClient } from '../../providers/guard/address-guard.ts';

/** Far more than headers need, except for photographs with previews and editing history before their dimensions. */
const MAX_HEADER_BYTES = 8 * 2 ** 20;
/** For all links of a request together. */
const MAX_BYTES = 32 * 2 ** 20;
/** How long a refused link is not fetched again: another fetch would rarely change the result. */
export const REFUSED_FOR_MS = 60_000;
const MAX_REMEMBERED = 10_000;

const NOT_AN_IMAGE = 'must be a PNG, JPEG or WebP image';
const NO_SUCH_FILE = 'could not be fetched: there is no such file, or it has expired';
/** The problem behind each error of the guarded client, by error name; any other error is a network failure. */
const PROBLEMS: Readonly<Record<string, string>> = {
  AddressRefusedError: 'must be a public HTTPS URL',
  BodyTooLargeError: NOT_AN_IMAGE,
  TimeoutError: 'could not be fetched: its server did not answer in time',
  TooManyRedirectsError: 'could not be fetched: its server redirected too often',
};

export interface ImageLinkCheckOptions {
  readonly client: GuardedClient;
  /** Recognises links to its own objects, on any host. The check reads these objects directly. */
  readonly storage: Pick<Storage, 'keyOf' | 'read'>;
  /** For all links of a request together; 10 seconds by default. */
  readonly timeoutMs?: number;
}

/**
 * Creates the check that each link leads to a PNG, JPEG or WebP image, judged by content; only headers are read. All
 * distinct links (at most 16 per request) are checked at once, and the first failure ends the other checks.
 *
 * @returns a function that throws ServiceError `bad_request` naming the field `images[<i>]`
 */
export function createImageLinkCheck({
  client,
  storage,
  timeoutMs = IMAGE_LINKS.timeoutMs,
}: ImageLinkCheckOptions): (urls: readonly string[]) => Promise<void> {
  const refusals = createMemory();

  return async (urls) => {
    const links = distinct(urls);
    // A link that is known to be bad makes fetching the others unnecessary.
    for (const [address, { index }] of links) refuse(index, refusals.recall(address));
    const failed = new AbortController();
    // Each link adds a listener; a request may have more than Node would take for a leak.
    setMaxListeners(0, failed.signal);
    const room: Room = { bytes: MAX_BYTES };
    const checks = [...links].map(async ([address, { url, index }]) => {
      const key = storage.keyOf(url);
      if (key !== null) return refuse(index, await findProblemOfObject(key, storage));
      const problem = await findProblemOfLink(url, { client, timeoutMs, room, signal: failed.signal });
      // A check that another link's failure ended says nothing about its own link.
      if (problem !== null && !failed.signal.aborted) refusals.keep(address, problem);
      refuse(index, problem);
    });
    try {
      await Promise.all(checks);
    } finally {
      failed.abort();
    }
  };
}

/** @throws ServiceError `bad_request` if the link at this index has a problem */
function refuse(index: number, problem: string | null): void {
  if (problem !== null) throw badRequest(`"images[${index}]" ${problem}`);
}

/** The bytes that may still be read. */
interface Room {
  bytes: number;
}

/** Each address once, with its link and first index. The part after `#` never reaches a server. */
function distinct(urls: readonly string[]): Map<string, { readonly url: string; readonly index: number }> {
  const links = new Map<string, { readonly url: string; readonly index: number }>();
  for (const [index, url] of urls.entries()) {
    const address = url.split('#', 1)[0] ?? '';
    if (!links.has(address)) links.set(address, { url, index });
  }
  return links;
}

async function findProblemOfObject(key: string, storage: Pick<Storage, 'read'>): Promise<string | null> {
  const body = await storage.read(key);
  if (body === null) return NO_SUCH_FILE;
  return (await readImageHeader(body)) === null ? NOT_AN_IMAGE : null;
}

/** The problem with a link, as the end of a sentence, or null. */
async function findProblemOfLink(
  url: string,
  {
    client,
    room,
    ...limits
  }: {
    readonly client: GuardedClient;
    readonly timeoutMs: number;
    readonly room: Room;
    readonly signal: AbortSignal;
  },
): Promise<string | null> {
  try {
    const response = await client.request(url, {
      headers: { accept: 'image/png, image/jpeg, image/webp', range: `bytes=0-${MAX_HEADER_BYTES - 1}` },
      maxBytes: MAX_HEADER_BYTES,
      redirects: IMAGE_LINKS.maxRedirects,
      ...limits,
    });
    if (response.status !== 200 && response.status !== 206) {
      await response.body.cancel();
      return `could not be fetched: its server answered with status ${response.status}`;
    }
    const header = await readImageHeader(within(room, response.body));
    return header === null ? NOT_AN_IMAGE : null;
  } catch (error) {
    return PROBLEMS[error instanceof Error ? error.name : ''] ?? 'could not be fetched: its server cannot be reached';
  }
}

async function* within(room: Room, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    room.bytes -= chunk.byteLength;
    if (room.bytes < 0) throw new BodyTooLargeError(`more than ${MAX_BYTES} bytes of all links`);
    yield chunk;
  }
}

/** Remembers the problems of links for a while, by digest, since links may be long. */
function createMemory() {
  const known = new Map<string, { readonly problem: string; readonly until: number }>();
  return {
    recall(address: string): string | null {
      const entry = known.get(digest(address));
      return entry !== undefined && entry.until > Date.now() ? entry.problem : null;
    },
    keep(address: string, problem: string): void {
      const name = digest(address);
      known.delete(name);
      known.set(name, { problem, until: Date.now() + REFUSED_FOR_MS });
      const oldest = known.keys().next();
      if (known.size > MAX_REMEMBERED && !oldest.done) known.delete(oldest.value);
    },
  };
}

function digest(address: string): string {
  return createHash('sha256').update(address).digest('base64');
}
