/** The duration of audio: by its frames, or as its container announces it. */
import { type FileHandle, open } from 'node:fs/promises';
import { parseFromTokenizer } from 'music-metadata';
import { fromBlob } from 'strtok3';
import { measureFrames } from './audio-frames.ts';

/**
 * Usual files need a few dozen reads, and long files of some formats some hundred. Other files have millions of empty
 * parts, or tags as large as the file, all of which the library would read.
 */
const MAX_READS = 2_000;
const MAX_READ_BYTES = 2 * 2 ** 20;
const TAG_HEADER_BYTES = 10;

/** @param path with the extension of the format. @returns seconds; null for a file without a known duration, or one that takes too many reads to tell */
export async function readAudioDuration(path: string): Promise<number | null> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const from = await bytesOfTag(file);
    const measured = await measureFrames(file, from, size);
    if (measured !== null) return measured;
    const audio = new BoundedBlob(file, from, size);
    const tokenizer = fromBlob(audio, { fileInfo: { path } });
    const { format } = await parseFromTokenizer(tokenizer, { skipCovers: true, skipPostHeaders: true });
    const { duration } = format;
    return duration !== undefined && Number.isFinite(duration) && duration > 0 ? duration : null;
  } catch {
    return null;
  } finally {
    await file.close();
  }
}

/** The size of a tag before the audio, which the reader skips: https://id3.org/id3v2.4.0-structure */
async function bytesOfTag(file: FileHandle): Promise<number> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(TAG_HEADER_BYTES), 0, TAG_HEADER_BYTES, 0);
  if (bytesRead < TAG_HEADER_BYTES || buffer.toString('latin1', 0, 3) !== 'ID3') return 0;
  return TAG_HEADER_BYTES + [6, 7, 8, 9].reduce((size, at) => size * 128 + (buffer.readUInt8(at) & 127), 0);
}

/** A part of a file as a blob. Fails after too many reads. */
class BoundedBlob extends Blob {
  readonly #file: FileHandle;
  readonly #from: number;
  readonly #spent: { reads: number; bytes: number };

  constructor(file: FileHandle, from: number, end: number, spent = { reads: 0, bytes: 0 }) {
    super([]);
    // An accessor cannot override the property in the types of Node.
    Object.defineProperty(this, 'size', { value: Math.max(end - from, 0) });
    this.#file = file;
    this.#from = from;
    this.#spent = spent;
  }

  override slice(start = 0, end = this.size): Blob {
    return new BoundedBlob(this.#file, this.#from + start, this.#from + end, this.#spent);
  }

  override async arrayBuffer(): Promise<ArrayBuffer> {
    const spent = this.#spent;
    spent.reads += 1;
    spent.bytes += this.size;
    if (spent.reads > MAX_READS || spent.bytes > MAX_READ_BYTES) throw new RangeError('the file takes too many reads');
    const bytes = new ArrayBuffer(this.size);
    await this.#file.read(new Uint8Array(bytes), 0, this.size, this.#from);
    return bytes;
  }
}
