/**
 * Decodes AWS's event streams to server-sent events, before anything else reads the answer.
 * https://docs.aws.amazon.com/transcribe/latest/dg/streaming-setting-up.html#streaming-event-stream
 */
import type { EventStreamCodec, Message } from '@smithy/core/event-streams';
import type { Dispatcher } from 'undici';
import { isObject } from '../../domain/json.ts';
import { encodeEvent } from '../../text/sse.ts';
import type { Answer } from './answer.ts';

const EVENT_STREAM = 'application/vnd.amazon.eventstream';
/** The length of a message and of its headers, and their checksum. */
const PRELUDE_BYTES = 12;
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** A handler that passes the answer on, with an event stream of AWS as server-sent events. */
export async function decodeEventStream(answer: Answer): Promise<Dispatcher.DispatchHandler> {
  const { EventStreamCodec: Codec } = await import('@smithy/core/event-streams');
  const codec = new Codec(
    (bytes) => Buffer.from(bytes).toString(),
    (text) => Buffer.from(text),
  );
  return new DecodingHandler(answer, new MessageSplitter(codec));
}

class DecodingHandler implements Dispatcher.DispatchHandler {
  readonly #answer: Answer;
  readonly #messages: MessageSplitter;
  #isEncoded = false;

  constructor(answer: Answer, messages: MessageSplitter) {
    this.#answer = answer;
    this.#messages = messages;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#answer.onRequestStart(controller);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    this.#isEncoded = String(headers['content-type'] ?? '').startsWith(EVENT_STREAM);
    const decoded = this.#isEncoded ? { ...headers, 'content-type': 'text/event-stream' } : headers;
    this.#answer.onResponseStart(controller, status, decoded);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#isEncoded) return this.#answer.onResponseData(controller, chunk);
    try {
      const events = this.#messages.push(chunk).map(eventOf).join('');
      if (events !== '') this.#answer.onResponseData(controller, Buffer.from(events));
    } catch (error) {
      controller.abort(error instanceof Error ? error : new Error('the event stream cannot be read'));
    }
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.#messages.isBetween) return this.#answer.onResponseEnd();
    this.#answer.onResponseError(controller, new Error('the event stream ends within a message'));
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    this.#answer.onResponseError(controller, error);
  }
}

/** Splits bytes, received in any pieces, into messages. Each byte is copied at most twice. */
class MessageSplitter {
  readonly #codec: EventStreamCodec;
  #pieces: Buffer[] = [];
  #length = 0;
  /** The length of the message that is incomplete; 0 if it is not known yet. */
  #wanted = 0;

  constructor(codec: EventStreamCodec) {
    this.#codec = codec;
  }

  get isBetween(): boolean {
    return this.#length === 0;
  }

  /** @throws Error if a checksum or a length is wrong */
  push(chunk: Buffer): readonly Message[] {
    this.#pieces.push(chunk);
    this.#length += chunk.length;
    if (this.#length < Math.max(this.#wanted, PRELUDE_BYTES)) return [];
    const bytes = this.#pieces.length === 1 ? chunk : Buffer.concat(this.#pieces);
    const messages: Message[] = [];
    let at = 0;
    this.#wanted = 0;
    while (bytes.length - at >= PRELUDE_BYTES) {
      const length = bytes.readUInt32BE(at);
      if (length > MAX_MESSAGE_BYTES) throw new Error('a message of the event stream is too long');
      if (bytes.length - at < length) {
        this.#wanted = length;
        break;
      }
      messages.push(this.#codec.decode(bytes.subarray(at, at + length)));
      at += length;
    }
    this.#pieces = at === bytes.length ? [] : [bytes.subarray(at)];
    this.#length = bytes.length - at;
    return messages;
  }
}

const decoder = new TextDecoder();

/** A message as a server-sent event. Exceptions become events with the name `error`. */
function eventOf({ headers, body }: Message): string {
  const read = (name: string): string => String(headers[name]?.value ?? '');
  const text = decoder.decode(body);
  if (read(':message-type') === 'event') {
    const name = read(':event-type');
    return name === 'chunk' ? eventOfChunk(text) : encodeEvent(text, name);
  }
  const type = read(':exception-type') || read(':error-code');
  const reported = jsonOf(text);
  const message = isObject(reported) ? reported['message'] : undefined;
  const error = { type: capitalized(type), message: message ?? read(':error-message') };
  return encodeEvent(JSON.stringify({ type: 'error', error }), 'error');
}

/** What Bedrock adds to the last event of a model, for its own customers. */
const INVOCATION_METRICS = 'amazon-bedrock-invocationMetrics';

/** InvokeModel has the events of the vendor's format inside, in base64. */
function eventOfChunk(text: string): string {
  const chunk = jsonOf(text);
  const bytes = isObject(chunk) ? chunk['bytes'] : undefined;
  if (typeof bytes !== 'string') return '';
  const data = Buffer.from(bytes, 'base64').toString();
  const event = jsonOf(data);
  if (!isObject(event)) return encodeEvent(data);
  const { [INVOCATION_METRICS]: metrics, ...own } = event;
  const name = typeof event['type'] === 'string' ? event['type'] : null;
  return encodeEvent(metrics === undefined ? data : JSON.stringify(own), name);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Streams have the names of errors in another case than answers. */
function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
