/** First parts of image files, slightly beyond their dimensions. */

const FILLING = Buffer.alloc(64);

export function png(width: number, height: number): Buffer {
  const sizes = Buffer.alloc(8);
  sizes.writeUInt32BE(width, 0);
  sizes.writeUInt32BE(height, 4);
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1'), sizes, FILLING]);
}

/** @param metadata contents of segments before the dimensions */
export function jpeg(width: number, height: number, metadata: readonly Buffer[] = [Buffer.from('Exif')]): Buffer {
  const segments = metadata.map((content) => Buffer.concat([segmentStart(0xe1, content.length), content]));
  const frame = Buffer.from([8, 0, 0, 0, 0, 3]);
  frame.writeUInt16BE(height, 1);
  frame.writeUInt16BE(width, 3);
  const fillByte = Buffer.from([0xff]);
  return Buffer.concat([Buffer.from([0xff, 0xd8]), ...segments, fillByte, segmentStart(0xc2, 6), frame, FILLING]);
}

export function webpLossy(width: number, height: number): Buffer {
  const content = Buffer.from([0, 0, 0, 0x9d, 0x01, 0x2a, 0, 0, 0, 0]);
  content.writeUInt16LE(width, 6);
  content.writeUInt16LE(height, 8);
  return webp('VP8 ', content);
}

export function webpLossless(width: number, height: number): Buffer {
  const content = Buffer.alloc(10);
  content[0] = 0x2f;
  content.writeUInt32LE((width - 1) | ((height - 1) << 14), 1);
  return webp('VP8L', content);
}

/** The form of animations and of images with alpha. */
export function webpExtended(width: number, height: number): Buffer {
  const content = Buffer.alloc(10);
  content[0] = 0x02;
  content.writeUIntLE(width - 1, 4, 3);
  content.writeUIntLE(height - 1, 7, 3);
  return webp('VP8X', content);
}

export function gif(width: number, height: number): Buffer {
  const sizes = Buffer.alloc(4);
  sizes.writeUInt16LE(width, 0);
  sizes.writeUInt16LE(height, 2);
  return Buffer.concat([Buffer.from('GIF89a', 'latin1'), sizes, FILLING]);
}

function webp(chunk: string, content: Buffer): Buffer {
  const contentBytes = Buffer.alloc(4);
  contentBytes.writeUInt32LE(content.length);
  return Buffer.concat([
    Buffer.from('RIFF\x64\0\0\0WEBP', 'latin1'),
    Buffer.from(chunk),
    contentBytes,
    content,
    FILLING,
  ]);
}

function segmentStart(marker: number, contentBytes: number): Buffer {
  const start = Buffer.from([0xff, marker, 0, 0]);
  start.writeUInt16BE(contentBytes + 2, 2);
  return start;
}
