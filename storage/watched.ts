/** Watches whether the store can be written, so that nothing is rendered that could not be stored. */
import { ObjectTooLargeError, StorageFailedError, type Storage } from './storage.ts';

export interface WatchedStorage extends Storage {
  /**
   * Whether a result could be stored now. True until a write fails; after that it is found out by trying from time to
   * time.
   *
   * @returns quickly, except when it tries
   */
  isAvailable(): Promise<boolean>;
}

interface WatchOptions {
  /** Called when the store starts to fail, and when it is back. */
  readonly onChange: (isAvailable: boolean, reason: unknown) => void;
  /** The pause between tries while the store is unavailable. */
  readonly retryMs?: number;
}

const RETRY_MS = 5_000;
const PROBE_TIMEOUT_MS = 10_000;
/** Always the same key, so that a store that never deletes is not filled with probes. */
const PROBE_KEY = 'probes/whether-it-can-be-written';
const PROBE = Buffer.from('Genway checks whether this store can be written.\n');

/** Distinguishes faults of the store, which become {@link StorageFailedError}s, from faults of what is stored. */
export function watchStorage(storage: Storage, { onChange, retryMs = RETRY_MS }: WatchOptions): WatchedStorage {
  let isAway = false;
  let trial: Promise<boolean> | undefined;
  let nextTrialAt = 0;

  function note(isAvailable: boolean, reason?: unknown): void {
    if (isAway === !isAvailable) return;
    isAway = !isAvailable;
    nextTrialAt = Date.now() + retryMs;
    onChange(isAvailable, reason);
  }

  async function attempt(): Promise<boolean> {
    const options = {
      contentType: 'text/plain',
      maxBytes: PROBE.length,
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    };
    try {
      await storage.put(PROBE_KEY, once(PROBE), options);
      note(true);
      // Whether it can be deleted is another question, for which no result has to wait.
      await storage.delete(PROBE_KEY).catch(() => {});
    } catch {
      nextTrialAt = Date.now() + retryMs;
    }
    return !isAway;
  }

  return {
    ...storage,
    async put(key, body, options) {
      const source = remembering(body);
      try {
        const stored = await storage.put(key, source.body, options);
        note(true);
        return stored;
      } catch (error) {
        const isOwnFault =
          !source.failed() && !(error instanceof ObjectTooLargeError) && options.signal?.aborted !== true;
        if (!isOwnFault) throw error;
        note(false, error);
        throw new StorageFailedError('the store could not be written', { cause: error });
      }
    },
    async isAvailable() {
      if (!isAway) return true;
      if (trial === undefined && Date.now() < nextTrialAt) return false;
      trial ??= attempt().finally(() => {
        trial = undefined;
      });
      return trial;
    },
  };
}

/** The same body, and whether it was the body that failed. */
function remembering(body: AsyncIterable<Uint8Array>): { body: AsyncIterable<Uint8Array>; failed: () => boolean } {
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
