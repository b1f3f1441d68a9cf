/**
 * Fetches the inputs of a request for upstreams that take bytes: once, limited in size, and not from inside our
 * network.
 */
import type { GuardedClient } from '../../providers/guard/address-guard.ts';
import type { RenderInputs } from '../../domain/task.ts';
import type { InputFile } from '../../providers/media/adapter.ts';
import { detectFileType, FILE_TYPE_BYTES } from '../../storage/file-type.ts';
import type { Storage } from '../../storage/storage.ts';

/** An input cannot be read, and the gateway is not at fault. The message is for the client. */
export class UnreadableInputError extends Error {
  override readonly name = 'UnreadableInputError';
}

/** The problem with a file, as the end of a sentence. */
class UnusableFileError extends Error {}

/**
 * @returns the inputs, by link
 * @throws UnreadableInputError
 */
export type InputReader = (inputs: RenderInputs, signal: AbortSignal) => Promise<ReadonlyMap<string, InputFile>>;

/** For one file, and for all inputs of a request together; above what vendors accept. */
const MAX_FILE_BYTES = 50 * 2 ** 20;
const MAX_BYTES = 128 * 2 ** 20;
const MAX_REDIRECTS = 2;
const TIMEOUT_MS = 60_000;
const IDLE_TIMEOUT_MS = 15_000;
const TRIES = 3;

interface Link {
  /** As the client wrote it: `images[0]`. */
  readonly field: string;
  readonly name: string;
  readonly url: string;
}

export function createInputReader({
  client,
  storage,
}: {
  readonly client: Pick<GuardedClient, 'request'>;
  readonly storage: Pick<Storage, 'keyOf' | 'read'>;
}): InputReader {
  async function open(url: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const key = storage.keyOf(url);
    if (key !== null) {
      const object = await storage.read(key);
      if (object === null) throw new UnusableFileError('there is no such file');
      return object;
    }
    const response = await client.request(url, {
      maxBytes: MAX_FILE_BYTES,
      timeoutMs: TIMEOUT_MS,
      idleTimeoutMs: IDLE_TIMEOUT_MS,
      redirects: MAX_REDIRECTS,
      signal,
    });
    if (response.status === 200) return response.body;
    await response.body.cancel();
    throw new UnusableFileError(`its server answered with status ${response.status}`);
  }

  async function read({ field, name, url }: Link, room: number, signal: AbortSignal): Promise<InputFile> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const bytes = await collect(await open(url, signal), Math.min(room, MAX_FILE_BYTES));
        const type = detectFileType(bytes.subarray(0, FILE_TYPE_BYTES));
        if (!type) throw new UnusableFileError('its type is not supported');
        return { bytes, mimeType: type.mimeType, name: `${name}.${type.extension}` };
      } catch (error) {
        signal.throwIfAborted();
        // A failure of our own store is not the input's fault.
        if (storage.keyOf(url) !== null && !(error instanceof UnusableFileError)) throw error;
        if (attempt < TRIES) continue;
        throw new UnreadableInputError(`"${field}" could not be used: ${reasonOf(error)}`, { cause: error });
      }
    }
  }

  return async (inputs, signal) => {
    const files = new Map<string, InputFile>();
    let room = MAX_BYTES;
    for (const link of linksOf(inputs)) {
      if (files.has(link.url)) continue;
      const file = await read(link, room, signal);
      room -= file.bytes.byteLength;
      files.set(link.url, file);
    }
    return files;
  };
}

function linksOf({
  images = [],
  referenceVideos = [],
  referenceAudios = [],
  parameterLinks = [],
}: RenderInputs): readonly Link[] {
  const lists = {
    images,
    reference_videos: referenceVideos,
    reference_audios: referenceAudios,
    parameters: parameterLinks,
  };
  return Object.entries(lists).flatMap(([list, urls]) =>
    urls.map((url, index) => ({ field: `${list}[${index}]`, name: `${list}-${index}`, url })),
  );
}

async function collect(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.byteLength;
    if (length > maxBytes) throw new UnusableFileError('it is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Other error messages may reveal the internal network. */
function reasonOf(error: unknown): string {
  return error instanceof UnusableFileError ? error.message : 'its server did not provide it';
}
