/**
 * What the first bytes of a PNG, JPEG or WebP image say about it. Reads a stream only as far as the dimensions: the formats put
 * them at the start, JPEG behind segments of metadata of any size.
 */

export interface ImageHeader {
  readonly mimeType: 'image/png' | 'image/jpeg' | 'image/webp';
  /** Pixels, at least 1. For an image that a viewer turns (EXIF), as it is stored. */
  readonly width: number;
  readonly height: number;
}

/** The stream ended before the header did. */
class EndOfBytesError extends Error {
  override readonly name = 'EndOfBytesError';
}

/**
 * Reads the header of an image by its content; an animation counts as an image.
 *
 * @param source the file from its first byte; is not read further than needed, and closed
 * @returns null when it is no such image, or its header is cut short or makes no sense
 * @throws whatever the source throws
 */
export async function readImageHeader(source: AsyncIterable<Uint8Array>): Promise<ImageHeader | null> {
  const reader = new ByteReader(source);
  try {
    const header = await readKnownFormat(reader);
    return header !== null && header.width > 0 && header.height > 0 ? header : null;
  } catch (error) {
    if (error instanceof EndOfBytesError) return null;
    throw error;
  } finally {
    await reader.close();
  }
}

async function readKnownFormat(reader: ByteReader): Promise<ImageHeader | null> {
  const start = await reader.take(4);
  if (start.readUInt16BE(0) === 0xffd8) return readJpeg(reader, start.subarray(2));
  const format = start.toString('latin1');
  if (format === '\x89PNG') return readPng(reader);
  if (format === 'RIFF') return readWebp(reader);
  return null;
}

/** PNG (third edition), sections 5.2 and 11.2.1: the signature, then the chunk `IHDR` of 13 bytes. */
async function readPng(reader: ByteReader): Promise<ImageHeader | null> {
  const rest = await reader.take(20);
  if (rest.toString('latin1', 0, 12) !== '\r\n\x1a\n\0\0\0\rIHDR') return null;
  return { mimeType: 'image/png', width: rest.readUInt32BE(12), height: rest.readUInt32BE(16) };
}

/** RFC 9649, sections 2.4 to 2.7: the size of the canvas in the first chunk, in one of three encodings. */
async function readWebp(reader: ByteReader): Promise<ImageHeader | null> {
  const rest = await reader.take(26);
  if (rest.toString('latin1', 4, 8) !== 'WEBP') return null;
  const mimeType = 'image/webp';
  const content = rest.subarray(16);
  switch (rest.toString('latin1', 8, 12)) {
    case 'VP8X':
      return { mimeType, width: content.readUIntLE(4, 3) + 1, height: content.readUIntLE(7, 3) + 1 };
    case 'VP8L': {
      if (content[0] !== 0x2f) return null;
      const sizes = content.readUInt32LE(1);
      return { mimeType, width: (sizes & 0x3fff) + 1, height: ((sizes >>> 14) & 0x3fff) + 1 };
    }
    case 'VP8 ':
      if (content.readUIntBE(3, 3) !== 0x9d012a) return null;
      return { mimeType, width: content.readUInt16LE(6) & 0x3fff, height: content.readUInt16LE(8) & 0x3fff };
    default:
      return null;
  }
}

/** ITU-T T.81, section B.2: segments, of which a frame header (SOF) holds the dimensions. */
async function readJpeg(reader: ByteReader, firstMarker: Buffer): Promise<ImageHeader | null> {
  let marker = firstMarker;
  for (;;) {
    if (marker[0] !== 0xff) return null;
    let code = marker[1] ?? 0;
    while (code === 0xff) code = (await reader.take(1)).readUInt8(0);
    if (isStandaloneMarker(code)) return null;
    const length = (await reader.take(2)).readUInt16BE(0);
    if (length < 2) return null;
    if (isFrameHeader(code)) {
      const frame = await reader.take(5);
      return { mimeType: 'image/jpeg', width: frame.readUInt16BE(3), height: frame.readUInt16BE(1) };
    }
    await reader.skip(length - 2);
    marker = await reader.take(2);
  }
}

/** SOF0 to SOF15 without DHT, JPG and DAC, which share their range. */
function isFrameHeader(code: number): boolean {
  return code >= 0xc0 && code <= 0xcf && code !== 0xc4 && code !== 0xc8 && code !== 0xcc;
}

/** Markers without a length, and those after which no frame header can come: stuffing, RST, SOI, EOI and SOS. */
function isStandaloneMarker(code: number): boolean {
  return code < 0xc0 || (code >= 0xd0 && code <= 0xda);
}

/** Takes exact numbers of bytes from a stream of chunks of any size, holding no more than it was asked for. */
class ByteReader {
  private readonly chunks: AsyncIterator<Uint8Array>;
  private chunk: Uint8Array = new Uint8Array();

  constructor(source: AsyncIterable<Uint8Array>) {
    this.chunks = source[Symbol.asyncIterator]();
  }

  async take(bytes: number): Promise<Buffer> {
    const taken = Buffer.alloc(bytes);
    let filled = 0;
    while (filled < bytes) {
      const part = await this.next(bytes - filled);
      taken.set(part, filled);
      filled += part.byteLength;
    }
    return taken;
  }

  async skip(bytes: number): Promise<void> {
    for (let left = bytes; left > 0;) left -= (await this.next(left)).byteLength;
  }

  async close(): Promise<void> {
    await this.chunks.return?.();
  }

  /** At least one byte, and at most `maxBytes`. */
  private async next(maxBytes: number): Promise<Uint8Array> {
    while (this.chunk.byteLength === 0) {
      const { value, done } = await this.chunks.next();
      if (done === true) throw new EndOfBytesError('the bytes ended early');
      this.chunk = value;
    }
    const part = this.chunk.subarray(0, maxBytes);
    this.chunk = this.chunk.subarray(maxBytes);
    return part;
  }
}
