/**
 * The identity path: a request for an upstream of the client's own format, and its answer passed on as it is. What passes is
 * read on the way, because it is billed, and because an upstream's error may say what is none of the client's business.
 */
import type { JsonObject, StreamEvent, TextRequest } from './canonical.ts';
import type { Meter } from './meter.ts';
import { cutShort } from './normalize.ts';
import { parseServerSentEvents, type ServerSentEvent } from './sse.ts';
import type { Emit, Stage } from './stage.ts';
import { malformedAnswer } from './upstream-errors.ts';
import type { UpstreamFormat, UpstreamOptions, UpstreamRequest } from './wire-format.ts';

/** How one request is forwarded. */
export interface Forwarding {
  readonly upstreamRequest: UpstreamRequest;
  /** Reads an upstream's whole answer, which may then be passed on. Throws a ServiceError when it holds none. */
  checkResult(body: unknown): void;
  /** The stage from the bytes of an upstream's stream, cut anywhere, to the bytes of each of its events. To be made once. */
  forwardStream(): Stage<Uint8Array, Uint8Array>;
}

/**
 * Plans the forwarding of one request.
 *
 * @param body the client's body
 * @param request that body, parsed
 * @param meter measures the answer
 */
export function planForwarding(
  upstream: UpstreamFormat,
  body: JsonObject,
  request: TextRequest,
  options: UpstreamOptions,
  meter: Meter,
): Forwarding {
  const { keepsEvent = () => true, ...upstreamRequest } = upstream.forwardRequest(body, request, options);
  return {
    upstreamRequest,
    checkResult: (answer) => {
      for (const event of upstream.parseResult(answer)) meter.see(event);
      if (!meter.finished) throw cutShort();
    },
    forwardStream: () => new Forwarder(upstream, keepsEvent, meter),
  };
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const MAXIMUM_EVENT_BYTES = 16 * 1024 * 1024;

class Forwarder implements Stage<Uint8Array, Uint8Array> {
  readonly #events = parseServerSentEvents();
  readonly #answer: Stage<ServerSentEvent, StreamEvent>;
  readonly #keepsEvent: (event: ServerSentEvent) => boolean;
  readonly #meter: Meter;
  readonly #measure: Emit<StreamEvent>;
  /** An event whose end has not come yet. */
  #rest: Uint8Array = new Uint8Array();

  constructor(upstream: UpstreamFormat, keepsEvent: (event: ServerSentEvent) => boolean, meter: Meter) {
    this.#answer = upstream.parseStream();
    this.#keepsEvent = keepsEvent;
    this.#meter = meter;
    this.#measure = (event) => meter.see(event);
  }

  push(bytes: Uint8Array, emit: Emit<Uint8Array>): void {
    const pending = joined(this.#rest, bytes);
    let start = 0;
    let searchFrom = Math.max(0, this.#rest.length - 3);
    for (let end = endOfEvent(pending, searchFrom); end !== -1; end = endOfEvent(pending, searchFrom)) {
      this.#forward(pending.subarray(start, end), emit);
      start = end;
      searchFrom = end;
    }
    this.#rest = pending.subarray(start);
    if (this.#rest.length > MAXIMUM_EVENT_BYTES) throw malformedAnswer();
  }

  end(emit: Emit<Uint8Array>): void {
    if (this.#rest.length > 0) this.#forward(this.#rest, emit);
    this.#events.end((event) => this.#answer.push(event, this.#measure));
    this.#answer.end(this.#measure);
    if (!this.#meter.finished) throw cutShort();
  }

  #forward(bytes: Uint8Array, emit: Emit<Uint8Array>): void {
    let kept = true;
    this.#events.push(bytes, (event) => {
      this.#answer.push(event, this.#measure);
      kept &&= this.#keepsEvent(event);
    });
    if (kept) emit(bytes);
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  if (first.length === 0) return second;
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

/** The index after the blank line that ends the first event, or -1. Lines end in LF or CR LF. */
function endOfEvent(bytes: Uint8Array, from: number): number {
  for (let feed = bytes.indexOf(LINE_FEED, from); feed !== -1; feed = bytes.indexOf(LINE_FEED, feed + 1)) {
    if (bytes[feed + 1] === LINE_FEED) return feed + 2;
    if (bytes[feed + 1] === CARRIAGE_RETURN && bytes[feed + 2] === LINE_FEED) return feed + 3;
  }
  return -1;
}
