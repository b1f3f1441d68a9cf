/** An upstream's answer, received at the pace at which its reader reads. */
import type { Dispatcher } from 'undici';
import { ServiceError } from '../../domain/errors.ts';
import { BodyBytes } from '../../domain/body-bytes.ts';
import { AnswerTooLongError, SILENT, UpstreamError } from '../../text/upstream-errors.ts';
import type { CancelSignal } from './cancel-signal.ts';

export interface AnswerHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Bytes buffered for a slow reader; above this limit the upstream must wait. */
const MAX_READ_AHEAD_BYTES = 64 * 1024;
const SPACE = 0x20;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
const EVENT_STREAM = /^\s*text\/event-stream\b/i;

/**
 * Receives undici's data for one request without the streams between socket and reader, which would cost more than
 * everything else that the gateway does with a short answer.
 */
export class Answer implements Dispatcher.DispatchHandler {
  /** Resolves when the answer starts. Rejects with undici's error, or the reason of the cancellation. */
  readonly head: Promise<AnswerHead>;
  readonly #signal: CancelSignal;
  readonly #onBytes: () => void;
  readonly #chunks: Buffer[] = [];
  #queuedBytes = 0;
  #hasContent = false;
  #isEventStream = false;
  #ended = false;
  #failure: ServiceError | null = null;
  #controller: Dispatcher.DispatchController | null = null;
  #resolveHead: (head: AnswerHead) => void = () => {};
  #rejectHead: (error: unknown) => void = () => {};
  /** Wakes a waiting reader. */
  #wake: (() => void) | null = null;

  /** @param onBytes called for each chunk of the body */
  constructor(signal: CancelSignal, onBytes: () => void = () => {}) {
    this.#signal = signal;
    this.#onBytes = onBytes;
    this.head = new Promise((resolve, reject) => {
      this.#resolveHead = resolve;
      this.#rejectHead = reject;
    });
    // The promise may reject before anything awaits it.
    this.head.catch(() => {});
    if (signal.isCancelled) this.#cancel();
    else signal.listen(this.#cancel);
  }

  /** Whether any of the body has arrived, except white space, which some upstreams send to keep the connection open. */
  get hasContent(): boolean {
    return this.#hasContent;
  }

  /** Whether the content type is that of server-sent events. */
  get isEventStream(): boolean {
    return this.#isEventStream;
  }

  get isCancelled(): boolean {
    return this.#signal.isCancelled;
  }

  /**
   * Returns the next bytes, or null at the end.
   *
   * @throws ServiceError if the answer breaks off or falls silent; the signal's reason after a cancellation
   */
  async read(): Promise<Buffer | null> {
    while (this.#chunks.length === 0) {
      if (this.#signal.reason !== null) throw this.#signal.reason;
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
   * Whether the next bytes are JSON, whatever the content type is. Drops white space before them.
   *
   * @throws the errors of {@link read}
   */
  async startsWithJson(): Promise<boolean> {
    for (let chunk = await this.read(); chunk !== null; chunk = await this.read()) {
      const first = chunk.find((byte) => byte > SPACE);
      if (first === undefined) continue;
      this.#chunks.unshift(chunk);
      this.#queuedBytes += chunk.byteLength;
      return first === OPEN_BRACE || first === OPEN_BRACKET;
    }
    return false;
  }

  /**
   * Reads the rest of the answer.
   *
   * @throws ServiceError 503 `processing_failed` if the rest is longer than `maxBytes`, and the errors of {@link read}
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

  /** Closes the connection unless the answer is complete. */
  discard(): void {
    if (this.#ended || this.#failure !== null) return;
    this.#controller?.abort(new Error('the rest of the answer is not needed'));
  }

  /** Ends the answer with an error for its readers. */
  giveUp(error: ServiceError): void {
    if (this.#ended || this.#failure !== null) return;
    this.#failure = error;
    this.#controller?.abort(error);
    this.#rejectHead(error);
    this.#release();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#signal.isCancelled) this.#cancel();
    else if (this.#failure !== null) controller.abort(this.#failure);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: AnswerHead['headers']): void {
    this.#isEventStream = EVENT_STREAM.test(String(headers['content-type'] ?? ''));
    this.#resolveHead({ status, headers });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#queuedBytes += chunk.byteLength;
    this.#hasContent ||= chunk.some((byte) => byte > SPACE);
    this.#onBytes();
    if (this.#queuedBytes > MAX_READ_AHEAD_BYTES) controller.pause();
    this.#wakeReader();
  }

  onResponseEnd(): void {
    this.#ended = true;
    this.#release();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#failure ??= failureOfBody(error);
    // No effect once the answer has started.
    this.#rejectHead(error);
    this.#release();
  }

  /** Also works for a request that still waits for a connection. */
  readonly #cancel = (): void => {
    const { reason } = this.#signal;
    if (reason !== null) this.#controller?.abort(reason);
    this.#rejectHead(reason);
    this.#wakeReader();
  };

  #release(): void {
    this.#signal.unlisten(this.#cancel);
    this.#wakeReader();
  }

  #wakeReader(): void {
    this.#wake?.();
    this.#wake = null;
  }
}

const NOTHING_TO_CONTROL: Dispatcher.DispatchController = {
  aborted: false,
  paused: false,
  reason: null,
  abort: () => {},
  pause: () => {},
  resume: () => {},
};

/** An answer in JSON that arrived by other means than a request of its own. */
export function arrivedAnswer(body: Buffer, signal: CancelSignal): Answer {
  const answer = new Answer(signal);
  answer.onRequestStart(NOTHING_TO_CONTROL);
  answer.onResponseStart(NOTHING_TO_CONTROL, 200, { 'content-type': 'application/json' });
  answer.onResponseData(NOTHING_TO_CONTROL, body);
  answer.onResponseEnd();
  return answer;
}

const SILENCES = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

/** The client's error for an upstream that was silent for too long; null for any other error. */
export function toTimeoutError(error: unknown): UpstreamError | null {
  return SILENCES.has(codeOf(error)) ? new UpstreamError(SILENT, { cause: error }) : null;
}

function failureOfBody(cause: Error): ServiceError {
  const broken = 'The answer of the model was cut short; send the request again.';
  return toTimeoutError(cause) ?? new ServiceError('result_transfer_failed', broken, { cause });
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** The value of a JSON text, or the text itself: the refusals of some upstreams are plain text. */
export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
