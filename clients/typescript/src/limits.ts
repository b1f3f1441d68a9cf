/** The limits of one attempt: its time, and the caller's signal. */
import { APIConnectionError, APITimeoutError, type GenwayError } from './errors.ts';

/** The longest time of a timer, 24 days: a longer one would end at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export class Limits {
  readonly #controller = new AbortController();
  readonly #limitMs: number;
  readonly #given: AbortSignal | undefined;
  readonly #timer: ReturnType<typeof setTimeout>;
  #isLate = false;
  #isStream = false;
  // Not AbortSignal.any, whose result Node 20 can collect while the answer is still being read.
  readonly #onAbort = (): void => this.#controller.abort(this.#given?.reason);

  constructor(limitMs: number, given: AbortSignal | undefined) {
    this.#limitMs = Math.min(limitMs, MAX_TIMER_MS);
    this.#given = given;
    this.#timer = setTimeout(() => {
      this.#isLate = true;
      this.#controller.abort();
    }, this.#limitMs);
    if (given?.aborted) this.#onAbort();
    given?.addEventListener('abort', this.#onAbort);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The answer has started, and may take as long as it likes. The caller's signal still ends it. */
  startStream(): void {
    this.#isStream = true;
    clearTimeout(this.#timer);
  }

  /** Ends an attempt whose answer has been read. A stream ends later, by `endStream`. */
  end(): void {
    if (!this.#isStream) this.endStream();
  }

  endStream(): void {
    clearTimeout(this.#timer);
    this.#given?.removeEventListener('abort', this.#onAbort);
  }

  /** @throws the reason of the caller's signal */
  errorOf(cause: unknown): GenwayError {
    this.#given?.throwIfAborted();
    if (this.#isLate) return new APITimeoutError(`No answer within ${this.#limitMs} ms.`, { cause });
    return new APIConnectionError('The connection failed, or the answer broke off.', { cause });
  }
}
