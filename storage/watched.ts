/** Watches whether the store can be written, so that Genway renders nothing that it cannot store. */
import { ObjectTooLargeError, StorageFailedError, type Storage } from './storage.ts';

export interface WatchedStorage extends Storage {
  /**
   * Whether a result could be stored now. True until a write fails; afterwards a call probes the store if the last
   * probe is at least `retryMs` old.
   *
   * @returns quickly, except when it probes the store
   */
  isAvailable(): Promise<boolean>;
}

interface WatchOptions {
  /** Called when the store starts to fail, and when it is available again. */
  readonly onChange: (isAvailable: boolean, reason: unknown) => void;
  /** The pause between probes while the store is unavailable. */
  readonly retryMs?: number;
}

const RETRY_MS = 5_000;
const PROBE_TIMEOUT_MS = 10_000;
/** Always the same key, so that a store that never deletes is not filled with probes. */
const PROBE_KEY = 'probes/whether-it-can-be-written';
const PROBE = Buffer.from('Genway checks whether this store can be written.\n');

/** Turns faults of the store, as opposed to faults of the body, into {@link StorageFailedError}s. */
export function watchStorage(storage: Storage, { onChange, retryMs = RETRY_MS }: WatchOptions): WatchedStorage {
  let isUnavailable = false;
  let probing: Promise<boolean> | undefined;
  let nextProbeAt = 0;

  function note(isAvailable: boolean, reason?: unknown): void {
    if (isUnavailable === !isAvailable) return;
    isUnavailable = !isAvailable;
    nextProbeAt = Date.now() + retryMs;
    onChange(isAvailable, reason);
  }

  async function probe(): Promise<boolean> {
    const options = {
      contentType: 'text/plain',
      maxBytes: PROBE.length,
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    };
    try {
      await storage.put(PROBE_KEY, once(PROBE), options);
      note(true);
      // The store may be writable without allowing deletions.
      await storage.delete(PROBE_KEY).catch(() => {});
    } catch {
      nextProbeAt = Date.now() + retryMs;
    }
    return !isUnavailable;
  }

  return {
    ...storage,
    async put(key, body, options) {
      const source = trackFailure(body);
      try {
        const stored = await storage.put(key, source.body, options);
        note(true);
        return stored;
      } catch (error) {
        const isStoreFault =
          !source.failed() && !(error instanceof ObjectTooLargeError) && options.signal?.aborted !== true;
        if (!isStoreFault) throw error;
        note(false, error);
        throw new StorageFailedError('the store could not be written', { cause: error });
      }
    },
    async isAvailable() {
      if (!isUnavailable) return true;
      if (probing === undefined && Date.now() < nextProbeAt) return false;
      probing ??= probe().finally(() => {
        probing = undefined;
      });
      return probing;
    },
  };
}

/** The same body, and whether the body itself failed. */
function trackFailure(body: AsyncIterable<Uint8Array>): { body: AsyncIterable<Uint8Array>; failed: () => boolean } {
  let hasFailed = false;
  async function* pass(): AsyncGenerator<Uint8Array> {
    try {
      yield* body;
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  }
  return { body: pass(), failed: () => hasFailed };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
