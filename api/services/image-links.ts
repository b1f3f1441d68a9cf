/** The check of image links at creation: contract 4.3. */
import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { badRequest } from '../../domain/errors.ts';
import { IMAGE_LINKS } from '../../domain/policy.ts';
import { readImageHeader } from '../../storage/image-header.ts';
import type { Storage } from '../../storage/storage.ts';
import { BodyTooLargeError, type GuardedClient } from '../../net/address-guard.ts';

/** Far more than a header needs, save for photographs that carry previews and editing history before their dimensions. */
const MAX_HEADER_BYTES = 8 * 2 ** 20;
/** Of all links of a request together. */
const MAX_BYTES = 32 * 2 ** 20;
/** A link that was refused is not asked again for as long; sending the same request again changes nothing before. */
const REFUSED_FOR_MS = 60_000;
const MAX_REMEMBERED = 10_000;

const NOT_AN_IMAGE = 'must be a PNG, JPEG or WebP image';
const NO_SUCH_FILE = 'could not be fetched: there is no such file, or it has expired';
/** What the guarded client's errors say of a link, by name; any other is one of the network. */
const PROBLEMS: Readonly<Record<string, string>> = {
  AddressRefusedError: 'must be a public HTTPS URL',
  BodyTooLargeError: NOT_AN_IMAGE,
  TimeoutError: 'could not be fetched: its server did not answer in time',
  TooManyRedirectsError: 'could not be fetched: its server redirected too often',
};

export interface ImageLinkCheckOptions {
  readonly client: GuardedClient;
  /** Links to its own objects are looked up there, wherever their address leads. */
  readonly storage: Pick<Storage, 'keyOf' | 'read'>;
  /** For all links of a request together, 10 seconds when absent. */
  readonly timeoutMs?: number;
}

/**
 * Makes the check that each link leads to a PNG, JPEG or WebP image, by its content, reading only its header. All distinct
 * links are asked at once (a request has at most 16); the first that fails ends the check of the others.
 *
 * @returns a function that throws ServiceError `bad_request` that names the field `images[<i>]`
 */
export function createImageLinkCheck({
  client,
  storage,
  timeoutMs = IMAGE_LINKS.timeoutMs,
}: ImageLinkCheckOptions): (urls: readonly string[]) => Promise<void> {
  const refusals = createMemory();

  return async (urls) => {
    const links = distinct(urls);
    // One that is known to be refused spares asking for the others.
    for (const [address, { index }] of links) refuse(index, refusals.recall(address));
    const failed = new AbortController();
    // One listener a link, above the number that Node takes for a leak.
    setMaxListeners(0, failed.signal);
    const room: Room = { bytes: MAX_BYTES };
    const checks = [...links].map(async ([address, { url, index }]) => {
      const key = storage.keyOf(url);
      if (key !== null) return refuse(index, await findProblemOfObject(key, storage));
      const problem = await findProblemOfLink(url, { client, timeoutMs, room, signal: failed.signal });
      // A check that was ended by another link's failure says nothing about its own.
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

/** @throws ServiceError `bad_request` unless nothing is wrong with the link at that place */
function refuse(index: number, problem: string | null): void {
  if (problem !== null) throw badRequest(`"images[${index}]" ${problem}`);
}

/** What may still be read. */
interface Room {
  bytes: number;
}

/** Each address once, with the link and the place where it stands first: what follows a `#` never reaches a server. */
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

/** What is wrong with a link, as the end of a sentence, or null. */
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

/** Remembers, for a while, what was wrong with links; by their digests, since links may be long. */
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
