/**
 * Answers with pictures in base64. The pictures stream from the store as fast as the client reads them, so that an
 * answer takes little memory.
 */
import { Readable } from 'node:stream';
import type { JsonObject } from '../../../domain/json.ts';
import type { GeneratedMedia } from '../../../domain/task.ts';
import type { Storage } from '../../../storage/storage.ts';
import type { ApiServices } from '../../services.ts';
import type { Context } from '../../state.ts';

interface PicturesAnswer {
  /** In Unix seconds. */
  readonly created: number;
  readonly pictures: readonly GeneratedMedia[];
  /** The field of each picture; absent for both fields. */
  readonly format: 'url' | 'b64_json' | undefined;
  /** The type of the event for each picture of a stream; null for a whole answer. */
  readonly event: string | null;
}

/** A picture of the answer. */
interface ShownPicture {
  /** Absent if the client wants base64 only. */
  readonly url?: string;
  /** The picture's key in the store; null for a picture without base64. */
  readonly key: string | null;
  readonly media: GeneratedMedia;
}

/** The size of an answer's pictures, before base64. The answer has only links to further pictures. */
const MAX_INLINE_BYTES = 24 * 2 ** 20;
/** How long a client may read an answer, which meanwhile holds a connection to the store. */
const MAX_READING_MS = 120_000;

interface PictureServices extends Pick<ApiServices, 'storage'> {
  readonly http: Pick<ApiServices['http'], 'queuePictures'>;
}

/** Sends the answer, once it is the account's turn if the answer has base64. */
export async function sendPictures(
  context: Context,
  answer: PicturesAnswer,
  accountId: string,
  { storage, http }: PictureServices,
): Promise<void> {
  const shown = await chooseFields(answer, storage);
  if (shown.some(({ key }) => key !== null)) {
    await new Promise<void>((resolve) => {
      void http.queuePictures(accountId, async () => {
        resolve();
        await waitUntilSent(context);
      });
    });
  }
  const { created, event } = answer;
  context.type = event === null ? 'json' : 'text/event-stream';
  if (event !== null) context.set('cache-control', 'no-cache');
  context.body = Readable.from(
    event === null ? write(created, shown, storage) : writeEvents(created, shown, event, storage),
  );
}

async function chooseFields(
  { pictures, format }: PicturesAnswer,
  storage: Pick<Storage, 'keyOf' | 'sizeOf'>,
): Promise<readonly ShownPicture[]> {
  const shown: ShownPicture[] = [];
  let leftBytes = MAX_INLINE_BYTES;
  for (const media of pictures) {
    const { url } = media;
    const key = format === 'url' ? null : storage.keyOf(url);
    // The picture is charged: an unavailable store must not cause a second one.
    const bytes = key === null ? null : await storage.sizeOf(key).catch(() => null);
    const isInline = bytes !== null && bytes <= leftBytes;
    if (isInline) leftBytes -= bytes;
    shown.push({ ...(!(isInline && format === 'b64_json') && { url }), key: isInline ? key : null, media });
  }
  return shown;
}

/** Resolves when the answer is sent or its client is gone. Disconnects a client that reads too slowly. */
async function waitUntilSent({ req: { socket }, res }: Context): Promise<void> {
  if (socket.destroyed) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => socket.destroy(), MAX_READING_MS);
    const end = (): void => {
      clearTimeout(timer);
      res.off('close', end);
      socket.off('close', end);
      resolve();
    };
    res.once('close', end);
    // An answer that waits behind another gets no event when the connection closes.
    socket.once('close', end);
  });
}

async function* write(
  created: number,
  pictures: readonly ShownPicture[],
  storage: Pick<Storage, 'read'>,
): AsyncGenerator<string> {
  yield `{"created":${created},"data":[`;
  for (const [index, picture] of pictures.entries()) {
    if (index > 0) yield ',';
    yield* writePicture({}, picture, storage);
  }
  yield ']}';
}

/** The events of OpenAI's streams, without partial pictures. */
async function* writeEvents(
  created: number,
  pictures: readonly ShownPicture[],
  type: string,
  storage: Pick<Storage, 'read'>,
): AsyncGenerator<string> {
  for (const picture of pictures) {
    const { width, height, mimeType } = picture.media;
    const size = width === undefined || height === undefined ? 'auto' : `${width}x${height}`;
    const outputFormat = mimeType.slice(mimeType.indexOf('/') + 1);
    yield `event: ${type}\ndata: `;
    yield* writePicture({ type, created_at: created, size, output_format: outputFormat }, picture, storage);
    yield '\n\n';
  }
}

/** An object with the fields, and the picture as a link, in base64 or both. A link replaces base64 that cannot be read. */
async function* writePicture(
  fields: JsonObject,
  { url, key, media }: ShownPicture,
  storage: Pick<Storage, 'read'>,
): AsyncGenerator<string> {
  const content = key === null ? null : await storage.read(key).catch(() => null);
  if (content === null) {
    yield JSON.stringify({ ...fields, url: media.url });
    return;
  }
  const written = JSON.stringify({ ...fields, ...(url !== undefined && { url }) }).slice(0, -1);
  let beginning = `${written}${written === '{' ? '' : ','}"b64_json":"`;
  // Nothing may come between opening and reading, or a client that leaves then would keep the file open.
  for await (const piece of toBase64(content)) {
    yield `${beginning}${piece}`;
    beginning = '';
  }
  yield '"}';
}

async function* toBase64(content: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let rest: Uint8Array = new Uint8Array();
  for await (const piece of content) {
    const bytes = Buffer.concat([rest, piece]);
    // Three bytes are four characters of base64.
    const whole = bytes.byteLength - (bytes.byteLength % 3);
    yield bytes.toString('base64', 0, whole);
    rest = bytes.subarray(whole);
  }
  yield Buffer.from(rest).toString('base64');
}
