/** Repairs chat completions that are passed on: contract 4.8.1. */
import { isObject, type JsonObject } from '../../domain/json.ts';
import type { StreamEvent } from '../canonical.ts';
import { finishReasonOf } from '../finish-reasons.ts';
import { repairEvent } from '../repair-event.ts';
import { DONE, encodeEvent, type ServerSentEvent } from '../sse.ts';
import { arrayOf, objectOf, stringOf } from '../upstream-errors.ts';
import type { Repairer, StreamRepairer } from '../wire-format.ts';
import { FINISH_REASONS } from './render-result.ts';

export const repairer: Repairer = {
  repairResult: (completion) =>
    withChoices(completion, (choice) => {
      const message = objectOf(choice['message']);
      const hasCalls = arrayOf(message['tool_calls']).length > 0;
      return withEnd(withReasoning(choice, 'message'), 'message', { hasText: false, hasCalls });
    }),
  repairStream: () => new ChatStreamRepairer(),
};

/** What a choice contained before its end. */
interface Held {
  readonly hasText: boolean;
  readonly hasCalls: boolean;
}

/** Matches every chunk with something to repair; all others are not parsed. */
const MAY_NEED_REPAIR = /"finish_reason"\s*:\s*"|"reasoning"\s*:|"role"\s*:\s*""|"delta"\s*:\s*null|"message"\s*:/;

class ChatStreamRepairer implements StreamRepairer {
  readonly #choicesWithText = new Set<string>();
  readonly #choicesWithCalls = new Set<number>();
  /** Whether there was any output before the current event. */
  #hasBegun = false;
  #isDone = false;

  see(event: StreamEvent): void {
    if (event.type === 'text-delta') this.#choicesWithText.add(event.id);
    else if (event.type === 'tool-input-start') this.#choicesWithCalls.add(event.choice ?? 0);
  }

  repair(event: ServerSentEvent): ServerSentEvent | null {
    if (this.#isDone) return null;
    this.#isDone = event.data === DONE;
    const hasBegun = this.#hasBegun;
    this.#hasBegun = this.#choicesWithText.size + this.#choicesWithCalls.size > 0;
    const repair = (choice: JsonObject): JsonObject => this.#repairChoice(choice, hasBegun);
    return repairEvent(event, MAY_NEED_REPAIR, (chunk) => withChoices(chunk, repair));
  }

  #repairChoice(choice: JsonObject, hasBegun: boolean): JsonObject {
    const index = Number(choice['index'] ?? 0);
    const reported = withReasoning(withDelta(choice, hasBegun), 'delta');
    const reason = stringOf(choice['finish_reason']);
    if (reason === '') return reported;
    if (finishReasonOf(reason) === null) return { ...reported, finish_reason: null };
    const hasText = this.#choicesWithText.has(`text-${index}`);
    return withEnd(reported, 'delta', { hasText, hasCalls: this.#choicesWithCalls.has(index) });
  }

  end(): string {
    return this.#isDone ? '' : encodeEvent(DONE);
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
function withDelta(choice: JsonObject, hasBegun: boolean): JsonObject {
  const { delta, message, ...rest } = choice;
  if (!isObject(delta)) return { ...rest, delta: hasBegun ? {} : objectOf(message) };
  const { role, ...said } = delta;
  return role === '' ? { ...choice, delta: said } : choice;
}

/** Puts reasoning under the name that clients know. */
function withReasoning(choice: JsonObject, field: 'message' | 'delta'): JsonObject {
  const { reasoning, ...said } = objectOf(choice[field]);
  if (typeof reasoning !== 'string') return choice;
  const reported = stringOf(said['reasoning_content']) || reasoning;
  return { ...choice, [field]: { ...said, reasoning_content: reported } };
}

/** Gives the end of a choice one of the format's reasons, and an empty text if there was nothing at all. */
function withEnd(choice: JsonObject, field: 'message' | 'delta', { hasText, hasCalls }: Held): JsonObject {
  const said = objectOf(choice[field]);
  const reported = stringOf(choice['finish_reason']);
  const reason = finishReasonOf(reported) ?? 'stop';
  const known = FINISH_REASONS[reason === 'stop' && hasCalls ? 'tool-calls' : reason];
  const content = said['content'] ?? null;
  const lacksText = content === null && !hasText && !hasCalls;
  if (known === reported && !lacksText) return choice;
  return { ...choice, finish_reason: known, ...(lacksText && { [field]: { ...said, content: '' } }) };
}
