/** The answers of responses upstreams as canonical events. */
import type { ServiceError } from '../../domain/errors.ts';
import { isObject, type JsonObject, listOf, objectOf, stringOf } from '../../domain/json.ts';
import { parseEventData } from '../answer-json.ts';
import { type StreamEvent, UNREPORTED_USAGE, type Usage } from '../canonical.ts';
import { checkFinish } from '../finish-reasons.ts';
import { cutShort } from '../normalize.ts';
import { DONE, type ServerSentEvent } from '../sse.ts';
import type { Emit, Stage } from '../stage.ts';
import { errorIn, malformedAnswer, upstreamError } from '../upstream-errors.ts';
import { readUsage } from '../usage.ts';
import { eventsOfCall, canWrapCalls } from '../unwrap-calls.ts';
import { StreamedItems, textOfItem, type ItemState } from './streamed-items.ts';

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

/** @throws ServiceError for an error under `error`, or at the top level of an error event */
function throwIfError(data: JsonObject, type: unknown = data['type']): void {
  const error = errorIn(data);
  if (error !== null) throw upstreamError(null, [error['code'], error['type']], error['message']);
  if (type === 'error') throw upstreamError(null, [data['code']], data['message']);
}

function failureOf(response: JsonObject): ServiceError {
  const error = objectOf(response['error']);
  return upstreamError(null, [error['code'], error['type']], error['message']);
}

class ResponsesStreamParser implements Stage<ServerSentEvent, StreamEvent> {
  readonly #items = new StreamedItems();
  #announced: JsonObject = {};
  #started = false;
  #hasContent = false;
  #ended = false;
  #webSearches = 0;

