/** The two ways in which a client is answered: with a whole body, or with a stream. */
import { Readable } from 'node:stream';
import { errorHeaders } from '../../domain/error-envelope.ts';
import type { ServiceError } from '../../domain/errors.ts';
import type { Answer } from '../../providers/text/answer.ts';
import { type Frame, isLong, readFrame, splitFrames } from '../../text/frames.ts';
import { inArray } from '../../text/generate-content/array-stream.ts';
import { inSteps } from '../../text/json/steps.ts';
import { byteLengthOf, type WrittenJson } from '../../text/json/write.ts';
import type { Stage } from '../../text/stage.ts';
import type { AdmittedCall } from './admit.ts';
import { ClientStream, type Piece } from './client-stream.ts';
import type { Exchange } from './exchange.ts';
import type { TextSettings } from './services.ts';

export interface Reply {
  /** When the answer began to reach the client, by `performance.now()`; null before. */
  readonly firstByteAtMs: number | null;
  /** Reads an upstream's answer to its end, also when the client is gone, and passes on what can go before it is settled. */
  take(answer: Answer, exchange: Exchange): Promise<void>;
  /** Ends the reply in order. */
  finish(): void;
  /** Ends it with an error, in the way that is left. */
  fail(error: ServiceError): void;
  /** Ends it for a client that is not there any more. */
  giveUp(): void;
}

/** The most bytes of a whole answer. */
const MAX_RESULT_BYTES = 32 * 2 ** 20;

export function createReply(call: AdmittedCall, settings: TextSettings): Reply {
  return call.read.request.stream ? new StreamedReply(call, settings) : new WholeReply(call);
}

class WholeReply implements Reply {
  firstByteAtMs: number | null = null;
  readonly #call: AdmittedCall;
  #body: WrittenJson = '';

  constructor(call: AdmittedCall) {
    this.#call = call;
  }

  async take(answer: Answer, exchange: Exchange): Promise<void> {
    this.#body = await exchange.readResult(await answer.readAll(MAX_RESULT_BYTES));
    if (!this.#call.context.res.destroyed) this.firstByteAtMs = performance.now();
  }

  finish(): void {
    const { context } = this.#call;
    context.type = 'application/json';
    if (typeof this.#body === 'string') context.body = this.#body;
    else {
      context.body = Readable.from(this.#body);
      context.length = byteLengthOf(this.#body);
    }
  }

  fail(error: ServiceError): void {
    failInFormat(this.#call, error);
  }

  giveUp(): void {
    this.#call.context.respond = false;
  }
}

class StreamedReply implements Reply {
  firstByteAtMs: number | null = null;
  readonly #call: AdmittedCall;
  readonly #settings: TextSettings;
  #stream: ClientStream | null = null;

  constructor(call: AdmittedCall, settings: TextSettings) {
    this.#call = call;
    this.#settings = settings;
  }

  async take(answer: Answer, exchange: Exchange): Promise<void> {
    const { context, format, streamsArray } = this.#call;
    const { keepAliveFrame } = format.client;
    const contentType = streamsArray ? 'application/json; charset=utf-8' : 'text/event-stream; charset=utf-8';
    context.respond = false;
    const stream = new ClientStream(context.res, { contentType, keepAliveFrame, ...this.#settings });
    this.#stream = stream;
    const stage = streamsArray ? inArray(exchange.readStream()) : exchange.readStream();
    const splitter = splitFrames();
    const frames: Frame[] = [];
    const take = (frame: Frame): void => void frames.push(frame);
    for (let bytes = await answer.read(); bytes !== null; bytes = await answer.read()) {
      splitter.push(bytes, take);
      await this.#pass(stream, stage, frames.splice(0));
    }
    splitter.end(take);
    await this.#pass(stream, stage, frames, { isEnd: true });
  }

  finish(): void {
    this.#stream?.end();
  }

  fail(error: ServiceError): void {
    const stream = this.#stream;
    stream?.stop();
    if (stream === null || !stream.hasBegun) return failInFormat(this.#call, error);
    const frame = this.#call.format.client.renderStreamError(error, this.#call.requestId, stream.eventCount);
    if (frame === null) stream.breakOff();
    else stream.end(frame);
  }

  giveUp(): void {
    this.#stream?.breakOff();
  }

  /** Sends what follows from some frames and from the end; also what was made before a failure. */
  async #pass(
    stream: ClientStream,
    stage: Stage<Frame, Piece>,
    frames: readonly Frame[],
    { isEnd = false } = {},
  ): Promise<void> {
    const pieces: Piece[] = [];
    const emit = (piece: Piece): void => void pieces.push(piece);
    try {
      for (const frame of frames) stage.push(isLong(frame) ? await inSteps(readFrame(frame)) : frame, emit);
      if (isEnd) stage.end(emit);
    } finally {
      if (pieces.length > 0 && !stream.isGone) {
        this.firstByteAtMs ??= performance.now();
        await stream.send(pieces);
      }
    }
  }
}

/** An error as JSON, in the envelope of the format: contract 7.1. */
function failInFormat({ context, format, requestId }: AdmittedCall, error: ServiceError): void {
  context.respond = true;
  context.status = error.status;
  context.set(errorHeaders(error));
  context.body = format.client.renderError(error, requestId);
}
