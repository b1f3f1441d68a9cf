/** What an upstream that speaks the responses format answers, as canonical events. */
import type { ServiceError } from '../../domain/errors.ts';
import type { JsonObject, StreamEvent } from '../canonical.ts';
import { isObject } from '../read.ts';
import { DONE, type ServerSentEvent } from '../sse.ts';
import type { Emit, Stage } from '../stage.ts';
import {
  arrayOf,
  countOf,
  malformedAnswer,
  objectOf,
  parseEventData,
  stringOf,
  throwIfModerated,
  upstreamError,
} from '../upstream-errors.ts';
import { readUsage } from '../usage.ts';
import { eventsOfCall, mayWrapCalls } from '../wrapped-calls.ts';

/** The events of a response object. */
export function parseResult(body: unknown): StreamEvent[] {
  if (!isObject(body)) throw malformedAnswer();
  throwIfError(body);
  if (!Array.isArray(body['output'])) throw malformedAnswer();
  const events: StreamEvent[] = [];
  const emit = (event: StreamEvent): void => void events.push(event);
  new ResponsesStreamParser().takeResponse(body, stringOf(body['status']) || 'completed', emit);
  return events;
}

export function parseStream(): Stage<ServerSentEvent, StreamEvent> {
  return new ResponsesStreamParser();
}

/** Throws the error that an object carries: under `error`, or flat in an event of that type. */
function throwIfError(data: JsonObject, type: unknown = data['type']): void {
  const error = data['error'];
  if (isObject(error)) throw upstreamError(null, [error['code'], error['type']]);
  if (type === 'error') throw upstreamError(null, [data['code']]);
}

function failureOf(response: JsonObject): ServiceError {
  const error = objectOf(response['error']);
  return upstreamError(null, [error['code'], error['type']]);
}

interface ItemState {
  /** Whether a tool call was announced. */
  started: boolean;
  hasContent: boolean;
  ended: boolean;
}

/** Items are told apart by their index alone, because some upstreams give an item another id in each event. */
class ResponsesStreamParser implements Stage<ServerSentEvent, StreamEvent> {
  readonly #items = new Map<number, ItemState>();
  #announced: JsonObject = {};
  #started = false;
  #ended = false;

  push(event: ServerSentEvent, emit: Emit<StreamEvent>): void {
    if (this.#ended || event.data === DONE) return;
    const data = parseEventData(event);
    const type = stringOf(data['type']) || (event.event ?? '');
    throwIfError(data, type);
    const response = objectOf(data['response']);
    const index = countOf(data['output_index']) ?? 0;
    switch (type) {
      case 'response.created':
      case 'response.queued':
      case 'response.in_progress':
        // Nothing goes out yet: what the upstream refuses, it tells next, and that can then be a whole error answer.
        this.#announced = response;
        return;
      case 'response.output_item.added':
        return this.#startItem(index, objectOf(data['item']), emit);
      case 'response.refusal.delta':
      case 'response.output_text.delta':
        return this.#takeDelta('text', index, data, emit);
      case 'response.reasoning_summary_part.added':
        return this.#startSummaryPart(index, emit);
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return this.#takeDelta('reasoning', index, data, emit);
      case 'response.function_call_arguments.delta':
        // Without its announcement the call has no name yet; it is then taken from the finished item.
        if (this.#item(index).started) this.#takeDelta('tool-input', index, data, emit);
        return;
      case 'response.output_item.done':
        return this.#endItem(index, objectOf(data['item']), emit);
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.cancelled':
        return this.takeResponse(response, stringOf(response['status']) || type.slice('response.'.length), emit);
    }
  }

  end(): void {}

  /**
   * Takes a whole response object, of which a stream has told parts or all before. Usage rides on failures too.
   *
   * @throws ServiceError when the response ended in a failure or by moderation, or has not ended at all
   */
  takeResponse(response: JsonObject, status: string, emit: Emit<StreamEvent>): void {
    const isAnswer = status === 'completed' || status === 'incomplete';
    if (!isAnswer && !this.#started) throw failureOf(response);
    this.#ended = true;
    this.#announced = response;
    this.#start(emit);
    for (const [index, item] of arrayOf(response['output']).entries()) this.#endItem(index, objectOf(item), emit);
    const usage = response['usage'];
    if (isObject(usage)) emit({ type: 'usage', usage: readUsage(usage) });
    if (!isAnswer) throw failureOf(response);
    throwIfModerated(stringOf(objectOf(response['incomplete_details'])['reason']));
    emit({ type: 'finish', reason: status === 'completed' ? 'stop' : 'length' });
  }

  #start(emit: Emit<StreamEvent>): void {
    if (this.#started) return;
    this.#started = true;
    const { id, model } = this.#announced;
    emit({ type: 'response-start', id: stringOf(id) || null, model: stringOf(model) || null });
  }

  #item(index: number): ItemState {
    let item = this.#items.get(index);
    if (item === undefined) {
      item = { started: false, hasContent: false, ended: false };
      this.#items.set(index, item);
    }
    return item;
  }

  #startItem(index: number, item: JsonObject, emit: Emit<StreamEvent>): void {
    this.#start(emit);
    const state = this.#item(index);
    const name = stringOf(item['name']);
    if (item['type'] !== 'function_call' || state.started || mayWrapCalls(name)) return;
    state.started = true;
    emit({ type: 'tool-input-start', id: partId('tool-input', index), callId: stringOf(item['call_id']), name });
  }

  /** A summary has several parts, which are read as paragraphs. */
  #startSummaryPart(index: number, emit: Emit<StreamEvent>): void {
    if (this.#item(index).hasContent) this.#emitDelta('reasoning', index, '\n\n', emit);
  }

  #takeDelta(kind: PartKind, index: number, data: JsonObject, emit: Emit<StreamEvent>): void {
    this.#emitDelta(kind, index, stringOf(data['delta']), emit);
  }

