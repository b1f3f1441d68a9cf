/** The probabilities of an answer's tokens, which chat completions has beside the text. */
import type { JsonObject } from '../domain/json.ts';

/** Collects the probabilities of the pieces of an answer: lists of tokens, by the kind of their text. */
export class Logprobs {
  readonly #fields = new Map<string, unknown>();
  readonly #lists = new Map<string, unknown[]>();

  add(piece: JsonObject): void {
    for (const [name, value] of Object.entries(piece)) {
      if (!Array.isArray(value)) {
        if (!this.#fields.has(name)) this.#fields.set(name, value);
        continue;
      }
      const list = this.#lists.get(name) ?? [];
      for (const token of value) list.push(token);
      this.#lists.set(name, list);
      this.#fields.set(name, list);
    }
  }

  /** The probabilities of all pieces. */
  get whole(): JsonObject {
    return Object.fromEntries(this.#fields);
  }
}
