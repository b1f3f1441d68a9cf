/** Repairs chat completions that are passed on: contract 4.8.1. */
import { countOf, isObject, type JsonObject, listOf, objectOf, stringOf } from '../../domain/json.ts';
import { newCallId } from '../call-ids.ts';
import type { StreamEvent } from '../canonical.ts';
import { finishReasonOf } from '../finish-reasons.ts';
import { repairEvent, withUsage } from '../repair-event.ts';
import { DONE, encodeEvent, type ServerSentEvent } from '../sse.ts';
import type { Emit } from '../stage.ts';
import { argumentsTextOf } from '../turns.ts';
import type { RepairContext, Repairer, StreamRepairer } from '../wire-format.ts';
import { piecesOfContent } from './content.ts';
import { FINISH_REASONS, renderUsage } from './render-result.ts';
import { extraContentOf } from './signatures.ts';
import { type CallPiece, callsOf } from './tool-calls.ts';
import { ChatStreamParser } from './upstream.ts';

export function createRepairer(context: RepairContext): Repairer {
  return {
    repairResult: (completion) => {
      const repaired = withChoices(completion, (choice) => {
        const sent = callsOf(objectOf(choice['message']));
        const calls = sent.map(wholeCall);
        const isSound = calls.every((call, place) => call === sent[place]);
        const read = withContent(withReasoning(choice, 'message'), 'message');
        const whole = withCalls(read, 'message', isSound ? null : calls);
        const hasCalls = calls.length > 0;
        return withEnd(whole, 'message', { hasText: isObject(objectOf(whole['message'])['audio']), hasCalls });
      });
      return withUsage(repaired, 'usage', context.usage(), renderUsage);
    },
    repairStream: () => new ChatStreamRepairer(context),
  };
}

/** The content of a choice before its end. */
interface Held {
  /** Text or audio. */
  readonly hasText: boolean;
  readonly hasCalls: boolean;
}

/** Matches every chunk with something to repair that the reader finds sound; all others are not parsed. */
const MAY_NEED_REPAIR =
  /"finish_reason"\s*:\s*"|"reasoning"\s*:|"role"\s*:\s*""|"delta"\s*:\s*null|"message"\s*:|"function_call"\s*:\s*\{|"audio"\s*:\s*\{|"usage"\s*:\s*\{/;

const EVERY_CHUNK = /^/;

class ChatStreamRepairer implements StreamRepairer {
  readonly parser: ChatStreamParser;
  readonly #context: RepairContext;
  /** Whether the client wants a chunk with the usage that has not come yet. */
  #lacksUsage: boolean;
  /** The first and the latest chunk, whose identity added chunks have. */
  #first: ServerSentEvent | null = null;
  #latest: ServerSentEvent | null = null;
  readonly #choicesWithText = new Set<string>();
  readonly #choicesWithCalls = new Set<number>();
  readonly #endedChoices = new Set<number>();
  /** Whether there was any output before the current event. */
  #hasStarted = false;
  #isDone = false;

  constructor(context: RepairContext) {
    this.#context = context;
    this.parser = new ChatStreamParser(context.request);
    this.#lacksUsage = objectOf(context.body['stream_options'])['include_usage'] === true;
  }

  see(event: StreamEvent): void {
    if (event.type === 'text-delta' && event.text !== '') this.#choicesWithText.add(event.id);
    else if (event.type === 'audio-delta' || event.type === 'image')
      this.#choicesWithText.add(`text-${event.choice ?? 0}`);
    else if (event.type === 'tool-input-start') this.#choicesWithCalls.add(event.choice ?? 0);
  }

