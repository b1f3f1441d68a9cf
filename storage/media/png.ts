/** Reads PNG (ISO/IEC 15948): a signature, then chunks of length, type, content and checksum, from IHDR to IEND. */
import { crc32 } from 'node:zlib';
import type { Content } from './content.ts';
import { BrokenMediaError, type Parsing, type StreamedInput } from './streamed-input.ts';

const SIGNATURE_BYTES = 8;
const HEADER_BYTES = 13;
/** Greyscale and true colour with an alpha channel. Other colour types are transparent only with a tRNS chunk. */
const COLOURS_WITH_ALPHA: readonly number[] = [4, 6];

/** Reads only up to the size; does not notice a tRNS chunk, which comes later. @throws BrokenMediaError */
export function* readPngHeader(input: StreamedInput): Parsing<Content> {
  return (yield* readHeaderChunk(input)).content;
}

/** Reads a whole picture. @throws BrokenMediaError */
export function* readPng(input: StreamedInput): Parsing<Content> {
  const { content, chunk, head } = yield* readHeaderChunk(input);
  yield* finishChunk(input, chunk, head);
  let hasTransparentColour = false;
  let hasPixels = false;
  for (;;) {
    const chunk = yield* readChunkStart(input);
    const type = chunk.type.toString('latin1');
    yield* finishChunk(input, chunk);
    if (type === 'IEND') break;
    hasTransparentColour ||= type === 'tRNS';
    hasPixels ||= type === 'IDAT';
  }
  if (!hasPixels) throw new BrokenMediaError('the PNG contains no pixels');
  return hasTransparentColour ? { ...content, hasAlpha: true } : content;
}

interface Chunk {
  readonly start: number;
  readonly type: Buffer;
  readonly contentBytes: number;
}

/** Stops after the chunk's content, before its checksum. */
function* readHeaderChunk(input: StreamedInput): Parsing<{ content: Content; chunk: Chunk; head: Buffer }> {
  yield* input.skipTo(SIGNATURE_BYTES);
  const chunk = yield* readChunkStart(input);
  if (chunk.type.toString('latin1') !== 'IHDR' || chunk.contentBytes !== HEADER_BYTES) {
    throw new BrokenMediaError('the PNG header is malformed');
  }
  const head = yield* input.take(HEADER_BYTES);
  const content = {
    width: head.readUInt32BE(0),
    height: head.readUInt32BE(4),
    durationSeconds: null,
    hasAlpha: COLOURS_WITH_ALPHA.includes(head.readUInt8(9)),
  };
  return { content, chunk, head };
}

function* readChunkStart(input: StreamedInput): Parsing<Chunk> {
  const start = input.position;
  const contentBytes = (yield* input.take(4)).readUInt32BE();
  return { start, contentBytes, type: yield* input.take(4) };
}

/** @param head the part of the content that has been read */
function* finishChunk(
  input: StreamedInput,
  { start, type, contentBytes }: Chunk,
  head: Buffer = Buffer.alloc(0),
): Parsing<void> {
  let checksum = crc32(head, crc32(type));
  yield* input.skipTo(input.position + contentBytes - head.length, (bytes) => {
    checksum = crc32(bytes, checksum);
  });
  if ((yield* input.take(4)).readUInt32BE() !== checksum) {
    throw new BrokenMediaError(`the PNG chunk at byte ${start} is damaged`);
  }
}
