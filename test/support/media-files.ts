/** Builds small media files, valid ones and parts of unusual ones. Viewers show the images; videos have no frames. */
import { deflateSync } from 'node:zlib';
import { latin1, uint16, uint32 } from '../../simulator/render/bytes.ts';
import { box } from '../../simulator/render/mp4.ts';
import { PNG_SIGNATURE, pngChunk } from '../../simulator/render/png.ts';

export interface ImageOptions {
  readonly width?: number;
  readonly height?: number;
}

/** The transparency of a PNG: none, in a channel, or by a colour key. */
export type PngAlpha = 'none' | 'channel' | 'colour';

/** A black or fully transparent picture. */
export function pngFile({ width = 16, height = 8, alpha = 'none' }: ImageOptions & { alpha?: PngAlpha } = {}): Buffer {
  const channels = alpha === 'channel' ? 4 : 3;
  const colourType = alpha === 'channel' ? 6 : 2;
  return pngOf(
    pngChunk('IHDR', uint32(width, height), Buffer.from([8, colourType, 0, 0, 0])),
    ...(alpha === 'colour' ? [pngChunk('tRNS', uint16(0, 0, 0))] : []),
    pngChunk('IDAT', deflateSync(Buffer.alloc(height * (1 + width * channels)))),
    pngChunk('tEXt', Buffer.from('Comment\0made for a test of 13 bytes and more', 'latin1')),
    pngChunk('IEND'),
  );
}

export function pngOf(...chunks: readonly Buffer[]): Buffer {
  return Buffer.concat([PNG_SIGNATURE, ...chunks]);
}

/** Blocks of a JPEG between two restart markers. */
const RESTART_INTERVAL = 4;
/** Three unchanged blocks and one that turns white, with a stuffed zero; then the rest, black. */
const FULL_INTERVAL = Buffer.from([0x02, 0xff, 0x00, 0x7f]);
const PARTIAL_INTERVALS = [Buffer.from([]), Buffer.from([0x3f]), Buffer.from([0x0f]), Buffer.from([0x03])] as const;

/** A grey picture of stripes. Its metadata holds a thumbnail's end marker, its pixels hold stuffing and restarts. */
export function jpegFile({ width = 40, height = 24 }: ImageOptions = {}): Buffer {
  const blocks = Math.ceil(width / 8) * Math.ceil(height / 8);
  const tables = [
    jpegSegment(0xe0, latin1('JFXX\0\x10'), Buffer.from([0xff, 0xd8, 0xff, 0xd9])),
    jpegSegment(0xdb, Buffer.from([0]), Buffer.alloc(64, 8)),
    jpegSegment(0xc0, Buffer.from([8]), uint16(height, width), Buffer.from([1, 1, 0x11, 0])),
    jpegSegment(0xc4, huffmanTable(0x00, [[0x00], [0x08]])),
    jpegSegment(0xc4, huffmanTable(0x10, [[0x00]])),
    jpegSegment(0xdd, uint16(RESTART_INTERVAL)),
    jpegSegment(0xda, Buffer.from([1, 1, 0x00, 0, 63, 0])),
  ];
  // Before the end is a fill byte, as some encoders write to reach an even length.
  return Buffer.concat([Buffer.from([0xff, 0xd8]), ...tables, jpegScan(blocks), Buffer.from([0xff, 0xff, 0xd9])]);
}

export function jpegSegment(marker: number, ...content: readonly Buffer[]): Buffer {
  const bytes = Buffer.concat(content);
  return Buffer.concat([Buffer.from([0xff, marker]), uint16(bytes.length + 2), bytes]);
}

/** @param symbols those with a code of one bit, then those of two */
function huffmanTable(id: number, symbols: readonly (readonly number[])[]): Buffer {
  const counts = Array.from({ length: 16 }, (_, index) => symbols[index]?.length ?? 0);
  return Buffer.from([id, ...counts, ...symbols.flat()]);
}

function jpegScan(blocks: number): Buffer {
  const parts: Buffer[] = [];
  for (let left = blocks, restart = 0; left > 0; left -= RESTART_INTERVAL, restart++) {
    if (restart > 0) parts.push(Buffer.from([0xff, 0xd0 + ((restart - 1) % 8)]));
    parts.push(PARTIAL_INTERVALS[left] ?? FULL_INTERVAL);
  }
  return Buffer.concat(parts);
}

/** Pictures of 16 × 8 pixels in one colour, as libwebp compresses them. */
const LOSSY_PIXELS = base64('0AEAnQEqEAAIAAIANCWgAnS6AfgAA7AA/vDo9/8guWF1yNf/ID/kB/yA//jyAAAA');
const LOSSLESS_PIXELS = base64('Lw/AARAHEP2PzgQiov8B');
const ALPHA_PLANE = base64('AQfQmYgIRET/Aw==');

const WEBP_CHUNKS = {
  lossy: [webpChunk('VP8 ', LOSSY_PIXELS)],
  lossless: [webpChunk('VP8L', LOSSLESS_PIXELS)],
  extended: [
    webpChunk('VP8X', Buffer.from([0x10, 0, 0, 0, 15, 0, 0, 7, 0, 0])),
    webpChunk('ALPH', ALPHA_PLANE),
    webpChunk('VP8 ', LOSSY_PIXELS),
    webpChunk('test', latin1('odd')), // viewers skip unknown chunks
  ],
} as const;

/** 16 × 8 pixels; all but the lossy form are transparent. */
export function webpFile(form: keyof typeof WEBP_CHUNKS): Buffer {
  return webpOf(...WEBP_CHUNKS[form]);
}