  push(event: ServerSentEvent, emit: Emit<StreamEvent>): void {
    if (this.#ended || event.data === DONE) return;
    const data = parseEventData(event);
    const type = stringOf(data['type']) || (event.event ?? '');
    throwIfError(data, type);
    const response = objectOf(data['response']);
    switch (type) {
      case 'response.created':
      case 'response.queued':
      case 'response.in_progress':
        return this.#announce(response, type);
      case 'response.output_item.added':
        return this.#startItem(this.#items.begin(data), objectOf(data['item']), emit);
      case 'response.refusal.delta':
      case 'response.output_text.delta':
        return this.#emitDelta('text', this.#items.of(data, 'message'), stringOf(data['delta']), emit);
      case 'response.reasoning_summary_part.added':
        return this.#startSummaryPart(this.#items.of(data, 'reasoning'), emit);
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return this.#emitDelta('reasoning', this.#items.of(data, 'reasoning'), stringOf(data['delta']), emit);
      case 'response.function_call_arguments.delta':
        return this.#takeArguments(this.#items.of(data, 'function_call'), stringOf(data['delta']), emit);
      case 'response.output_item.done':
        return this.#endItem(this.#items.ended(data), objectOf(data['item']), emit);
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.cancelled':
        return this.takeResponse(response, stringOf(response['status']) || type.slice('response.'.length), emit);
    }
  }

  end(): void {}

  /**
   * Takes a complete response object, parts or all of which a stream may have had before. Failures have usage, too.
   *
   * @throws ServiceError when the response failed, was ended by moderation, or has not ended at all
   */
  takeResponse(response: JsonObject, status: string, emit: Emit<StreamEvent>): void {
    const isAnswer = status === 'completed' || status === 'incomplete';
    if (!isAnswer && !this.#started) throw failureOf(response);
    this.#ended = true;
    this.#announced = response;
    this.#start(emit);
    for (const [state, item] of this.#items.match(listOf(response['output']).map(objectOf))) {
      this.#endItem(state, item, emit);
    }
    for (const state of this.#items.all) this.#takeArguments(state, state.hasContent ? '' : state.input, emit);
    const usage = response['usage'];
    if (isObject(usage)) emit({ type: 'usage', usage: this.#withSearches(readUsage(usage)) });
    if (!isAnswer) throw failureOf(response);
    const reason = stringOf(objectOf(response['incomplete_details'])['reason']);
    // Without a reason for being incomplete, it is the bound.
    if (reason !== '') checkFinish(reason, this.#hasContent);
    emit({ type: 'finish', reason: status === 'completed' ? 'stop' : 'length' });
  }

  /** Emits nothing yet: a refusal may follow, and can then still be an error answer with a status. */
  #announce(response: JsonObject, type: string): void {
    const [before, id] = [stringOf(this.#announced['id']), stringOf(response['id'])];
    // Another response in the middle of one starts the answer anew, and the client already has a part of the first.
    if (type === 'response.created' && this.#hasContent && before !== '' && id !== before) throw cutShort();
    this.#announced = response;
  }

  #start(emit: Emit<StreamEvent>): void {
    if (this.#started) return;
    this.#started = true;
    const { id, model } = this.#announced;
    emit({ type: 'response-start', id: stringOf(id) || null, model: stringOf(model) || null });
  }

  #startItem(state: ItemState, item: JsonObject, emit: Emit<StreamEvent>): void {
    this.#start(emit);
    if (item['type'] === 'web_search_call')
      emit({ type: 'web-search-start', id: partId('web-search', state), query: '' });
    const name = stringOf(item['name']);
    if (item['type'] !== 'function_call' || state.started || canWrapCalls(name)) return;
    state.started = true;
    state.input = stringOf(item['arguments']);
    this.#hasContent = true;
    emit({ type: 'tool-input-start', id: partId('tool-input', state), callId: stringOf(item['call_id']), name });
  }

  /** The parts of a summary are read as paragraphs. */
  #startSummaryPart(state: ItemState, emit: Emit<StreamEvent>): void {
    if (state.hasContent) this.#emitDelta('reasoning', state, '\n\n', emit);
  }

  /** A call without an announcement has no name yet; the finished item then has the name. */
  #takeArguments(state: ItemState, text: string, emit: Emit<StreamEvent>): void {
    if (state.started) this.#emitDelta('tool-input', state, text, emit);
  }

  #emitDelta(kind: PartKind, state: ItemState, text: string, emit: Emit<StreamEvent>): void {
    if (text === '') return;
    this.#start(emit);
    state.hasContent = true;
    state.text += text;
    if (kind !== 'reasoning') this.#hasContent = true;
    emit({ type: `${kind}-delta`, id: partId(kind, state), text });
  }

  /** Emits the part of a text that the stream did not contain: all, the end or nothing. */
  #emitRest(kind: PartKind, state: ItemState, text: string, emit: Emit<StreamEvent>): void {
    if (text.startsWith(state.text)) this.#emitDelta(kind, state, text.slice(state.text.length), emit);
  }

  /** Ends an item once. Content that the stream did not contain comes from the finished item. */
  #endItem(state: ItemState, item: JsonObject, emit: Emit<StreamEvent>): void {
    if (state.ended) return;
    state.ended = true;
    this.#start(emit);
    if (item['type'] === 'message') this.#endMessage(state, item, emit);
    else if (item['type'] === 'reasoning') this.#endReasoning(state, item, emit);
    else if (item['type'] === 'function_call') this.#endCall(state, item, emit);
    else if (item['type'] === 'web_search_call') this.#endSearch(item, emit);
  }

  /** Vendors charge searches, and not the opening of pages. */
  #endSearch(item: JsonObject, emit: Emit<StreamEvent>): void {
    if ((stringOf(objectOf(item['action'])['type']) || 'search') !== 'search' || item['status'] === 'failed') return;
    this.#webSearches += 1;
    emit({ type: 'usage', usage: this.#withSearches(UNREPORTED_USAGE) });
  }

  #withSearches(usage: Usage): Usage {
    return this.#webSearches === 0 ? usage : { ...usage, webSearches: this.#webSearches };
  }

  #endMessage(state: ItemState, item: JsonObject, emit: Emit<StreamEvent>): void {
    this.#emitRest('text', state, textOfItem(item), emit);
    emit({ type: 'text-end', id: partId('text', state) });
  }

  #endReasoning(state: ItemState, item: JsonObject, emit: Emit<StreamEvent>): void {
    this.#emitRest('reasoning', state, textOfItem(item), emit);
    const signature = stringOf(item['encrypted_content']) || undefined;
    const redacted = state.hasContent || signature === undefined ? undefined : true;
    emit({ type: 'reasoning-end', id: partId('reasoning', state), signature, redacted });
  }

  #endCall(state: ItemState, item: JsonObject, emit: Emit<StreamEvent>): void {
    const id = partId('tool-input', state);
    const text = stringOf(item['arguments']);
    if (!state.started) {
      this.#hasContent = true;
      const call = { callId: stringOf(item['call_id']), name: stringOf(item['name']), arguments: text };
      for (const event of eventsOfCall(call, id)) emit(event);
      return;
    }
    this.#emitRest('tool-input', state, text, emit);
    emit({ type: 'tool-input-end', id });
  }
}

type PartKind = 'text' | 'reasoning' | 'tool-input';
type PartPrefix = PartKind | 'web-search';

function partId(kind: PartPrefix, { number }: ItemState): string {
  return `${kind}-${number}`;
}
