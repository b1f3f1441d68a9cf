import { expect } from 'chai';
import * as fc from 'fast-check';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { box, renderMp4 } from '../../simulator/render/mp4.ts';
import { pngChunk, renderPng } from '../../simulator/render/png.ts';
import { createLocalStorage } from '../../storage/local.ts';
import { isAsRequested } from '../../storage/media/is-as-requested.ts';
import { BrokenMediaError } from '../../storage/media/streamed-input.ts';
import { inspectMedia, type MediaFacts } from '../../storage/media-inspector.ts';
import {
  type MovieOptions,
  isoFile,
  jpegFile,
  jpegSegment,
  mediaBox,
  movieBox,
  openBox,
  pngFile,
  pngOf,
  soundTrack,
  videoTrack,
  webpChunk,
  webpFile,
  webpOf,
  wideBoxHeader,
} from '../support/media-files.ts';
import { imageRequest, videoRequest } from '../support/media.ts';
import { rejectionOf } from '../support/rejection.ts';
import { casesOf } from '../support/properties.ts';

type Expected = Omit<MediaFacts, 'bytes'>;

const PNG = { mimeType: 'image/png', extension: 'png', width: 16, height: 8, durationSeconds: null } as const;
const WEBP = { ...PNG, mimeType: 'image/webp', extension: 'webp' } as const;
const JPEG = { ...PNG, mimeType: 'image/jpeg', extension: 'jpg', width: 40, height: 24, hasAlpha: false } as const;
const MP4 = {
  mimeType: 'video/mp4',
  extension: 'mp4',
  width: 640,
  height: 360,
  durationSeconds: 2,
  hasAlpha: null,
} as const;

const WHOLE: Readonly<Record<string, { readonly file: Buffer; readonly facts: Expected }>> = {
  'a PNG': { file: pngFile(), facts: { ...PNG, hasAlpha: false } },
  'a PNG with an alpha channel': { file: pngFile({ alpha: 'channel' }), facts: { ...PNG, hasAlpha: true } },
  'a PNG with a transparent colour': { file: pngFile({ alpha: 'colour' }), facts: { ...PNG, hasAlpha: true } },
  'a JPEG': { file: jpegFile(), facts: JPEG },
  'a lossy WebP': { file: webpFile('lossy'), facts: { ...WEBP, hasAlpha: false } },
  'a lossless WebP': { file: webpFile('lossless'), facts: { ...WEBP, hasAlpha: true } },
  'an extended WebP': { file: webpFile('extended'), facts: { ...WEBP, hasAlpha: true } },
  'an MP4 with its index before the media': { file: isoFile('isom', movieBox(), mediaBox()), facts: MP4 },
  'an MP4 with its index after the media': { file: isoFile('isom', mediaBox(), movieBox()), facts: MP4 },
  'an MP4 of 64-bit times and lengths': {
    file: isoFile('isom', movieBox({ version: 1 }), wideBoxHeader('mdat', 3), Buffer.alloc(3)),
    facts: MP4,
  },
  'an MP4 that is shown turned': {
    file: isoFile('isom', movieBox({ turned: true }), mediaBox()),
    facts: { ...MP4, width: 360, height: 640 },
  },
  'a QuickTime file': {
    file: isoFile('qt  ', box('wide'), mediaBox(), movieBox()),
    facts: { ...MP4, mimeType: 'video/quicktime', extension: 'mov' },
  },
};
const WHOLE_FILES: readonly Buffer[] = Object.values(WHOLE).map(({ file }) => file);

