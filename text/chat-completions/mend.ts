/** What is mended of chat completions that are passed on: contract 4.8.1. */
import { isObject, type JsonObject } from '../../domain/json.ts';
import type { StreamEvent } from '../canonical.ts';
import { finishReasonOf } from '../finish-reasons.ts';
import { DONE, encodeEvent } from '../sse.ts';
import { arrayOf, objectOf, stringOf } from '../upstream-errors.ts';
import type { Mender, StreamMender } from '../wire-format.ts';
import { FINISH_REASONS } from './render-result.ts';

export const mender: Mender = {
  mendResult: (completion) =>
    withChoices(completion, (choice) => {
      const message = objectOf(choice['message']);
      const hasCalls = arrayOf(message['tool_calls']).length > 0;
      return withEnd(withReasoning(choice, 'message'), 'message', { hasText: false, hasCalls });
    }),
  mendStream: () => new ChatStreamMender(),
};

/** What a choice held before its end. */
interface Held {
  readonly hasText: boolean;
  readonly hasCalls: boolean;
}

/** What every chunk with something to mend has; all others are left unread. */
const MAY_NEED_MENDING = /"finish_reason"\s*:\s*"|"reasoning"\s*:|"role"\s*:\s*""|"delta"\s*:\s*null|"message"\s*:/;

class ChatStreamMender implements StreamMender {
  readonly #choicesWithText = new Set<string>();
  readonly #choicesWithCalls = new Set<number>();
  /** Whether anything was said before the event that is mended. */
  #hasBegun = false;
  #isDone = false;

  see(event: StreamEvent): void {
    if (event.type === 'text-delta') this.#choicesWithText.add(event.id);
    else if (event.type === 'tool-input-start') this.#choicesWithCalls.add(event.choice ?? 0);
  }

  mend(data: string): string | null {
    if (this.#isDone) return null;
    this.#isDone = data === DONE;
    const hasBegun = this.#hasBegun;
    this.#hasBegun = this.#choicesWithText.size + this.#choicesWithCalls.size > 0;
    if (!MAY_NEED_MENDING.test(data)) return data;
    const chunk = objectOf(JSON.parse(data));
    const mended = withChoices(chunk, (choice) => {
      const index = Number(choice['index'] ?? 0);
      const told = withReasoning(withDelta(choice, hasBegun), 'delta');
      const reason = stringOf(choice['finish_reason']);
      if (reason === '') return told;
      if (finishReasonOf(reason) === null) return { ...told, finish_reason: null };
      const hasText = this.#choicesWithText.has(`text-${index}`);
      return withEnd(told, 'delta', { hasText, hasCalls: this.#choicesWithCalls.has(index) });
    });
    return mended === chunk ? data : JSON.stringify(mended);
  }

  end(): string {
    return this.#isDone ? '' : encodeEvent(DONE);
  }
}

/** The same object where no choice changes. */
function withChoices(completion: JsonObject, mend: (choice: JsonObject) => JsonObject): JsonObject {
  const choices = arrayOf(completion['choices']).map(objectOf);
  const mended = choices.map(mend);
  return mended.every((choice, index) => choice === choices[index]) ? completion : { ...completion, choices: mended };
}

/**
 * A delta where there is none, in place of the whole message, which some upstreams say at the end, mostly once more; and one
 * without a role that is empty: strict clients refuse both.
 */
function withDelta(choice: JsonObject, hasBegun: boolean): JsonObject {
  const { delta, message, ...rest } = choice;
  if (!isObject(delta)) return { ...rest, delta: hasBegun ? {} : objectOf(message) };
  const { role, ...said } = delta;
  return role === '' ? { ...choice, delta: said } : choice;
}

/** Reasoning under the name that clients know it by. */
function withReasoning(choice: JsonObject, field: 'message' | 'delta'): JsonObject {
  const { reasoning, ...said } = objectOf(choice[field]);
  if (typeof reasoning !== 'string') return choice;
  const told = stringOf(said['reasoning_content']) || reasoning;
  return { ...choice, [field]: { ...said, reasoning_content: told } };
}

/** The last of a choice: with one of the format's reasons, and with a text where there was nothing at all. */
function withEnd(choice: JsonObject, field: 'message' | 'delta', { hasText, hasCalls }: Held): JsonObject {
  const said = objectOf(choice[field]);
  const told = stringOf(choice['finish_reason']);
  const reason = finishReasonOf(told) ?? 'stop';
  const known = FINISH_REASONS[reason === 'stop' && hasCalls ? 'tool-calls' : reason];
  const content = said['content'] ?? null;
  const lacksText = content === null && !hasText && !hasCalls;
  if (known === told && !lacksText) return choice;
  return { ...choice, finish_reason: known, ...(lacksText && { [field]: { ...said, content: '' } }) };
}
