/** The answers of messages upstreams as canonical events. */
import { countOf, isObject, type JsonObject, listOf, objectOf, stringOf } from '../../domain/json.ts';
import { parseEventData } from '../answer-json.ts';
import { type AnswerPart, type FinishReason, type StreamEvent, UNREPORTED_USAGE, type Usage } from '../canonical.ts';
import { eventsOfPart } from '../collect.ts';
import { checkFinish, finishReasonOf } from '../finish-reasons.ts';
import { cutShort } from '../normalize.ts';
import { compact } from '../read.ts';
import { DONE, type ServerSentEvent } from '../sse.ts';
import type { Emit, Stage } from '../stage.ts';
import { argumentsTextOf } from '../turns.ts';
import { errorIn, malformedAnswer, readErrorMessage, type UpstreamError, upstreamError } from '../upstream-errors.ts';

/** Failures that only the message identifies, because the type says no more than "invalid". */
const CODE_BY_SENTENCE: readonly (readonly [RegExp, string])[] = [
  [/content filtering policy/i, 'content_filter'],
  // The gateway's own credit, about which its clients can do nothing.
  [/credit balance is too low/i, 'insufficient_quota'],
];

/** The canonical reason of each stop reason. An unknown one counts as `stop`. */
export function stopReasonOf(reported: string): FinishReason {
  return reported === 'stop_sequence' ? 'stop-sequence' : (finishReasonOf(reported) ?? 'stop');
}

export function parseResult(body: unknown): StreamEvent[] {
  if (!isObject(body)) throw malformedAnswer();
  throwIfError(body);
  if (!Array.isArray(body['content'])) throw malformedAnswer();
  const parts = body['content'].flatMap((block: unknown) => partOf(objectOf(block)) ?? []);
  return [
    startOf(body),
    ...parts.flatMap((part, index) => [...eventsOfPart(part, `${part.type}-${index}`)]),
    { type: 'usage', usage: new Counts().take(body['usage'], 'end') },
    finishOf(body, parts.some(isContent)),
  ];
}

export function parseStream(): Stage<ServerSentEvent, StreamEvent> {
  return new MessagesStreamParser();
}

export function parseError(status: number, body: unknown, retryAfterSeconds?: number): UpstreamError {
  const error = objectOf(objectOf(body)['error']);
  return upstreamError(status, codesOf(error), readErrorMessage(body, error), retryAfterSeconds);
}

function codesOf(error: JsonObject): unknown[] {
  const message = stringOf(error['message']);
  const [, code] = CODE_BY_SENTENCE.find(([sentence]) => sentence.test(message)) ?? [];
  // Vertex reports errors of its own in Google's form.
  return [code, error['type'], error['code'], error['status']];
}

function throwIfError(body: JsonObject, eventName: string | null = null): void {
  const error = errorIn(body);
  if (body['type'] !== 'error' && eventName !== 'error' && error === null) return;
  const reported = error ?? body;
  throw upstreamError(null, codesOf(reported), reported['message']);
}

function startOf(message: JsonObject): StreamEvent {
  return { type: 'response-start', id: stringOf(message['id']) || null, model: stringOf(message['model']) || null };
}

/** The finish in a message, or in the delta at the end of a stream. @throws ServiceError when the answer failed */
function finishOf(message: JsonObject, hasContent: boolean): StreamEvent {
  const reported = stringOf(message['stop_reason']);
  checkFinish(reported, hasContent);
  const reason = stopReasonOf(reported);
  const stopSequence = stringOf(message['stop_sequence']);
  if (reason !== 'stop-sequence' || stopSequence === '') return { type: 'finish', reason };
  return { type: 'finish', reason, stopSequence };
}

