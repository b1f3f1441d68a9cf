/**
 * Renders a real PNG (ISO/IEC 15948) without external programs: a disc of coloured tiles on a dark background or, if
 * transparency is requested, on none.
 */
import { Readable } from 'node:stream';
import { constants, crc32, createDeflate } from 'node:zlib';
import { latin1, uint32 } from './bytes.ts';

export interface ImageRequest {
  /** Pixels, from 1. */
  readonly width: number;
  readonly height: number;
  /** Whether the ground has an alpha of 0; without it the file has no alpha channel. */
  readonly transparent: boolean;
}

export const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const BIT_DEPTH = 8;
const COLOUR = { red_green_blue: 2, with_alpha: 6 } as const;
const FILTER = { none: 0, up: 2 } as const;
const TILE_PIXELS = 16;
const GROUND = 32;

/** The whole file. The pixels are compressed as they are generated: at no time are all of them in memory. */
export async function renderPng(request: ImageRequest): Promise<Buffer> {
  const colour = request.transparent ? COLOUR.with_alpha : COLOUR.red_green_blue;
  const header = [uint32(request.width, request.height), Buffer.from([BIT_DEPTH, colour, 0, 0, 0])];
  const parts = [PNG_SIGNATURE, pngChunk('IHDR', ...header)];
  const compressed = Readable.from(scanlines(request)).pipe(createDeflate({ level: constants.Z_BEST_SPEED }));
  for await (const data of compressed) parts.push(pngChunk('IDAT', data));
  parts.push(pngChunk('IEND'));
  return Buffer.concat(parts);
}

/** The filtered lines. All lines of a row of tiles are equal, so that all but its first are "the same as above". */
function* scanlines(request: ImageRequest): Generator<Buffer> {
  const lineBytes = 1 + request.width * (request.transparent ? 4 : 3);
  const sameAsAbove = Buffer.alloc(lineBytes);
  sameAsAbove[0] = FILTER.up;
  const rest = Buffer.concat(Array.from({ length: TILE_PIXELS - 1 }, () => sameAsAbove));
  for (let top = 0; top < request.height; top += TILE_PIXELS) {
    yield lineOfTiles(request, top, lineBytes);
    yield rest.subarray(0, (Math.min(TILE_PIXELS, request.height - top) - 1) * lineBytes);
  }
}

function lineOfTiles(request: ImageRequest, top: number, lineBytes: number): Buffer {
  const channels = request.transparent ? 4 : 3;
  const parts = [Buffer.from([FILTER.none])];
  for (let left = 0; left < request.width; left += TILE_PIXELS) {
    const colour = Buffer.from(pixel(request, left, top).slice(0, channels));
    parts.push(Buffer.alloc(TILE_PIXELS * channels, colour));
  }
  return Buffer.concat(parts, lineBytes); // cuts the part of the last tile that sticks out
}

/** Red, green, blue and alpha of the tile with that top left corner. */
function pixel({ width, height, transparent }: ImageRequest, left: number, top: number): number[] {
  const fromCentre = Math.hypot(left + TILE_PIXELS / 2 - width / 2, top + TILE_PIXELS / 2 - height / 2);
  const isSubject = fromCentre < Math.min(width, height) * 0.4;
  if (!isSubject) return transparent ? [0, 0, 0, 0] : [GROUND, GROUND, GROUND, 255];
  return [Math.round((255 * left) / width), Math.round((255 * top) / height), 160, 255];
}

export function pngChunk(type: string, ...content: readonly Buffer[]): Buffer {
  const checked = Buffer.concat([latin1(type), ...content]);
  return Buffer.concat([uint32(checked.length - 4), checked, uint32(crc32(checked))]);
}
