/** The media type of audio: by its first bytes, or else by its extension. Clients often send another type, or none. */
import { open } from 'node:fs/promises';
import { extname } from 'node:path';
import { detectFileType, FILE_TYPE_BYTES } from './file-type.ts';

const TYPE_BY_START: readonly (readonly [start: string, type: string])[] = [
  ['OggS', 'audio/ogg'],
  ['fLaC', 'audio/flac'],
  ['FORM', 'audio/aiff'],
  ['\x1a\x45\xdf\xa3', 'audio/webm'],
];

const TYPE_BY_EXTENSION: Readonly<Record<string, string>> = {
  '.aac': 'audio/aac',
  '.aif': 'audio/aiff',
  '.aiff': 'audio/aiff',
  '.flac': 'audio/flac',
  '.m4a': 'audio/mp4',
  '.mp3': 'audio/mpeg',
  '.mp4': 'audio/mp4',
  '.mpeg': 'audio/mpeg',
  '.mpga': 'audio/mpeg',
  '.oga': 'audio/ogg',
  '.ogg': 'audio/ogg',
  '.opus': 'audio/ogg',
  '.wav': 'audio/wav',
  '.webm': 'audio/webm',
};

/** @param path with the extension of the format. @returns null for unknown audio */
export async function readAudioType(path: string): Promise<string | null> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(FILE_TYPE_BYTES), 0, FILE_TYPE_BYTES, 0);
    const head = buffer.subarray(0, bytesRead);
    const start = head.toString('latin1', 0, 4);
    const detected = detectFileType(head);
    return (
      TYPE_BY_START.find(([known]) => known === start)?.[1] ??
      // Recordings of speech may be in files that are usual for video.
      (detected === null || detected.kind === 'image' ? null : detected.mimeType.replace(/^video\//, 'audio/')) ??
      TYPE_BY_EXTENSION[extname(path).toLowerCase()] ??
      null
    );
  } finally {
    await file.close();
  }
}