  repair(event: ServerSentEvent, emit: Emit<ServerSentEvent>): void {
    if (this.#isDone) return;
    this.#isDone = event.data === DONE;
    if (this.#isDone) {
      for (const data of [...this.#missingEnds(), ...this.#missingUsage()]) emit({ event: null, data });
      return emit(event);
    }
    this.#first ??= event;
    this.#latest = event;
    const hasStarted = this.#hasStarted;
    this.#hasStarted = this.#choicesWithText.size + this.#choicesWithCalls.size > 0;
    const repair = (choice: JsonObject, place: number): JsonObject => this.#repairChoice(choice, place, hasStarted);
    const trait = this.parser.isSound ? MAY_NEED_REPAIR : EVERY_CHUNK;
    emit(repairEvent(event, trait, (chunk) => this.#withUsage(withChoices(chunk, repair))));
  }

  #repairChoice(choice: JsonObject, place: number, hasStarted: boolean): JsonObject {
    const index = countOf(choice['index']) ?? place;
    const read = withContent(withReasoning(withDelta(choice, hasStarted), 'delta'), 'delta');
    const reported = withCalls(read, 'delta', this.#callsOf(index));
    const reason = stringOf(choice['finish_reason']);
    if (reason === '') return reported;
    if (finishReasonOf(reason) === null) return { ...reported, finish_reason: null };
    this.#endedChoices.add(index);
    return withEnd(reported, 'delta', this.#heldBy(index));
  }

  /** What the chunk adds to the calls of a choice; null if that needs no repair. */
  #callsOf(index: number): JsonObject[] | null {
    const pieces = this.parser.piecesOf(index);
    return pieces.every(({ isSound }) => isSound) ? null : pieces.flatMap(deltaOfPiece);
  }

  #heldBy(index: number): Held {
    return { hasText: this.#choicesWithText.has(`text-${index}`), hasCalls: this.#choicesWithCalls.has(index) };
  }

  /** Usage in the middle of an answer is not what is charged in the end. */
  #withUsage(chunk: JsonObject): JsonObject {
    if (!isObject(chunk['usage'])) return chunk;
    const choices = listOf(chunk['choices']).map(objectOf);
    if (choices.length > 0 && choices.every((choice) => stringOf(choice['finish_reason']) === '')) return chunk;
    if (choices.length === 0) this.#lacksUsage = false;
    return withUsage(chunk, 'usage', this.#context.usage(), renderUsage);
  }

  end(): string {
    if (this.#isDone) return '';
    return [...this.#missingUsage(), DONE].map((data) => encodeEvent(data)).join('');
  }

  /** The ends of choices that the upstream left without a reason. */
  #missingEnds(): string[] {
    const withText = [...this.#choicesWithText].map((id) => Number(id.slice('text-'.length)));
    const open = [...new Set([...withText, ...this.#choicesWithCalls])].filter(
      (index) => !this.#endedChoices.has(index),
    );
    return open.map((index) => {
      const called = withCalls({ index, delta: {} }, 'delta', this.#callsOf(index));
      const choice = withEnd(called, 'delta', this.#heldBy(index));
      return JSON.stringify({ ...this.#identity(), choices: [choice] });
    });
  }

  /** The chunk with the usage, if the client wants one and the upstream sent none. */
  #missingUsage(): string[] {
    if (!this.#lacksUsage || this.#first === null) return [];
    return [JSON.stringify({ ...this.#identity(), choices: [], usage: renderUsage(this.#context.usage()) })];
  }

  /** The identity of the answer. Some upstreams send a chunk without one first, for what they report about the prompt. */
  #identity(): JsonObject {
    const [latest, first] = [this.#latest, this.#first].map((event) =>
      objectOf(event && (event.json ?? JSON.parse(event.data))),
    );
    const named = (name: string): string => stringOf(latest?.[name]) || stringOf(first?.[name]);
    return {
      id: named('id'),
      object: 'chat.completion.chunk',
      created: countOf(latest?.['created']) || countOf(first?.['created']) || 0,
      model: named('model') || this.#context.request.model,
    };
  }
}

/** Returns the same object when no choice changes. */
function withChoices(completion: JsonObject, repair: (choice: JsonObject, place: number) => JsonObject): JsonObject {
  const choices = listOf(completion['choices']).map(objectOf);
  const repaired = choices.map(repair);
  return repaired.every((choice, index) => choice === choices[index])
    ? completion
    : { ...completion, choices: repaired };
}

/**
 * Adds a missing delta: some upstreams send the whole message at the end instead, usually a second time. Removes an
 * empty role. Strict clients would refuse both.
 */
function withDelta(choice: JsonObject, hasStarted: boolean): JsonObject {
  const { delta } = choice;
  if (!isObject(delta)) {
    const { delta: _none, message, ...rest } = choice;
    return { ...rest, delta: hasStarted ? {} : objectOf(message) };
  }
  if (delta['role'] !== '') return choice;
  const { role: _role, ...message } = delta;
  return { ...choice, delta: message };
}

/** Puts reasoning under the name that clients know. */
function withReasoning(choice: JsonObject, field: 'message' | 'delta'): JsonObject {
  const held = objectOf(choice[field]);
  if (typeof held['reasoning'] !== 'string') return choice;
  const { reasoning, ...message } = held;
  const reported = stringOf(message['reasoning_content']) || reasoning;
  return { ...choice, [field]: { ...message, reasoning_content: reported } };
}

/** Joins content in parts to the text that clients expect. */
function withContent(choice: JsonObject, field: 'message' | 'delta'): JsonObject {
  const held = objectOf(choice[field]);
  if (!Array.isArray(held['content'])) return choice;
  const pieces = piecesOfContent(held['content']);
  const [text, thoughts] = (['text', 'reasoning'] as const).map((type) =>
    pieces.map((piece) => (piece.type === type ? piece.text : '')).join(''),
  );
  const reasoning = stringOf(held['reasoning_content']) + (thoughts ?? '');
  const message = { ...held, content: text || null, ...(reasoning !== '' && { reasoning_content: reasoning }) };
  return { ...choice, [field]: message };
}

/**
 * Puts calls where clients that sent tools look for them, also a function call, the earlier form, and removes the empty
 * objects that some upstreams send for nothing: clients would send them back.
 *
 * @param calls the calls; null if those of the upstream need no repair
 */
function withCalls(choice: JsonObject, field: 'message' | 'delta', calls: readonly JsonObject[] | null): JsonObject {
  const held = objectOf(choice[field]);
  const { function_call: called, audio } = held;
  const hasAudio = isObject(audio) ? Object.values(audio).some(Boolean) : audio !== undefined;
  if (calls === null && !isObject(called) && (hasAudio || audio === undefined)) return choice;
  const { function_call: _called, audio: _audio, tool_calls: _calls, ...message } = held;
  const kept = calls ?? callsOf(held);
  return {
    ...choice,
    [field]: { ...message, ...(hasAudio && { audio }), ...(kept.length > 0 && { tool_calls: kept }) },
  };
}

/** A call of a whole answer with an id, and arguments as text. */
function wholeCall(call: JsonObject): JsonObject {
  const { function: called, index: _index, ...head } = call;
  if (!isObject(called)) return call;
  const id = stringOf(call['id']);
  const text = argumentsTextOf(called['arguments']);
  if (id !== '' && text.trim() !== '' && text === called['arguments']) return call;
  return { ...head, id: id || newCallId(), type: 'function', function: { ...called, arguments: text.trim() || '{}' } };
}

/** A piece of a call as a delta; none while the call waits for its name. */
function deltaOfPiece({ call, isFirst, isLast, text, delta, isSound }: CallPiece): JsonObject[] {
  if (isSound) return [delta];
  if (text === null) return [];
  const called = { ...objectOf(delta['function']), arguments: isLast ? text.trim() || '{}' : text };
  if (!isFirst) return [{ ...delta, index: call.number, function: called }];
  const head = { id: call.id || newCallId(), type: 'function', ...extraContentOf(call.signature) };
  return [{ ...delta, index: call.number, ...head, function: { ...called, name: call.name } }];
}

/** Gives the end of a choice one of the format's reasons, and an empty text if there was nothing at all. */
function withEnd(choice: JsonObject, field: 'message' | 'delta', { hasText, hasCalls }: Held): JsonObject {
  const message = objectOf(choice[field]);
  const reported = stringOf(choice['finish_reason']);
  const reason = finishReasonOf(reported) ?? 'stop';
  const known = FINISH_REASONS[reason === 'stop' && hasCalls ? 'tool-calls' : reason];
  const content = message['content'] ?? null;
  const lacksText = content === null && !hasText && !hasCalls;
  if (known === reported && !lacksText) return choice;
  return { ...choice, finish_reason: known, ...(lacksText && { [field]: { ...message, content: '' } }) };
}
