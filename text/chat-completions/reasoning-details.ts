/**
 * The signed reasoning of OpenRouter's answers, without which it refuses later calls of Gemini models and the thinking of Claude models. The
 * canonical signature is the list as JSON: https://openrouter.ai/docs/guides/best-practices/reasoning-tokens#preserving-reasoning
 */
import { isObject, type JsonObject, listOf, objectOf, stringOf } from '../../domain/json.ts';

/** The fields whose text comes in pieces. */
const TEXTS = ['text', 'summary'] as const;

/** Collects the reasoning of one choice. */
export class ReasoningDetails {
  #details: JsonObject[] = [];
  #hasSignature = false;
  /** The positions of details that may continue. */
  readonly #positions = new Map<string, number>();

  /** Takes a delta or a message. A detail continues the one with its type and index; details of one list are distinct. */
  take(delta: JsonObject): void {
    const details = listOf(delta['reasoning_details']);
    if (details.length === 0) return;
    const seen = new Set<string>();
    for (const detail of details.map(objectOf)) {
      const key = JSON.stringify([detail['type'], detail['index']]);
      const position = seen.has(key) || detail['index'] === undefined ? undefined : this.#positions.get(key);
      const earlier = position === undefined ? undefined : this.#details[position];
      seen.add(key);
      this.#hasSignature ||= isSigned(detail);
      if (position === undefined || earlier === undefined || !isContinued(earlier, detail)) {
        this.#positions.set(key, this.#details.length);
        this.#details.push(detail);
      } else {
        this.#details[position] = joined(earlier, detail);
      }
    }
  }

  /** The signature of what has come since the last call; undefined if nothing is signed, which needs not come back. */
  signature(): string | undefined {
    if (!this.#hasSignature) return undefined;
    const signature = JSON.stringify(this.#details);
    this.#details = [];
    this.#hasSignature = false;
    this.#positions.clear();
    return signature;
  }
}

function isSigned({ signature, data }: JsonObject): boolean {
  return stringOf(signature) !== '' || stringOf(data) !== '';
}

/** Whether a detail is the next piece of an earlier one. A signature ends a detail, and encrypted reasoning comes whole. */
function isContinued(earlier: JsonObject, detail: JsonObject): boolean {
  return !isSigned(earlier) && stringOf(detail['data']) === '';
}

function joined(earlier: JsonObject, detail: JsonObject): JsonObject {
  const texts = TEXTS.filter((field) => field in earlier || field in detail);
  const set = Object.entries(detail).filter(([, value]) => value !== null);
  return {
    ...earlier,
    ...Object.fromEntries(set),
    ...Object.fromEntries(texts.map((field) => [field, stringOf(earlier[field]) + stringOf(detail[field])])),
  };
}

/** The details in a signature; none if it is another one. */
export function detailsOf(signature: string | undefined): readonly JsonObject[] {
  if (signature?.startsWith('[') !== true) return [];
  try {
    return listOf(JSON.parse(signature)).filter(isObject);
  } catch {
    return [];
  }
}