  #emitDelta(kind: PartKind, index: number, text: string, emit: Emit<StreamEvent>): void {
    if (text === '') return;
    this.#start(emit);
    this.#item(index).hasContent = true;
    emit({ type: `${kind}-delta`, id: partId(kind, index), text });
  }

  /** Ends an item once; what the stream did not tell of it before is taken from the finished item. */
  #endItem(index: number, item: JsonObject, emit: Emit<StreamEvent>): void {
    const state = this.#item(index);
    if (state.ended) return;
    state.ended = true;
    this.#start(emit);
    if (item['type'] === 'message') this.#endMessage(index, state, item, emit);
    else if (item['type'] === 'reasoning') this.#endReasoning(index, state, item, emit);
    else if (item['type'] === 'function_call') this.#endCall(index, state, item, emit);
  }

  #endMessage(index: number, state: ItemState, item: JsonObject, emit: Emit<StreamEvent>): void {
    const parts = arrayOf(item['content']).map(objectOf);
    const text = parts.map((part) => stringOf(part['text']) || stringOf(part['refusal'])).join('');
    if (!state.hasContent) this.#emitDelta('text', index, text, emit);
    emit({ type: 'text-end', id: partId('text', index) });
  }

  #endReasoning(index: number, state: ItemState, item: JsonObject, emit: Emit<StreamEvent>): void {
    const parts = [...arrayOf(item['summary']), ...arrayOf(item['content'])].map(objectOf);
    const text = parts.map((part) => stringOf(part['text'])).join('\n\n');
    if (!state.hasContent) this.#emitDelta('reasoning', index, text, emit);
    const signature = stringOf(item['encrypted_content']) || undefined;
    const redacted = state.hasContent || signature === undefined ? undefined : true;
    emit({ type: 'reasoning-end', id: partId('reasoning', index), signature, redacted });
  }

  #endCall(index: number, state: ItemState, item: JsonObject, emit: Emit<StreamEvent>): void {
    const id = partId('tool-input', index);
    const text = stringOf(item['arguments']);
    if (!state.started) {
      const call = { callId: stringOf(item['call_id']), name: stringOf(item['name']), arguments: text };
      for (const event of eventsOfCall(call, id)) emit(event);
      return;
    }
    if (!state.hasContent) this.#emitDelta('tool-input', index, text, emit);
    emit({ type: 'tool-input-end', id });
  }
}

type PartKind = 'text' | 'reasoning' | 'tool-input';

function partId(kind: PartKind, index: number): string {
  return `${kind}-${index}`;
}
