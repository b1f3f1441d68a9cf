/**
 * Arguments of a call that arrive in pieces. Each piece has a path, such as `$.trip.stops[0]`, and a string may be
 * spread over several: https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling
 */
import { type JsonObject, listOf, objectOf, stringOf } from '../../domain/json.ts';
import { jsonTextOf } from '../json/write.ts';
import { malformedAnswer } from '../upstream-errors.ts';

const STEP = /\.([^.[\]]+)|\[(\d{1,9})\]|\['([^']*)'\]|\["([^"]*)"\]/y;

/** No schema that upstreams accept nests more deeply. */
const MAXIMUM_DEPTH = 64;

interface Container {
  readonly isArray: boolean;
  readonly values: Map<string | number, Value>;
}

type Value = Container | string | number | boolean | null;

export class PartialArguments {
  #base: JsonObject = {};
  readonly #root: Container = newContainer(false);

  /** Takes the pieces, and any complete arguments, in a call. */
  take(call: JsonObject): void {
    const args = objectOf(call['args']);
    this.#base = Object.keys(this.#base).length === 0 ? args : { ...this.#base, ...args };
    for (const piece of listOf(call['partialArgs'])) this.#put(objectOf(piece));
  }

  /** The JSON text of everything so far. */
  get text(): string {
    const pieces = objectOf(jsonOf(this.#root));
    return jsonTextOf(Object.keys(pieces).length === 0 ? this.#base : { ...this.#base, ...pieces });
  }

  #put(piece: JsonObject): void {
    const value = valueOf(piece);
    const steps = stepsOf(stringOf(piece['jsonPath']));
    const last = steps.pop();
    if (value === undefined || last === undefined) return;
    let container = this.#root;
    for (const [index, step] of steps.entries()) {
      const inner = container.values.get(step);
      const next = isContainer(inner) ? inner : newContainer(typeof (steps[index + 1] ?? last) === 'number');
      container.values.set(step, next);
      container = next;
    }
    const before = container.values.get(last);
    container.values.set(last, typeof before === 'string' && typeof value === 'string' ? before + value : value);
  }
}

/** The value of a piece; undefined when it only announces more. */
function valueOf(piece: JsonObject): string | number | boolean | null | undefined {
  const value = piece['stringValue'] ?? piece['numberValue'] ?? piece['boolValue'];
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return 'nullValue' in piece ? null : undefined;
}

/** @throws ServiceError `processing_failed` when the path is invalid */
function stepsOf(path: string): (string | number)[] {
  const steps: (string | number)[] = [];
  STEP.lastIndex = path.startsWith('$') ? 1 : 0;
  while (STEP.lastIndex < path.length) {
    const step = STEP.exec(path);
    if (step === null || steps.length === MAXIMUM_DEPTH) throw malformedAnswer();
    const [, name, index, quoted, doublyQuoted] = step;
    steps.push(index === undefined ? (name ?? quoted ?? doublyQuoted ?? '') : Number(index));
  }
  return steps;
}

function newContainer(isArray: boolean): Container {
  return { isArray, values: new Map() };
}

function isContainer(value: Value | undefined): value is Container {
  return typeof value === 'object' && value !== null;
}

function jsonOf(value: Value): unknown {
  if (!isContainer(value)) return value;
  const entries = [...value.values].map(([key, inner]) => [key, jsonOf(inner)] as const);
  if (!value.isArray) return Object.fromEntries(entries);
  return entries.sort(([left], [right]) => Number(left) - Number(right)).map(([, inner]) => inner);
}
