/**
 * Checks a rendered result while it streams into storage: whether it is a whole file of a type that Genway delivers, and
 * whether it shows what was asked for. Only headers are looked at and a few bytes of them are held at any time; nothing is
 * decoded.
 */
import { crc32 } from 'node:zlib';
import { parseAspectRatio, type PixelSize } from '../domain/image-size.ts';
import type { RenderInputs } from '../domain/task.ts';
import { detectFileType, FILE_TYPE_BYTES } from './file-type.ts';

/** What a whole file says of itself. */
export interface MediaFacts extends Content {
  readonly mimeType: 'image/png' | 'image/jpeg' | 'image/webp' | 'video/mp4' | 'video/quicktime';
  /** Without the full stop. */
  readonly extension: string;
  readonly bytes: number;
}

/** As shown: in pixels, after rotation. */
interface Content extends PixelSize {
  /** Null for images, and for fragmented videos: only all their fragments together say it. */
  readonly durationSeconds: number | null;
  /** Whether there is an alpha channel, used or not; null for videos. */
  readonly hasAlpha: boolean | null;
}

export interface InspectedMedia {
  /** The same chunks again; can be read once. Fails with {@link BrokenMediaError}, after the last chunk at the latest. */
  readonly body: AsyncIterable<Uint8Array>;
  /** @throws Error while `body` has not been read to its end */
  readonly facts: () => MediaFacts;
}

/** The file is not a whole file of a known type. The message is a phrase that says why. */
export class BrokenMediaError extends Error {
  override readonly name = 'BrokenMediaError';
}

/**
 * Reads along while `body` is consumed. What consumes it sees a broken file as a source that fails, so that
 * storage leaves nothing of it behind.
 */
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

/**
 * How far a video's edge may be from the resolution. Codecs work in blocks of 16 pixels and some encoders do not crop what
 * they add: 1080 lines become 1088.
 */
const EDGE_TOLERANCE_PIXELS = 8;
/** Rounding an edge to blocks changes the ratio by about 1 %; the ratios that can be asked for are a third apart. */
const ASPECT_RATIO_TOLERANCE = 0.02;
/**
 * Models render whole groups of frames and often one more: five seconds are 5.04 or 5.38. Within half a second the video
 * still rounds to the seconds that were asked for and are billed.
 */
const DURATION_TOLERANCE_SECONDS = 0.5;

/**
 * Compares a file with what it should show. What the request leaves open or the file does not say is not compared.
 *
 * @returns null when it is what was asked for, otherwise a phrase: `asked for 1024x640, got 512x512`
 */
export function matchesRequest(facts: MediaFacts, request: RenderInputs): string | null {
  return request.kind === 'image' ? imageDifference(facts, request) : videoDifference(facts, request);
}

function imageDifference(facts: MediaFacts, { width, height, background }: RenderInputs): string | null {
  if (!facts.mimeType.startsWith('image/')) return `asked for an image, got ${facts.mimeType}`;
  const isSized = width !== undefined && height !== undefined;
  if (isSized && (width !== facts.width || height !== facts.height)) {
    return `asked for ${width}x${height}, got ${facts.width}x${facts.height}`;
  }
  if (background === 'transparent' && !(facts.mimeType === 'image/png' && facts.hasAlpha === true)) {
    return `asked for a PNG with alpha, got ${facts.mimeType} ${facts.hasAlpha === true ? 'with' : 'without'} alpha`;
  }
  return null;
}

