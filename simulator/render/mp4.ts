/**
 * Renders a real, playable MP4 (ISO/IEC 14496-12 and -15) without external programs: a light square that wanders over a
 * gradient. The index precedes the media, so that players can start before everything has arrived.
 */
import {
  changedPicture,
  keyPicture,
  pictureParameters,
  sequenceParameters,
  tilesOf,
  type Colour,
  type FrameSize,
  type Picture,
  type TilePosition,
} from './h264.ts';
import { latin1, uint16, uint32 } from './bytes.ts';

export interface VideoRequest extends FrameSize {
  /** Whole seconds, at least 1. */
  readonly durationSeconds: number;
}

export const FRAMES_PER_SECOND = 24;

/** The square moves one tile each time this many frames have passed. */
const FRAMES_PER_STEP = 3;
const SQUARE_TILES = 6;
const SQUARE: Colour = { luma: 235, blueDifference: 128, redDifference: 128 };
const TICKS_PER_SECOND = 24_000;
const TICKS_PER_FRAME = TICKS_PER_SECOND / FRAMES_PER_SECOND;
const MOVIE_TICKS_PER_SECOND = 1000;
const LENGTH_BYTES = 4;
const TRACK_ID = 1;
/** The identity matrix. */
const IDENTITY_MATRIX = uint32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000);

/**
 * The whole file. Half a minute in 1080p is some tens of kilobytes, so there is no need to stream it.
 *
 * @param request size in even pixels, and duration
 */
export function renderMp4(request: VideoRequest): Buffer {
  const samples = encodeSamples(request);
  const fileType = box('ftyp', latin1('isom'), uint32(0x200), latin1('isomiso2avc1mp41'));
  // The index holds the place of the media, which depends on the index's length but not on the number itself.
  const indexBytes = movie(request, samples, 0).length;
  const mediaOffset = fileType.length + indexBytes + 8;
  return Buffer.concat([fileType, movie(request, samples, mediaOffset), box('mdat', ...samples)]);
}

/** Each frame as a sample: the unit's length and the unit. The first one is the key picture. */
function encodeSamples(request: VideoRequest): Buffer[] {
  const samples = [asSample(keyPicture(request, pictureAt(request, 0)))];
  for (let frame = 1; frame < request.durationSeconds * FRAMES_PER_SECOND; frame++) {
    const changed = changedTiles(request, frame);
    samples.push(asSample(changedPicture(request, pictureAt(request, frame), frame, changed)));
  }
  return samples;
}

function asSample(unit: Uint8Array): Buffer {
  return Buffer.concat([uint32(unit.length), unit]);
}

function pictureAt(size: FrameSize, frame: number): Picture {
  const { columns, rows } = tilesOf(size);
  const corner = squareCorner(size, frame);
  return (position) => (isInSquare(position, corner) ? SQUARE : backgroundAt(position, columns, rows));
}

function backgroundAt({ column, row }: TilePosition, columns: number, rows: number): Colour {
  return {
    luma: 40 + Math.round((100 * (column + row)) / (columns + rows)),
    blueDifference: 96 + 2 * Math.round((32 * column) / columns),
    redDifference: 160 - 2 * Math.round((32 * row) / rows),
  };
}

/** The square's top left tile: it wanders diagonally and turns at the edges. */
function squareCorner(size: FrameSize, frame: number): TilePosition {
  const { columns, rows } = tilesOf(size);
  const step = Math.floor(frame / FRAMES_PER_STEP);
  return { column: bounce(step, columns - SQUARE_TILES), row: bounce(step, rows - SQUARE_TILES) };
}

function bounce(step: number, range: number): number {
  if (range <= 0) return 0;
  const phase = step % (2 * range);
  return phase <= range ? phase : 2 * range - phase;
}

function isInSquare({ column, row }: TilePosition, corner: TilePosition): boolean {
  const across = column - corner.column;
  const down = row - corner.row;
  return across >= 0 && across < SQUARE_TILES && down >= 0 && down < SQUARE_TILES;
}

