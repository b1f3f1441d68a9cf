import { expect } from 'chai';
import * as fc from 'fast-check';
import { readImageHeader } from '../../storage/image-header.ts';
import { gif, jpeg, png, webpExtended, webpLossless, webpLossy } from './images.ts';

/** Sends `bytes` in pieces of `pieceBytes`, and counts the pieces that were read. */
function source(bytes: Uint8Array, pieceBytes = bytes.byteLength || 1) {
  const asked = { bytes: 0, closed: false };
  async function* pieces(): AsyncGenerator<Uint8Array> {
    try {
      for (; asked.bytes < bytes.byteLength;) {
        const start = asked.bytes;
        asked.bytes += pieceBytes;
        yield bytes.subarray(start, start + pieceBytes);
      }
    } finally {
      asked.closed = true;
    }
  }
  return { asked, pieces: pieces() };
}

async function* broken(): AsyncGenerator<Uint8Array> {
  yield png(1, 1).subarray(0, 10);
  throw new RangeError('broken');
}

const MAKERS = { png, jpeg, webpLossy, webpLossless, webpExtended };

describe('storage/image-header', () => {
  for (const [name, make] of Object.entries(MAKERS)) {
    it(`reads the dimensions of ${name}, in pieces of any size`, async () => {
      const sizes = fc.integer({ min: 1, max: 16_383 });
      await fc.assert(
        fc.asyncProperty(sizes, sizes, fc.integer({ min: 1, max: 64 }), async (width, height, pieceBytes) => {
          const header = await readImageHeader(source(make(width, height), pieceBytes).pieces);
          expect(header).to.include({ width, height });
        }),
      );
    });

    it(`does not recognise ${name} when its header is cut short`, async () => {
      const whole = make(640, 480);
      const needed = source(whole, 1);
      await readImageHeader(needed.pieces);
      for (let length = 0; length < needed.asked.bytes; length += 1) {
        expect(await readImageHeader(source(whole.subarray(0, length)).pieces), String(length)).to.equal(null);
      }
    });
  }

  it('distinguishes the types', async () => {
    const types = [png, jpeg, webpLossy].map(
      async (make) => (await readImageHeader(source(make(1, 1)).pieces))?.mimeType,
    );
    expect(await Promise.all(types)).to.eql(['image/png', 'image/jpeg', 'image/webp']);
  });

  it('finds the dimensions of a JPEG behind metadata of many segments and fill bytes', async () => {
    const metadata = Array.from({ length: 5 }, (_, index) => Buffer.alloc(60_000, index));
    expect(await readImageHeader(source(jpeg(4000, 3000, metadata), 1000).pieces)).to.include({
      width: 4000,
      height: 3000,
    });
  });

  it('reads no further than necessary, and closes the source', async () => {
    // contract 4.3:16
    const endless = source(Buffer.concat([png(2, 2), Buffer.alloc(100_000)]), 16);
    await readImageHeader(endless.pieces);
    expect(endless.asked.bytes).to.be.at.most(32);
    expect(endless.asked.closed).to.equal(true);
  });

  it('recognises nothing else as an image', async () => {
    const others = [
      Buffer.alloc(0),
      Buffer.alloc(1000),
      gif(10, 10),
      Buffer.from('<!doctype html><title>Not found</title>'.padEnd(200)),
      Buffer.from('RIFF\x24\0\0\0WAVEfmt '.padEnd(64, '\0'), 'latin1'),
      Buffer.from('RIFF\x24\0\0\0WEBPVP9 '.padEnd(64, '\0'), 'latin1'),
      png(0, 10),
      png(10, 0),
      jpeg(0, 10),
      Buffer.from([0xff, 0xd8, 0xff, 0xd9, 0, 0, 0, 0]),
      Buffer.from([0xff, 0xd8, 0xff, 0xda, 0, 4, 0, 0, 0xff, 0xc0, 0, 11, 8, 0, 1, 0, 1]),
      Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 0, 0xff, 0xc0, 0, 11, 8, 0, 1, 0, 1]),
      Buffer.from([0xff, 0xd8, 0x00, 0xe0, 0, 4, 0, 0, 0, 0, 0]),
    ];
    for (const bytes of others) expect(await readImageHeader(source(bytes).pieces)).to.equal(null);
  });

  it('handles any bytes after any start without failing', async () => {
    const beginnings = fc.constantFrom('', '\xff\xd8\xff', '\x89PNG\r\n\x1a\n', 'RIFF\0\0\0\0WEBPVP8');
    await fc.assert(
      fc.asyncProperty(beginnings, fc.uint8Array({ maxLength: 200 }), async (beginning, rest) => {
        const bytes = Buffer.concat([Buffer.from(beginning, 'latin1'), rest]);
        expect(await readImageHeader(source(bytes, 7).pieces)).not.to.equal(undefined);
      }),
    );
  });

  it('passes on the failure of its source', async () => {
    const failure = await readImageHeader(broken()).catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(RangeError);
  });
});
