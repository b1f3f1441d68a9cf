/** The answers of chat-completions upstreams as canonical events. */
import { isObject, type JsonObject } from '../../domain/json.ts';
import { parseEventData } from '../answer-json.ts';
import type { AudioPart, FinishReason, StreamEvent } from '../canonical.ts';
import { ObjectText } from '../object-text.ts';
import { checkFinish, finishReasonOf } from '../finish-reasons.ts';
import { DONE, type ServerSentEvent } from '../sse.ts';
import type { Emit, Stage } from '../stage.ts';
import {
  arrayOf,
  countOf,
  malformedAnswer,
  objectOf,
  readErrorMessage,
  stringOf,
  type UpstreamError,
  upstreamError,
} from '../upstream-errors.ts';
import { readUsage } from '../usage.ts';
import { eventsOfCall, canWrapCalls } from '../unwrap-calls.ts';
import { piecesOfContent, reasoningOf } from './content.ts';
import { compact } from '../read.ts';
import { signatureOf } from './signatures.ts';
import { TaggedText, type Piece } from './thinking-tags.ts';

/** The events of a chat.completion object, which differs from a chunk only by `message`. */
export function parseResult(body: unknown): StreamEvent[] {
  if (!isObject(body)) throw malformedAnswer();
  throwIfError(body);
  if (arrayOf(body['choices']).length === 0) throw malformedAnswer();
  const events: StreamEvent[] = [];
  const emit = (event: StreamEvent): void => void events.push(event);
  const parser = new ChatStreamParser();
  parser.takeCompletion(body, 'message', emit);
  parser.finish(emit, true);
  return events;
}

export function parseStream(): Stage<ServerSentEvent, StreamEvent> {
  return new ChatStreamParser();
}

export function parseError(status: number, body: unknown, retryAfterSeconds?: number): UpstreamError {
  const error = objectOf(objectOf(body)['error']);
  // Azure's filter has its name inside.
  const { code: filter } = objectOf(error['innererror']);
  const codes = [filter, error['code'], error['type']];
  return upstreamError(status, codes, readErrorMessage(body, error), retryAfterSeconds);
}

/** @throws ServiceError for an error instead of an answer or chunk, whether under `error` or at the top level */
export function throwIfError(body: JsonObject, eventName: string | null = null): void {
  const { error, object, type, choices, message, detail } = body;
  if (error !== undefined && error !== null) throw errorOf(objectOf(error));
  const isFlat = choices === undefined && (stringOf(message) !== '' || stringOf(detail) !== '');
  if (eventName === 'error' || object === 'error' || type === 'error' || isFlat) throw errorOf(body);
}

function errorOf({ code, type, status, status_code: statusCode, message, detail }: JsonObject): UpstreamError {
  const number = [status, statusCode, code].find((value) => typeof value === 'number');
  return upstreamError(typeof number === 'number' ? number : null, [code, type], message ?? detail);
}

interface ToolCall {
  readonly key: string;
  readonly id: string;
  readonly name: string;
  readonly arguments: ObjectText;
}

