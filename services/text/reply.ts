/** The kinds of replies: a whole body or a stream for a client, and a whole answer for a page. */
import { errorHeaders } from '../../domain/error-envelope.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Answer } from '../../providers/text/answer.ts';
import { endArray } from '../../text/generate-content/array-stream.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { Frame } from '../../text/frames.ts';
import { byteLengthOf, writeJson, type WrittenJson } from '../../text/json/write.ts';
import type { Stage } from '../../text/stage.ts';
import { AnswerTooLongError } from '../../text/upstream-errors.ts';
import type { AdmittedCall } from './admit.ts';
import { ClientStream, EVENT_STREAM_TYPE, type Piece } from './client-stream.ts';
import { type Exchange, renderContextOf } from './exchange.ts';
import type { TextSettings } from './services.ts';
import { readFrames, StreamReading } from './stream-reading.ts';

/** Reads an answer to its end, even without the client, and sends the parts that need not wait for settlement. */
export type DrainAnswer = () => Promise<void>;

/** Does nothing, since a whole answer was already read to its end. */
const READ_WHOLE: DrainAnswer = async () => {};

export interface Reply {
  /** When the client got the first byte, by `performance.now()`; null before. */
  readonly firstByteAtMs: number | null;
  /**
   * Reads an upstream's answer until it has content for the client, without sending the content. After an error, it may
   * be called again with another upstream's answer. It may read the answers to several calls at the same time.
   */
  start(answer: Answer, exchange: Exchange): Promise<DrainAnswer>;
  /** Sends parts of the answer that come from no upstream, if the client streams. */
  send(pieces: readonly Piece[]): Promise<void>;
  /** Ends the reply properly. */
  finish(): void;
  /** Ends the reply with an error: as an error body, an error event, or a broken connection. */
  fail(error: ServiceError): void;
  /** Ends the reply to a client that has disconnected. */
  giveUp(): void;
}

/** The limit for a whole answer, from all calls together. */
const MAX_RESULT_BYTES = 32 * 2 ** 20;

/** Reads whole answers, and returns the client's body after the last. */
class WholeReading {
  #bytesLeft = MAX_RESULT_BYTES;

  async read(answer: Answer, exchange: Exchange): Promise<WrittenJson | null> {
    const { unexpected } = exchange;
    if (unexpected !== null && answer.isEventStream && !(await answer.startsWithJson())) {
      return this.#collect(answer, exchange, unexpected.collectStream());
    }
    const bytes = await answer.readAll(this.#bytesLeft);
    const body = await exchange.readResult(bytes);
    this.#count(bytes.byteLength);
    return body;
  }

  /** Reads the stream of an upstream that ignores `stream: false`. */
  async #collect(
    answer: Answer,
    { splitStream, stored }: Exchange,
    stage: Stage<Frame, JsonObject>,
  ): Promise<WrittenJson | null> {
    const splitter = splitStream();
    let body: JsonObject | null = null;
    const take = (whole: JsonObject): void => {
      body = whole;
    };
    for (;;) {
      const byteLength = await readFrames(answer, splitter, stage, take, stored);
      if (byteLength === null) return body && writeJson(body);
      this.#count(byteLength);
    }
  }

  /** Counts what was read. Answers that are read at the same time may be too long together. */
  #count(byteLength: number): void {
    this.#bytesLeft -= byteLength;
    if (this.#bytesLeft < 0) throw new AnswerTooLongError();
  }
}

export function createReply(call: AdmittedCall, settings: TextSettings): Reply {
  return call.read.request.stream || call.format.name === 'embeddings'
    ? new StreamedReply(call, settings)
    : new WholeReply(call);
}

const JSON_TYPE = 'application/json; charset=utf-8';
/** A longer answer is sent as bytes, in a separate write. */
const MAX_WITH_HEAD_BYTES = 32 * 1024;

class WholeReply implements Reply {
  firstByteAtMs: number | null = null;
  readonly #call: AdmittedCall;
  readonly #reading = new WholeReading();
  #body: WrittenJson = '';
  #contentType = JSON_TYPE;

  constructor(call: AdmittedCall) {
    this.#call = call;
  }

