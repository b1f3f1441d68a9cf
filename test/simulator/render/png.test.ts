import { crc32, inflateSync } from 'node:zlib';
import { expect } from 'chai';
import { renderPng } from '../../../simulator/render/png.ts';

interface Chunk {
  readonly type: string;
  readonly data: Buffer;
}

/** Splits the file into its chunks and checks each checksum. */
function chunksOf(file: Buffer): Chunk[] {
  expect(file.subarray(0, 8).toString('hex')).to.equal('89504e470d0a1a0a');
  const chunks: Chunk[] = [];
  for (let offset = 8; offset < file.length;) {
    const length = file.readUInt32BE(offset);
    const body = file.subarray(offset + 4, offset + 8 + length);
    expect(file.readUInt32BE(offset + 8 + length)).to.equal(crc32(body));
    chunks.push({ type: body.toString('latin1', 0, 4), data: body.subarray(4) });
    offset += 12 + length;
  }
  return chunks;
}

/** The picture's lines with their filters undone (only "none" and "up" are known). */
function pixelsOf(chunks: readonly Chunk[], lineBytes: number): Buffer[] {
  const raw = inflateSync(Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data)));
  expect(raw.length % (lineBytes + 1)).to.equal(0);
  const lines: Buffer[] = [];
  for (let offset = 0; offset < raw.length; offset += lineBytes + 1) {
    const line = Buffer.from(raw.subarray(offset + 1, offset + 1 + lineBytes));
    const above = raw[offset] === 2 ? lines.at(-1) : undefined;
    lines.push(above ? (line.map((byte, index) => (byte + (above[index] ?? 0)) & 255) as Buffer) : line);
  }
  return lines;
}

describe('renderPng', () => {
  for (const [width, height] of [
    [1024, 1024],
    [1000, 655],
    [16, 3840],
    [1, 1],
  ] as const) {
    it(`makes a picture of exactly ${width}x${height}`, async () => {
      const chunks = chunksOf(await renderPng({ width, height, transparent: false }));
      const header = chunks[0]?.data;
      expect(chunks.map(({ type }) => type)).to.include.members(['IHDR', 'IDAT', 'IEND']);
      expect([header?.readUInt32BE(0), header?.readUInt32BE(4)]).to.deep.equal([width, height]);
      expect(pixelsOf(chunks, width * 3)).to.have.length(height);
    });
  }

  it('renders the largest picture that a client can request', async () => {
    const chunks = chunksOf(await renderPng({ width: 3840, height: 2160, transparent: true }));
    const data = Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map((chunk) => chunk.data));
    expect(inflateSync(data)).to.have.length((3840 * 4 + 1) * 2160);
  });

  it('makes an opaque picture without an alpha channel by default', async () => {
    const header = chunksOf(await renderPng({ width: 64, height: 64, transparent: false }))[0]?.data;
    expect(header?.readUInt8(9)).to.equal(2);
  });

  it('shows an opaque subject on a transparent background on request', async () => {
    const chunks = chunksOf(await renderPng({ width: 320, height: 320, transparent: true }));
    const lines = pixelsOf(chunks, 320 * 4);
    expect(chunks[0]?.data.readUInt8(9)).to.equal(6);
    expect(lines[0]?.[3], 'alpha of the corner').to.equal(0);
    expect(lines[160]?.[160 * 4 + 3], 'alpha of the centre').to.equal(255);
  });
});
