import { expect } from 'chai';
import { BrokenMediaError } from '../../storage/media/streamed-input.ts';
import { ObjectTooLargeError, type Storage, StorageFailedError } from '../../storage/storage.ts';
import { watchStorage } from '../../storage/watched.ts';
import { rejectionOf } from '../support/rejection.ts';

const OPTIONS = { contentType: 'video/mp4', maxBytes: 100 };

async function* bytes(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('a file');
}

async function* broken(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('half a file');
  throw new BrokenMediaError('it ends early');
}

/** A store whose failures the test controls. */
function createStore() {
  const state = { failure: null as Error | null, writes: 0, keys: new Set<string>(), deletes: true };
  const storage: Pick<Storage, 'put' | 'delete'> = {
    put: async (key, body) => {
      state.writes += 1;
      state.keys.add(key);
      for await (const _ of body);
      if (state.failure) throw state.failure;
      return { url: `http://store/${key}`, bytes: 1 };
    },
    delete: async (key) => {
      if (!state.deletes) throw new Error('403');
      state.keys.delete(key);
    },
  };
  const changes: boolean[] = [];
  const onChange = (isAvailable: boolean): void => void changes.push(isAvailable);
  return { state, changes, watched: watchStorage({ ...UNUSED, ...storage }, { onChange, retryMs: 0 }) };
}

const UNUSED: Storage = {
  put: () => Promise.reject(new Error('unused')),
  delete: () => Promise.reject(new Error('unused')),
  read: () => Promise.reject(new Error('unused')),
  sizeOf: () => Promise.reject(new Error('unused')),
  urlOf: (key) => `http://store/${key}`,
  keyOf: () => null,
};

describe('a watched store', () => {
  it('is available, without a probe, until a write fails', async () => {
    const { state, watched } = createStore();
    expect(await watched.isAvailable()).to.equal(true);
    expect(state.writes).to.equal(0);
  });

  it('distinguishes its own faults from those of the stored object', async () => {
    const { state, watched, changes } = createStore();
    expect(await rejectionOf(watched.put('a', broken(), OPTIONS))).to.be.instanceOf(BrokenMediaError);
    state.failure = new ObjectTooLargeError('more than 100 bytes');
    expect(await rejectionOf(watched.put('a', bytes(), OPTIONS))).to.be.instanceOf(ObjectTooLargeError);
    expect(changes).to.deep.equal([]);
    state.failure = new Error('ENOSPC: no space left on device');
    expect(await rejectionOf(watched.put('a', bytes(), OPTIONS))).to.be.instanceOf(StorageFailedError);
    expect(changes).to.deep.equal([false]);
  });

  it('does not count an aborted write as a fault', async () => {
    const { state, watched, changes } = createStore();
    state.failure = new Error('aborted');
    await rejectionOf(watched.put('a', bytes(), { ...OPTIONS, signal: AbortSignal.abort() }));
    expect(changes).to.deep.equal([]);
  });

  it('is probed while it is unavailable, once for all callers', async () => {
    const { state, watched, changes } = createStore();
    state.failure = new Error('503');
    await rejectionOf(watched.put('a', bytes(), OPTIONS));
    expect(await watched.isAvailable()).to.equal(false);
    state.failure = null;
    state.writes = 0;
    expect(await Promise.all([watched.isAvailable(), watched.isAvailable()])).to.deep.equal([true, true]);
    expect(state.writes).to.equal(1);
    expect(changes).to.deep.equal([false, true]);
  });

  it('leaves nothing behind of its probes, or at most one small object where nothing can be deleted', async () => {
    const { state, watched } = createStore();
    for (const deletes of [true, false]) {
      state.deletes = deletes;
      for (let outage = 0; outage < 3; outage += 1) {
        state.failure = new Error('503');
        await rejectionOf(watched.put('a', bytes(), OPTIONS));
        state.failure = null;
        expect(await watched.isAvailable()).to.equal(true);
      }
      state.keys.delete('a');
      expect(state.keys).to.have.property('size', deletes ? 0 : 1);
    }
  });
});
