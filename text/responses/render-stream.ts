/**
 * Canonical events as the events of a response stream: contract 4.8.2. The accumulators of the format's clients need
 * the whole sequence, in which every item and each of its parts is announced, filled and concluded, under one
 * numbering.
 */
import type { JsonObject } from '../../domain/json.ts';
import {
  UNREPORTED_USAGE,
  type AnswerImage,
  type AnswerPart,
  type Finish,
  type StreamEvent,
  type Usage,
} from '../canonical.ts';
import { encodeEvent } from '../sse.ts';
import type { Emit, Stage } from '../stage.ts';
import { textOfArguments } from '../free-text-tools.ts';
import type { RenderContext } from '../wire-format.ts';
import {
  EMPTY_TEXT,
  itemId,
  lastStatusOf,
  isReasoningOnly,
  renderFinished,
  renderImage,
  renderItem,
  renderSearch,
  renderSummary,
  renderText,
  renderUnfinished,
} from './render-result.ts';
import { renderSummaryItem } from './compaction.ts';
import { callKindOf, ownToolOf } from './tools.ts';
import type { ItemKind, ItemStatus, OutputItem } from './types.ts';

export function renderStream(context: RenderContext): Stage<StreamEvent, string> {
  return new ResponsesStreamRenderer(context);
}

/**
 * The event of the format's vendor for silence. Codex gives up after five minutes without an event, and comments do not count. SDKs refuse
 * the event before `response.created`: https://github.com/openai/openai-node/pull/1965
 */
export function renderKeepAlive(eventCount: number): string {
  const type = 'keepalive';
  return encodeEvent(JSON.stringify({ type, sequence_number: eventCount - 1 }), type);
}

/** The events of an answer that are of none of its parts. */
const EVENTS_OF_WHOLE: ReadonlySet<StreamEvent['type']> = new Set(['response-start', 'usage', 'finish']);

/** The item that is being written. */
interface OpenItem {
  readonly id: string;
  readonly index: number;
  /** The part, without its text or arguments. */
  part: AnswerPart;
  text: string;
}

class ResponsesStreamRenderer implements Stage<StreamEvent, string> {
  readonly #context: RenderContext;
  readonly #output: OutputItem[] = [];
  readonly #parts: { readonly type: ItemKind }[] = [];
  /** The indexes of the items of searches that have started. */
  readonly #searches = new Map<string, number>();
  /** Images follow the other items, none of which they may interrupt. */
  readonly #images: AnswerImage[] = [];
  /** The text of a summary, which clients get whole; null if the answer is none. */
  #summary: string | null;
  #open: OpenItem | null = null;
  #sequenceNumber = 0;
  #usage: Usage = UNREPORTED_USAGE;
  #finish: Finish = { reason: 'stop' };

  constructor(context: RenderContext) {
    this.#context = context;
    this.#summary = context.request.isSummary === true ? '' : null;
  }

