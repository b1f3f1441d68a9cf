/** The tool calls of an answer, whose pieces upstreams of the format mark in several ways. */
import { countOf, isObject, type JsonObject, listOf, objectOf, stringOf } from '../../domain/json.ts';
import { ObjectText } from '../object-text.ts';
import { argumentsTextOf } from '../turns.ts';
import { signatureOf } from './signatures.ts';

export interface ToolCall {
  /** The place among the calls of its choice. Upstreams may give several calls the same index, or none. */
  readonly number: number;
  /** Empty if the upstream sends none. */
  readonly id: string;
  readonly name: string;
  readonly signature: string | undefined;
  readonly arguments: ObjectText;
}

/** What a delta adds to a call. */
export interface CallPiece {
  readonly call: ToolCall;
  /** Whether clients hear of the call for the first time. */
  readonly isFirst: boolean;
  /** Whether nothing of the call follows. */
  readonly isLast: boolean;
  /** More of the arguments; null while the call waits for its name. */
  readonly text: string | null;
  /** The upstream's delta; empty if the piece has none. */
  readonly delta: JsonObject;
  /** Whether clients understand the upstream's delta as it is. */
  readonly isSound: boolean;
}

interface OpenCall extends ToolCall {
  id: string;
  name: string;
  signature: string | undefined;
  hasStarted: boolean;
}

/** Attributes deltas to the calls of one choice. */
export class ToolCalls {
  readonly #toolNames: ReadonlySet<string>;
  /** The latest call of each index. */
  readonly #byIndex = new Map<number, OpenCall>();
  /** The calls that wait for their names, or have no arguments yet. */
  readonly #open = new Set<OpenCall>();
  /** Those whose names may be incomplete. */
  readonly #named = new Set<OpenCall>();
  #lastIndex = -1;
  #count = 0;

  /** @param toolNames the tools of the request: a call with such a name starts before its arguments */
  constructor(toolNames: ReadonlySet<string>) {
    this.#toolNames = toolNames;
  }

  /** Returns the piece of a delta, after those of earlier calls whose names are complete because another call starts. */
  take(delta: JsonObject): CallPiece[] {
    const called = objectOf(delta['function']);
    const id = stringOf(delta['id']);
    const name = stringOf(called['name']);
    const text = argumentsTextOf(called['arguments']);
    const index = countOf(delta['index']) ?? this.#guessIndex(name);
    this.#lastIndex = index;
    const known = this.#byIndex.get(index);
    const isKnown = known !== undefined && !isAnotherCall(known, id, name);
    const started = isKnown ? [] : this.#startNamed();
    const call = isKnown ? known : this.#add(index);
    call.arguments.add(text);
    const isMarked = delta['index'] === call.number && !isObject(called['arguments']);
    if (call.hasStarted) {
      if (text.trim() !== '') this.#open.delete(call);
      return [{ call, isFirst: false, isLast: false, text, delta, isSound: isMarked }];
    }
    call.id ||= id;
    call.signature ??= signatureOf(delta);
    // Some upstreams repeat the name, others send it in pieces.
    if (name !== call.name) call.name += name;
    if (call.name !== '') this.#named.add(call);
    const isNamed = call.name !== '' && (this.#toolNames.has(call.name) || call.arguments.text !== '');
    const piece: CallPiece = isNamed
      ? { ...this.#start(call), delta, isSound: !isKnown && isMarked && call.id !== '' }
      : { call, isFirst: false, isLast: false, text: null, delta, isSound: false };
    return [...started, piece];
  }

  /** The pieces that calls lack at the end of their choice. */
  end(): CallPiece[] {
    const pieces = [...this.#open].map((call): CallPiece => {
      const rest = call.hasStarted ? { call, isFirst: false, text: '', delta: {}, isSound: false } : this.#start(call);
      return { ...rest, isLast: true };
    });
    this.#open.clear();
    return pieces;
  }

  /** The index of a delta without one: a call starts with its name. */
  #guessIndex(name: string): number {
    const isNext = name !== '' && this.#byIndex.get(this.#lastIndex)?.name !== '';
    return isNext ? this.#lastIndex + 1 : this.#lastIndex;
  }

  #add(index: number): OpenCall {
    const call: OpenCall = {
      number: this.#count,
      id: '',
      name: '',
      signature: undefined,
      arguments: new ObjectText(),
      hasStarted: false,
    };
    this.#count += 1;
    this.#byIndex.set(index, call);
    this.#open.add(call);
    return call;
  }

  #startNamed(): CallPiece[] {
    return [...this.#named].map((call) => this.#start(call));
  }

  #start(call: OpenCall): CallPiece {
    call.hasStarted = true;
    this.#named.delete(call);
    const { text } = call.arguments;
    if (text.trim() !== '') this.#open.delete(call);
    return { call, isFirst: true, isLast: false, text, delta: {}, isSound: false };
  }
}

/**
 * Whether a delta starts a new call although there is one with its index: some upstreams give every call the index 0. A
 * call starts with a name. A delta that merely repeats the name has the same id or, without ids, follows unfinished
 * arguments.
 */
function isAnotherCall(call: ToolCall, id: string, name: string): boolean {
  if (name === '') return false;
  if (call.name === '') return id !== '' && call.id !== '' && id !== call.id;
  return id === '' ? call.arguments.isWhole : id !== call.id;
}

/** The calls in a delta, including the older form with one call per message, which some upstreams send empty. */
export function callsOf(delta: JsonObject): JsonObject[] {
  const calls = listOf(delta['tool_calls']).map(objectOf);
  const { name, arguments: text } = objectOf(delta['function_call']);
  if (calls.length > 0 || (stringOf(name) === '' && argumentsTextOf(text) === '')) return calls;
  return [{ index: 0, function: { name, arguments: text } }];
}