  async start(answer: Answer, exchange: Exchange): Promise<DrainAnswer> {
    const body = await this.#reading.read(answer, exchange);
    if (body === null) return READ_WHOLE;
    this.#body = body;
    this.#contentType = exchange.contentType ?? JSON_TYPE;
    if (!this.#call.context.res.destroyed) this.firstByteAtMs = performance.now();
    return READ_WHOLE;
  }

  async send(): Promise<void> {}

  finish(): void {
    const { context } = this.#call;
    const { res } = context;
    // Koa would wrap the pieces in a stream, which costs more than everything else about a short answer.
    context.respond = false;
    res.setHeader('Content-Type', this.#contentType);
    res.setHeader('Content-Length', byteLengthOf(this.#body));
    const pieces = typeof this.#body === 'string' ? [this.#body] : this.#body;
    for (const piece of pieces.slice(0, -1)) res.write(piece);
    const last = pieces.at(-1);
    // Node sends the head and the body in one write only if the body is text.
    if (last instanceof Buffer && last.byteLength < MAX_WITH_HEAD_BYTES) res.end(last.toString('latin1'), 'latin1');
    else res.end(last);
  }

  fail(error: ServiceError): void {
    failInFormat(this.#call, error);
  }

  giveUp(): void {
    this.#call.context.respond = false;
  }
}

/** Keeps a whole answer for a page that shows it. */
export class BufferedReply implements Reply {
  firstByteAtMs: number | null = null;
  readonly #reading = new WholeReading();
  #answer: WrittenJson | null = null;
  #error: ServiceError | null = null;

  async start(answer: Answer, exchange: Exchange): Promise<DrainAnswer> {
    const body = await this.#reading.read(answer, exchange);
    if (body === null) return READ_WHOLE;
    this.#answer = body;
    this.firstByteAtMs = performance.now();
    return READ_WHOLE;
  }

  async send(): Promise<void> {}

  finish(): void {}

  fail(error: ServiceError): void {
    this.#error = error;
  }

  /** Keeps an answer that is complete, which may be stored for a repeated call. */
  giveUp(): void {
    if (this.#answer !== null) return;
    this.#error = new ServiceError(
      'processing_timeout',
      'The connection was closed before the answer was complete. Send the request again.',
    );
  }

  /** The answer as JSON. @throws ServiceError if there is none */
  take(): string {
    if (this.#error !== null) throw this.#error;
    return typeof this.#answer === 'string' ? this.#answer : Buffer.concat(this.#answer ?? []).toString();
  }
}

/** The maximum length, in bytes or characters, that is held of a stream before its answer starts. */
const MAX_HELD_LENGTH = 2 ** 20;

class StreamedReply implements Reply {
  firstByteAtMs: number | null = null;
  readonly #call: AdmittedCall;
  readonly #settings: TextSettings;
  #stream: ClientStream | null = null;

  constructor(call: AdmittedCall, settings: TextSettings) {
    this.#call = call;
    this.#settings = settings;
  }

  async start(answer: Answer, exchange: Exchange): Promise<DrainAnswer> {
    // Keep-alives start with the first answer, even if another upstream answers in the end.
    this.#stream ??= this.#open(exchange);
    const { unexpected, meter } = exchange;
    if (unexpected !== null && !answer.isEventStream && (await answer.startsWithJson())) {
      meter.heard = true;
      const pieces = await unexpected.streamResult(await answer.readAll(MAX_RESULT_BYTES));
      return () => this.send(pieces);
    }
    const reading = new StreamReading(exchange);
    const hasStarted = (): boolean => meter.hasStarted && reading.heldLength > 0;
    while (!hasStarted() && !reading.hasEnded && reading.heldLength < MAX_HELD_LENGTH) {
      await reading.read(answer);
      if (reading.failure !== null && !hasStarted()) throw reading.failure.error;
      // Keep-alives are not the start of an answer.
      if (!meter.heard) reading.takeHeld();
    }
    return () => this.#readOn(answer, reading);
  }

  async #readOn(answer: Answer, reading: StreamReading): Promise<void> {
    await this.send(reading.takeHeld());
    while (!reading.hasEnded) {
      await reading.read(answer);
      await this.send(reading.takeHeld());
    }
    if (reading.failure !== null) throw reading.failure.error;
  }

  finish(): void {
    this.#stream?.end();
  }

  fail(error: ServiceError): void {
    const stream = this.#stream;
    stream?.stop();
    if (stream === null || !stream.hasStarted) return failInFormat(this.#call, error);
    const { format, requestId, model, startedAtMs, streamsArray } = this.#call;
    const { eventCount } = stream;
    const { compatibility } = model;
    const context = renderContextOf(this.#call, () => startedAtMs);
    const frame = format.client.renderStreamError(error, requestId, { eventCount, compatibility, context });
    if (frame === null) stream.breakOff();
    else stream.end(streamsArray ? endArray(frame, eventCount) : frame);
  }

  giveUp(): void {
    this.#stream?.breakOff();
  }

  async send(pieces: readonly Piece[]): Promise<void> {
    const stream = this.#stream;
    if (pieces.length === 0 || stream === null || stream.isGone) return;
    this.firstByteAtMs ??= performance.now();
    await stream.send(pieces);
  }

  #open({ contentType: own }: Exchange): ClientStream {
    const { context, format, streamsArray } = this.#call;
    const isJson = streamsArray || format.name === 'embeddings';
    const contentType = own ?? (isJson ? JSON_TYPE : EVENT_STREAM_TYPE);
    context.respond = false;
    return new ClientStream(context.res, { contentType, renderKeepAlive: keepAliveOf(this.#call), ...this.#settings });
  }
}

/** How to break the silence of a stream; null if the format has no frame for that. */
function keepAliveOf({ format: { client }, model }: AdmittedCall): ((eventCount: number) => string) | null {
  const { keepAliveFrame: frame } = client;
  if (frame === null) return null;
  const isFull = model.compatibility === 'full';
  return (eventCount) => (isFull && eventCount > 0 ? client.renderKeepAlive?.(eventCount) : undefined) ?? frame;
}

/** An error as JSON, in the format's envelope: contract 7.1. */
function failInFormat({ context, format, requestId }: AdmittedCall, error: ServiceError): void {
  context.respond = true;
  context.status = error.status;
  context.set(errorHeaders(error));
  context.body = format.client.renderError(error, requestId);
}