  push(event: StreamEvent, emit: Emit<string>): void {
    if (this.#summary !== null && event.type === 'text-delta') this.#summary += event.text;
    if (this.#summary !== null && !EVENTS_OF_WHOLE.has(event.type)) return;
    switch (event.type) {
      case 'response-start': {
        const response = renderUnfinished(this.#context);
        this.#emit('response.created', { response }, emit);
        return this.#emit('response.in_progress', { response }, emit);
      }
      case 'text-start':
        return this.#startItem(EMPTY_TEXT, emit);
      case 'reasoning-start':
        return this.#startItem({ type: 'reasoning', text: '' }, emit);
      case 'tool-input-start':
        return this.#startItem({ type: 'tool-call', callId: event.callId, name: event.name, arguments: '' }, emit);
      case 'text-delta':
      case 'reasoning-delta':
      case 'tool-input-delta':
        return this.#takeDelta(event.text, emit);
      case 'reasoning-end':
        if (this.#open !== null) this.#open.part = { type: 'reasoning', text: '', signature: event.signature };
        return;
      case 'text-end':
      case 'tool-input-end':
        return;
      case 'image':
        this.#images.push(event.image);
        return;
      case 'web-search-start':
        return this.#startSearch(event, emit);
      case 'web-search-end':
        return this.#endSearch(event, emit);
      case 'usage':
        this.#usage = event.usage;
        return;
      case 'finish':
        this.#finish = event;
        return;
    }
  }

  end(emit: Emit<string>): void {
    const status = lastStatusOf(this.#finish);
    const hasImages = this.#images.length > 0;
    const summary = this.#summary ?? '';
    const hasSummary = summary !== '';
    if (hasSummary) this.#addSummary(summary, emit);
    const wantsText = !hasImages && !hasSummary && isReasoningOnly(this.#parts);
    this.#endItem(wantsText || hasImages ? 'completed' : status, emit);
    for (const image of this.#images) this.#addImage(image, emit);
    if (wantsText) {
      this.#startItem(EMPTY_TEXT, emit);
      this.#endItem(status, emit);
    }
    const response = renderFinished(this.#finish, this.#output, this.#usage, this.#context);
    this.#emit(`response.${status}`, { response }, emit);
  }

  #emit(type: string, fields: JsonObject, emit: Emit<string>): void {
    emit(encodeEvent(JSON.stringify({ type, sequence_number: this.#sequenceNumber, ...fields }), type));
    this.#sequenceNumber += 1;
  }

  /** Ends an item when the next event arrives, because nothing else shows that the item is complete. */
  #startItem(part: AnswerPart, emit: Emit<string>): void {
    this.#endItem('completed', emit);
    const index = this.#output.length;
    const id = itemId(part, index, this.#context);
    this.#open = { id, index, part, text: '' };
    this.#parts.push(part);
    const item = renderItem(part, id, 'in_progress', this.#context.request);
    const announced = item.type === 'message' ? { ...item, content: [] } : item;
    this.#emit('response.output_item.added', { output_index: index, item: announced }, emit);
    if (part.type === 'text') {
      this.#emit('response.content_part.added', { ...inContent(this.#open), part: renderText('') }, emit);
    }
  }

  #startSearch({ id, query }: Extract<StreamEvent, { type: 'web-search-start' }>, emit: Emit<string>): void {
    this.#endItem('completed', emit);
    const index = this.#output.length;
    const item = renderSearch({ query, results: [] }, itemId({ type: 'web-search' }, index, this.#context), true);
    this.#searches.set(id, index);
    this.#output.push(item);
    this.#parts.push({ type: 'web-search' });
    const place = { output_index: index, item_id: item.id };
    this.#emit('response.output_item.added', { output_index: index, item }, emit);
    this.#emit('response.web_search_call.in_progress', place, emit);
    this.#emit('response.web_search_call.searching', place, emit);
  }

  #endSearch(event: Extract<StreamEvent, { type: 'web-search-end' }>, emit: Emit<string>): void {
    const index = this.#searches.get(event.id);
    if (index === undefined) return;
    const item = renderSearch(event, itemId({ type: 'web-search' }, index, this.#context));
    this.#output[index] = item;
    this.#emit('response.web_search_call.completed', { output_index: index, item_id: item.id }, emit);
    this.#emit('response.output_item.done', { output_index: index, item }, emit);
  }

  #addSummary(summary: string, emit: Emit<string>): void {
    const index = this.#output.length;
    const id = itemId({ type: 'summary' }, index, this.#context);
    const item = renderSummaryItem(summary, id);
    this.#output.push(item);
    this.#emit('response.output_item.added', { output_index: index, item }, emit);
    this.#emit('response.output_item.done', { output_index: index, item }, emit);
  }

  #addImage(image: AnswerImage, emit: Emit<string>): void {
    const index = this.#output.length;
    const id = itemId({ type: 'image' }, index, this.#context);
    const item = renderImage(image, id);
    const place = { output_index: index, item_id: id };
    this.#output.push(item);
    this.#emit('response.output_item.added', { output_index: index, item: renderImage(null, id) }, emit);
    this.#emit('response.image_generation_call.in_progress', place, emit);
    this.#emit('response.image_generation_call.completed', place, emit);
    this.#emit('response.output_item.done', { output_index: index, item }, emit);
  }

  #takeDelta(delta: string, emit: Emit<string>): void {
    const open = this.#open;
    if (open === null) return;
    const isFirst = open.text === '';
    open.text += delta;
    if (open.part.type === 'text') {
      this.#emit('response.output_text.delta', { ...inContent(open), delta, logprobs: [] }, emit);
    } else if (open.part.type === 'tool-call') {
      // Free text is only known once the arguments around it are complete, and a search has no deltas.
      if (callKindOf(this.#context.request.tools, open.part.name) !== 'function') return;
      this.#emit('response.function_call_arguments.delta', { ...inItem(open), delta }, emit);
    } else {
      if (isFirst) {
        this.#emit('response.reasoning_summary_part.added', { ...inSummary(open), part: renderSummary('') }, emit);
      }
      this.#emit('response.reasoning_summary_text.delta', { ...inSummary(open), delta }, emit);
    }
  }

  #endItem(status: ItemStatus, emit: Emit<string>): void {
    const open = this.#open;
    if (open === null) return;
    this.#open = null;
    const { part, text } = open;
    if (part.type === 'text') {
      this.#emit('response.output_text.done', { ...inContent(open), text, logprobs: [] }, emit);
      this.#emit('response.content_part.done', { ...inContent(open), part: renderText(text) }, emit);
    } else if (part.type === 'tool-call') {
      this.#endCall(open, part.name, text, emit);
    } else if (text !== '') {
      this.#emit('response.reasoning_summary_text.done', { ...inSummary(open), text }, emit);
      this.#emit('response.reasoning_summary_part.done', { ...inSummary(open), part: renderSummary(text) }, emit);
    }
    const item = renderItem(withText(part, text), open.id, status, this.#context.request);
    this.#output.push(item);
    this.#emit('response.output_item.done', { output_index: open.index, item }, emit);
  }

  #endCall(open: OpenItem, called: string, text: string, emit: Emit<string>): void {
    const { tools } = this.#context.request;
    const kind = callKindOf(tools, called);
    if (kind === 'tool-search') return;
    if (kind === 'function') {
      const { name } = ownToolOf(tools, called);
      return this.#emit('response.function_call_arguments.done', { ...inItem(open), name, arguments: text }, emit);
    }
    const input = textOfArguments(text);
    this.#emit('response.custom_tool_call_input.delta', { ...inItem(open), delta: input }, emit);
    this.#emit('response.custom_tool_call_input.done', { ...inItem(open), input }, emit);
  }
}

function inItem({ id, index }: OpenItem): JsonObject {
  return { item_id: id, output_index: index };
}

function inContent(open: OpenItem): JsonObject {
  return { ...inItem(open), content_index: 0 };
}

function inSummary(open: OpenItem): JsonObject {
  return { ...inItem(open), summary_index: 0 };
}

function withText(part: AnswerPart, text: string): AnswerPart {
  return part.type === 'tool-call' ? { ...part, arguments: text } : { ...part, text };
}
