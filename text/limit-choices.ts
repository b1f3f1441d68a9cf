/**
 * Keeps as many answers as the request asked for. Some upstreams send several when asked for one; together they would
 * read as one answer that says everything twice.
 */
import type { StreamEvent } from './canonical.ts';
import type { Emit, Stage } from './stage.ts';

/** The stage that lets the first `count` choices through, numbered from 0. */
export function limitChoices(count: number): Stage<StreamEvent, StreamEvent> {
  return new ChoiceLimiter(count);
}

class ChoiceLimiter implements Stage<StreamEvent, StreamEvent> {
  readonly #count: number;
  /** The numbers that choices get, by the upstream's numbers. */
  readonly #numbers = new Map<number, number>();
  readonly #taken = new Set<number>();
  readonly #choiceOfPart = new Map<string, number>();

  constructor(count: number) {
    this.#count = count;
  }

  push(event: StreamEvent, emit: Emit<StreamEvent>): void {
    switch (event.type) {
      case 'response-start':
      case 'usage':
        return emit(event);
      case 'text-start':
      case 'reasoning-start':
      case 'tool-input-start':
      case 'audio-delta':
      case 'image':
      case 'logprobs':
      case 'finish': {
        const original = event.choice ?? 0;
        if ('id' in event) this.#choiceOfPart.set(event.id, original);
        const choice = this.#numberOf(original);
        if (choice !== null) emit(choice === original ? event : { ...event, choice });
        return;
      }
      default:
        // A part without a start belongs to the first choice.
        if (this.#numberOf(this.#choiceOfPart.get(event.id) ?? 0) !== null) emit(event);
    }
  }

  end(): void {}

  /** The number that a choice gets: its own if that is free; null for one choice too many. */
  #numberOf(original: number): number | null {
    const known = this.#numbers.get(original);
    if (known !== undefined) return known;
    if (this.#numbers.size === this.#count) return null;
    let number = original < this.#count ? original : 0;
    while (this.#taken.has(number)) number = (number + 1) % this.#count;
    this.#numbers.set(original, number);
    this.#taken.add(number);
    return number;
  }
}