/** The part for a block; null for tools that the upstream runs itself. */
function partOf(block: JsonObject): AnswerPart | null {
  switch (block['type']) {
    case 'text':
      return { type: 'text', text: stringOf(block['text']) };
    case 'thinking':
      return compact({
        type: 'reasoning',
        text: stringOf(block['thinking']),
        signature: stringOf(block['signature']) || undefined,
      } as const);
    case 'redacted_thinking':
      return { type: 'reasoning', text: '', signature: stringOf(block['data']), redacted: true };
    case 'tool_use':
      return {
        type: 'tool-call',
        callId: stringOf(block['id']),
        name: stringOf(block['name']),
        arguments: argumentsTextOf(block['input']),
      };
    default:
      return null;
  }
}

/** Whether a part is more than thinking. */
function isContent(part: AnswerPart): boolean {
  return part.type === 'tool-call' || (part.type === 'text' && part.text !== '');
}

type Kind = AnswerPart['type'];

interface Block {
  readonly id: string;
  readonly type: Kind;
  readonly redacted: boolean;
  signature: string | undefined;
  /** The input with which the block started, which counts if no delta brings another. */
  input: string;
}

const NO_ARGUMENTS = '{}';

/** Added to a call's index for text that some upstreams put into its block before the call ends. */
const BESIDE = 0.5;

class MessagesStreamParser implements Stage<ServerSentEvent, StreamEvent> {
  readonly #counts = new Counts();
  /** The open blocks by the upstream's index, which some upstreams reuse or leave out. */
  readonly #blocks = new Map<number, Block>();
  /** The message in the start event. */
  #message: JsonObject = {};
  /** Parts that are already in the start, by index, while they may still be repeated as blocks. */
  readonly #partsOfStart = new Map<number, AnswerPart>();
  #blockCount = 0;
  #lastIndex = 0;
  #hasContent = false;
  #finished = false;

  push(event: ServerSentEvent, emit: Emit<StreamEvent>): void {
    if (event.data === DONE) return;
    const data = parseEventData(event);
    throwIfError(data, event.event);
    switch (data['type']) {
      case 'message_start':
        return this.#startMessage(objectOf(data['message']), emit);
      case 'content_block_start':
        return this.#startBlock(this.#indexOf(data), objectOf(data['content_block']), emit);
      case 'content_block_delta':
        return this.#takeDelta(this.#indexOf(data), objectOf(data['delta']), emit);
      case 'content_block_stop':
        return this.#endBlock(this.#indexOf(data), emit);
      case 'message_delta':
        this.#takeUsage(data['usage'], 'end', emit);
        if (stringOf(objectOf(data['delta'])['stop_reason']) !== '') this.#finish(objectOf(data['delta']), emit);
        return;
      case 'message_stop':
        if (!this.#finished) this.#finish(this.#message, emit);
    }
  }

  /** Ends the blocks that the upstream left open. An answer without its end stays unfinished. */
  end(emit: Emit<StreamEvent>): void {
    this.#emitPartsOfStart(Infinity, emit);
    for (const index of this.#blocks.keys()) this.#endBlock(index, emit);
  }

  /**
   * Takes a start, which may come twice. A start after content that is for another message, or that leaves a call half
   * written, starts the answer anew. The client already has the first try, and both together are not an answer.
   */
  #startMessage(message: JsonObject, emit: Emit<StreamEvent>): void {
    const isOther = message['id'] !== this.#message['id'];
    const isCallOpen = [...this.#blocks.values()].some(({ type }) => type === 'tool-call');
    if (this.#blockCount > 0 && (isOther || isCallOpen)) throw cutShort();
    this.#message = message;
    for (const [index, block] of listOf(message['content']).entries()) {
      const part = partOf(objectOf(block));
      if (part !== null) this.#partsOfStart.set(index, part);
    }
    emit(startOf(message));
    this.#takeUsage(message['usage'], 'start', emit);
  }

  #emitPartsOfStart(before: number, emit: Emit<StreamEvent>): void {
    for (const [index, part] of this.#partsOfStart) {
      if (index >= before) continue;
      this.#partsOfStart.delete(index);
      this.#hasContent ||= isContent(part);
      for (const event of eventsOfPart(part, `${part.type}-${this.#blockCount}`)) emit(event);
      this.#blockCount += 1;
    }
  }

  #indexOf(data: JsonObject): number {
    this.#lastIndex = countOf(data['index']) ?? this.#lastIndex;
    return this.#lastIndex;
  }

  #takeUsage(usage: unknown, at: 'start' | 'end', emit: Emit<StreamEvent>): void {
    if (isObject(usage)) emit({ type: 'usage', usage: this.#counts.take(usage, at) });
  }

  #finish(delta: JsonObject, emit: Emit<StreamEvent>): void {
    this.#finished = true;
    this.#emitPartsOfStart(Infinity, emit);
    emit(finishOf(delta, this.#hasContent));
  }

  #startBlock(index: number, block: JsonObject, emit: Emit<StreamEvent>): void {
    const part = partOf(block);
    this.#partsOfStart.delete(index);
    this.#emitPartsOfStart(index, emit);
    this.#endBlock(index, emit);
    if (part === null) {
      if (block['type'] === 'server_tool_use') emit({ type: 'web-search-start', id: stringOf(block['id']), query: '' });
      return;
    }
    this.#hasContent ||= isContent(part);
    this.#startPart(this.#openBlock(index, part), part, emit);
  }

  #startPart(block: Block, part: AnswerPart, emit: Emit<StreamEvent>): void {
    if (part.type === 'tool-call') {
      emit({ type: 'tool-input-start', id: block.id, callId: part.callId, name: part.name });
      if (part.arguments !== NO_ARGUMENTS) block.input = part.arguments;
      return;
    }
    emit({ type: `${part.type}-start`, id: block.id });
    if (part.text !== '') emit({ type: `${part.type}-delta`, id: block.id, text: part.text });
  }

  #openBlock(index: number, part: AnswerPart): Block {
    const { signature, redacted } = part.type === 'reasoning' ? part : {};
    const id = `${part.type}-${this.#blockCount}`;
    const block = { id, type: part.type, signature, redacted: redacted ?? false, input: '' };
    this.#blockCount += 1;
    this.#blocks.set(index, block);
    return block;
  }

