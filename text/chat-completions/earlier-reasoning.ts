/**
 * The reasoning of earlier answers, without which some models refuse a conversation. Clients drop it, or never got it; the models
 * accept a blank in its place: https://api-docs.deepseek.com/guides/thinking_mode
 */
import { type JsonObject, stringOf } from '../../domain/json.ts';
import type { UpstreamOptions } from '../wire-format.ts';

type Model = Pick<UpstreamOptions, 'model' | 'baseModel' | 'reasons'>;

/** Those that reason, by their names at the upstream. */
const NEED_REASONING = /deepseek|kimi|mimo/i;
const BLANK = ' ';

/** The reasoning for an earlier answer. */
export function earlierReasoning(
  reasoning: string,
  { model, baseModel = model, reasons = false }: Model,
): string | undefined {
  if (reasoning !== '') return reasoning;
  return reasons && NEED_REASONING.test(baseModel) ? BLANK : undefined;
}

/** The same in a client's own message. */
export function withEarlierReasoning(message: JsonObject, model: Model): JsonObject {
  const { role, reasoning_content: sent, reasoning } = message;
  if (role !== 'assistant' || stringOf(sent) !== '' || stringOf(reasoning) !== '') return message;
  const needed = earlierReasoning('', model);
  return needed === undefined ? message : { ...message, reasoning_content: needed };
}
