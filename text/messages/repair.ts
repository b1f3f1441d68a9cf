/** Repairs messages that are passed on: contract 4.8.3. */
import { countOf, type JsonObject, listOf, objectOf, stringOf } from '../../domain/json.ts';
import type { Finish, StreamEvent } from '../canonical.ts';
import { repairEvent, withUsage } from '../repair-event.ts';
import { encodeEvent, type ServerSentEvent } from '../sse.ts';
import type { Emit } from '../stage.ts';
import type { RepairContext, Repairer, StreamRepairer } from '../wire-format.ts';
import { EMPTY_TEXT, renderStop, renderUsage, STOP_REASONS } from './render-result.ts';
import { stopReasonOf } from './upstream.ts';

export function createRepairer(context: RepairContext): Repairer {
  return {
    repairResult: (message) => {
      if (isPaused(message, context)) return withUsage(message, 'usage', context.usage(), renderUsage);
      const types = listOf(message['content']).map((block) => objectOf(block)['type']);
      const known = withKnownReason(message, types.includes('tool_use'));
      const isEmpty = !types.includes('tool_use') && !types.includes('text');
      const repaired = isEmpty ? { ...known, content: [...listOf(message['content']), EMPTY_TEXT] } : known;
      return withUsage(repaired, 'usage', context.usage(), renderUsage);
    },
    repairStream: () => new MessagesStreamRepairer(context),
  };
}

/** Whether the client lets the answer continue by sending it back, as after long searches. */
function isPaused(message: JsonObject, { request }: RepairContext): boolean {
  return request.webSearch !== undefined && message['stop_reason'] === 'pause_turn';
}

/** Matches the event with the reason; all others are not parsed. */
const HAS_REASON = /"stop_reason"\s*:\s*"/;
/** Events of what a message must contain at least one of. */
const CONTENT: ReadonlySet<StreamEvent['type']> = new Set(['text-start', 'text-delta', 'tool-input-start']);

class MessagesStreamRepairer implements StreamRepairer {
  readonly #context: RepairContext;
  #hasCalls = false;
  #lacksContent = true;
  #nextIndex = 0;
  #lacksStop = false;
  /** How the answer ended, once it has. */
  #finish: Finish | null = null;
  /** Whether the client has the reason, beside which the usage stands. */
  #hasReason = false;

  constructor(context: RepairContext) {
    this.#context = context;
  }

  see(event: StreamEvent): void {
    if (event.type === 'tool-input-start') this.#hasCalls = true;
    if (CONTENT.has(event.type)) this.#lacksContent = false;
    else if (event.type === 'finish') {
      this.#lacksStop = true;
      this.#finish = event;
    }
  }

  repair(event: ServerSentEvent, emit: Emit<ServerSentEvent>): void {
    if (this.#lacksContent) this.#countBlock(event);
    if (event.data.includes('"message_stop"') && this.#lacksStop) {
      this.#lacksStop = false;
      this.#addReason(emit);
    }
    emit(repairEvent(event, HAS_REASON, (reported) => this.#repairEnd(reported, emit)));
  }

  #countBlock({ data, json }: ServerSentEvent): void {
    if (json === undefined && !data.includes('"content_block_start"')) return;
    const start = objectOf(json ?? JSON.parse(data));
    if (start['type'] === 'content_block_start') this.#nextIndex = (countOf(start['index']) ?? this.#nextIndex) + 1;
  }

  #repairEnd(reported: JsonObject, emit: Emit<ServerSentEvent>): JsonObject {
    const delta = objectOf(reported['delta']);
    if (stringOf(delta['stop_reason']) === '') return reported;
    this.#hasReason = true;
    if (isPaused(delta, this.#context)) return withUsage(reported, 'usage', this.#context.usage(), renderUsage);
    if (this.#lacksContent) this.#addEmptyText(emit);
    const known = withKnownReason(delta, this.#hasCalls);
    const repaired = known === delta ? reported : { ...reported, delta: known };
    return withUsage(repaired, 'usage', this.#context.usage(), renderUsage);
  }

  /** Adds the delta with the reason and the usage, which some upstreams leave out. */
  #addReason(emit: Emit<ServerSentEvent>): void {
    if (this.#hasReason || this.#finish === null) return;
    if (this.#lacksContent) this.#addEmptyText(emit);
    const { reason, stopSequence } = this.#finish;
    const delta = renderStop({ reason: reason === 'stop' && this.#hasCalls ? 'tool-calls' : reason, stopSequence });
    const event = { type: 'message_delta', delta, usage: renderUsage(this.#context.usage()) };
    emit({ event: event.type, data: JSON.stringify(event) });
  }

  #addEmptyText(emit: Emit<ServerSentEvent>): void {
    this.#lacksContent = false;
    const index = this.#nextIndex;
    for (const event of [
      { type: 'content_block_start', index, content_block: EMPTY_TEXT },
      { type: 'content_block_stop', index },
    ]) {
      emit({ event: event.type, data: JSON.stringify(event) });
    }
  }

  end(): string {
    return this.#lacksStop ? encodeEvent('{"type":"message_stop"}', 'message_stop') : '';
  }
}

/** Gives a message, or the delta that ends one, one of the format's reasons. */
function withKnownReason(message: JsonObject, hasCalls: boolean): JsonObject {
  const reported = stringOf(message['stop_reason']);
  const reason = stopReasonOf(reported);
  const known = STOP_REASONS[reason === 'stop' && hasCalls ? 'tool-calls' : reason];
  return known === reported ? message : { ...message, stop_reason: known };
}
