/** Canonical events as chat.completion.chunk frames: contract 4.8.1. */
import type { JsonObject } from '../../domain/json.ts';
import { UNREPORTED_USAGE, type AnswerImage, type AudioPart, type StreamEvent, type Usage } from '../canonical.ts';
import { takesFreeText, textOfArguments } from '../free-text-tools.ts';
import { Logprobs } from '../logprobs.ts';
import { compact } from '../read.ts';
import { DONE, encodeEvent } from '../sse.ts';
import type { Emit, Stage } from '../stage.ts';
import type { RenderContext } from '../wire-format.ts';
import {
  annotationsOf,
  audioIdOf,
  hasLegacyFunctions,
  completionId,
  finishReasonFor,
  renderImage,
  renderUsage,
} from './render-result.ts';
import { extraContentOf } from './signatures.ts';

export function renderStream(context: RenderContext): Stage<StreamEvent, string> {
  return new ChatStreamRenderer(context);
}

interface ChoiceState {
  hasText: boolean;
  hasAudio: boolean;
  imageCount: number;
  toolCallCount: number;
}

class ChatStreamRenderer implements Stage<StreamEvent, string> {
  /** The JSON at the start of every chunk, made once: it is most of the bytes of a stream. */
  readonly #head: string;
  /** The JSON at the end of every chunk but the one with the usage. */
  readonly #tail: string;
  readonly #includesUsage: boolean;
  readonly #context: RenderContext;
  readonly #hasLegacyFunctions: boolean;
  readonly #choices = new Map<number, ChoiceState>();
  readonly #choiceOfPart = new Map<string, number>();
  readonly #toolIndexOfPart = new Map<string, number>();
  /** The arguments so far of calls that take free text, which is known once the arguments around it are complete. */
  readonly #openArguments = new Map<string, string>();
  /** The probabilities for the next chunk of each choice. */
  readonly #logprobs = new Map<number, Logprobs>();
  #usage: Usage = UNREPORTED_USAGE;

  constructor(context: RenderContext) {
    const { request, createdAtSeconds: created } = context;
    this.#context = context;
    this.#hasLegacyFunctions = hasLegacyFunctions(context);
    const head = { id: completionId(context), object: 'chat.completion.chunk', created, model: request.model };
    this.#head = `${JSON.stringify(head).slice(0, -1)},"choices":`;
    this.#includesUsage = request.includeUsage ?? false;
    this.#tail = this.#includesUsage ? ',"usage":null}' : '}';
  }

  push(event: StreamEvent, emit: Emit<string>): void {
    switch (event.type) {
      case 'response-start':
        this.#choice(0, emit);
        return;
      case 'text-start':
      case 'reasoning-start':
        this.#choiceOfPart.set(event.id, event.choice ?? 0);
        return;
      case 'text-delta':
        this.#choiceOf(event.id, emit).hasText = true;
        return this.#emitDelta(event.id, `{"content":${JSON.stringify(event.text)}}`, emit);
      case 'reasoning-delta':
        this.#choiceOf(event.id, emit);
        return this.#emitDelta(event.id, `{"reasoning_content":${JSON.stringify(event.text)}}`, emit);
      case 'tool-input-start':
        return this.#startToolCall(event, emit);
      case 'tool-input-delta':
        return this.#takeDelta(event.id, event.text, emit);
      case 'tool-input-end':
        return this.#endToolCall(event.id, emit);
      case 'audio-delta':
        return this.#takeAudio(event.audio, event.choice ?? 0, emit);
      case 'image':
        return this.#takeImage(event.image, event.choice ?? 0, emit);
      case 'logprobs':
        return this.#takeLogprobs(event.logprobs, event.choice ?? 0, emit);
      case 'web-search-start':
        return;
      case 'web-search-end':
        this.#choice(0, emit);
        if (event.results.length > 0) this.#emitChunk(0, JSON.stringify(annotationsOf(event.results)), 'null', emit);
        return;
      case 'usage':
        this.#usage = event.usage;
        return;
      case 'finish':
        return this.#finish(event, emit);
    }
  }

  end(emit: Emit<string>): void {
    if (this.#includesUsage) {
      emit(encodeEvent(`${this.#head}[],"usage":${JSON.stringify(renderUsage(this.#usage))}}`));
    }
    emit(encodeEvent(DONE));
  }

