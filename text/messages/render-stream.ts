/** Canonical events as the events of a messages stream: contract 4.8.3. */
import type { JsonObject } from '../../domain/json.ts';
import { UNREPORTED_USAGE, mergeUsage, type AnswerImage, type StreamEvent, type Usage } from '../canonical.ts';
import { encodeEvent } from '../sse.ts';
import type { Emit, Stage } from '../stage.ts';
import type { RenderContext } from '../wire-format.ts';
import {
  EMPTY_TEXT,
  renderFound,
  renderHead,
  renderImage,
  renderSearchCall,
  renderStop,
  renderUsage,
  searchIdOf,
} from './render-result.ts';
import type { MessagesBlock } from './types.ts';

export function renderStream(context: RenderContext): Stage<StreamEvent, string> {
  return new MessagesStreamRenderer(context);
}

class MessagesStreamRenderer implements Stage<StreamEvent, string> {
  readonly #context: RenderContext;
  #usage: Usage = UNREPORTED_USAGE;
  #messageStarted = false;
  /** The open part. Its block may start later, because only then it is known whether reasoning is redacted. */
  #part: string | null = null;
  #blockStarted = false;
  #blockIndex = 0;
  #hasContent = false;
  /** Images follow the other blocks, none of which they may interrupt. */
  readonly #images: AnswerImage[] = [];

  constructor(context: RenderContext) {
    this.#context = context;
  }

  push(event: StreamEvent, emit: Emit<string>): void {
    // The message starts with the next event, which may be the usage that the start contains.
    if (event.type === 'response-start') return;
    if (event.type === 'usage') this.#usage = mergeUsage(this.#usage, event.usage);
    this.#startMessage(emit);
    if (event.type === 'usage' || event.type === 'audio-delta' || event.type === 'logprobs') return;
    if (!this.#isOfTheMessage(event)) return;
    switch (event.type) {
      case 'reasoning-start':
        this.#part = event.id;
        return;
      case 'text-start':
        this.#part = event.id;
        return this.#startBlock(EMPTY_TEXT, emit);
      case 'tool-input-start':
        this.#part = event.id;
        return this.#startBlock({ type: 'tool_use', id: event.callId, name: event.name, input: {} }, emit);
      case 'image':
        this.#images.push(event.image);
        return;
      case 'web-search-start':
        return this.#startSearch(event, emit);
      case 'web-search-end':
        this.#startBlock(renderFound(searchIdOf(event.id, this.#context), event), emit);
        return this.#endBlock(emit);
      case 'text-delta':
        return this.#emitDelta({ type: 'text_delta', text: event.text }, emit);
      case 'reasoning-delta':
        this.#startThinking(emit);
        return this.#emitDelta({ type: 'thinking_delta', thinking: event.text }, emit);
      case 'tool-input-delta':
        return this.#emitDelta({ type: 'input_json_delta', partial_json: event.text }, emit);
      case 'reasoning-end':
        return this.#endReasoning(event, emit);
      case 'text-end':
      case 'tool-input-end':
        return this.#endBlock(emit);
      case 'finish':
        return this.#finish(event, emit);
    }
  }

  end(emit: Emit<string>): void {
    emitEvent('message_stop', {}, emit);
  }

  /** A message has one choice. Omits parts of other choices, which clients cannot request. */
  #isOfTheMessage(
    event: Exclude<StreamEvent, { type: 'response-start' | 'usage' | 'audio-delta' | 'logprobs' }>,
  ): boolean {
    const choice = 'choice' in event ? event.choice : undefined;
    if (
      event.type === 'finish' ||
      event.type === 'image' ||
      event.type.endsWith('-start') ||
      event.type === 'web-search-end'
    )
      return (choice ?? 0) === 0;
    return event.id === this.#part;
  }

  #startMessage(emit: Emit<string>): void {
    if (this.#messageStarted) return;
    this.#messageStarted = true;
    // Some clients add the output of the start to the whole output at the end, so the start has none.
    const inputTotal = this.#usage.inputTotal ?? this.#context.estimateInputTokens();
    const usage = renderUsage({ ...this.#usage, inputTotal, outputTotal: null, reasoning: null });
    const rest = { content: [], stop_reason: null, stop_sequence: null, usage };
    emitEvent('message_start', { message: { ...renderHead(this.#context), ...rest } }, emit);
  }

  #startBlock(block: MessagesBlock, emit: Emit<string>): void {
    this.#blockStarted = true;
    if (block.type === 'text' || block.type === 'tool_use' || block.type === 'image') this.#hasContent = true;
    emitEvent('content_block_start', { index: this.#blockIndex, content_block: block }, emit);
  }

  #startSearch({ id, query }: Extract<StreamEvent, { type: 'web-search-start' }>, emit: Emit<string>): void {
    this.#startBlock(renderSearchCall(searchIdOf(id, this.#context), null), emit);
    this.#emitDelta({ type: 'input_json_delta', partial_json: JSON.stringify({ query }) }, emit);
    this.#endBlock(emit);
  }

  #startThinking(emit: Emit<string>): void {
    if (!this.#blockStarted) this.#startBlock({ type: 'thinking', thinking: '', signature: '' }, emit);
  }

  #emitDelta(delta: JsonObject, emit: Emit<string>): void {
    emitEvent('content_block_delta', { index: this.#blockIndex, delta }, emit);
  }

  #endReasoning(event: Extract<StreamEvent, { type: 'reasoning-end' }>, emit: Emit<string>): void {
    const signature = event.signature ?? '';
    if (event.redacted === true && !this.#blockStarted) {
      this.#startBlock({ type: 'redacted_thinking', data: signature }, emit);
    } else {
      this.#startThinking(emit);
      if (signature !== '') this.#emitDelta({ type: 'signature_delta', signature }, emit);
    }
    this.#endBlock(emit);
  }

  #endBlock(emit: Emit<string>): void {
    emitEvent('content_block_stop', { index: this.#blockIndex }, emit);
    this.#part = null;
    this.#blockStarted = false;
    this.#blockIndex += 1;
  }

  #finish(event: Extract<StreamEvent, { type: 'finish' }>, emit: Emit<string>): void {
    const images = this.#images.map(renderImage);
    const added = this.#hasContent || images.length > 0 ? images : [EMPTY_TEXT];
    for (const block of added) {
      this.#startBlock(block, emit);
      this.#endBlock(emit);
    }
    emitEvent('message_delta', { delta: renderStop(event), usage: renderUsage(this.#usage) }, emit);
  }
}

/** SDKs recognise an event by its `event:` line, and its content by the `type` inside, so both are there. */
function emitEvent(type: string, fields: JsonObject, emit: Emit<string>): void {
  emit(encodeEvent(JSON.stringify({ type, ...fields }), type));
}