  /** The open block for a delta of text or reasoning. If the upstream did not start one, the delta does. */
  #blockFor(index: number, type: 'text' | 'reasoning', emit: Emit<StreamEvent>): Block {
    const isInCall = this.#blocks.get(index)?.type === 'tool-call';
    const place = isInCall ? index + BESIDE : index;
    const open = this.#blocks.get(place);
    if (open?.type === type) return open;
    this.#endBlock(place, emit);
    return this.#openBlock(place, { type, text: '' });
  }

  #takeDelta(index: number, delta: JsonObject, emit: Emit<StreamEvent>): void {
    if (!this.#blocks.has(index)) this.#emitPartsOfStart(index + 1, emit);
    switch (delta['type']) {
      case 'text_delta': {
        const { id } = this.#blockFor(index, 'text', emit);
        this.#hasContent ||= stringOf(delta['text']) !== '';
        return emit({ type: 'text-delta', id, text: stringOf(delta['text']) });
      }
      case 'thinking_delta': {
        const { id } = this.#blockFor(index, 'reasoning', emit);
        return emit({ type: 'reasoning-delta', id, text: stringOf(delta['thinking']) });
      }
      case 'signature_delta':
        this.#blockFor(index, 'reasoning', emit).signature = stringOf(delta['signature']) || undefined;
        return;
      case 'input_json_delta': {
        const block = this.#blocks.get(index);
        const text = stringOf(delta['partial_json']);
        if (block?.type !== 'tool-call' || text === '') return;
        block.input = '';
        emit({ type: 'tool-input-delta', id: block.id, text });
      }
    }
  }

  #endBlock(index: number, emit: Emit<StreamEvent>): void {
    const block = this.#blocks.get(index);
    if (block === undefined) return;
    this.#blocks.delete(index);
    this.#endBlock(index + BESIDE, emit);
    const { id, type, signature, redacted, input } = block;
    if (type === 'text') return emit({ type: 'text-end', id });
    if (type === 'reasoning') {
      return emit(compact({ type: 'reasoning-end', id, signature, redacted: redacted || undefined } as const));
    }
    if (input !== '') emit({ type: 'tool-input-delta', id, text: input });
    emit({ type: 'tool-input-end', id });
  }
}

