/**
 * Makes the events of any upstream legal (see `StreamEvent` for the grammar), so that renderers and `collect` need not
 * be lenient. The mistakes of upstreams, and their corrections:
 *
 * - missing or repeated starts and ends: the first delta opens a part, and it is closed once;
 * - interleaved tool calls: each waits for those before it, which end when their end arrives, when their arguments are
 *   complete JSON and another part starts, or with the stream;
 * - empty or repeated call ids, also those that the conversation has already: replaced; empty arguments: `{}`;
 * - a finish reason that contradicts the presence of tool calls: corrected;
 * - audio, images and probabilities anywhere in an answer: passed at once, since they overlap no part;
 * - a finish or usage that comes early, late, twice or in pieces: merged and emitted at the end, usage first;
 * - an answer without a finish, as a dropped connection leaves it: 503 `result_transfer_failed`.
 */
import { ServiceError } from '../domain/errors.ts';
import { newCallId } from './call-ids.ts';
import {
  mergeUsage,
  type EndEvent,
  type Finish,
  type FinishReason,
  type StartEvent,
  type StreamEvent,
  type Usage,
} from './canonical.ts';
import { ObjectText } from './object-text.ts';
import type { Emit, Stage } from './stage.ts';

/** The stage from an upstream's sloppy events to legal ones. @param earlierCallIds those of the conversation */
export function normalize(earlierCallIds?: ReadonlySet<string>): Stage<StreamEvent, StreamEvent> {
  return new Normalizer(earlierCallIds);
}

/** A part that was begun, and has not been emitted to its end. */
interface QueuedPart {
  /** The id that the upstream's parser gave it. */
  readonly key: string;
  readonly start: StartEvent;
  /** The arguments so far; for tool calls only. */
  readonly arguments: ObjectText;
  /** Deltas that wait for the parts before this one. */
  waiting: string[];
  started: boolean;
  end: EndEvent | null;
  next: QueuedPart | null;
}

interface ChoiceState {
  /** The open part, for which the following ones wait. */
  first: QueuedPart | null;
  last: QueuedPart | null;
  /** Parts that end when another one starts: always text, and tool calls whose arguments are complete. */
  readonly mayEnd: Set<QueuedPart>;
  hasToolCalls: boolean;
  finish: Finish | null;
}

class Normalizer implements Stage<StreamEvent, StreamEvent> {
  readonly #choices = new Map<number, ChoiceState>();
  /** The choice that a part belongs to, by the id that the upstream's parser gave it. */
  readonly #choiceOfPart = new Map<string, number>();
  readonly #parts = new Map<string, QueuedPart>();
  readonly #usedIds = new Set<string>();
  /** How many parts had each id. */
  readonly #idCounts = new Map<string, number>();
  readonly #usedCallIds: Set<string>;
  #started = false;
  #hasParts = false;
  #usage: Usage | null = null;

  constructor(earlierCallIds?: ReadonlySet<string>) {
    this.#usedCallIds = new Set(earlierCallIds);
  }

  push(event: StreamEvent, emit: Emit<StreamEvent>): void {
    this.#startResponse(event, emit);
    switch (event.type) {
      case 'response-start':
      // Converted answers have no searches of the upstream's own.
      case 'web-search-start':
      case 'web-search-end':
        return;
      case 'usage':
        return this.#takeUsage(event.usage, emit);
      case 'audio-delta':
      case 'image':
        this.#choice(event.choice ?? 0);
        this.#hasParts = true;
        return emit(event);
      case 'logprobs':
        return emit(event);
      case 'finish':
        this.#choice(event.choice ?? 0).finish ??= { reason: event.reason, stopSequence: event.stopSequence };
        return;
      case 'text-start':
      case 'reasoning-start':
        // The first delta opens it, so that an empty part leaves no trace.
        this.#choiceOfPart.set(event.id, event.choice ?? 0);
        return;
      case 'tool-input-start':
        return this.#startToolCall(event, emit);
      case 'text-delta':
      case 'reasoning-delta':
      case 'tool-input-delta':
        return this.#takeDelta(event, emit);
      case 'text-end':
      case 'reasoning-end':
      case 'tool-input-end':
        return this.#takeEnd(event, emit);
    }
  }

  end(emit: Emit<StreamEvent>): void {
    const choices = [...this.#choices].sort(([left], [right]) => left - right);
    for (const [, state] of choices) {
      for (let part = state.first; part !== null; part = part.next) part.end ??= endOf(part.start);
      this.#flush(state, emit);
    }
    const finishes = choices.map(([choice, state]) => ({ choice, finish: finishOf(state) }));
    if (finishes.length === 0) throw cutShort();
    if (this.#usage !== null) emit({ type: 'usage', usage: this.#usage });
    for (const { choice, finish } of finishes) emit({ type: 'finish', choice, ...finish });
  }

  #startResponse(event: StreamEvent, emit: Emit<StreamEvent>): void {
    if (this.#started) return;
    this.#started = true;
    emit(event.type === 'response-start' ? event : { type: 'response-start', id: null, model: null });
  }

  /** Usage known before the first part is emitted at once, because some formats start with it; later usage waits. */
  #takeUsage(usage: Usage, emit: Emit<StreamEvent>): void {
    const isFirst = this.#usage === null;
    this.#usage = this.#usage === null ? usage : mergeUsage(this.#usage, usage);
    if (isFirst && !this.#hasParts) emit({ type: 'usage', usage });
  }

  #choice(index: number): ChoiceState {
    let state = this.#choices.get(index);
    if (state === undefined) {
      state = { first: null, last: null, mayEnd: new Set(), hasToolCalls: false, finish: null };
      this.#choices.set(index, state);
    }
    return state;
  }

  #startToolCall(event: Extract<StartEvent, { type: 'tool-input-start' }>, emit: Emit<StreamEvent>): void {
    if (this.#parts.has(event.id)) return;
    const callId = event.callId === '' || this.#usedCallIds.has(event.callId) ? newCallId() : event.callId;
    this.#usedCallIds.add(callId);
    this.#choiceOfPart.set(event.id, event.choice ?? 0);
    this.#choice(event.choice ?? 0).hasToolCalls = true;
    this.#enqueue(event.id, { ...event, callId }, emit);
  }

  #takeDelta(event: Extract<StreamEvent, { text: string }>, emit: Emit<StreamEvent>): void {
    if (event.text === '') return;
    const part = this.#parts.get(event.id) ?? this.#openOnDelta(event, emit);
    // Only white space can follow the arguments of a call that has ended.
    if (part === null || part.end !== null) return;
    if (part.start.type === 'tool-input-start') this.#takeArguments(part, event.text);
    if (part.started) emit(deltaOf(part.start, event.text));
    else part.waiting.push(event.text);
  }