function videoDifference(facts: MediaFacts, request: RenderInputs): string | null {
  // Specification section 2.2: the videos that are delivered are MP4.
  if (facts.mimeType !== 'video/mp4') return `asked for video/mp4, got ${facts.mimeType}`;
  const { resolution, aspectRatio, durationSeconds } = request;
  const got = `got ${facts.width}x${facts.height}`;
  if (resolution !== undefined) {
    const shortEdge = Math.min(facts.width, facts.height);
    const distance = Math.abs(shortEdge - Number.parseInt(resolution, 10));
    if (distance > EDGE_TOLERANCE_PIXELS) return `asked for ${resolution}, ${got}`;
  }
  if (aspectRatio !== undefined) {
    const [across, down] = parseAspectRatio(aspectRatio);
    const stretch = facts.width / facts.height / (across / down);
    if (Math.abs(stretch - 1) > ASPECT_RATIO_TOLERANCE) return `asked for ${aspectRatio}, ${got}`;
  }
  if (durationSeconds !== undefined && facts.durationSeconds !== null) {
    const distance = Math.abs(facts.durationSeconds - durationSeconds);
    if (distance > DURATION_TOLERANCE_SECONDS) {
      return `asked for ${durationSeconds} seconds, got ${Number(facts.durationSeconds.toFixed(2))}`;
    }
  }
  return null;
}

/** A parser that is suspended whenever it needs bytes that have not arrived yet. */
type Parsing<Result> = Generator<undefined, Result, void>;

/** The file as the parsers see it: bytes in order, no matter how they are cut into chunks. */
class StreamedInput {
  #unread: Buffer = Buffer.alloc(0);
  #ended = false;
  #position = 0;

  /** How many bytes have been read: the offset of the next one in the file. */
  get position(): number {
    return this.#position;
  }

