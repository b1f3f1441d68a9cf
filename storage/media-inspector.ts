/**
 * Checks, while a result streams into storage, that it is a complete file of a type that Genway delivers. The check
 * reads only headers, holds a few bytes at a time, and decodes nothing.
 */
import { MEDIA_TYPES } from '../domain/media-types.ts';
import { detectFileType, FILE_TYPE_BYTES } from './file-type.ts';
import type { Content } from './media/content.ts';
import { readIsoMedia } from './media/iso-media.ts';
import { readJpeg } from './media/jpeg.ts';
import { readPng } from './media/png.ts';
import { BrokenMediaError, type Parsing, StreamedInput } from './media/streamed-input.ts';
import { readWebp } from './media/webp.ts';

type ResultExtension = 'png' | 'jpg' | 'webp' | 'mp4' | 'mov';

/** The facts in the headers of a complete file. */
export interface MediaFacts extends Content {
  readonly mimeType: (typeof MEDIA_TYPES)[ResultExtension];
  /** Without the full stop. */
  readonly extension: string;
  readonly bytes: number;
}

export interface InspectedMedia {
  /** The same chunks; can be read once. Fails with {@link BrokenMediaError}, after the last chunk at the latest. */
  readonly body: AsyncIterable<Uint8Array>;
  /** @throws Error until `body` has been read to its end */
  readonly facts: () => MediaFacts;
}

/** Inspects `body` while the caller reads it. A broken file fails the body, so that storage keeps nothing of it. */
export function inspectMedia(body: AsyncIterable<Uint8Array>): InspectedMedia {
  const input = new StreamedInput();
  const parsing = readMedia(input);
  let facts: MediaFacts | null = null;
  async function* pass(): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      input.push(chunk);
      parsing.next();
      yield chunk;
    }
    input.end();
    facts = parsing.next().value ?? null;
  }
  return {
    body: pass(),
    facts() {
      if (facts === null) throw new Error('facts are known only once the whole body has been read');
      return facts;
    },
  };
}

interface Format {
  /** The extension from {@link detectFileType}. */
  readonly extension: ResultExtension;
  /** Reads the file from its first byte to the end of its picture or video. */
  readonly read: (input: StreamedInput) => Parsing<Content>;
}

const FORMATS: readonly Format[] = [
  { extension: 'png', read: readPng },
  { extension: 'jpg', read: readJpeg },
  { extension: 'webp', read: readWebp },
  { extension: 'mp4', read: readIsoMedia },
  { extension: 'mov', read: readIsoMedia },
];

function* readMedia(input: StreamedInput): Parsing<MediaFacts> {
  const head = yield* input.peek(FILE_TYPE_BYTES);
  if (head.length === 0) throw new BrokenMediaError('the file is empty');
  const type = detectFileType(head);
  const format = FORMATS.find(({ extension }) => extension === type?.extension);
  if (!format) throw new BrokenMediaError('the file is not PNG, JPEG, WebP, MP4 or QuickTime');
  const content = yield* format.read(input);
  // Some writers append bytes, or another picture; viewers show the first one.
  yield* input.skipTo(Infinity);
  if (content.width === 0 || content.height === 0) throw new BrokenMediaError('the picture has no size');
  return { mimeType: MEDIA_TYPES[format.extension], extension: format.extension, bytes: input.position, ...content };
}
