/** The answers of chat-completions upstreams as canonical events. */
import { countOf, isObject, type JsonObject, listOf, objectOf, stringOf } from '../../domain/json.ts';
import { parseEventData } from '../answer-json.ts';
import type { AudioPart, FinishReason, Source, StreamEvent, TextRequest } from '../canonical.ts';
import { checkFinish, finishReasonOf } from '../finish-reasons.ts';
import { DONE, type ServerSentEvent } from '../sse.ts';
import type { Emit, Stage } from '../stage.ts';
import { errorIn, malformedAnswer, readErrorMessage, type UpstreamError, upstreamError } from '../upstream-errors.ts';
import { readUsage } from '../usage.ts';
import { eventsOfCall, canWrapCalls } from '../unwrap-calls.ts';
import { imagesOf, piecesOfContent, reasoningOf } from './content.ts';
import { compact } from '../read.ts';
import { ReasoningDetails } from './reasoning-details.ts';
import { TaggedText, type Piece } from './thinking-tags.ts';
import { type CallPiece, callsOf, type ToolCall, ToolCalls } from './tool-calls.ts';

/** The events of a chat.completion object, which differs from a chunk only by `message`. */
export function parseResult(body: unknown): StreamEvent[] {
  if (!isObject(body)) throw malformedAnswer();
  throwIfError(body);
  if (listOf(body['choices']).length === 0) throw malformedAnswer();
  const events: StreamEvent[] = [];
  const emit = (event: StreamEvent): void => void events.push(event);
  const parser = new ChatStreamParser({ tools: [] });
  parser.takeCompletion(body, 'message', emit);
  parser.finish(emit, true);
  return events;
}

export function parseStream(sent: Pick<TextRequest, 'tools'> = { tools: [] }): Stage<ServerSentEvent, StreamEvent> {
  return new ChatStreamParser(sent);
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
  const { object, type, choices, message, detail } = body;
  const error = errorIn(body);
  if (error !== null) throw errorOf(error);
  const isFlat = choices === undefined && (stringOf(message) !== '' || stringOf(detail) !== '');
  if (eventName === 'error' || object === 'error' || type === 'error' || isFlat) throw errorOf(body);
}

function errorOf({ code, type, status, status_code: statusCode, message, detail }: JsonObject): UpstreamError {
  const number = [status, statusCode, code].find((value) => typeof value === 'number');
  return upstreamError(typeof number === 'number' ? number : null, [code, type], message ?? detail);
}

interface ChoiceState {
  readonly calls: ToolCalls;
  /** Calls that may wrap others, which only their complete arguments show. */
  readonly wrappers: ToolCall[];
  readonly content: TaggedText;
  readonly details: ReasoningDetails;
  started: boolean;
  hasContent: boolean;
  hasReasoning: boolean;
  finish: FinishReason | null;
}

export class ChatStreamParser implements Stage<ServerSentEvent, StreamEvent> {
  /** Whether clients understand the calls and the content of the latest chunk as they are. */
  isSound = true;
  /** What the latest chunk adds to calls, by the choice. */
  readonly #pieces: [choice: number, piece: CallPiece][] = [];
  readonly #toolNames: ReadonlySet<string>;
  readonly #choices = new Map<number, ChoiceState>();
  #started = false;
  #done = false;

  constructor({ tools }: Pick<TextRequest, 'tools'>) {
    this.#toolNames = new Set(tools.map(({ name }) => name));
  }