/**
 * The counts of one answer. They come in several reports with running totals of some of the fields. Some upstreams put
 * 0 into fields that they do not know yet, or have reported before.
 */
class Counts {
  #input: number | null = null;
  #cacheRead: number | null = null;
  #cacheWrite: number | null = null;
  #cacheWrite1h: number | null = null;
  #output: number | null = null;
  #reasoning: number | null = null;
  #webSearches: number | null = null;
  #isOutputKnown = false;

  /**
   * Takes a report, and returns everything that is known, with cached tokens included in the input.
   *
   * @param at a report at the start cannot know the output yet: whatever the end reports, even 0, replaces it
   */
  take(report: unknown, at: 'start' | 'end'): Usage {
    const fields = objectOf(report);
    this.#takeInput(fields);
    const output = countOf(fields['output_tokens']);
    this.#output = at === 'end' && !this.#isOutputKnown ? (output ?? this.#output) : later(this.#output, output);
    if (at === 'end' && output !== null) this.#isOutputKnown = true;
    this.#reasoning = later(this.#reasoning, countOf(objectOf(fields['output_tokens_details'])['thinking_tokens']));
    this.#webSearches = later(this.#webSearches, countOf(objectOf(fields['server_tool_use'])['web_search_requests']));
    const cached = (this.#cacheRead ?? 0) + (this.#cacheWrite ?? 0);
    return {
      ...UNREPORTED_USAGE,
      inputTotal: this.#input === null ? null : this.#input + cached,
      cacheRead: this.#cacheRead,
      cacheWrite: this.#cacheWrite,
      cacheWrite1h: this.#cacheWrite1h,
      outputTotal: this.#output,
      reasoning: this.#reasoning,
      webSearches: this.#webSearches,
    };
  }

  /**
   * An input that differs from the one reported before belongs to another pass over the prompt, which some upstreams
   * make for their own tools; the cached tokens of the earlier pass are then not added.
   */
  #takeInput(fields: JsonObject): void {
    const input = countOf(fields['input_tokens']);
    const cacheRead = countOf(fields['cache_read_input_tokens']);
    const byLifetime = objectOf(fields['cache_creation']);
    const cacheWrite = countOf(fields['cache_creation_input_tokens']) ?? sumOf(byLifetime);
    const cacheWrite1h = countOf(byLifetime['ephemeral_1h_input_tokens']);
    const isOtherPass = input !== null && input > 0 && this.#input !== null && input !== this.#input;
    this.#input = later(this.#input, input);
    const newer = isOtherPass ? (earlier: number | null, count: number | null) => count ?? earlier : later;
    this.#cacheRead = newer(this.#cacheRead, cacheRead);
    this.#cacheWrite = newer(this.#cacheWrite, cacheWrite);
    this.#cacheWrite1h = newer(this.#cacheWrite1h, cacheWrite1h);
  }
}

/** The later count, unless it is 0. */
function later(earlier: number | null, count: number | null): number | null {
  return count === null || (count === 0 && earlier !== null) ? earlier : count;
}

/** The tokens written to the cache, where an upstream reports them only by lifetime. */
function sumOf(byLifetime: JsonObject): number | null {
  const counts = Object.values(byLifetime).flatMap((count) => countOf(count) ?? []);
  return counts.length === 0 ? null : counts.reduce((sum, count) => sum + count, 0);
}
