/**
 * The identity path: a request to an upstream that speaks the client's own format, whose answer is passed on unchanged.
 * The answer is read on the way, because it is billed, because an upstream's errors may contain what is none of the
 * client's business, and because some things have to be repaired.
 */
import { isObject, type JsonObject } from '../domain/json.ts';
import type { StreamEvent, TextRequest } from './canonical.ts';
import type { Frame } from './frames.ts';
import type { Meter } from './meter.ts';
import { cutShort } from './normalize.ts';
import { repairEvent } from './repair-event.ts';
import { signaturesOf } from './signatures.ts';
import { ReadableEvents } from './skip-unreadable.ts';
import { malformedAnswer } from './upstream-errors.ts';
import { withModelName, withModelNameInEvent } from './web-search.ts';
import { encodeEvent, parseServerSentEvents, type ServerSentEvent } from './sse.ts';
import type { Emit, Stage } from './stage.ts';
import type {
  Repairer,
  StreamRepairer,
  ForwardedFormat,
  UpstreamFormat,
  UpstreamOptions,
  UpstreamRequest,
} from './wire-format.ts';

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
  /** The stage from the frames of an upstream's stream to the bytes of those that pass. Call it once. */
  forwardStream(): Stage<Frame, Uint8Array>;
}

/**
 * Plans the forwarding of one request.
 *
 * @param body the client's body
 * @param request that body, parsed
 * @param meter measures the answer
 * @param shownModel the model's name for clients, if the upstream has another; answers keep theirs by default
 */
export function planForwarding(
  upstream: ForwardedFormat,
  body: JsonObject,
  request: TextRequest,
  options: UpstreamOptions,
  meter: Meter,
  shownModel?: string,
): Forwarding {
  const { mark, own } = signaturesOf(options.origin);
  const { signaturePlaces: places } = upstream;
  const upstreamRequest = upstream.forwardRequest(places.inRequest(body, own), request, options);
  const named = (event: ServerSentEvent): ServerSentEvent =>
    shownModel === undefined ? event : withModelNameInEvent(event, shownModel);
  const markEvent = (event: ServerSentEvent): ServerSentEvent =>
    named(repairEvent(event, places.trait, (answer) => places.inAnswer(answer, mark)));
  const repairer = upstream.createRepairer({ body, request, usage: () => meter.charged() });
  return {
    upstreamRequest,
    checkResult: (answer) => {
      if (!isObject(answer)) throw malformedAnswer();
      for (const event of upstream.parseResult(answer)) meter.see(event);
      if (!meter.finished) throw cutShort();
      const marked = places.inAnswer(repairer.repairResult(answer), mark);
      return shownModel === undefined ? marked : withModelName(marked, shownModel);
    },
    forwardStream: () => new Forwarder(upstream, repairer, markEvent, upstreamRequest.shouldKeepEvent, meter),
  };
}

class Forwarder implements Stage<Frame, Uint8Array> {
  readonly #events = parseServerSentEvents();
  readonly #answer: ReadableEvents;
  readonly #shouldKeepEvent: (event: ServerSentEvent) => boolean;
  readonly #meter: Meter;
  readonly #repairer: StreamRepairer;
  readonly #markEvent: (event: ServerSentEvent) => ServerSentEvent;
  readonly #measure: Emit<StreamEvent>;

  constructor(
    upstream: UpstreamFormat,
    repairer: Repairer,
    markEvent: (event: ServerSentEvent) => ServerSentEvent,
    shouldKeepEvent: ((event: ServerSentEvent) => boolean) | undefined,
    meter: Meter,
  ) {
    const stream = repairer.repairStream();
    this.#answer = new ReadableEvents(stream.parser ?? upstream.parseStream(), meter);
    this.#shouldKeepEvent = shouldKeepEvent ?? (() => true);
    this.#meter = meter;
    this.#markEvent = markEvent;
    this.#repairer = stream;
    this.#measure = (event) => {
      meter.see(event);
      stream.see(event);
    };
  }

  push({ bytes, isWhole, event }: Frame, emit: Emit<Uint8Array>): void {
    const { strayLineCount } = this.#events;
    let isSame = true;
    const passed: ServerSentEvent[] = [];
    const pass = (read: ServerSentEvent): void => {
      const { length } = passed;
      this.#pass(read, passed);
      isSame &&= passed.length === length + 1 && passed[length] === read;
    };
    if (event === undefined) this.#events.pushLines(bytes, pass);
    else pass(event);
    // Text outside events belongs to no answer, and may be meant for the upstream's operators.
    const isSound = isSame && this.#events.strayLineCount === strayLineCount;
    if (isSound && (isWhole || event !== undefined)) emit(bytes);
    else emitEvents(passed, emit);
    // Without its blank line the last event would become one with what follows.
    if (isSound && !isWhole && event !== undefined) emit(encoder.encode('\n\n'));
  }

  end(emit: Emit<Uint8Array>): void {
    const last: ServerSentEvent[] = [];
    this.#events.end((event) => this.#pass(event, last));
    this.#answer.end(this.#measure);
    if (!this.#meter.finished) throw cutShort();
    emitEvents(last, emit);
    const ending = this.#repairer.end();
    if (ending !== '') emit(encoder.encode(ending));
  }

  /** Reads an event, and adds what to pass on instead of it. */
  #pass(event: ServerSentEvent, passed: ServerSentEvent[]): void {
    this.#meter.hear(event);
    this.#answer.push(event, this.#measure);
    // Clients cannot read it either.
    if (this.#answer.hasSkipped) return;
    if (this.#shouldKeepEvent(event))
      this.#repairer.repair(event, (repaired) => void passed.push(this.#markEvent(repaired)));
  }
}

const encoder = new TextEncoder();

function emitEvents(events: readonly ServerSentEvent[], emit: Emit<Uint8Array>): void {
  for (const { data, event } of events) emit(encoder.encode(encodeEvent(data, event)));
}
