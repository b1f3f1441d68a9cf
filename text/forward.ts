/**
 * The identity path: a request to an upstream that speaks the client's own format, whose answer is passed on unchanged.
 * The answer is read on the way, because it is billed, because an upstream's errors may contain what is none of the
 * client's business, and because some things have to be repaired.
 */
import { isObject, type JsonObject } from '../domain/json.ts';
import type { StreamEvent, TextRequest } from './canonical.ts';
import type { Meter } from './meter.ts';
import { cutShort } from './normalize.ts';
import { encodeEvent, parseServerSentEvents, type ServerSentEvent } from './sse.ts';
import type { Emit, Stage } from './stage.ts';
import { AnswerTooLongError } from './upstream-errors.ts';
import type { StreamRepairer, UpstreamFormat, UpstreamOptions, UpstreamRequest } from './wire-format.ts';

/** How one request is forwarded. */
export interface Forwarding {
  readonly upstreamRequest: UpstreamRequest;
  /**
   * Reads an upstream's complete answer.
   *
   * @returns what to pass on: the body itself, unless it had to be repaired
   * @throws ServiceError when the body contains no answer
   */
  checkResult(body: unknown): unknown;
  /** The stage from the bytes of an upstream's stream, in any pieces, to the bytes of each event. Call it once. */
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
      return isObject(answer) && upstream.repairer !== undefined ? upstream.repairer.repairResult(answer) : answer;
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
  readonly #repairer: StreamRepairer;
  readonly #measure: Emit<StreamEvent>;
  /** The beginning of an event that is not complete yet, in a buffer that doubles as it fills. */
  #rest: Uint8Array = new Uint8Array();
  #restLength = 0;
  #place: 'inside' | 'after-feed' | 'after-return' = 'inside';

  constructor(upstream: UpstreamFormat, keepsEvent: (event: ServerSentEvent) => boolean, meter: Meter) {
    this.#answer = upstream.parseStream();
    this.#keepsEvent = keepsEvent;
    this.#meter = meter;
    const repairer = upstream.repairer?.repairStream() ?? REPAIRS_NOTHING;
    this.#repairer = repairer;
    this.#measure = (event) => {
      meter.see(event);
      repairer.see(event);
    };
  }

  push(bytes: Uint8Array, emit: Emit<Uint8Array>): void {
    let start = 0;
    for (let end = this.#findEnd(bytes, 0); end !== -1; end = this.#findEnd(bytes, end)) {
      this.#forward(this.#whole(bytes.subarray(start, end)), emit);
      start = end;
    }
    this.#keep(bytes.subarray(start));
    if (this.#restLength > MAXIMUM_EVENT_BYTES) throw new AnswerTooLongError();
  }

  end(emit: Emit<Uint8Array>): void {
    const last: string[] = [];
    const read = (event: ServerSentEvent): void => {
      const data = this.#read(event);
      if (data !== null) last.push(encodeEvent(data, event.event));
    };
    if (this.#restLength > 0) this.#events.push(this.#whole(new Uint8Array()), read);
    this.#events.end(read);
    this.#answer.end(this.#measure);
    if (!this.#meter.finished) throw cutShort();
    // Without its blank line the last event would merge with what follows, so it is written anew.
    const ending = last.join('') + this.#repairer.end();
    if (ending !== '') emit(new TextEncoder().encode(ending));
  }

  /** The index after the blank line that ends the event, or -1. Looks at each byte once. Lines end in LF or CR LF. */
  #findEnd(bytes: Uint8Array, from: number): number {
    for (let index = from; index < bytes.length; index += 1) {
      if (this.#place === 'inside') {
        const feed = bytes.indexOf(LINE_FEED, index);
        if (feed === -1) return -1;
        index = feed;
        this.#place = 'after-feed';
      } else if (bytes[index] === LINE_FEED) {
        this.#place = 'inside';
        return index + 1;
      } else {
        this.#place = this.#place === 'after-feed' && bytes[index] === CARRIAGE_RETURN ? 'after-return' : 'inside';
      }
    }
    return -1;
  }

  #keep(bytes: Uint8Array): void {
    const length = this.#restLength + bytes.length;
    if (length > this.#rest.length) {
      const larger = new Uint8Array(Math.max(length, 2 * this.#rest.length));
      larger.set(this.#rest.subarray(0, this.#restLength));
      this.#rest = larger;
    }
    this.#rest.set(bytes, this.#restLength);
    this.#restLength = length;
  }

  /** The event that ends with these bytes. */
  #whole(last: Uint8Array): Uint8Array {
    if (this.#restLength === 0) return last;
    this.#keep(last);
    const whole = this.#rest.subarray(0, this.#restLength);
    this.#rest = new Uint8Array();
    this.#restLength = 0;
    return whole;
  }

  #forward(bytes: Uint8Array, emit: Emit<Uint8Array>): void {
    let isSame = true;
    const frames: string[] = [];
    const { strayLineCount } = this.#events;
    this.#events.push(bytes, (event) => {
      const data = this.#read(event);
      isSame &&= data === event.data;
      if (data !== null) frames.push(encodeEvent(data, event.event));
    });
    // Text outside events belongs to no answer, and may be meant for the upstream's operators.
    if (isSame && this.#events.strayLineCount === strayLineCount) emit(bytes);
    else if (frames.length > 0) emit(new TextEncoder().encode(frames.join('')));
  }

  /** Reads an event. @returns the data to pass on instead of its own; null to drop the event */
  #read(event: ServerSentEvent): string | null {
    this.#answer.push(event, this.#measure);
    return this.#keepsEvent(event) ? this.#repairer.repair(event.data) : null;
  }
}

const REPAIRS_NOTHING: StreamRepairer = { see() {}, repair: (data) => data, end: () => '' };
