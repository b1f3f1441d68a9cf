/** The length of audio by its frames, for the formats whose files announce none: Ogg, ADTS, and WebM as browsers record it. */
import type { FileHandle } from 'node:fs/promises';

/** Reads a part of a file, such as a page or a frame, by its first bytes. */
interface PartReader {
  /** Takes the first bytes of a part, with zeros after the end of the file. @returns the length of the part in bytes; 0 if it is none */
  readonly read: (head: Buffer) => number;
  readonly seconds: () => number;
}

/** The head of a page of Ogg with 255 segments, and of the codec after it. */
const HEAD_BYTES = 512;
const WINDOW_BYTES = 64 * 1024;
/** 100 MB of usual audio have fewer. */
const MAX_PARTS = 1_000_000;
/** Tags after the audio. More may be audio that the reader does not understand. */
const MAX_TAIL_BYTES = 1024;

/**
 * Measures a file by the heads of its parts.
 *
 * @param from where the audio starts, behind a tag
 * @param size the size of the file in bytes
 * @returns seconds; null for other formats, and if the parts do not fill the file
 */
export async function measureFrames(file: FileHandle, from: number, size: number): Promise<number | null> {
  const window = Buffer.alloc(WINDOW_BYTES + HEAD_BYTES);
  let reader: PartReader | null = null;
  let parts = 0;
  for (let at = from; at < size;) {
    const { bytesRead } = await file.read(window, 0, window.length, at);
    window.fill(0, bytesRead);
    reader ??= readerOf(window);
    if (reader === null || bytesRead === 0) return null;
    for (let offset = 0; offset < WINDOW_BYTES && at < size; parts += 1) {
      const length = reader.read(window.subarray(offset, offset + HEAD_BYTES));
      const isPart = length > 0 && parts < MAX_PARTS;
      if (!isPart) return size - at <= MAX_TAIL_BYTES ? positive(reader.seconds()) : null;
      offset += length;
      at += length;
    }
  }
  return reader === null ? null : positive(reader.seconds());
}

function positive(seconds: number): number | null {
  return Number.isFinite(seconds) && seconds > 0 ? seconds : null;
}

function readerOf(head: Buffer): PartReader | null {
  if (head.toString('latin1', 0, 4) === 'OggS') return readPages();
  if (head.readUInt32BE(0) === EBML) return readElements();
  return isFrame(head) ? readFrames() : null;
}

/** Pages of Ogg, whose positions count samples: https://www.rfc-editor.org/rfc/rfc3533#section-6 */
function readPages(): PartReader {
  const streams = new Map<number, { readonly rate: number; samples: number }>();
  return {
    read: (head) => {
      if (head.toString('latin1', 0, 4) !== 'OggS') return 0;
      const segments = head.readUInt8(26);
      const content = 27 + segments;
      const serial = head.readUInt32LE(14);
      const position = Number(head.readBigInt64LE(6));
      const stream = streams.get(serial);
      if (stream !== undefined) stream.samples = Math.max(stream.samples, position);
      else streams.set(serial, { rate: sampleRateOf(head.subarray(content)), samples: 0 });
      return head.subarray(27, content).reduce((length, segment) => length + segment, content);
    },
    seconds: () => [...streams.values()].reduce((sum, { rate, samples }) => sum + (rate > 0 ? samples / rate : 0), 0),
  };
}

/** The samples a second of a stream; 0 for another stream than audio. @param packet the first bytes of its first page */
function sampleRateOf(packet: Buffer): number {
  const name = packet.toString('latin1', 0, 8);
  // https://www.rfc-editor.org/rfc/rfc7845#section-4
  if (name === 'OpusHead') return 48_000;
  // https://xiph.org/vorbis/doc/Vorbis_I_spec.html#x1-630004.2.2
  if (name.startsWith('\x01vorbis')) return packet.readUInt32LE(12);
  if (name === 'Speex   ') return packet.readUInt32LE(36);
  // The rate has the 20 bits after 18 bytes of the mapping and 9 of the block: https://xiph.org/flac/ogg_mapping.html
  return name.startsWith('\x7fFLAC') ? packet.readUIntBE(27, 3) >> 4 : 0;
}

