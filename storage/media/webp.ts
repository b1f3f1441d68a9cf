/** Reads WebP (RFC 9649): a RIFF file, that is, its length, then chunks of type, length and padded content. */
import type { Content } from './content.ts';
import { BrokenMediaError, type Parsing, type StreamedInput } from './streamed-input.ts';

/** Chunks with pixels: a lossy picture, a lossless one, a frame of an animation. */
const PIXELS: readonly string[] = ['VP8 ', 'VP8L', 'ANMF'];
/** The chunks that contain the size, with a reader of their start. One of them is the first chunk. */
const SIZES: ReadonlyMap<string, { readonly bytes: number; readonly read: (head: Buffer) => Content | null }> = new Map(
  [
    ['VP8 ', { bytes: 10, read: readLossyHeader }],
    ['VP8L', { bytes: 5, read: readLosslessHeader }],
    ['VP8X', { bytes: 10, read: readExtendedHeader }],
  ],
);

/** Reads only up to the size. @throws BrokenMediaError */
export function* readWebpHeader(input: StreamedInput): Parsing<Content> {
  return (yield* readFirstChunk(input)).content;
}

/** Reads a whole picture or animation. @throws BrokenMediaError */
export function* readWebp(input: StreamedInput): Parsing<Content> {
  const { content, chunk, fileEnd } = yield* readFirstChunk(input);
  yield* input.skipTo(chunk.end);
  let hasPixels = PIXELS.includes(chunk.type);
  while (input.position < fileEnd) {
    const { type, end } = yield* readChunkStart(input, fileEnd);
    yield* input.skipTo(end);
    hasPixels ||= PIXELS.includes(type);
  }
  if (!hasPixels) throw new BrokenMediaError('the WebP contains no picture');
  return content;
}

interface Chunk {
  readonly type: string;
  readonly contentBytes: number;
  /** Including padding. */
  readonly end: number;
}

/** Stops after the chunk's size. */
function* readFirstChunk(input: StreamedInput): Parsing<{ content: Content; chunk: Chunk; fileEnd: number }> {
  const fileEnd = 8 + (yield* input.take(12)).readUInt32LE(4);
  const chunk = yield* readChunkStart(input, fileEnd);
  const size = SIZES.get(chunk.type);
  const content = size && chunk.contentBytes >= size.bytes ? size.read(yield* input.take(size.bytes)) : null;
  if (!content) throw new BrokenMediaError('the WebP header is malformed');
  return { content, chunk, fileEnd };
}

function* readChunkStart(input: StreamedInput, fileEnd: number): Parsing<Chunk> {
  const start = input.position;
  const header = yield* input.take(8);
  const contentBytes = header.readUInt32LE(4);
  const end = input.position + contentBytes + (contentBytes % 2);
  if (end > fileEnd) throw new BrokenMediaError(`the WebP chunk at byte ${start} is longer than the file`);
  return { type: header.toString('latin1', 0, 4), contentBytes, end };
}

/** RFC 6386, section 9.1: three bytes with the key frame flag, a start code, and edges in 14 bits. */
function readLossyHeader(head: Buffer): Content | null {
  const isKeyFrame = (head.readUInt8(0) & 1) === 0;
  if (!isKeyFrame || head.readUIntBE(3, 3) !== 0x9d012a) return null;
  const width = head.readUInt16LE(6) & 0x3fff;
  const height = head.readUInt16LE(8) & 0x3fff;
  return { width, height, durationSeconds: null, hasAlpha: false };
}

/** RFC 9649, section 3.4: a signature, edges minus one in 14 bits, and the alpha flag. */
function readLosslessHeader(head: Buffer): Content | null {
  if (head.readUInt8(0) !== 0x2f) return null;
  const bits = head.readUInt32LE(1);
  const width = (bits & 0x3fff) + 1;
  const height = ((bits >>> 14) & 0x3fff) + 1;
  return { width, height, durationSeconds: null, hasAlpha: (bits & 0x10000000) !== 0 };
}

/** RFC 9649, section 2.7: flags, and edges minus one in 24 bits. */
function readExtendedHeader(head: Buffer): Content {
  const hasAlpha = (head.readUInt8(0) & 0x10) !== 0;
  return { width: head.readUIntLE(4, 3) + 1, height: head.readUIntLE(7, 3) + 1, durationSeconds: null, hasAlpha };
}
