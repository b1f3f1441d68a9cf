/** Waiting for batches, and reading their results. */
import { WaitTimeoutError } from './errors.ts';
import type { RequestOptions } from './http.ts';
import { poll } from './poll.ts';
import type { Batch } from './types.ts';

export interface BatchWaitOptions {
  /** Called with the batch after each look: `request_counts` has the progress. */
  readonly onProgress?: (batch: Batch) => void;
  /** Defaults to 25 hours: a batch takes at most a day, and a little for its files. */
  readonly timeoutMs?: number;
  /** Defaults to five seconds. */
  readonly pollMs?: number;
  readonly signal?: AbortSignal;
}

const TIMEOUT_MS = 25 * 3_600_000;
const POLL_MS = 5_000;
const ENDINGS: readonly Batch['status'][] = ['completed', 'failed', 'expired', 'cancelled'];

/** Resolves with the batch once it has ended, however it ended. @throws WaitTimeoutError, or the reason of the signal */
export async function waitForBatch(
  batch: Batch,
  read: (id: string, options: RequestOptions) => Promise<Batch>,
  { onProgress, timeoutMs = TIMEOUT_MS, pollMs = POLL_MS, signal }: BatchWaitOptions = {},
): Promise<Batch> {
  return poll(batch, (reading) => read(batch.id, reading), {
    timeoutMs,
    pollMs: () => pollMs,
    hasEnded: ({ status }) => ENDINGS.includes(status),
    timedOut: (latest) => new WaitTimeoutError(latest),
    ...(onProgress && { onProgress }),
    signal,
  });
}

/** A request of a batch that has ended. */
export interface BatchResult {
  readonly id: string;
  readonly custom_id: string;
  /** The answer, or the error in the form of the endpoint. Null for a request that never started. */
  readonly response: { readonly status_code: number; readonly request_id: string; readonly body: unknown } | null;
  /** Why a request never started. */
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** Reads the lines of files, one after the other. */
export async function* readResults(
  fileIds: readonly (string | null)[],
  open: (id: string) => Promise<AsyncIterable<Uint8Array>>,
): AsyncGenerator<BatchResult> {
  for (const id of fileIds) {
    if (id === null) continue;
    const decoder = new TextDecoder();
    let rest = '';
    for await (const bytes of await open(id)) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield JSON.parse(line);
    }
  }
}

/** A batch that is being created. `await` gives the batch as it was created, `wait()` the batch once it has ended. */
export class CreatedBatch implements PromiseLike<Batch> {
  readonly #created: Promise<Batch>;
  readonly #wait: (batch: Batch, options?: BatchWaitOptions) => Promise<Batch>;

  constructor(created: Promise<Batch>, wait: (batch: Batch, options?: BatchWaitOptions) => Promise<Batch>) {
    this.#created = created;
    this.#wait = wait;
  }

  then<One = Batch, Other = never>(
    onBatch?: ((batch: Batch) => One | PromiseLike<One>) | null,
    onError?: ((error: unknown) => Other | PromiseLike<Other>) | null,
  ): Promise<One | Other> {
    return this.#created.then(onBatch, onError);
  }

  /** @throws APIError, WaitTimeoutError, or the reason of the signal */
  async wait(options?: BatchWaitOptions): Promise<Batch> {
    return this.#wait(await this.#created, options);
  }
}