const ADTS_RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
];
const ADTS_HEAD_BYTES = 7;
const SAMPLES_PER_BLOCK = 1024;

/** Frames of ADTS: ISO/IEC 14496-3, 1.A.2.2. */
function readFrames(): PartReader {
  let seconds = 0;
  return {
    read: (head) => {
      if (!isFrame(head)) return 0;
      const blocks = (head.readUInt8(6) & 3) + 1;
      seconds += (blocks * SAMPLES_PER_BLOCK) / rateOfFrame(head);
      return (head.readUIntBE(3, 3) >> 5) & 0x1fff;
    },
    seconds: () => seconds,
  };
}

function isFrame(head: Buffer): boolean {
  const isSynchronous = (head.readUInt16BE(0) & 0xfff6) === 0xfff0;
  return isSynchronous && rateOfFrame(head) > 0 && ((head.readUIntBE(3, 3) >> 5) & 0x1fff) >= ADTS_HEAD_BYTES;
}

function rateOfFrame(head: Buffer): number {
  return ADTS_RATES[(head.readUInt8(2) >> 2) & 15] ?? 0;
}

const EBML = 0x1a45dfa3;
const CLUSTER_TIME = 0xe7;
const TIME_SCALE = 0x2ad7b1;
/** Elements whose content is elements: the segment, its information, clusters and groups of blocks. */
const PARENTS: ReadonlySet<number> = new Set([0x18538067, 0x1549a966, 0x1f43b675, 0xa0]);
const BLOCKS: ReadonlySet<number> = new Set([0xa1, 0xa3]);
const NS_PER_SECOND = 1e9;

/** Elements of WebM, of which a recording has many of unknown size: https://www.rfc-editor.org/rfc/rfc9559 */
function readElements(): PartReader {
  let scaleNs = 1_000_000;
  let clusterTime = 0;
  let last = 0;
  let step = 0;
  const takeTime = (time: number): void => {
    if (time <= last) return;
    step = time - last;
    last = time;
  };
  return {
    read: (head) => {
      const idBytes = Math.clz32(head.readUInt8(0)) - 23;
      if (idBytes > 4) return 0;
      const id = head.readUIntBE(0, idBytes);
      const size = variableIntegerAt(head, idBytes);
      if (size === null) return 0;
      const content = idBytes + size.bytes;
      if (PARENTS.has(id)) return content;
      if (size.value === null) return 0;
      const value = (): number => (size.value === null || size.value > 6 ? 0 : head.readUIntBE(content, size.value));
      if (id === TIME_SCALE) scaleNs = value();
      else if (id === CLUSTER_TIME) clusterTime = value();
      else if (BLOCKS.has(id)) {
        const track = variableIntegerAt(head, content);
        takeTime(clusterTime + head.readInt16BE(content + (track?.bytes ?? 1)));
      }
      return content + size.value;
    },
    // The last block is as long as the one before it.
    seconds: () => ((last + step) * scaleNs) / NS_PER_SECOND,
  };
}

/** An integer whose first byte tells its length, with a null value if all bits are set: an unknown size. Null if there is none. */
function variableIntegerAt(head: Buffer, at: number): { readonly bytes: number; readonly value: number | null } | null {
  const bytes = Math.clz32(head.readUInt8(at)) - 23;
  if (bytes > 8) return null;
  const mask = 0xff >> bytes;
  let value = head.readUInt8(at) & mask;
  let isUnknown = value === mask;
  for (const byte of head.subarray(at + 1, at + bytes)) {
    value = value * 256 + byte;
    isUnknown &&= byte === 0xff;
  }
  return { bytes, value: isUnknown ? null : value };
}
