/** What an upstream that speaks chat completions answers, as canonical events. */
import type { ServiceError } from '../../domain/errors.ts';
import type { FinishReason, JsonObject, StreamEvent } from '../canonical.ts';
import { ObjectText } from '../object-text.ts';
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
import { TaggedText, type Piece } from './thinking-tags.ts';

/** Reasons not listed, such as those of a single vendor, mean that the model was done. */
const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  length: 'length',
  max_tokens: 'length',
  tool_calls: 'tool-calls',
  function_call: 'tool-calls',
};

export function finishReasonOf(told: string): FinishReason {
  return FINISH_REASONS[told] ?? 'stop';
}

/** The events of a chat.completion object. It differs from one chunk only in the name of `message`. */
export function parseResult(body: unknown): StreamEvent[] {
  if (!isObject(body)) throw malformedAnswer();
  throwIfError(body);
  if (arrayOf(body['choices']).length === 0) throw malformedAnswer();
  const events: StreamEvent[] = [];
  const emit = (event: StreamEvent): void => void events.push(event);
  const parser = new ChatStreamParser();
  parser.takeCompletion(body, 'message', emit);
  parser.finish(emit);
  return events;
}

export function parseStream(): Stage<ServerSentEvent, StreamEvent> {
  return new ChatStreamParser();
}

export function parseError(status: number, body: unknown, retryAfterSeconds?: number): ServiceError {
  const error = objectOf(objectOf(body)['error']);
  return upstreamError(status, [error['code'], error['type']], retryAfterSeconds);
}

function throwIfError(body: JsonObject): void {
  const error = body['error'];
  if (error === undefined || error === null) return;
  const { code, type, status } = objectOf(error);
  const number = [status, code].find((value) => typeof value === 'number');
  throw upstreamError(typeof number === 'number' ? number : null, [code, type]);
}

interface ToolCall {
  readonly key: string;
  readonly id: string;
  readonly name: string;
  readonly arguments: ObjectText;
}

interface ChoiceState {
  /** Tool calls by the index that the upstream gives; several may come under one. */
  readonly callByIndex: Map<number, ToolCall>;
  /** Calls that may wrap others, which is told by their whole arguments. */
  readonly wrappers: ToolCall[];
  readonly content: TaggedText;
  lastIndex: number;
  callCount: number;
  started: boolean;
  finish: FinishReason | null;
}

class ChatStreamParser implements Stage<ServerSentEvent, StreamEvent> {
  readonly #choices = new Map<number, ChoiceState>();
  #started = false;
  #done = false;

