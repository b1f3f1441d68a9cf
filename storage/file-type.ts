/** The stored file types, recognised by content, and the maximum sizes of uploads (contract 4.5). A MB is 2²⁰ bytes. */
import { MEDIA_TYPES, type MediaExtension, mediaTypeOf } from '../domain/media-types.ts';
import { UPLOADS } from '../domain/policy.ts';

export type FileKind = 'image' | 'audio' | 'video';

export interface FileType {
  /** The extension of storage keys, without the full stop. */
  readonly extension: string;
  readonly mimeType: string;
  readonly kind: FileKind;
  /** The maximum size of an upload of this type. */
  readonly maxBytes: number;
}

/** The number of bytes that {@link detectFileType} needs; a whole file may be shorter. */
export const FILE_TYPE_BYTES = 32;

const PNG = fileType('png', 'image');
const JPEG = fileType('jpg', 'image');
const WEBP = fileType('webp', 'image');
const MP3 = fileType('mp3', 'audio');
const WAV = fileType('wav', 'audio');
const AAC = fileType('aac', 'audio');
const M4A = fileType('m4a', 'audio');
const MP4 = fileType('mp4', 'video');
const MOV = fileType('mov', 'video');

/** Every type that {@link detectFileType} recognises. */
export const FILE_TYPES: readonly FileType[] = [PNG, JPEG, WEBP, MP3, WAV, AAC, M4A, MP4, MOV];
/** The list in sentences about accepted files. */
export const FILE_EXTENSIONS = FILE_TYPES.map(({ extension }) => extension).join(', ');

/** Major brands of ISO base media files (`ftyp`, ISO/IEC 14496-12; see mp4ra.org) that are not plain MP4 video. */
const BRANDS: Readonly<Record<string, FileType>> = {
  'M4A ': M4A,
  'M4B ': M4A,
  'M4P ': M4A,
  'qt  ': MOV,
};
/** Starts of the major brands of MP4 video: isom, iso2-9, mp41, mp42, avc1, hvc1, M4V, MSNV, 3gp4, dash, f4v, … */
const MP4_BRAND_PATTERN =
  /^(?:iso[m1-9a-c]|mp4[1-2v]|mmp4|avc[1-4]|hvc1|av01|M4V|MSNV|NDS|3g[p2]|dash|cmf|f4v|F4V|XAVC|MP4)/;
/** The possible first atoms of QuickTime files older than `ftyp`. */
const QUICKTIME_ATOMS: readonly string[] = ['moov', 'mdat', 'wide', 'free', 'skip', 'pnot'];

/**
 * Recognises the type of a file by its first bytes, never by its name.
 *
 * @param head the first {@link FILE_TYPE_BYTES} bytes, or the whole file if it is shorter
 * @returns null for a type that is not in {@link FILE_TYPES}
 */
export function detectFileType(head: Uint8Array): FileType | null {
  const text = Buffer.from(head.subarray(0, FILE_TYPE_BYTES)).toString('latin1');
  if (text.startsWith('\x89PNG\r\n\x1a\n') && text.slice(12, 16) === 'IHDR') return PNG;
  if (text.startsWith('\xff\xd8\xff')) return JPEG;
  if (text.startsWith('RIFF') && text.slice(8, 15) === 'WEBPVP8') return WEBP;
  if (text.startsWith('RIFF') && text.slice(8, 12) === 'WAVE') return WAV;
  if (text.startsWith('ID3') && hasTagHeader(head)) return MP3;
  return detectIsoMedia(text) ?? detectAudioFrame(head);
}

/** The `Content-Type` for the extension of a storage key; `application/octet-stream` for an unknown extension. */
export function contentTypeOfKey(key: string): string {
  return mediaTypeOf(key) ?? 'application/octet-stream';
}

function detectIsoMedia(text: string): FileType | null {
  // The size of the first atom starts with its most significant byte, where plain text would have a letter.
  if (text.charCodeAt(0) > UPLOADS.maxVideoBytes >>> 24) return null;
  const atom = text.slice(4, 8);
  if (QUICKTIME_ATOMS.includes(atom)) return MOV;
  if (atom !== 'ftyp') return null;
  const brand = text.slice(8, 12);
  return BRANDS[brand] ?? (MP4_BRAND_PATTERN.test(brand) ? MP4 : null);
}

/** The tag before most MP3 files (id3.org): version, revision, flags, and a size in four bytes of seven bits. */
function hasTagHeader(head: Uint8Array): boolean {
  const [, , , version = 0] = head;
  return version >= 2 && version <= 4 && head.length >= 10 && head.subarray(6, 10).every((byte) => byte < 0x80);
}

/**
 * MPEG audio without a tag starts with a frame: eleven or twelve set bits, then fields with some invalid values. Layer
 * bits of 0 mean ADTS, that is AAC (ISO/IEC 13818-7); 1 means Layer III (ISO/IEC 11172-3).
 */
function detectAudioFrame(head: Uint8Array): FileType | null {
  const [sync = 0, versionAndLayer = 0, rates = 0] = head;
  if (sync !== 0xff || (versionAndLayer & 0xe0) !== 0xe0 || head.length < 4) return null;
  const layer = (versionAndLayer >> 1) & 3;
  if (layer === 0) return (versionAndLayer & 0xf0) === 0xf0 && ((rates >> 2) & 15) < 13 ? AAC : null;
  const version = (versionAndLayer >> 3) & 3;
  const bitrate = rates >> 4;
  const sampleRate = (rates >> 2) & 3;
  return layer === 1 && version !== 1 && bitrate !== 0 && bitrate !== 15 && sampleRate !== 3 ? MP3 : null;
}

function fileType(extension: MediaExtension, kind: FileKind): FileType {
  const maxBytes = kind === 'video' ? UPLOADS.maxVideoBytes : UPLOADS.maxBytes;
  return { extension, mimeType: MEDIA_TYPES[extension], kind, maxBytes };
}
