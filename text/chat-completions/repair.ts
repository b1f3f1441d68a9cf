/** Repairs chat completions that are passed on: contract 4.8.1. */
import { isObject, type JsonObject } from '../../domain/json.ts';
import { newCallId } from '../call-ids.ts';
import type { StreamEvent } from '../canonical.ts';
import { finishReasonOf } from '../finish-reasons.ts';
import { repairEvent, withUsage } from '../repair-event.ts';
import { DONE, encodeEvent, type ServerSentEvent } from '../sse.ts';
import type { Emit } from '../stage.ts';
import { arrayOf, countOf, objectOf, stringOf } from '../upstream-errors.ts';
import type { RepairContext, Repairer, StreamRepairer } from '../wire-format.ts';
import { FINISH_REASONS, renderUsage } from './render-result.ts';

export function createRepairer(context: RepairContext): Repairer {
  return {
    repairResult: (completion) => {
      const repaired = withChoices(completion, (choice) => {
        const whole = withCalls(withReasoning(choice, 'message'), 'message', () => newCallId());
        const hasCalls = arrayOf(objectOf(whole['message'])['tool_calls']).length > 0;
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

/** Matches every chunk with something to repair; all others are not parsed. */
const MAY_NEED_REPAIR =
  /"finish_reason"\s*:\s*"|"reasoning"\s*:|"role"\s*:\s*""|"delta"\s*:\s*null|"message"\s*:|"function_call"\s*:\s*\{|"audio"\s*:\s*\{|"usage"\s*:\s*\{/;

class ChatStreamRepairer implements StreamRepairer {
  readonly #context: RepairContext;
  /** Whether the client wants a chunk with the usage that has not come yet. */
  #lacksUsage: boolean;
  /** The first and the latest chunk, whose identity added chunks have. */
  #first: ServerSentEvent | null = null;
  #latest: ServerSentEvent | null = null;
  readonly #choicesWithText = new Set<string>();
  readonly #choicesWithCalls = new Set<number>();
  readonly #choicesWithFunctions = new Set<number>();
  readonly #endedChoices = new Set<number>();
  /** Whether there was any output before the current event. */
  #hasStarted = false;
  #isDone = false;

  constructor(context: RepairContext) {
    this.#context = context;
    this.#lacksUsage = objectOf(context.body['stream_options'])['include_usage'] === true;
  }

  see(event: StreamEvent): void {
    if (event.type === 'text-delta' && event.text !== '') this.#choicesWithText.add(event.id);
    else if (event.type === 'audio-delta') this.#choicesWithText.add(`text-${event.choice ?? 0}`);
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
    const repair = (choice: JsonObject): JsonObject => this.#repairChoice(choice, hasStarted);
    emit(repairEvent(event, MAY_NEED_REPAIR, (chunk) => this.#withUsage(withChoices(chunk, repair))));
  }

  #repairChoice(choice: JsonObject, hasStarted: boolean): JsonObject {
    const index = Number(choice['index'] ?? 0);
    const reported = withCalls(withReasoning(withDelta(choice, hasStarted), 'delta'), 'delta', () => {
      const isFirst = !this.#choicesWithFunctions.has(index);
      this.#choicesWithFunctions.add(index);
      return isFirst ? newCallId() : null;
    });
    const reason = stringOf(choice['finish_reason']);
    if (reason === '') return reported;
    if (finishReasonOf(reason) === null) return { ...reported, finish_reason: null };
    this.#endedChoices.add(index);
    return withEnd(reported, 'delta', this.#heldBy(index));
  }

  #heldBy(index: number): Held {
    return { hasText: this.#choicesWithText.has(`text-${index}`), hasCalls: this.#choicesWithCalls.has(index) };
  }

  /** Usage in the middle of an answer is not what is charged in the end. */
  #withUsage(chunk: JsonObject): JsonObject {
    if (!isObject(chunk['usage'])) return chunk;
    const choices = arrayOf(chunk['choices']).map(objectOf);
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
      const choice = withEnd({ index, delta: {} }, 'delta', this.#heldBy(index));
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
function withChoices(completion: JsonObject, repair: (choice: JsonObject) => JsonObject): JsonObject {
  const choices = arrayOf(completion['choices']).map(objectOf);
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

/**
 * Puts a function call, the earlier form, where clients that sent tools look for it, and removes the empty objects that
 * some upstreams send for nothing: clients would send them back.
 *
 * @param newId returns the id of a call, or null for more of a call that has one
 */
function withCalls(choice: JsonObject, field: 'message' | 'delta', newId: () => string | null): JsonObject {
  const held = objectOf(choice[field]);
  const { function_call: called, audio } = held;
  const hasAudio = isObject(audio) ? Object.values(audio).some(Boolean) : audio !== undefined;
  if (!isObject(called) && (hasAudio || audio === undefined)) return choice;
  const { function_call: _called, audio: _audio, ...message } = held;
  const kept = { ...message, ...(hasAudio && { audio }) };
  const isCall = isObject(called) && stringOf(called['name']) + stringOf(called['arguments']) !== '';
  if (!isCall || arrayOf(message['tool_calls']).length > 0) return { ...choice, [field]: kept };
  const id = newId();
  const call = {
    ...(field === 'delta' && { index: 0 }),
    ...(id !== null && { id, type: 'function' }),
    function: called,
  };
  return { ...choice, [field]: { ...kept, tool_calls: [call] } };
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