  push(event: ServerSentEvent, emit: Emit<StreamEvent>): void {
    if (this.#done) return;
    if (event.data === DONE) {
      this.#done = true;
      return;
    }
    const chunk = parseEventData(event);
    throwIfError(chunk);
    this.takeCompletion(chunk, 'delta', emit);
  }

  end(emit: Emit<StreamEvent>): void {
    this.finish(emit);
  }

  /** Takes a chunk, whose choices hold a `delta`, or a whole completion, whose choices hold a `message`. */
  takeCompletion(chunk: JsonObject, field: 'delta' | 'message', emit: Emit<StreamEvent>): void {
    if (!this.#started) {
      this.#started = true;
      emit({ type: 'response-start', id: stringOf(chunk['id']) || null, model: stringOf(chunk['model']) || null });
    }
    for (const item of arrayOf(chunk['choices'])) {
      const choice = objectOf(item);
      this.#takeDelta(countOf(choice['index']) ?? 0, objectOf(choice[field]), emit);
      const reason = stringOf(choice['finish_reason']);
      if (reason === 'error') throw upstreamError(null, []);
      throwIfModerated(reason);
      if (reason !== '') this.#choice(countOf(choice['index']) ?? 0).finish ??= finishReasonOf(reason);
    }
    // Some upstreams put the usage into the choice of the last chunk.
    const usage = chunk['usage'] ?? objectOf(arrayOf(chunk['choices'])[0])['usage'];
    if (isObject(usage)) emit({ type: 'usage', usage: readUsage(usage) });
  }

  /**
   * Emits the finishes. The end mark alone finishes an answer whose upstream gave no reason; without either, the answer was
   * cut short and stays unfinished.
   */
  finish(emit: Emit<StreamEvent>): void {
    for (const [choice, state] of this.#choices) {
      emitPieces(state.content.end(), choice, emit);
      for (const { key, id, name, arguments: text } of state.wrappers) {
        for (const event of eventsOfCall({ callId: id, name, arguments: text.text }, key, choice)) emit(event);
      }
      const reason = state.finish ?? (this.#done ? 'stop' : null);
      if (reason === null) continue;
      emit({ type: 'finish', choice, reason });
    }
  }

  #choice(index: number): ChoiceState {
    let state = this.#choices.get(index);
    if (state === undefined) {
      const callByIndex = new Map<number, ToolCall>();
      const content = new TaggedText();
      state = {
        callByIndex,
        wrappers: [],
        content,
        lastIndex: -1,
        callCount: 0,
        started: false,
        finish: null,
      };
      this.#choices.set(index, state);
    }
    return state;
  }

  #takeDelta(choice: number, delta: JsonObject, emit: Emit<StreamEvent>): void {
    const state = this.#choice(choice);
    const textId = `text-${choice}`;
    const reasoningId = `reasoning-${choice}`;
    if (!state.started) {
      state.started = true;
      emit({ type: 'reasoning-start', id: reasoningId, choice });
      emit({ type: 'text-start', id: textId, choice });
    }
    const reasoning = stringOf(delta['reasoning_content']) || stringOf(delta['reasoning']);
    if (reasoning !== '') {
      emitPieces(state.content.end(), choice, emit);
      emit({ type: 'reasoning-delta', id: reasoningId, text: reasoning });
    }
    const text = textOfContent(delta['content']);
    if (text !== '' && state.content.isPlain) emit({ type: 'text-delta', id: textId, text });
    else if (text !== '') emitPieces(state.content.push(text), choice, emit);
    const refusal = stringOf(delta['refusal']);
    if (refusal !== '') emit({ type: 'text-delta', id: textId, text: refusal });
    const calls = arrayOf(delta['tool_calls']);
    if (calls.length > 0 && !state.content.isPlain) emitPieces(state.content.end(), choice, emit);
    for (const call of calls) this.#takeToolCall(choice, state, objectOf(call), emit);
  }

  #takeToolCall(choice: number, state: ChoiceState, delta: JsonObject, emit: Emit<StreamEvent>): void {
    const called = objectOf(delta['function']);
    const id = stringOf(delta['id']);
    const name = stringOf(called['name']);
    const index = countOf(delta['index']) ?? (name === '' ? state.lastIndex : state.lastIndex + 1);
    const text = argumentsTextOf(called['arguments']);
    let call = state.callByIndex.get(index);
    if (call === undefined || isAnotherCall(call, id, name)) {
      call = { key: `tool-${choice}-${state.callCount}`, id, name, arguments: new ObjectText() };
      state.callCount += 1;
      state.callByIndex.set(index, call);
      if (mayWrapCalls(name)) state.wrappers.push(call);
      else emit({ type: 'tool-input-start', id: call.key, callId: id, name, choice });
    }
    state.lastIndex = index;
    call.arguments.add(text);
    if (text !== '' && !mayWrapCalls(call.name)) emit({ type: 'tool-input-delta', id: call.key, text });
  }
}

function emitPieces(pieces: readonly Piece[], choice: number, emit: Emit<StreamEvent>): void {
  for (const { type, text } of pieces) emit({ type: `${type}-delta`, id: `${type}-${choice}`, text });
}

/**
 * Whether a delta begins a new call although one has its index: some upstreams give every call the index 0. A call
 * begins with a name; one that repeats the name in each delta has the same id or, having none, unfinished arguments.
 */
function isAnotherCall(call: ToolCall, id: string, name: string): boolean {
  if (name === '') return false;
  return id === '' ? call.arguments.isWhole : id !== call.id;
}

/** Arguments are JSON text; some upstreams send the object itself. */
function argumentsTextOf(value: unknown): string {
  return isObject(value) ? JSON.stringify(value) : stringOf(value);
}

/** Content is a string; some upstreams send text parts. */
function textOfContent(content: unknown): string {
  if (typeof content === 'string') return content;
  return arrayOf(content)
    .map((part) => stringOf(objectOf(part)['text']))
    .join('');
}