/** The tiles that the square left or entered with this frame, in raster order. */
function changedTiles(size: FrameSize, frame: number): TilePosition[] {
  const before = squareCorner(size, frame - 1);
  const after = squareCorner(size, frame);
  const { columns, rows } = tilesOf(size);
  const lastRow = Math.min(rows, Math.max(before.row, after.row) + SQUARE_TILES);
  const lastColumn = Math.min(columns, Math.max(before.column, after.column) + SQUARE_TILES);
  const changed: TilePosition[] = [];
  for (let row = Math.min(before.row, after.row); row < lastRow; row++) {
    for (let column = Math.min(before.column, after.column); column < lastColumn; column++) {
      if (isInSquare({ column, row }, before) !== isInSquare({ column, row }, after)) changed.push({ column, row });
    }
  }
  return changed;
}

/** The index: one video track whose samples lie together at `mediaOffset`. */
function movie(request: VideoRequest, samples: readonly Buffer[], mediaOffset: number): Buffer {
  const movieTicks = request.durationSeconds * MOVIE_TICKS_PER_SECOND;
  const header = fullBox(
    'mvhd',
    0,
    uint32(0, 0, MOVIE_TICKS_PER_SECOND, movieTicks, 0x10000),
    uint16(0x100, 0), // volume
    uint32(0, 0),
    IDENTITY_MATRIX,
    uint32(0, 0, 0, 0, 0, 0),
    uint32(TRACK_ID + 1),
  );
  const trackHeader = fullBox(
    'tkhd',
    3, // enabled, in the movie
    uint32(0, 0, TRACK_ID, 0, movieTicks, 0, 0),
    uint16(0, 0, 0, 0),
    IDENTITY_MATRIX,
    uint32(request.width * 0x10000, request.height * 0x10000),
  );
  return box('moov', header, box('trak', trackHeader, media(request, samples, mediaOffset)));
}

function media(request: VideoRequest, samples: readonly Buffer[], mediaOffset: number): Buffer {
  const undetermined = 0x55c4; // the language code `und`
  const duration = request.durationSeconds * TICKS_PER_SECOND;
  const header = fullBox('mdhd', 0, uint32(0, 0, TICKS_PER_SECOND, duration), uint16(undetermined, 0));
  const handler = fullBox('hdlr', 0, uint32(0), latin1('vide'), uint32(0, 0, 0), latin1('video\0'));
  const sameFile = box('dinf', fullBox('dref', 0, uint32(1), fullBox('url ', 1)));
  const videoHeader = fullBox('vmhd', 1, uint16(0, 0, 0, 0));
  return box('mdia', header, handler, box('minf', videoHeader, sameFile, sampleTable(request, samples, mediaOffset)));
}

function sampleTable(size: FrameSize, samples: readonly Buffer[], mediaOffset: number): Buffer {
  return box(
    'stbl',
    fullBox('stsd', 0, uint32(1), sampleEntry(size)),
    fullBox('stts', 0, uint32(1, samples.length, TICKS_PER_FRAME)),
    fullBox('stss', 0, uint32(1, 1)),
    fullBox('stsc', 0, uint32(1, 1, samples.length, 1)),
    fullBox('stsz', 0, uint32(0, samples.length), uint32(...samples.map((sample) => sample.length))),
    fullBox('stco', 0, uint32(1, mediaOffset)),
  );
}

function sampleEntry(size: FrameSize): Buffer {
  const dotsPerInch = 72 * 0x10000;
  return box(
    'avc1',
    uint16(0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
    uint16(size.width, size.height),
    uint32(dotsPerInch, dotsPerInch, 0),
    uint16(1), // one frame in each sample
    Buffer.alloc(32), // the encoder's name
    uint16(0x18, 0xffff),
    decoderConfiguration(size),
  );
}

function decoderConfiguration(size: FrameSize): Buffer {
  const sequence = sequenceParameters(size);
  const picture = pictureParameters();
  return box(
    'avcC',
    Buffer.from([1, ...sequence.subarray(1, 4), 0xfc | (LENGTH_BYTES - 1), 0xe0 | 1]),
    uint16(sequence.length),
    sequence,
    Buffer.from([1]),
    uint16(picture.length),
    picture,
  );
}

export function box(type: string, ...content: readonly Uint8Array[]): Buffer {
  const length = content.reduce((sum, part) => sum + part.length, 8);
  return Buffer.concat([uint32(length), latin1(type), ...content], length);
}

function fullBox(type: string, flags: number, ...content: readonly Uint8Array[]): Buffer {
  return box(type, uint32(flags), ...content);
}