interface ChoiceState {
  /** Tool calls by the upstream's index; several may have the same one. */
  readonly callByIndex: Map<number, ToolCall>;
  /** Calls that may wrap others, which only their complete arguments show. */
  readonly wrappers: ToolCall[];
  readonly content: TaggedText;
  lastIndex: number;
  callCount: number;
  started: boolean;
  hasContent: boolean;
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
    throwIfError(chunk, event.event);
    this.takeCompletion(chunk, 'delta', emit);
  }

  end(emit: Emit<StreamEvent>): void {
    this.finish(emit, this.#done);
  }

  /** Takes a chunk, whose choices have a `delta`, or a complete answer, whose choices have a `message`. */
  takeCompletion(chunk: JsonObject, field: 'delta' | 'message', emit: Emit<StreamEvent>): void {
    if (!this.#started) {
      this.#started = true;
      emit({ type: 'response-start', id: stringOf(chunk['id']) || null, model: stringOf(chunk['model']) || null });
    }
    for (const [position, item] of arrayOf(chunk['choices']).entries()) {
      const choice = objectOf(item);
      const index = countOf(choice['index']) ?? position;
      // Some upstreams send the whole message at the end of a stream, usually a second time.
      const message = choice[field] ?? (this.#choice(index).hasContent ? null : choice['message']);
      this.#takeDelta(index, objectOf(message), emit);
      const reported = stringOf(choice['finish_reason']);
      const reason = finishReasonOf(reported);
      if (reason === null) continue;
      const state = this.#choice(index);
      checkFinish(reported, state.hasContent);
      state.finish ??= reason;
    }
    // Some upstreams put the usage into the choice of the last chunk.
    const usage = chunk['usage'] ?? objectOf(arrayOf(chunk['choices'])[0])['usage'];
    if (isObject(usage)) emit({ type: 'usage', usage: readUsage(usage) });
  }

  /**
   * Emits the finishes. An answer without a reason is finished by the end of the stream, if it has any content. Without
   * that end, too, it was cut short, and stays unfinished.
   */
  finish(emit: Emit<StreamEvent>, hasEnded: boolean): void {
    for (const [choice, state] of this.#choices) {
      emitPieces(state.content.end(), choice, emit);
      for (const { key, id, name, arguments: text } of state.wrappers) {
        for (const event of eventsOfCall({ callId: id, name, arguments: text.text }, key, choice)) emit(event);
      }
      if (state.finish === null && !hasEnded) continue;
      if (state.finish === null) checkFinish('', state.hasContent);
      emit({ type: 'finish', choice, reason: state.finish ?? 'stop' });
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
        hasContent: false,
        finish: null,
      };
      this.#choices.set(index, state);
    }
    return state;
  }

  #takeDelta(choice: number, delta: JsonObject, emit: Emit<StreamEvent>): void {
    const state = this.#choice(choice);
    if (!state.started) {
      state.started = true;
      emit({ type: 'reasoning-start', id: `reasoning-${choice}`, choice });
      emit({ type: 'text-start', id: `text-${choice}`, choice });
    }
    const reasoning = reasoningOf(delta);
    if (reasoning !== '') this.#takePiece(choice, state, { type: 'reasoning', text: reasoning }, emit);
    for (const piece of piecesOfContent(delta['content'])) this.#takePiece(choice, state, piece, emit);
    const refusal = stringOf(delta['refusal']);
    if (refusal !== '') this.#takePiece(choice, state, { type: 'text', text: refusal }, emit);
    const audio = audioOf(delta);
    if (audio !== null) {
      state.hasContent = true;
      emit({ type: 'audio-delta', choice, audio });
    }
    const calls = callsOf(delta);
    if (calls.length > 0 && !state.content.isPlain) emitPieces(state.content.end(), choice, emit);
    for (const call of calls) this.#takeToolCall(choice, state, call, emit);
  }

  #takePiece(choice: number, state: ChoiceState, { type, text }: Piece, emit: Emit<StreamEvent>): void {
    if (type === 'reasoning') {
      emitPieces(state.content.end(), choice, emit);
      return emit({ type: 'reasoning-delta', id: `reasoning-${choice}`, text });
    }
    state.hasContent = true;
    if (state.content.isPlain) return emit({ type: 'text-delta', id: `text-${choice}`, text });
    emitPieces(state.content.push(text), choice, emit);
  }

  #takeToolCall(choice: number, state: ChoiceState, delta: JsonObject, emit: Emit<StreamEvent>): void {
    state.hasContent = true;
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
      if (canWrapCalls(name)) state.wrappers.push(call);
      else
        emit(
          compact({ type: 'tool-input-start', id: call.key, callId: id, name, choice, signature: signatureOf(delta) }),
        );
    }
    state.lastIndex = index;
    call.arguments.add(text);
    if (text !== '' && !canWrapCalls(call.name)) emit({ type: 'tool-input-delta', id: call.key, text });
  }
}

/** The audio in a delta or message. Some upstreams send an empty object for none. */
function audioOf({ audio }: JsonObject): Omit<AudioPart, 'type'> | null {
  if (!isObject(audio)) return null;
  const piece = compact({
    audioId: stringOf(audio['id']) || undefined,
    data: stringOf(audio['data']) || undefined,
    transcript: stringOf(audio['transcript']) || undefined,
    expiresAtSeconds: countOf(audio['expires_at']) || undefined,
  });
  return Object.keys(piece).length === 0 ? null : piece;
}

function emitPieces(pieces: readonly Piece[], choice: number, emit: Emit<StreamEvent>): void {
  for (const { type, text } of pieces) emit({ type: `${type}-delta`, id: `${type}-${choice}`, text });
}

/**
 * Whether a delta starts a new call although there is one with its index: some upstreams give every call the index 0. A
 * call starts with a name. A delta that merely repeats the name has the same id or, without ids, follows unfinished
 * arguments.
 */
function isAnotherCall(call: ToolCall, id: string, name: string): boolean {
  if (name === '') return false;
  return id === '' ? call.arguments.isWhole : id !== call.id;
}

/** Arguments are JSON text, but some upstreams send the object itself. */
function argumentsTextOf(value: unknown): string {
  return isObject(value) ? JSON.stringify(value) : stringOf(value);
}

/** The calls in a delta, including the older form with one call per message, which some upstreams send empty. */
function callsOf(delta: JsonObject): JsonObject[] {
  const calls = arrayOf(delta['tool_calls']).map(objectOf);
  const { name, arguments: text } = objectOf(delta['function_call']);
  if (calls.length > 0 || (stringOf(name) === '' && argumentsTextOf(text) === '')) return calls;
  return [{ index: 0, function: { name, arguments: text } }];
}