  /** More of the file. Parsers leave a few bytes unread at most, so that joining them costs little. */
  push(chunk: Uint8Array): void {
    this.#unread =
      this.#unread.length === 0
        ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
        : Buffer.concat([this.#unread, chunk]);
  }

  /** No more will come. */
  end(): void {
    this.#ended = true;
  }

  *atEnd(): Parsing<boolean> {
    return (yield* this.peek(1)).length === 0;
  }

  /** The next bytes, still unread; fewer than `length` only when the file ends before. */
  *peek(length: number): Parsing<Buffer> {
    while (this.#unread.length < length && !this.#ended) yield;
    return this.#unread.subarray(0, length);
  }

  /** Reads a few bytes. @throws BrokenMediaError when the file ends before */
  *take(length: number): Parsing<Buffer> {
    const bytes = yield* this.peek(length);
    if (bytes.length < length) throw this.#endsEarly();
    this.#advance(length);
    return bytes;
  }

  /**
   * Reads on to `end`, an offset in the file; Infinity stands for wherever the file ends.
   *
   * @param see is shown the bytes on the way, in pieces of any length
   * @throws BrokenMediaError when the file ends before
   */
  *skipTo(end: number, see?: (bytes: Buffer) => void): Parsing<void> {
    while (this.#position < end) {
      if (yield* this.atEnd()) {
        if (end === Infinity) return;
        throw this.#endsEarly();
      }
      const bytes = this.#unread.subarray(0, end - this.#position);
      this.#advance(bytes.length);
      see?.(bytes);
    }
  }

  /** Reads on until `byte` is next. @throws BrokenMediaError when it does not come */
  *skipUntil(byte: number): Parsing<void> {
    for (;;) {
      const index = this.#unread.indexOf(byte);
      this.#advance(index === -1 ? this.#unread.length : index);
      if (index !== -1) return;
      if (yield* this.atEnd()) throw this.#endsEarly();
    }
  }

  #advance(length: number): void {
    this.#unread = this.#unread.subarray(length);
    this.#position += length;
  }

  #endsEarly(): BrokenMediaError {
    return new BrokenMediaError(`the file is cut short after ${this.#position + this.#unread.length} bytes`);
  }
}

interface Format {
  /** As {@link detectFileType} names it. */
  readonly extension: string;
  readonly mimeType: MediaFacts['mimeType'];
  /** Reads the file from its first byte to what should be its last one. */
  readonly read: (input: StreamedInput) => Parsing<Content>;
}

const FORMATS: readonly Format[] = [
  { extension: 'png', mimeType: 'image/png', read: readPng },
  { extension: 'jpg', mimeType: 'image/jpeg', read: readJpeg },
  { extension: 'webp', mimeType: 'image/webp', read: readWebp },
  { extension: 'mp4', mimeType: 'video/mp4', read: readIsoMedia },
  { extension: 'mov', mimeType: 'video/quicktime', read: readIsoMedia },
];

function* readMedia(input: StreamedInput): Parsing<MediaFacts> {
  const head = yield* input.peek(FILE_TYPE_BYTES);
  if (head.length === 0) throw new BrokenMediaError('the file is empty');
  const type = detectFileType(head);
  const format = FORMATS.find(({ extension }) => extension === type?.extension);
  if (!format) throw new BrokenMediaError('the file is not PNG, JPEG, WebP, MP4 or QuickTime');
  const content = yield* format.read(input);
  if (!(yield* input.atEnd())) {
    throw new BrokenMediaError(`the file goes on after its end at byte ${input.position}`);
  }
  if (content.width === 0 || content.height === 0) throw new BrokenMediaError('the picture has no size');
  return { mimeType: format.mimeType, extension: format.extension, bytes: input.position, ...content };
}

// PNG (ISO/IEC 15948): a signature, then chunks of length, type, content and checksum, from IHDR to IEND.

const PNG_SIGNATURE_BYTES = 8;
const PNG_HEADER_BYTES = 13;
/** Greyscale and true colour with an alpha channel. The other colour types get one from a tRNS chunk. */
const PNG_COLOURS_WITH_ALPHA: readonly number[] = [4, 6];

interface PngChunk {
  readonly type: string;
  /** The first {@link PNG_HEADER_BYTES} of the content, or all of a shorter one. */
  readonly head: Buffer;
}

function* readPng(input: StreamedInput): Parsing<Content> {
  yield* input.skipTo(PNG_SIGNATURE_BYTES);
  const { type, head } = yield* readPngChunk(input);
  if (type !== 'IHDR' || head.length !== PNG_HEADER_BYTES) throw new BrokenMediaError('the PNG header is malformed');
  let hasAlpha = PNG_COLOURS_WITH_ALPHA.includes(head.readUInt8(9));
  let hasPixels = false;
  for (;;) {
    const chunk = yield* readPngChunk(input);
    if (chunk.type === 'IEND') break;
    hasAlpha ||= chunk.type === 'tRNS';
    hasPixels ||= chunk.type === 'IDAT';
  }
  if (!hasPixels) throw new BrokenMediaError('the PNG holds no pixels');
  return { width: head.readUInt32BE(0), height: head.readUInt32BE(4), durationSeconds: null, hasAlpha };
}

function* readPngChunk(input: StreamedInput): Parsing<PngChunk> {
  const start = input.position;
  const length = (yield* input.take(4)).readUInt32BE();
  const contentEnd = input.position + 4 + length;
  const type = yield* input.take(4);
  const head = yield* input.take(Math.min(length, PNG_HEADER_BYTES));
  let checksum = crc32(head, crc32(type));
  yield* input.skipTo(contentEnd, (bytes) => {
    checksum = crc32(bytes, checksum);
  });
  if ((yield* input.take(4)).readUInt32BE() !== checksum) {
    throw new BrokenMediaError(`the PNG chunk at byte ${start} is damaged`);
  }
  return { type: type.toString('latin1'), head };
}

// JPEG (ITU-T T.81 annex B): markers of 0xFF and a code; most of them begin a segment that starts with its length.

const JPEG = {
  stuffing: 0x00,
  temporary: 0x01,
  restart: 0xd0,
  start: 0xd8,
  end: 0xd9,
  scan: 0xda,
  marker: 0xff,
} as const;
/** Start of frame: baseline, progressive and the rarer ones. 0xC4, 0xC8 and 0xCC between them mean something else. */
const JPEG_FRAMES: readonly number[] = [0xc0, 0xc1, 0xc2, 0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf];

function* readJpeg(input: StreamedInput): Parsing<Content> {
  yield* readJpegMarker(input); // start of image
  let size: PixelSize | null = null;
  let hasPixels = false;
  for (;;) {
    const marker = yield* readJpegMarker(input);
    if (marker === JPEG.end) break;
    if (marker === JPEG.temporary || isRestart(marker)) continue;
    const segmentEnd = input.position + (yield* input.take(2)).readUInt16BE();
    if (JPEG_FRAMES.includes(marker)) {
      const frame = yield* input.take(5);
      size = { height: frame.readUInt16BE(1), width: frame.readUInt16BE(3) };
    }
    if (input.position > segmentEnd) {
      throw new BrokenMediaError(`the JPEG segment before byte ${input.position} is malformed`);
    }
    yield* input.skipTo(segmentEnd);
    if (marker !== JPEG.scan) continue;
    hasPixels = true;
    yield* skipJpegScan(input);
  }
  if (!size || !hasPixels) throw new BrokenMediaError('the JPEG holds no picture');
  return { ...size, durationSeconds: null, hasAlpha: false };
}

function* readJpegMarker(input: StreamedInput): Parsing<number> {
  if ((yield* input.take(1)).readUInt8() !== JPEG.marker) {
    throw new BrokenMediaError(`the JPEG has no marker at byte ${input.position - 1}`);
  }
  for (;;) {
    // Any number of 0xFF may stand before the code.
    const code = (yield* input.take(1)).readUInt8();
    if (code !== JPEG.marker) return code;
  }
}

/** Compressed pixels go on until a marker that is neither a stuffed byte nor a restart. */
function* skipJpegScan(input: StreamedInput): Parsing<void> {
  for (;;) {
    yield* input.skipUntil(JPEG.marker);
    const code = (yield* input.peek(2))[1];
    if (code === undefined || (code !== JPEG.stuffing && !isRestart(code))) return;
    yield* input.take(2);
  }
}

function isRestart(marker: number): boolean {
  return marker >= JPEG.restart && marker < JPEG.start;
}

// WebP (RFC 9649): a RIFF file, that is its length, then chunks of type, length and content padded to an even length.

const WEBP_CHUNK_HEADER_BYTES = 10;
/** What holds pixels: a lossy picture, a lossless one, a frame of an animation. */
const WEBP_PIXELS: readonly string[] = ['VP8 ', 'VP8L', 'ANMF'];
/** The chunks that say the size, of which the first one counts, by how their content begins. */
const WEBP_SIZES: ReadonlyMap<string, { readonly bytes: number; readonly read: (head: Buffer) => Content | null }> =
  new Map([
    ['VP8 ', { bytes: 10, read: readLossyHeader }],
    ['VP8L', { bytes: 5, read: readLosslessHeader }],
    ['VP8X', { bytes: 10, read: readExtendedHeader }],
  ]);

function* readWebp(input: StreamedInput): Parsing<Content> {
  const fileEnd = 8 + (yield* input.take(12)).readUInt32LE(4);
  let content: Content | null = null;
  let hasPixels = false;
  while (input.position < fileEnd) {
    const start = input.position;
    const header = yield* input.take(8);
    const type = header.toString('latin1', 0, 4);
    const length = header.readUInt32LE(4);
    const chunkEnd = input.position + length + (length % 2);
    if (chunkEnd > fileEnd) throw new BrokenMediaError(`the WebP chunk at byte ${start} is longer than the file`);
    const head = yield* input.take(Math.min(length, WEBP_CHUNK_HEADER_BYTES));
    yield* input.skipTo(chunkEnd);
    content ??= readWebpSize(type, head);
    hasPixels ||= WEBP_PIXELS.includes(type);
  }
  if (!content || !hasPixels) throw new BrokenMediaError('the WebP holds no picture');
  return content;
}

function readWebpSize(type: string, head: Buffer): Content | null {
  const size = WEBP_SIZES.get(type);
  if (!size) return null;
  const content = head.length < size.bytes ? null : size.read(head);
  if (!content) throw new BrokenMediaError('the WebP header is malformed');
  return content;
}

/** RFC 6386 section 9.1: three bytes that say whether it is a key frame, a start code, and edges of 14 bits. */
function readLossyHeader(head: Buffer): Content | null {
  const isKeyFrame = (head.readUInt8(0) & 1) === 0;
  if (!isKeyFrame || head.readUIntBE(3, 3) !== 0x9d012a) return null;
  const width = head.readUInt16LE(6) & 0x3fff;
  const height = head.readUInt16LE(8) & 0x3fff;
  return { width, height, durationSeconds: null, hasAlpha: false };
}

/** RFC 9649 section 3.4: a signature, edges less one of 14 bits, and whether alpha is used. */
function readLosslessHeader(head: Buffer): Content | null {
  if (head.readUInt8(0) !== 0x2f) return null;
  const bits = head.readUInt32LE(1);
  const width = (bits & 0x3fff) + 1;
  const height = ((bits >>> 14) & 0x3fff) + 1;
  return { width, height, durationSeconds: null, hasAlpha: (bits & 0x10000000) !== 0 };
}

/** RFC 9649 section 2.7: flags, and edges less one of 24 bits. */
function readExtendedHeader(head: Buffer): Content {
  const hasAlpha = (head.readUInt8(0) & 0x10) !== 0;
  return { width: head.readUIntLE(4, 3) + 1, height: head.readUIntLE(7, 3) + 1, durationSeconds: null, hasAlpha };
}

// MP4 and QuickTime (ISO/IEC 14496-12): boxes of length, type and content, which may be boxes again.

interface Box {
  readonly start: number;
  /** Infinity for a box that goes on to wherever the file ends. */
  readonly end: number;
}

/** What to do with the content of a box, by its type. Of what they leave unread, and of all other boxes, nothing is kept. */
type BoxReaders = Readonly<Record<string, (box: Box) => Parsing<void>>>;

/** Ticks are null where the file does not know them. */
interface Duration {
  readonly ticks: number | null;
  readonly ticksPerSecond: number;
}

interface Track {
  /** `vide`, `soun`, … */
  handler: string;
  size: PixelSize | null;
  /** With edits, in ticks of the movie. */
  shownTicks: number | null;
  /** Without edits. */
  media: Duration | null;
}

interface Movie {
  duration: Duration | null;
  video: Track | null;
  isFragmented: boolean;
}

const WHOLE_FILE: Box = { start: 0, end: Infinity };

function* readIsoMedia(input: StreamedInput): Parsing<Content> {
  const movie: Movie = { duration: null, video: null, isFragmented: false };
  let hasFrames = false;
  yield* readBoxes(input, WHOLE_FILE, {
    moov: (box) => readMovie(input, box, movie),
    *mdat(box) {
      const contentStart = input.position;
      yield* input.skipTo(box.end);
      hasFrames ||= input.position > contentStart;
    },
  });
  if (!movie.video?.size) throw new BrokenMediaError('the file holds no video track');
  if (!hasFrames) throw new BrokenMediaError('the video holds no frames');
  const durationSeconds = movie.isFragmented ? null : secondsOf(movie.video, movie.duration);
  if (durationSeconds === null && !movie.isFragmented) throw new BrokenMediaError('the video has no duration');
  return { ...movie.video.size, durationSeconds, hasAlpha: null };
}

/** The time for which the track is shown; where that is unknown, its own length, then that of the whole movie. */
function secondsOf({ shownTicks, media }: Track, movie: Duration | null): number | null {
  const known = [movie && { ...movie, ticks: shownTicks }, media, movie].find(
    (duration) => duration && duration.ticks !== null && duration.ticksPerSecond > 0,
  );
  return known ? (known.ticks ?? 0) / known.ticksPerSecond : null;
}

/** The first video track is the one that players show. */
function* readMovie(input: StreamedInput, movieBox: Box, movie: Movie): Parsing<void> {
  yield* readBoxes(input, movieBox, {
    *mvhd(box) {
      movie.duration = yield* readDuration(input, box);
    },
    *trak(box) {
      const track = yield* readTrack(input, box);
      if (track.handler === 'vide') movie.video ??= track;
    },
    mvex(box) {
      movie.isFragmented = true;
      return input.skipTo(box.end);
    },
  });
}

function* readTrack(input: StreamedInput, trackBox: Box): Parsing<Track> {
  const track: Track = { handler: '', size: null, shownTicks: null, media: null };
  const mediaReaders: BoxReaders = {
    *mdhd(box) {
      track.media = yield* readDuration(input, box);
    },
    *hdlr(box) {
      track.handler = (yield* takeFrom(input, box, 12)).toString('latin1', 8);
    },
  };
  yield* readBoxes(input, trackBox, {
    *tkhd(box) {
      const { isWide, fields } = yield* readFullBox(input, box, 80, 92);
      track.shownTicks = ticksAt(fields, isWide ? 24 : 16, isWide);
      track.size = shownSize(fields.subarray(isWide ? 48 : 36));
    },
    mdia: (box) => readBoxes(input, box, mediaReaders),
  });
  return track;
}

/** The size in 16.16 fixed point, behind the matrix `a b u c d v x y w`: without a and d, it turns the picture on its side. */
function shownSize(matrixAndSize: Buffer): PixelSize {
  const isTurned = matrixAndSize.readInt32BE(0) === 0 && matrixAndSize.readInt32BE(16) === 0;
  const across = Math.round(matrixAndSize.readUInt32BE(36) / 0x10000);
  const down = Math.round(matrixAndSize.readUInt32BE(40) / 0x10000);
  return isTurned ? { width: down, height: across } : { width: across, height: down };
}

/** Movie and media headers begin alike: two dates, then the time scale and the duration. */
function* readDuration(input: StreamedInput, box: Box): Parsing<Duration> {
  const { isWide, fields } = yield* readFullBox(input, box, 16, 28);
  const scaleOffset = isWide ? 16 : 8;
  return { ticks: ticksAt(fields, scaleOffset + 4, isWide), ticksPerSecond: fields.readUInt32BE(scaleOffset) };
}

/** @returns null for 0, which is written before the duration is known, and for all ones, which say that it is not */
function ticksAt(fields: Buffer, offset: number, isWide: boolean): number | null {
  const ticks = isWide ? fields.readBigUInt64BE(offset) : BigInt(fields.readUInt32BE(offset));
  const unknown = isWide ? 2n ** 64n - 1n : 2n ** 32n - 1n;
  return ticks === 0n || ticks === unknown ? null : Number(ticks);
}

/** A box whose content begins with a version: in 0, times are 32 bits wide, in 1, they are 64. */
function* readFullBox(
  input: StreamedInput,
  box: Box,
  narrowBytes: number,
  wideBytes: number,
): Parsing<{ isWide: boolean; fields: Buffer }> {
  const isWide = (yield* takeFrom(input, box, 4)).readUInt8(0) === 1;
  return { isWide, fields: yield* takeFrom(input, box, isWide ? wideBytes : narrowBytes) };
}

function* readBoxes(input: StreamedInput, container: Box, readers: BoxReaders): Parsing<void> {
  while (input.position < container.end && !(yield* input.atEnd())) {
    const start = input.position;
    const header = yield* takeFrom(input, container, 8);
    const end = yield* readBoxEnd(input, container, start, header.readUInt32BE(0));
    const type = header.toString('latin1', 4, 8);
    const reader = Object.hasOwn(readers, type) ? readers[type] : undefined;
    if (reader) yield* reader({ start, end });
    yield* input.skipTo(end);
  }
}

/** Lengths count from the start of the box. 1 stands for a length of 64 bits, 0 for all the rest of the file. */
function* readBoxEnd(input: StreamedInput, container: Box, start: number, length: number): Parsing<number> {
  const isWide = length === 1;
  const end = isWide ? start + Number((yield* takeFrom(input, container, 8)).readBigUInt64BE()) : start + length;
  if (length === 0 && container === WHOLE_FILE) return Infinity;
  if (end < input.position || end > container.end) {
    throw new BrokenMediaError(`the box at byte ${start} has an impossible length`);
  }
  return end;
}

function* takeFrom(input: StreamedInput, box: Box, length: number): Parsing<Buffer> {
  if (input.position + length > box.end) throw new BrokenMediaError(`the box at byte ${box.start} is too short`);
  return yield* input.take(length);
}