  /** The state of a choice. A choice starts with a delta that has the role. */
  #choice(index: number, emit: Emit<string>): ChoiceState {
    let choice = this.#choices.get(index);
    if (choice === undefined) {
      choice = { hasText: false, hasAudio: false, imageCount: 0, toolCallCount: 0 };
      this.#choices.set(index, choice);
      this.#emitChunk(index, '{"role":"assistant","content":""}', 'null', emit);
    }
    return choice;
  }

  #choiceOf(partId: string, emit: Emit<string>): ChoiceState {
    return this.#choice(this.#choiceOfPart.get(partId) ?? 0, emit);
  }

  /** The first piece has the id. */
  #takeAudio(audio: Omit<AudioPart, 'type'>, index: number, emit: Emit<string>): void {
    const choice = this.#choice(index, emit);
    const { audioId = choice.hasAudio ? undefined : audioIdOf(index, this.#context) } = audio;
    choice.hasAudio = true;
    const { data, transcript, expiresAtSeconds: expires_at } = audio;
    const piece = compact({ id: audioId, data, transcript, expires_at });
    this.#emitChunk(index, JSON.stringify({ audio: piece }), 'null', emit);
  }

  #takeImage(image: AnswerImage, index: number, emit: Emit<string>): void {
    const choice = this.#choice(index, emit);
    this.#emitChunk(index, JSON.stringify({ images: [renderImage(image, choice.imageCount)] }), 'null', emit);
    choice.imageCount += 1;
  }

  #takeLogprobs(piece: JsonObject, index: number, emit: Emit<string>): void {
    this.#choice(index, emit);
    const logprobs = this.#logprobs.get(index) ?? new Logprobs();
    logprobs.add(piece);
    this.#logprobs.set(index, logprobs);
  }

  #startToolCall(event: Extract<StreamEvent, { type: 'tool-input-start' }>, emit: Emit<string>): void {
    this.#choiceOfPart.set(event.id, event.choice ?? 0);
    const choice = this.#choiceOf(event.id, emit);
    const index = choice.toolCallCount;
    choice.toolCallCount += 1;
    this.#toolIndexOfPart.set(event.id, index);
    const head = { id: event.callId, ...extraContentOf(event.signature) };
    if (takesFreeText(this.#context.request.tools, event.name)) {
      this.#openArguments.set(event.id, '');
      const called = { ...head, type: 'custom', custom: { name: event.name, input: '' } };
      return this.#emitDelta(event.id, JSON.stringify({ tool_calls: [{ index, ...called }] }), emit);
    }
    this.#emitCall(event.id, { ...head, type: 'function' }, { name: event.name, arguments: '' }, emit);
  }

  #takeDelta(partId: string, text: string, emit: Emit<string>): void {
    const open = this.#openArguments.get(partId);
    if (open === undefined) return this.#emitCall(partId, {}, { arguments: text }, emit);
    this.#openArguments.set(partId, open + text);
  }

  #endToolCall(partId: string, emit: Emit<string>): void {
    const open = this.#openArguments.get(partId);
    if (open === undefined) return;
    const call = { index: this.#toolIndexOfPart.get(partId) ?? 0, custom: { input: textOfArguments(open) } };
    this.#emitDelta(partId, JSON.stringify({ tool_calls: [call] }), emit);
  }

  /** Emits a piece of a call. A function call has no id, and there is room for only one. */
  #emitCall(partId: string, head: JsonObject, called: JsonObject, emit: Emit<string>): void {
    const index = this.#toolIndexOfPart.get(partId) ?? 0;
    if (!this.#hasLegacyFunctions) {
      this.#emitDelta(partId, JSON.stringify({ tool_calls: [{ index, ...head, function: called }] }), emit);
    } else if (index === 0) {
      this.#emitDelta(partId, JSON.stringify({ function_call: called }), emit);
    }
  }

  #finish(event: Extract<StreamEvent, { type: 'finish' }>, emit: Emit<string>): void {
    const index = event.choice ?? 0;
    const choice = this.#choice(index, emit);
    const delta =
      choice.hasText || choice.hasAudio || choice.imageCount + choice.toolCallCount > 0 ? '{}' : '{"content":""}';
    this.#emitChunk(index, delta, JSON.stringify(finishReasonFor(event.reason, this.#context)), emit);
  }

  #emitDelta(partId: string, delta: string, emit: Emit<string>): void {
    this.#emitChunk(this.#choiceOfPart.get(partId) ?? 0, delta, 'null', emit);
  }

  #emitChunk(index: number, delta: string, finishReason: string, emit: Emit<string>): void {
    const logprobs = this.#logprobs.get(index);
    this.#logprobs.delete(index);
    const known = logprobs === undefined ? 'null' : JSON.stringify(logprobs.whole);
    const choice = `{"index":${index},"delta":${delta},"logprobs":${known},"finish_reason":${finishReason}}`;
    emit(encodeEvent(`${this.#head}[${choice}]${this.#tail}`));
  }
}
