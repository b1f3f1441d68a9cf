/** The rules that every {@link Storage} holds, run against each of them. */
import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import { ObjectTooLargeError } from '../../storage/storage.ts';
import type { Storage } from '../../storage/storage.ts';

/** A store under test, with access behind its interface. */
export interface StorageUnderTest {
  readonly storage: Storage;
  /** The bytes under `key`, or null. */
  readonly read: (key: string) => Promise<Buffer | null>;
  /** Everything that the store holds, unfinished uploads included. */
  readonly traces: () => Promise<readonly string[]>;
}

const MIB = 1024 * 1024;
const OPTIONS = { contentType: 'video/mp4', maxBytes: 64 * MIB };
/** More than one part of a multipart upload. */
const LARGE_BYTES = 20 * MIB + 17;

export async function* chunksOf(bytes: Uint8Array, chunkBytes = 64 * 1024): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.byteLength; start += chunkBytes) yield bytes.subarray(start, start + chunkBytes);
}

/** Yields `bytes`, then fails. */
async function* failingAfter(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield* chunksOf(bytes);
  throw new RangeError('the source broke');
}

/** Yields `bytes`, signals it, and then stays silent for ever. */
async function* silentAfter(bytes: Uint8Array, onSilent: () => void): AsyncGenerator<Uint8Array> {
  yield* chunksOf(bytes);
  onSilent();
  await new Promise<never>(() => {});
}

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => null,
    (error: unknown) => error,
  );
}

export function holdsTheStorageContract(underTest: () => StorageUnderTest): void {
  for (const size of [0, 1, 100_000, LARGE_BYTES]) {
    it(`keeps ${size} bytes unchanged`, async () => {
      const { storage, read } = underTest();
      const bytes = randomBytes(size);
      const stored = await storage.put(`results/${size}.mp4`, chunksOf(bytes), OPTIONS);
      expect(stored).to.eql({ url: storage.urlOf(`results/${size}.mp4`), bytes: size });
      expect((await read(`results/${size}.mp4`))?.equals(bytes)).to.equal(true);
      await storage.delete(`results/${size}.mp4`);
    });
  }

  it('knows which objects exist, and their sizes', async () => {
    const { storage } = underTest();
    await storage.put('there.png', chunksOf(Buffer.from('x')), OPTIONS);
    expect(await storage.sizeOf('there.png')).to.equal(1);
    await storage.delete('there.png');
    expect(await storage.sizeOf('there.png')).to.equal(null);
  });

  it('replaces an object that is written again', async () => {
    const { storage, read } = underTest();
    await storage.put('again.png', chunksOf(Buffer.from('first, and longer')), OPTIONS);
    await storage.put('again.png', chunksOf(Buffer.from('second')), OPTIONS);
    expect((await read('again.png'))?.toString()).to.equal('second');
    await storage.delete('again.png');
  });

  it('reads an object again, from its first or a later byte and no further than requested', async () => {
    const { storage } = underTest();
    const bytes = randomBytes(200_000);
    await storage.put('read.png', chunksOf(bytes), OPTIONS);
    const parts: Uint8Array[] = [];
    for await (const part of (await storage.read('read.png')) ?? []) parts.push(part);
    expect(Buffer.concat(parts).equals(bytes)).to.equal(true);
    for await (const part of (await storage.read('read.png')) ?? []) {
      expect(bytes.subarray(0, part.byteLength).equals(part)).to.equal(true);
      break;
    }
    for (const fromByte of [1, 199_999, 200_000]) {
      const rest: Uint8Array[] = [];
      for await (const part of (await storage.read('read.png', { fromByte })) ?? []) rest.push(part);
      expect(Buffer.concat(rest).equals(bytes.subarray(fromByte))).to.equal(true);
    }
    await storage.delete('read.png');
    expect(await storage.read('read.png')).to.equal(null);
  });

  it('recognises its own links in their exact form, and no others', () => {
    const { storage } = underTest();
    const url = storage.urlOf('uploads/a.png');
    expect(storage.keyOf(url)).to.equal('uploads/a.png');
    const root = url.slice(0, -'uploads/a.png'.length);
    for (const other of [
      root,
      `${root}../a.png`,
      `${root}a//b`,
      `${url}?x`,
      `${url} `,
      ` ${url}`,
      `https://x.test/?${url}`,
    ]) {
      expect(storage.keyOf(other), other).to.equal(null);
    }
  });

  it('removes an object, and accepts that it does not exist', async () => {
    const { storage, read } = underTest();
    await storage.put('gone.png', chunksOf(Buffer.from('x')), OPTIONS);
    await storage.delete('gone.png');
    await storage.delete('gone.png');
    expect(await read('gone.png')).to.equal(null);
  });

  for (const size of [1000, LARGE_BYTES]) {
    it(`leaves no trace of a body that fails after ${size} bytes`, async () => {
      const { storage, traces } = underTest();
      const failure = await failureOf(storage.put('broken/video.mp4', failingAfter(randomBytes(size)), OPTIONS));
      expect(failure).to.be.instanceOf(RangeError);
      expect(await traces()).to.eql([]);
    });

    it(`leaves no trace of a body that is aborted in a silence after ${size} bytes`, async () => {
      const { storage, traces } = underTest();
      const controller = new AbortController();
      const body = silentAfter(randomBytes(size), () => controller.abort(new RangeError('enough')));
      const failure = await failureOf(storage.put('broken/video.mp4', body, { ...OPTIONS, signal: controller.signal }));
      expect(failure).to.be.instanceOf(RangeError);
      expect(await traces()).to.eql([]);
    });

    it(`leaves no trace of ${size} bytes where one less is allowed`, async () => {
      const { storage, traces } = underTest();
      const options = { ...OPTIONS, maxBytes: size - 1 };
      const failure = await failureOf(storage.put('broken/video.mp4', chunksOf(randomBytes(size)), options));
      expect(failure).to.be.instanceOf(ObjectTooLargeError);
      expect(await traces()).to.eql([]);
    });
  }

  it('stores nothing when it was aborted before it started', async () => {
    const { storage, traces } = underTest();
    const signal = AbortSignal.abort(new RangeError('too late'));
    const failure = await failureOf(storage.put('late.mp4', chunksOf(Buffer.from('x')), { ...OPTIONS, signal }));
    expect(failure).to.be.instanceOf(RangeError);
    expect(await traces()).to.eql([]);
  });

  it('keeps the existing object when its replacement fails', async () => {
    const { storage, read } = underTest();
    await storage.put('kept.png', chunksOf(Buffer.from('first')), OPTIONS);
    await failureOf(storage.put('kept.png', failingAfter(randomBytes(1000)), OPTIONS));
    expect((await read('kept.png'))?.toString()).to.equal('first');
    await storage.delete('kept.png');
  });

  it('refuses keys that could lead outside', async () => {
    const { storage, traces } = underTest();
    for (const key of [
      '',
      '.',
      '..',
      '../x',
      'a/../../x',
      '/etc/x',
      'a//b',
      'a/',
      '.hidden',
      'a/.b',
      'a\\b',
      'a b',
      'ü',
      'a\0',
      'a?b',
    ]) {
      expect(await failureOf(storage.put(key, chunksOf(Buffer.from('x')), OPTIONS)), key).to.be.instanceOf(RangeError);
      expect(await failureOf(storage.delete(key)), key).to.be.instanceOf(RangeError);
      expect(await failureOf(storage.read(key)), key).to.be.instanceOf(RangeError);
      expect(() => storage.urlOf(key), key).to.throw(RangeError);
    }
    expect(await traces()).to.eql([]);
  });
}
