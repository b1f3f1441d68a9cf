/**
 * Cuts an answer at stop sequences, where the upstream cannot do it or cannot say which one hit.
 *
 * A sequence that is complete first wins, as it would while a model generates; of two that are complete at the same
 * character, the longer one. Only text is cut, not reasoning or tool calls. The rest of the upstream's answer is read and
 * dropped, because the usage that is billed comes at its end.
 */
import type { StreamEvent } from './canonical.ts';
import type { Emit, Stage } from './stage.ts';

interface Cut {
  /** How much of the text comes before the sequence. */
  readonly length: number;
  readonly sequence: string;
}

/** The stage that cuts legal events at any of `sequences`, none of which is empty. Its output is legal too. */
export function cutAtStopSequences(sequences: readonly string[]): Stage<StreamEvent, StreamEvent> {
  return new Cutter(sequences);
}

class Cutter implements Stage<StreamEvent, StreamEvent> {
  readonly #sequences: readonly string[];
  readonly #choiceOfPart = new Map<string, number>();
  /** Starts of texts of which nothing went out yet: a text that is cut to nothing leaves no trace. */
  readonly #unsentStarts = new Map<string, StreamEvent>();
  /** Text at the end of an open part that may be the beginning of a stop sequence. */
  readonly #held = new Map<string, string>();
  /** The sequence that each choice was cut at. */
  readonly #hits = new Map<number, string>();

  constructor(sequences: readonly string[]) {
    this.#sequences = sequences;
  }

  push(event: StreamEvent, emit: Emit<StreamEvent>): void {
    switch (event.type) {
      case 'response-start':
      case 'usage':
        return emit(event);
      case 'finish': {
        const stopSequence = this.#hits.get(event.choice ?? 0);
        return emit(stopSequence === undefined ? event : { ...event, reason: 'stop-sequence', stopSequence });
      }
      case 'text-start':
      case 'reasoning-start':
      case 'tool-input-start':
        this.#choiceOfPart.set(event.id, event.choice ?? 0);
    }
    const choice = this.#choiceOfPart.get(event.id) ?? 0;
    if (this.#hits.has(choice)) return;
    if (event.type === 'text-start') this.#unsentStarts.set(event.id, event);
    else if (event.type === 'text-delta') this.#cut(event.id, event.text, choice, emit);
    else if (event.type === 'text-end') this.#endText(event.id, this.#held.get(event.id) ?? '', emit);
    else emit(event);
  }

  end(): void {}

  #cut(id: string, delta: string, choice: number, emit: Emit<StreamEvent>): void {
    const text = (this.#held.get(id) ?? '') + delta;
    const cut = firstCut(text, this.#sequences);
    if (cut !== null) {
      this.#hits.set(choice, cut.sequence);
      return this.#endText(id, text.slice(0, cut.length), emit);
    }
    const held = lengthOfPossibleStart(text, this.#sequences);
    this.#held.set(id, text.slice(text.length - held));
    this.#emitText(id, text.slice(0, text.length - held), emit);
  }

  #emitText(id: string, text: string, emit: Emit<StreamEvent>): void {
    if (text === '') return;
    const start = this.#unsentStarts.get(id);
    if (start !== undefined) emit(start);
    this.#unsentStarts.delete(id);
    emit({ type: 'text-delta', id, text });
  }

  #endText(id: string, lastText: string, emit: Emit<StreamEvent>): void {
    this.#emitText(id, lastText, emit);
    if (!this.#unsentStarts.has(id)) emit({ type: 'text-end', id });
  }
}

function firstCut(text: string, sequences: readonly string[]): Cut | null {
  let first: Cut | null = null;
  for (const sequence of sequences) {
    const length = text.indexOf(sequence);
    if (length === -1) continue;
    const end = length + sequence.length;
    const firstEnd = first === null ? Infinity : first.length + first.sequence.length;
    if (end < firstEnd || (end === firstEnd && sequence.length > (first?.sequence.length ?? 0))) {
      first = { length, sequence };
    }
  }
  return first;
}

/** Length of the longest end of `text` that one of the sequences begins with. */
export function lengthOfPossibleStart(text: string, sequences: readonly string[]): number {
  let longest = 0;
  for (const sequence of sequences) {
    for (let length = Math.min(sequence.length - 1, text.length); length > longest; length -= 1) {
      if (text.endsWith(sequence.slice(0, length))) longest = length;
    }
  }
  return longest;
}