  #takeArguments(part: QueuedPart, text: string): void {
    part.arguments.add(text);
    const { mayEnd } = this.#choice(part.start.choice ?? 0);
    if (part.arguments.isWhole) mayEnd.add(part);
    else mayEnd.delete(part);
  }

  #openOnDelta(event: Extract<StreamEvent, { text: string }>, emit: Emit<StreamEvent>): QueuedPart | null {
    if (event.type === 'tool-input-delta') return null;
    const type = event.type === 'text-delta' ? 'text-start' : 'reasoning-start';
    return this.#enqueue(event.id, { type, id: event.id, choice: this.#choiceOfPart.get(event.id) ?? 0 }, emit);
  }

  #enqueue(key: string, start: StartEvent, emit: Emit<StreamEvent>): QueuedPart {
    const state = this.#choice(start.choice ?? 0);
    for (const part of state.mayEnd) this.#close(part, endOf(part.start));
    this.#hasParts = true;
    const part: QueuedPart = {
      key,
      start: this.#withUnusedId(start),
      arguments: new ObjectText(),
      waiting: [],
      started: false,
      end: null,
      next: null,
    };
    this.#parts.set(key, part);
    if (start.type !== 'tool-input-start') state.mayEnd.add(part);
    if (state.last === null) state.first = part;
    else state.last.next = part;
    state.last = part;
    this.#flush(state, emit);
    return part;
  }

  /** Text that continues after another part has started becomes a part of its own, with an id of its own. */
  #withUnusedId(start: StartEvent): StartEvent {
    let id = start.id;
    let count = this.#idCounts.get(start.id) ?? 1;
    for (; this.#usedIds.has(id); id = `${start.id}-${count}`) count += 1;
    this.#idCounts.set(start.id, count);
    this.#usedIds.add(id);
    return { ...start, id };
  }

  #takeEnd(event: EndEvent, emit: Emit<StreamEvent>): void {
    let part = this.#parts.get(event.id) ?? null;
    if (part === null && event.type === 'reasoning-end' && event.signature !== undefined) {
      const start = { type: 'reasoning-start', id: event.id, choice: this.#choiceOfPart.get(event.id) ?? 0 } as const;
      part = this.#enqueue(event.id, start, emit);
    }
    if (part === null || part.end !== null) return;
    this.#close(part, event);
    this.#flush(this.#choice(part.start.choice ?? 0), emit);
  }

  #close(part: QueuedPart, end: EndEvent): void {
    if (part.end !== null) return;
    part.end = { ...end, id: part.start.id };
    this.#choice(part.start.choice ?? 0).mayEnd.delete(part);
    // A tool call stays known, so that late deltas are dropped; text that continues opens a new part.
    if (part.start.type !== 'tool-input-start') this.#parts.delete(part.key);
  }

  /** Emits everything that the order of the parts allows. */
  #flush(state: ChoiceState, emit: Emit<StreamEvent>): void {
    for (let part = state.first; part !== null; part = state.first) {
      if (!part.started) emit(part.start);
      part.started = true;
      for (const text of part.waiting) emit(deltaOf(part.start, text));
      part.waiting = [];
      if (part.end === null) return;
      if (part.end.type === 'tool-input-end' && part.arguments.text.trim() === '') emit(deltaOf(part.start, '{}'));
      emit(part.end);
      state.first = part.next;
      if (state.first === null) state.last = null;
    }
  }
}

function endOf(start: StartEvent): EndEvent {
  if (start.type === 'text-start') return { type: 'text-end', id: start.id };
  if (start.type === 'reasoning-start') return { type: 'reasoning-end', id: start.id };
  return { type: 'tool-input-end', id: start.id };
}

function deltaOf(start: StartEvent, text: string): StreamEvent {
  if (start.type === 'text-start') return { type: 'text-delta', id: start.id, text };
  if (start.type === 'reasoning-start') return { type: 'reasoning-delta', id: start.id, text };
  return { type: 'tool-input-delta', id: start.id, text };
}

function finishOf(state: ChoiceState): Finish {
  if (state.finish === null) throw cutShort();
  return { ...state.finish, reason: reasonOf(state.finish.reason, state.hasToolCalls) };
}

function reasonOf(reason: FinishReason, hasToolCalls: boolean): FinishReason {
  if (reason === 'stop' && hasToolCalls) return 'tool-calls';
  if (reason === 'tool-calls' && !hasToolCalls) return 'stop';
  return reason;
}

/** The error for an answer that was cut short. */
export function cutShort(): ServiceError {
  return new ServiceError('result_transfer_failed', "The model's answer was cut short; send the request again.");
}
