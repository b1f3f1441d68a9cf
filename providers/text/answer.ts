/** The answer of an upstream, read at the pace of whoever reads it. */
import type { Dispatcher } from 'undici';
import { ServiceError } from '../../domain/errors.ts';
import { BodyBytes } from '../../net/body-bytes.ts';
import { AnswerTooLongError, SILENT, UpstreamError } from '../../text/upstream-errors.ts';

export interface AnswerHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Read-ahead for a slow reader; above it the upstream has to wait. */
const MAX_READ_AHEAD_BYTES = 64 * 1024;

/**
 * Takes what undici receives for one request. A class of its own, because it does without the streams between socket and
 * reader, which would cost more than all that the gateway does with a short answer.
 */
export class Answer implements Dispatcher.DispatchHandler {
  /** Resolves when the answer begins. Rejects with undici's error, or with the reason of the abort. */
  readonly head: Promise<AnswerHead>;
  readonly #signal: AbortSignal;
  readonly #chunks: Buffer[] = [];
  #queuedBytes = 0;
  #ended = false;
  #failure: ServiceError | null = null;
  #controller: Dispatcher.DispatchController | null = null;
  #resolveHead: (head: AnswerHead) => void = () => {};
  #rejectHead: (error: unknown) => void = () => {};
  /** Wakes the reader that waits for more. */
  #wake: (() => void) | null = null;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    this.head = new Promise((resolve, reject) => {
      this.#resolveHead = resolve;
      this.#rejectHead = reject;
    });
    // It may be given up before anybody waits for it.
    this.head.catch(() => {});
    if (signal.aborted) this.#abort();
    else signal.addEventListener('abort', this.#abort);
  }

  get isAborted(): boolean {
    return this.#signal.aborted;
  }

  /**
   * The next bytes, or null at the end.
   *
   * @throws ServiceError when the answer breaks off or falls silent; the reason of the abort after one
   */
  async read(): Promise<Buffer | null> {
    while (this.#chunks.length === 0) {
      if (this.#signal.aborted) throw reasonOf(this.#signal);
      if (this.#failure !== null) throw this.#failure;
      if (this.#ended) return null;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    const chunk = this.#chunks.shift() ?? null;
    this.#queuedBytes -= chunk?.byteLength ?? 0;
    if (this.#controller?.paused === true && this.#queuedBytes <= MAX_READ_AHEAD_BYTES) this.#controller.resume();
    return chunk;
  }

  /**
   * All that is left of the answer.
   *
   * @throws ServiceError 503 `processing_failed` when it is longer than `maxBytes`, and what {@link read} throws
   */
  async readAll(maxBytes: number): Promise<Buffer> {
    const bytes = new BodyBytes();
    let length = 0;
    for (let chunk = await this.read(); chunk !== null; chunk = await this.read()) {
      length += chunk.byteLength;
      if (length > maxBytes) throw new AnswerTooLongError();
      bytes.add(chunk);
    }
    return bytes.take();
  }

  /** Ends the connection unless the answer has come to its end. */
  discard(): void {
    if (this.#ended || this.#failure !== null) return;
    this.#controller?.abort(new Error('the rest of the answer is not wanted'));
  }

  /** Ends it with an error of the caller's, for whoever waits for its beginning or reads it. */
  giveUp(error: ServiceError): void {
    if (this.#ended || this.#failure !== null) return;
    this.#failure = error;
    this.#controller?.abort(error);
    this.#rejectHead(error);
    this.#release();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#signal.aborted) this.#abort();
    else if (this.#failure !== null) controller.abort(this.#failure);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: AnswerHead['headers']): void {
    this.#resolveHead({ status, headers });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#queuedBytes += chunk.byteLength;
    if (this.#queuedBytes > MAX_READ_AHEAD_BYTES) controller.pause();
    this.#wakeReader();
  }

  onResponseEnd(): void {
    this.#ended = true;
    this.#release();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#failure ??= failureOfBody(error);
    // Without effect when the answer has begun.
    this.#rejectHead(error);
    this.#release();
  }

  /** Also for a request that still waits for its connection. */
  readonly #abort = (): void => {
    this.#controller?.abort(reasonOf(this.#signal));
    this.#rejectHead(reasonOf(this.#signal));
    this.#wakeReader();
  };

  #release(): void {
    this.#signal.removeEventListener('abort', this.#abort);
    this.#wakeReader();
  }

  #wakeReader(): void {
    this.#wake?.();
    this.#wake = null;
  }
}

/** Why a signal was aborted; always an Error here. */
function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('aborted', { cause: signal.reason });
}

const SILENCES = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

/** What a client may read about an upstream that was silent for too long; null for any other error. */
export function silenceOf(error: unknown): UpstreamError | null {
  return SILENCES.has(codeOf(error)) ? new UpstreamError(SILENT, { cause: error }) : null;
}

function failureOfBody(cause: Error): ServiceError {
  const broken = 'The answer of the model was cut short; send the request again.';
  return silenceOf(cause) ?? new ServiceError('result_transfer_failed', broken, { cause });
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