const BROKEN: Readonly<Record<string, readonly [file: Buffer, reason: string]>> = {
  'an empty body': [Buffer.alloc(0), 'empty'],
  'an HTML page': [text('<!doctype html><title>502 Bad Gateway</title>'), 'not PNG'],
  'a JSON error': [text('{"error":{"code":"expired","message":"the link has expired"}}'), 'not PNG'],
  'a GIF': [text('GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;'), 'not PNG'],
  'a sound file': [isoFile('M4A ', movieBox(), mediaBox()), 'not PNG'],
  'a PNG without pixels': [pngOf(pngChunk('IHDR', Buffer.alloc(13, 1)), pngChunk('IEND')), 'no pixels'],
  'a PNG without a size': [pngFile({ width: 0 }), 'no size'],
  'a PNG with a short header': [pngOf(pngChunk('IHDR', Buffer.alloc(12, 1)), pngChunk('IEND')), 'header is malformed'],
  'a PNG with a damaged chunk': [withByte(pngFile(), pngFile().length - 30, 0), 'is damaged'],
  'a JPEG without pixels': [Buffer.concat([text('\xff\xd8'), jpegSegment(0xe0), text('\xff\xd9')]), 'no picture'],
  'a JPEG with bytes between its segments': [
    Buffer.concat([text('\xff\xd8'), jpegSegment(0xe0), text('x')]),
    'no marker',
  ],
  'a JPEG with a short frame header': [
    Buffer.concat([text('\xff\xd8'), jpegSegment(0xc0), text('\xff'.repeat(9))]),
    'malformed',
  ],
  'a JPEG with a segment shorter than its length': [
    Buffer.concat([text('\xff\xd8\xff\xe0\0\x01'), text('\xff\xd9')]),
    'malformed',
  ],
  'a WebP without pixels': [webpOf(webpChunk('VP8X', Buffer.alloc(10))), 'no picture'],
  'a WebP with a short header': [webpOf(webpChunk('VP8L', Buffer.alloc(4, 0x2f))), 'header is malformed'],
  'a WebP without its start code': [webpOf(webpChunk('VP8 ', Buffer.alloc(10))), 'header is malformed'],
  'a WebP whose chunk leaves the file': [withByte(webpFile('lossless'), 16, 99), 'longer than the file'],
  'an MP4 with sound only': [isoFile('isom', box('moov', soundTrack()), mediaBox()), 'no video track'],
  'an MP4 without an index': [isoFile('isom', mediaBox()), 'no video track'],
  'an MP4 with an empty media box': [isoFile('isom', movieBox(), box('mdat')), 'no frames'],
  'an MP4 of no length': [
    isoFile('isom', movieBox({ shownSeconds: 0, mediaSeconds: 0, movieSeconds: 0 }), mediaBox()),
    'no duration',
  ],
  'an MP4 whose video has no size': [isoFile('isom', movieBox({ width: 0 }), mediaBox()), 'no size'],
  'an MP4 with a box that leaves its parent': [
    isoFile('isom', box('moov', text('\0\0\0\x09trak'))),
    'impossible length',
  ],
  'an MP4 with a box shorter than its header': [isoFile('isom', text('\0\0\0\x07moov')), 'impossible length'],
  'an MP4 with an open box in a box': [isoFile('isom', box('moov', openBox('trak'))), 'impossible length'],
  'an MP4 with a header that ends early': [isoFile('isom', box('moov', box('mvhd', Buffer.alloc(8)))), 'too short'],
  'an MP4 whose box is longer than numbers can say': [
    isoFile('isom', text(`\0\0\0\x01mdat${'\xff'.repeat(8)}`), Buffer.alloc(9)),
    'cut short',
  ],
};

