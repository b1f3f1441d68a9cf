/**
 * Cuts an answer at stop sequences, where the upstream cannot do so or cannot say which one hit.
 *
 * The sequence that is completed first wins, as it would while a model generates; of two that are completed by the same
 * character, the longer one. Only text is cut, not reasoning or tool calls. The rest of the upstream's answer is read
 * and dropped, because the usage to bill comes at its end.
 *
 * The search is that of Knuth, Morris and Pratt: whatever the texts, no character is looked at twice.
 */
import type { StreamEvent } from './canonical.ts';
import type { Emit, Stage } from './stage.ts';

/** The stage that cuts legal events at any of `sequences`, none of which is empty. Its output is legal, too. */
export function cutAtStopSequences(sequences: readonly string[]): Stage<StreamEvent, StreamEvent> {
  return new Cutter([...new Set(sequences)].map(toPattern));
}

interface Pattern {
  readonly sequence: string;
  /** For each number of matching characters, how many still match when the next one does not. */
  readonly fallbacks: Int32Array;
}

function toPattern(sequence: string): Pattern {
  const fallbacks = new Int32Array(sequence.length + 1);
  const pattern = { sequence, fallbacks };
  for (let length = 1; length < sequence.length; length += 1) {
    fallbacks[length + 1] = fitting(pattern, fallbacks[length] ?? 0, sequence.charCodeAt(length));
  }
  return pattern;
}

/** How many characters of the pattern match after `code` has followed `fits` matching ones. */
function fitting({ sequence, fallbacks }: Pattern, fits: number, code: number): number {
  let length = fits;
  while (length > 0 && sequence.charCodeAt(length) !== code) length = fallbacks[length] ?? 0;
  return sequence.charCodeAt(length) === code ? length + 1 : 0;
}

/** An open text. */
interface OpenText {
  /** The start event, until some text is emitted: a text that is cut to nothing leaves no trace. */
  unsentStart: StreamEvent | null;
  /** For each pattern, how many of its characters the text ends with. */
  readonly fits: Int32Array;
  /** Text that may be the start of a stop sequence, in pieces as it arrived. */
  held: string[];
  /** Index of the first piece that has not been sent. */
  firstHeld: number;
  heldLength: number;
}

class Cutter implements Stage<StreamEvent, StreamEvent> {
  readonly #patterns: readonly Pattern[];
  readonly #choiceOfPart = new Map<string, number>();
  readonly #texts = new Map<string, OpenText>();
  /** The sequence at which each choice was cut. */
  readonly #hits = new Map<number, string>();

  constructor(patterns: readonly Pattern[]) {
    this.#patterns = patterns;
  }

  push(event: StreamEvent, emit: Emit<StreamEvent>): void {
    switch (event.type) {
      case 'response-start':
      case 'usage':
      case 'audio-delta':
        return emit(event);
      case 'image':
      case 'logprobs':
        if (!this.#hits.has(event.choice ?? 0)) emit(event);
        return;
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
    if (event.type === 'text-start') this.#open(event);
    else if (event.type === 'text-delta') this.#cut(event.id, event.text, choice, emit);
    else if (event.type === 'text-end') this.#endText(event.id, Infinity, emit);
    else emit(event);
  }

  end(): void {}

  #open(start: Extract<StreamEvent, { type: 'text-start' }>): OpenText {
    const fits = new Int32Array(this.#patterns.length);
    const text: OpenText = { unsentStart: start, fits, held: [], firstHeld: 0, heldLength: 0 };
    this.#texts.set(start.id, text);
    return text;
  }

  #cut(id: string, delta: string, choice: number, emit: Emit<StreamEvent>): void {
    const text = this.#texts.get(id) ?? this.#open({ type: 'text-start', id });
    const hit = this.#advance(text.fits, delta);
    text.held.push(delta);
    text.heldLength += delta.length;
    if (hit !== null) {
      this.#hits.set(choice, hit.sequence);
      return this.#endText(id, text.heldLength - delta.length + hit.end - hit.sequence.length, emit);
    }
    const mayBegin = text.fits.reduce((longest, length) => Math.max(longest, length), 0);
    this.#give(id, text, text.heldLength - mayBegin, emit);
  }

  /** Advances in all patterns. @returns the sequence that is completed first, and where in `delta` it ends */
  #advance(fits: Int32Array, delta: string): { readonly sequence: string; readonly end: number } | null {
    let hit: { readonly sequence: string; readonly end: number } | null = null;
    for (const [index, pattern] of this.#patterns.entries()) {
      const { sequence } = pattern;
      let length = fits[index] ?? 0;
      const end = hit?.end ?? delta.length;
      for (let at = 0; at < end && length < sequence.length; at += 1) {
        length = fitting(pattern, length, delta.charCodeAt(at));
        if (length < sequence.length) continue;
        const isBetter = hit === null || at + 1 < hit.end || sequence.length > hit.sequence.length;
        if (isBetter) hit = { sequence, end: at + 1 };
      }
      fits[index] = length;
    }
    return hit;
  }

  /** Sends the first `length` held characters. */
  #give(id: string, text: OpenText, length: number, emit: Emit<StreamEvent>): void {
    const given = take(text, length);
    if (given === '') return;
    if (text.unsentStart !== null) emit(text.unsentStart);
    text.unsentStart = null;
    emit({ type: 'text-delta', id, text: given });
  }

  /** @param length how many held characters to send before the end */
  #endText(id: string, length: number, emit: Emit<StreamEvent>): void {
    const text = this.#texts.get(id);
    if (text === undefined) return;
    this.#texts.delete(id);
    this.#give(id, text, length, emit);
    if (text.unsentStart === null) emit({ type: 'text-end', id });
  }
}

const PIECES_TO_DROP_AT_ONCE = 1_024;

/** Takes the first `length` held characters, or all if there are fewer. */
function take(text: OpenText, length: number): string {
  const taken: string[] = [];
  let left = Math.min(length, text.heldLength);
  text.heldLength -= left;
  while (left > 0) {
    const piece = text.held[text.firstHeld] ?? '';
    taken.push(piece.slice(0, left));
    if (left < piece.length) text.held[text.firstHeld] = piece.slice(left);
    else text.firstHeld += 1;
    left -= Math.min(left, piece.length);
  }
  if (text.firstHeld >= PIECES_TO_DROP_AT_ONCE && text.firstHeld * 2 >= text.held.length) {
    text.held = text.held.slice(text.firstHeld);
    text.firstHeld = 0;
  }
  return taken.join('');
}
