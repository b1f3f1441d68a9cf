/**
 * Keeps as many answers as the request asked for. Some upstreams give several to a request for one: together they would read
 * as one answer that says everything twice.
 */
import type { StreamEvent } from './canonical.ts';
import type { Emit, Stage } from './stage.ts';

/** The stage that lets the first `count` choices through, each under a number below that. */
export function keepChoices(count: number): Stage<StreamEvent, StreamEvent> {
  return new ChoiceKeeper(count);
}

class ChoiceKeeper implements Stage<StreamEvent, StreamEvent> {
  readonly #count: number;
  /** The numbers under which choices go on, by those that the upstream gives them. */
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
      case 'finish': {
        const told = event.choice ?? 0;
        if (event.type !== 'finish') this.#choiceOfPart.set(event.id, told);
        const choice = this.#numberOf(told);
        if (choice !== null) emit(choice === told ? event : { ...event, choice });
        return;
      }
      default:
        // A part whose start is missing is of the first choice.
        if (this.#numberOf(this.#choiceOfPart.get(event.id) ?? 0) !== null) emit(event);
    }
  }

  end(): void {}

  /** Under which number a choice goes on: its own where it is free; null for one too many. */
  #numberOf(told: number): number | null {
    const known = this.#numbers.get(told);
    if (known !== undefined) return known;
    if (this.#numbers.size === this.#count) return null;
    let number = told < this.#count ? told : 0;
    while (this.#taken.has(number)) number = (number + 1) % this.#count;
    this.#numbers.set(told, number);
    this.#taken.add(number);
    return number;
  }
}