describe('storage/media-inspector', () => {
  for (const [name, { file, facts }] of Object.entries(WHOLE)) {
    it(`recognises ${name} and passes it on unchanged`, async () => {
      const { facts: found, passed } = await inspect([file]);
      expect(found).to.deep.equal({ ...facts, bytes: file.length });
      expect(passed).to.deep.equal(file);
    });

    it(`refuses ${name} when it is cut anywhere`, async () => {
      for (let length = 0; length < file.length; length++) await expectBroken([file.subarray(0, length)]);
    });

    it(`accepts ${name} with bytes after its end`, async () => {
      // contract 2.2:16
      for (const rest of ['\0', '\n', '\r\n', '\xff'.repeat(7)]) {
        const { facts: found, passed } = await inspect([file, text(rest)]);
        expect(found).to.deep.equal({ ...facts, bytes: file.length + rest.length });
        expect(passed).to.deep.equal(Buffer.concat([file, text(rest)]));
      }
    });
  }

  for (const [name, first, second] of [
    ['JPEGs', jpegFile(), jpegFile({ height: 99 })],
    ['PNGs', pngFile(), pngFile({ width: 99, alpha: 'channel' })],
    ['WebPs', webpFile('lossy'), webpFile('lossless')],
  ] as const) {
    it(`reports the facts of the first of two ${name} in a file`, async () => {
      // contract 2.2:16
      const { facts } = await inspect([first, second]);
      expect(facts).to.deep.equal({ ...(await inspect([first])).facts, bytes: first.length + second.length });
    });
  }

  it('refuses a fragmented video that is cut in the header of a box', async () => {
    const fragment = Buffer.concat([box('moof'), mediaBox()]);
    const file = isoFile('isom', movieBox({ more: [box('mvex', box('trex', Buffer.alloc(24)))] }), fragment, fragment);
    for (let cut = 1; cut < 8; cut++) {
      await expectBroken([file.subarray(0, file.length - mediaBox().length + cut)]);
    }
  });

  for (const [name, [file, reason]] of Object.entries(BROKEN)) {
    it(`refuses ${name}`, async () => {
      expect((await expectBroken([file])).message).to.contain(reason);
    });
  }

  it('finds the same facts for any split of the file into chunks', async () => {
    const files = fc.constantFrom(...WHOLE_FILES);
    const cuts = fc.oneof(fc.constant('everywhere' as const), fc.array(fc.nat(1000), { maxLength: 20 }));
    await fc.assert(
      fc.asyncProperty(files, cuts, async (file, at) => {
        const { facts, passed } = await inspect(at === 'everywhere' ? byteWise(file) : cutAt(file, at));
        expect(facts).to.deep.equal((await inspect([file])).facts);
        expect(passed).to.deep.equal(file);
      }),
    );
  });

  it('answers invalid bytes with facts or a BrokenMediaError and nothing else', async () => {
    const changes = fc.array(fc.tuple(fc.nat(1000), fc.integer({ min: 0, max: 255 })), { maxLength: 6 });
    const tails = fc.uint8Array({ maxLength: 40 });
    const starts = fc.nat(1000);
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...WHOLE_FILES), changes, starts, tails, async (file, edits, length, tail) => {
        const edited = edits.reduce((bytes, [offset, value]) => withByte(bytes, offset % bytes.length, value), file);
        const garbage = Buffer.concat([edited.subarray(0, length), tail]);
        const outcome = await inspect([garbage]).catch((error: unknown) => error);
        if (outcome instanceof BrokenMediaError) return;
        expect(outcome).to.have.property('facts').that.includes({ bytes: garbage.length });
      }),
      { numRuns: casesOf(500) },
    );
  });

  it('reads the renders of the simulator', async () => {
    const renderedVideo = await inspect([renderMp4({ width: 1280, height: 720, durationSeconds: 2 })]);
    expect(isAsRequested(renderedVideo.facts, videoRequest({ durationSeconds: 2 }))).to.equal(null);
    const renderedImage = await inspect([await renderPng({ width: 64, height: 32, transparent: true })]);
    const request = imageRequest({ width: 64, height: 32, background: 'transparent' });
    expect(isAsRequested(renderedImage.facts, request)).to.equal(null);
  });

  it('reads a media box that extends to the end of the file', async () => {
    const { facts } = await inspect([isoFile('isom', movieBox(), openBox('mdat', Buffer.alloc(5)))]);
    expect(facts).to.include(MP4);
  });

  it('reads a media box of more than 4 GiB without holding it', async () => {
    const piece = Buffer.alloc(2 ** 20);
    const pieces = 5 * 2 ** 10;
    async function* file(): AsyncGenerator<Uint8Array> {
      yield isoFile('isom', movieBox(), wideBoxHeader('mdat', pieces * piece.length));
      for (let sent = 0; sent < pieces; sent++) yield piece;
    }
    const { body, facts } = inspectMedia(file());
    for await (const chunk of body) expect(chunk.length).to.be.at.most(piece.length);
    expect(facts().bytes).to.be.greaterThan(5 * 2 ** 30);
  });

  it('uses the duration of the track, else the length of its media, else that of the movie', async () => {
    expect(await durationOf({ shownSeconds: 3, mediaSeconds: 4, movieSeconds: 5 })).to.equal(3);
    expect(await durationOf({ shownSeconds: null, mediaSeconds: 4, movieSeconds: 5 })).to.equal(4);
    expect(await durationOf({ shownSeconds: null, mediaSeconds: null, movieSeconds: 5 })).to.equal(5);
    expect(await durationOf({ shownSeconds: 0, mediaSeconds: 4, movieSeconds: null, version: 1 })).to.equal(4);
  });

  it('uses the first of several video tracks', async () => {
    const more = [videoTrack({ width: 32, height: 32 })];
    expect((await inspect([isoFile('isom', movieBox({ more }), mediaBox())])).facts).to.include(MP4);
  });

  it('reports no duration of a fragmented video', async () => {
    const index = movieBox({ more: [box('mvex', box('trex', Buffer.alloc(24)))] });
    const { facts } = await inspect([isoFile('isom', index, box('moof'), mediaBox(), box('moof'), mediaBox())]);
    expect(facts).to.include({ ...MP4, durationSeconds: null });
  });

  it('refuses an invalid file without reading on', async () => {
    let asked = 0;
    async function* page(): AsyncGenerator<Uint8Array> {
      for (; asked < 100; asked++) yield text('<html>'.repeat(10));
    }
    await rejectionOf(drain(inspectMedia(page()).body));
    expect(asked).to.equal(0);
  });

  it('passes an error of the source on unchanged', async () => {
    const failure = new Error('connection reset');
    async function* source(): AsyncGenerator<Uint8Array> {
      yield pngFile().subarray(0, 20);
      throw failure;
    }
    expect(await rejectionOf(drain(inspectMedia(source()).body))).to.equal(failure);
  });

  it('has no facts before the end', () => {
    expect(() => inspectMedia(streamOf([pngFile()])).facts()).to.throw('whole body');
  });

  it('makes storage delete a broken file', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'genway-media-'));
    try {
      const storage = createLocalStorage({ directory, publicUrl: 'https://files.example.com' });
      const { body } = inspectMedia(streamOf(cutAt(pngFile(), [40]).slice(0, 1)));
      const options = { contentType: 'image/png', maxBytes: 1000 };
      expect(await rejectionOf(storage.put('0.png', body, options))).to.be.instanceOf(BrokenMediaError);
      const entries = await readdir(directory, { recursive: true, withFileTypes: true });
      expect(entries.filter((entry) => entry.isFile())).to.deep.equal([]);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

async function durationOf(movie: MovieOptions): Promise<number | null> {
  return (await inspect([isoFile('isom', movieBox(movie), mediaBox())])).facts.durationSeconds;
}

interface Inspection {
  readonly facts: MediaFacts;
  readonly passed: Buffer;
}

async function inspect(chunks: readonly Uint8Array[]): Promise<Inspection> {
  const { body, facts } = inspectMedia(streamOf(chunks));
  const passed = await drain(body);
  return { facts: facts(), passed };
}

async function drain(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function expectBroken(chunks: readonly Uint8Array[]): Promise<Error> {
  const error = await rejectionOf(inspect(chunks));
  expect(error).to.be.instanceOf(BrokenMediaError);
  return error;
}

async function* streamOf(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

function byteWise(file: Buffer): Buffer[] {
  return cutAt(file, [...file.keys()]);
}

/** Chunks between the offsets; some of them may be empty. */
function cutAt(file: Buffer, offsets: readonly number[]): Buffer[] {
  const borders = [0, ...offsets.toSorted((a, b) => a - b), file.length];
  return borders.slice(1).map((border, index) => file.subarray(borders[index], border));
}

function withByte(file: Buffer, offset: number, value: number): Buffer {
  const changed = Buffer.from(file);
  changed.writeUInt8(value, offset);
  return changed;
}

function text(content: string): Buffer {
  return Buffer.from(content, 'latin1');
}
