/** Reads MP4 and QuickTime (ISO/IEC 14496-12): boxes of length, type and content, which may consist of boxes. */
import type { PixelSize } from '../../domain/image-size.ts';
import type { Content } from './content.ts';
import { BrokenMediaError, type Parsing, type StreamedInput } from './streamed-input.ts';

interface Box {
  readonly start: number;
  /** Infinity for a box that extends to the end of the file. */
  readonly end: number;
}

/** Readers of a box's content, by type. All other boxes, and the unread rest of a box, are skipped. */
type BoxReaders = Readonly<Record<string, (box: Box) => Parsing<void>>>;

/** Ticks are null if the file does not contain them. */
interface Duration {
  readonly ticks: number | null;
  readonly ticksPerSecond: number;
}

interface Track {
  /** `vide`, `soun`, … */
  handler: string;
  size: PixelSize | null;
  /** The duration with edits, in ticks of the movie. */
  shownTicks: number | null;
  /** The duration without edits. */
  media: Duration | null;
}

interface Movie {
  duration: Duration | null;
  video: Track | null;
  isFragmented: boolean;
}

const WHOLE_FILE: Box = { start: 0, end: Infinity };
const HEADER_BYTES = 8;

/** Reads a video up to its last box; fewer bytes than the header of a box may follow. @throws BrokenMediaError */
export function* readIsoMedia(input: StreamedInput): Parsing<Content> {
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
  if (!movie.video?.size) throw new BrokenMediaError('the file has no video track');
  if (!hasFrames) throw new BrokenMediaError('the video has no frames');
  if (movie.isFragmented && !(yield* input.atEnd())) throw new BrokenMediaError('the video ends in a fragment');
  const durationSeconds = movie.isFragmented ? null : secondsOf(movie.video, movie.duration);
  if (durationSeconds === null && !movie.isFragmented) throw new BrokenMediaError('the video has no duration');
  return { ...movie.video.size, durationSeconds, hasAlpha: null };
}

/** The duration for which the track is shown; if unknown, the track's own duration, or else the movie's. */
function secondsOf({ shownTicks, media }: Track, movie: Duration | null): number | null {
  const known = [movie && { ...movie, ticks: shownTicks }, media, movie].find(
    (duration) => duration && duration.ticks !== null && duration.ticksPerSecond > 0,
  );
  return known ? (known.ticks ?? 0) / known.ticksPerSecond : null;
}

/** Reads a movie. Players show its first video track. */
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

/** The size, in 16.16 fixed point after the matrix `a b u c d v x y w`. If a and d are 0, the picture is rotated. */
function shownSize(matrixAndSize: Buffer): PixelSize {
  const isTurned = matrixAndSize.readInt32BE(0) === 0 && matrixAndSize.readInt32BE(16) === 0;
  const across = Math.round(matrixAndSize.readUInt32BE(36) / 0x10000);
  const down = Math.round(matrixAndSize.readUInt32BE(40) / 0x10000);
  return isTurned ? { width: down, height: across } : { width: across, height: down };
}

/** Reads the duration of a movie or media header. Both start with two dates, time scale and duration. */
function* readDuration(input: StreamedInput, box: Box): Parsing<Duration> {
  const { isWide, fields } = yield* readFullBox(input, box, 16, 28);
  const scaleOffset = isWide ? 16 : 8;
  return { ticks: ticksAt(fields, scaleOffset + 4, isWide), ticksPerSecond: fields.readUInt32BE(scaleOffset) };
}

/** @returns null for 0, which writers use until they know the duration, and for all ones, which mean unknown */
function ticksAt(fields: Buffer, offset: number, isWide: boolean): number | null {
  const ticks = isWide ? fields.readBigUInt64BE(offset) : BigInt(fields.readUInt32BE(offset));
  const unknown = isWide ? 2n ** 64n - 1n : 2n ** 32n - 1n;
  return ticks === 0n || ticks === unknown ? null : Number(ticks);
}

/** Reads a box whose content starts with a version: times have 32 bits in version 0, and 64 bits in version 1. */
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
  while (input.position < container.end && (yield* input.peek(HEADER_BYTES)).length === HEADER_BYTES) {
    const start = input.position;
    const header = yield* takeFrom(input, container, HEADER_BYTES);
    const end = yield* readBoxEnd(input, container, start, header.readUInt32BE(0));
    const type = header.toString('latin1', 4, 8);
    const reader = Object.hasOwn(readers, type) ? readers[type] : undefined;
    if (reader) yield* reader({ start, end });
    yield* input.skipTo(end);
  }
}

/** Lengths count from the start of the box. 1 means that a length of 64 bits follows; 0 means the rest of the file. */
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
