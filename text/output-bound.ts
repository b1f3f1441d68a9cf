/**
 * Cuts an answer at an output bound that is too small to send to the upstream.
 *
 * The stage estimates tokens, and cuts as precisely as it estimates. Text and reasoning count. The stage omits a tool
 * call that does not fit, because half of its arguments would be useless, and reads and drops the rest of the answer.
 */
import type { StreamEvent } from './canonical.ts';
import type { Emit, Stage } from './stage.ts';
import { estimateTokens, firstTokens } from './token-estimate.ts';

/** The stage that cuts each choice of legal events at `maxTokens`. Its output is legal, too. */
export function cutAtBound(maxTokens: number): Stage<StreamEvent, StreamEvent> {
  return new Cutter(maxTokens);
}

interface OpenPart {
  readonly choice: number;
  text: string;
  /** The events of a tool call, held until it is known whether the call fits; null for text. */
  readonly waiting: StreamEvent[] | null;
}

class Cutter implements Stage<StreamEvent, StreamEvent> {
  readonly #maxTokens: number;
  readonly #open = new Map<string, OpenPart>();
  /** The tokens of ended parts, by choice. */
  readonly #spent = new Map<number, number>();
  /** The choices that were cut. */
  readonly #cut = new Set<number>();

  constructor(maxTokens: number) {
    this.#maxTokens = maxTokens;
  }

  push(event: StreamEvent, emit: Emit<StreamEvent>): void {
    switch (event.type) {
      case 'response-start':
      case 'usage':
      case 'audio-delta':
      case 'image':
      case 'logprobs':
        return emit(event);
      case 'finish':
        if (!this.#cut.has(event.choice ?? 0)) return emit(event);
        return emit({ type: 'finish', choice: event.choice, reason: 'length' });
      case 'text-start':
      case 'reasoning-start':
      case 'tool-input-start':
        return this.#start(event, emit);
      case 'text-delta':
      case 'reasoning-delta':
      case 'tool-input-delta':
        return this.#take(event, emit);
      case 'text-end':
      case 'reasoning-end':
      case 'tool-input-end':
        return this.#end(event, emit);
    }
  }

  end(): void {}

  #start(
    event: Extract<StreamEvent, { type: 'text-start' | 'reasoning-start' | 'tool-input-start' }>,
    emit: Emit<StreamEvent>,
  ) {
    const choice = event.choice ?? 0;
    if (this.#cut.has(choice)) return;
    const isCall = event.type === 'tool-input-start';
    this.#open.set(event.id, { choice, text: isCall ? event.name : '', waiting: isCall ? [event] : null });
    if (!isCall) emit(event);
  }

  #take(event: Extract<StreamEvent, { text: string }>, emit: Emit<StreamEvent>): void {
    const part = this.#open.get(event.id);
    if (part === undefined) return;
    const before = part.text.length;
    part.text += event.text;
    if (part.waiting !== null) {
      part.waiting.push(event);
      return;
    }
    const fitting = firstTokens(part.text, this.#left(part.choice));
    if (fitting.length === part.text.length) return emit(event);
    if (fitting.length > before) emit({ ...event, text: fitting.slice(before) });
    this.#open.delete(event.id);
    this.#cut.add(part.choice);
    emit({ type: event.type === 'text-delta' ? 'text-end' : 'reasoning-end', id: event.id });
  }

  #end(
    event: Extract<StreamEvent, { type: 'text-end' | 'reasoning-end' | 'tool-input-end' }>,
    emit: Emit<StreamEvent>,
  ) {
    const part = this.#open.get(event.id);
    if (part === undefined) return;
    this.#open.delete(event.id);
    const tokens = estimateTokens([part.text]);
    if (part.waiting !== null && tokens > this.#left(part.choice)) {
      this.#cut.add(part.choice);
      return;
    }
    this.#spent.set(part.choice, (this.#spent.get(part.choice) ?? 0) + tokens);
    part.waiting?.forEach(emit);
    emit(event);
  }

  #left(choice: number): number {
    return this.#maxTokens - (this.#spent.get(choice) ?? 0);
  }
}