  push(event: ServerSentEvent, emit: Emit<StreamEvent>): void {
    if (this.#done) return;
    const isDone = event.data === DONE;
    const chunk = isDone ? {} : parseEventData(event);
    this.isSound = true;
    this.#pieces.length = 0;
    if (isDone) {
      this.#done = true;
      for (const [choice, state] of this.#choices) this.#endCalls(choice, state, emit);
      return;
    }
    throwIfError(chunk, event.event);
    this.takeCompletion(chunk, 'delta', emit);
  }

  /** What the latest chunk adds to the calls of a choice. */
  piecesOf(choice: number): readonly CallPiece[] {
    return this.#pieces.flatMap(([index, piece]) => (index === choice ? piece : []));
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
    for (const [position, item] of listOf(chunk['choices']).entries()) {
      const choice = objectOf(item);
      const index = countOf(choice['index']) ?? position;
      // Some upstreams send the whole message at the end of a stream, usually a second time.
      const message = choice[field] ?? (this.#choice(index).hasContent ? null : choice['message']);
      const { logprobs } = choice;
      if (isObject(logprobs)) emit({ type: 'logprobs', choice: index, logprobs });
      this.#takeDelta(index, objectOf(message), emit);
      const reported = stringOf(choice['finish_reason']);
      const reason = finishReasonOf(reported);
      if (reason === null) continue;
      const state = this.#choice(index);
      checkFinish(reported, state.hasContent);
      state.finish ??= reason;
      this.#endCalls(index, state, emit);
    }
    // Some upstreams put the usage into the choice of the last chunk.
    const usage = chunk['usage'] ?? objectOf(listOf(chunk['choices'])[0])['usage'];
    if (isObject(usage)) emit({ type: 'usage', usage: readUsage(usage) });
  }

  /**
   * Emits the finishes. An answer without a reason is finished by the end of the stream, if it has any content. Without
   * that end, too, it was cut short, and stays unfinished.
   */
  finish(emit: Emit<StreamEvent>, hasEnded: boolean): void {
    for (const [choice, state] of this.#choices) {
      signReasoning(choice, state, emit);
      emitPieces(state.content.end(), choice, emit);
      this.#endCalls(choice, state, emit);
      for (const call of state.wrappers) {
        const { id: callId, name, arguments: text } = call;
        for (const event of eventsOfCall({ callId, name, arguments: text.text }, keyOf(choice, call), choice))
          emit(event);
      }
      if (state.finish === null && !hasEnded) continue;
      if (state.finish === null) checkFinish('', state.hasContent);
      emit({ type: 'finish', choice, reason: state.finish ?? 'stop' });
    }
  }

  #choice(index: number): ChoiceState {
    let state = this.#choices.get(index);
    if (state === undefined) {
      const calls = new ToolCalls(this.#toolNames);
      state = {
        calls,
        wrappers: [],
        content: new TaggedText(),
        details: new ReasoningDetails(),
        started: false,
        hasContent: false,
        hasReasoning: false,
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
    state.details.take(delta);
    const reasoning = reasoningOf(delta);
    if (reasoning !== '') this.#takePiece(choice, state, { type: 'reasoning', text: reasoning }, emit);
    if (Array.isArray(delta['content'])) this.isSound = false;
    for (const piece of piecesOfContent(delta['content'])) this.#takePiece(choice, state, piece, emit);
    const refusal = stringOf(delta['refusal']);
    if (refusal !== '') this.#takePiece(choice, state, { type: 'text', text: refusal }, emit);
    const audio = audioOf(delta);
    if (audio !== null) {
      state.hasContent = true;
      emit({ type: 'audio-delta', choice, audio });
    }
    for (const source of imagesOf(delta)) this.#takeImage(choice, state, source, emit);
    const calls = callsOf(delta);
    if (calls.length > 0 && !state.content.isPlain) emitPieces(state.content.end(), choice, emit);
    for (const call of calls) {
      state.hasContent = true;
      for (const piece of state.calls.take(call)) this.#takeCall(choice, state, piece, emit);
    }
  }

  #takePiece(choice: number, state: ChoiceState, { type, text }: Piece, emit: Emit<StreamEvent>): void {
    if (type === 'reasoning') {
      state.hasReasoning = true;
      emitPieces(state.content.end(), choice, emit);
      return emit({ type: 'reasoning-delta', id: `reasoning-${choice}`, text });
    }
    state.hasContent = true;
    signReasoning(choice, state, emit);
    if (state.content.isPlain) return emit({ type: 'text-delta', id: `text-${choice}`, text });
    emitPieces(state.content.push(text), choice, emit);
  }

  /** An image by a link becomes text, because other formats have images in base64 only. */
  #takeImage(choice: number, state: ChoiceState, source: Source, emit: Emit<StreamEvent>): void {
    state.hasContent = true;
    if (source.kind === 'base64') return emit({ type: 'image', choice, image: source });
    this.#takePiece(choice, state, { type: 'text', text: `\n![image](${source.url})\n` }, emit);
  }

  #endCalls(choice: number, state: ChoiceState, emit: Emit<StreamEvent>): void {
    for (const piece of state.calls.end()) this.#takeCall(choice, state, piece, emit);
  }

  #takeCall(choice: number, state: ChoiceState, piece: CallPiece, emit: Emit<StreamEvent>): void {
    this.#pieces.push([choice, piece]);
    this.isSound &&= piece.isSound;
    const { call, isFirst, text } = piece;
    if (canWrapCalls(call.name)) {
      if (isFirst) state.wrappers.push(call);
      return;
    }
    const id = keyOf(choice, call);
    const { id: callId, name } = call;
    const signature = isFirst ? (call.signature ?? state.details.signature()) : undefined;
    if (isFirst) emit(compact({ type: 'tool-input-start', id, callId, name, choice, signature }));
    if (text !== null && text !== '') emit({ type: 'tool-input-delta', id, text });
  }
}

/** Ends the reasoning before the text, or at the end of the choice, with the signature of its details, if they have one. */
function signReasoning(choice: number, { details, hasReasoning }: ChoiceState, emit: Emit<StreamEvent>): void {
  const signature = details.signature();
  if (signature === undefined) return;
  emit(
    compact({ type: 'reasoning-end', id: `reasoning-${choice}`, signature, redacted: hasReasoning ? undefined : true }),
  );
}

function keyOf(choice: number, { number }: ToolCall): string {
  return `tool-${choice}-${number}`;
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