export function webpOf(...chunks: readonly Buffer[]): Buffer {
  const content = Buffer.concat([latin1('WEBP'), ...chunks]);
  return Buffer.concat([latin1('RIFF'), littleUint32(content.length), content]);
}

export function webpChunk(type: string, content: Buffer): Buffer {
  return Buffer.concat([latin1(type), littleUint32(content.length), content, Buffer.alloc(content.length % 2)]);
}

export interface MovieOptions {
  /** As coded: before the picture is rotated. */
  readonly width?: number;
  readonly height?: number;
  /** Whether players rotate the picture by 90 degrees. */
  readonly turned?: boolean;
  /** The duration of the track; null if the header does not have it. */
  readonly shownSeconds?: number | null;
  /** The duration of its media; null if the header does not have it. */
  readonly mediaSeconds?: number | null;
  /** The duration of the whole movie; null if the header does not have it. */
  readonly movieSeconds?: number | null;
  /** 1 for times of 64 bits. */
  readonly version?: 0 | 1;
  /** Boxes after the tracks. */
  readonly more?: readonly Buffer[];
}

const MOVIE_TICKS_PER_SECOND = 600;
const MEDIA_TICKS_PER_SECOND = 12_288;
const STRAIGHT_MATRIX = uint32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000);
const TURNED_MATRIX = uint32(0, 0x10000, 0, 0xffff0000, 0, 0, 0, 0, 0x40000000);

/** An MP4 or QuickTime file: its brand, then the given boxes. */
export function isoFile(brand: 'isom' | 'qt  ' | 'M4A ', ...boxes: readonly Buffer[]): Buffer {
  return Buffer.concat([box('ftyp', latin1(brand), uint32(0x200), latin1(brand)), ...boxes]);
}

/** The index of a movie with a sound track and a video track, 2 s long by default. */
export function movieBox(options: MovieOptions = {}): Buffer {
  const { movieSeconds = 2, version = 0, more = [] } = options;
  const header = fullBox(
    'mvhd',
    version,
    ...dates(version),
    ...clock(movieSeconds, MOVIE_TICKS_PER_SECOND, version),
    uint32(0x10000, 0x1000000, 0, 0), // speed, volume
    STRAIGHT_MATRIX,
    uint32(0, 0, 0, 0, 0, 0),
    uint32(3), // number of the next track
  );
  return box('moov', header, soundTrack(), videoTrack(options), ...more);
}

export function soundTrack(): Buffer {
  return trackOf('soun', { width: 0, height: 0, shownSeconds: 9, mediaSeconds: 9 });
}

export function videoTrack(options: MovieOptions = {}): Buffer {
  return trackOf('vide', options);
}

/** A placeholder for the frames, which nothing reads. */
export function mediaBox(bytes = 24): Buffer {
  return box('mdat', Buffer.alloc(bytes, 'moov'));
}

function trackOf(handler: 'soun' | 'vide', options: MovieOptions): Buffer {
  const { width = 640, height = 360, turned = false, shownSeconds = 2, mediaSeconds = 2, version = 0 } = options;
  const shownTicks = shownSeconds === null ? null : shownSeconds * MOVIE_TICKS_PER_SECOND;
  const trackHeader = fullBox(
    'tkhd',
    version,
    ...dates(version),
    uint32(1, 0), // number of the track
    time(shownTicks, version),
    uint32(0, 0, 0, 0), // layer, volume
    turned ? TURNED_MATRIX : STRAIGHT_MATRIX,
    uint32(width * 0x10000, height * 0x10000),
  );
  const clockOfMedia = clock(mediaSeconds, MEDIA_TICKS_PER_SECOND, version);
  const mediaHeader = fullBox('mdhd', version, ...dates(version), ...clockOfMedia, uint16(0x55c4, 0));
  const handlerBox = fullBox('hdlr', 0, uint32(0), latin1(handler), uint32(0, 0, 0), latin1('test\0'));
  return box('trak', trackHeader, box('edts'), box('mdia', mediaHeader, handlerBox, box('minf', box('stbl'))));
}

function dates(version: 0 | 1): Buffer[] {
  return [time(0, version), time(0, version)];
}

function clock(seconds: number | null, ticksPerSecond: number, version: 0 | 1): Buffer[] {
  return [uint32(ticksPerSecond), time(seconds === null ? null : Math.round(seconds * ticksPerSecond), version)];
}

function time(ticks: number | null, version: 0 | 1): Buffer {
  const bytes = Buffer.alloc(version === 1 ? 8 : 4, 0xff);
  if (ticks !== null) bytes.fill(0).writeUInt32BE(ticks, bytes.length - 4);
  return bytes;
}

/** The start of a box whose length has 64 bits. */
export function wideBoxHeader(type: string, contentBytes: number): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(contentBytes) + 16n);
  return Buffer.concat([uint32(1), latin1(type), length]);
}

/** A box that extends to the end of the file. */
export function openBox(type: string, ...content: readonly Buffer[]): Buffer {
  return Buffer.concat([uint32(0), latin1(type), ...content]);
}

function fullBox(type: string, version: 0 | 1, ...content: readonly Buffer[]): Buffer {
  return box(type, Buffer.from([version, 0, 0, 3]), ...content);
}

function base64(text: string): Buffer {
  return Buffer.from(text, 'base64');
}

function littleUint32(value: number): Buffer {
  return uint32(value).swap32();
}
