/**
 * System text for models whose template takes one system message, at the beginning:
 * https://github.com/experientiallabs/experiential/pull/956
 */
import { isObject, type JsonObject, listOf, stringOf } from '../../domain/json.ts';
import type { TextPart, Turn } from '../canonical.ts';
import { hoistSystem, reminderText } from '../turns.ts';
import type { UpstreamOptions } from '../wire-format.ts';

type Model = Pick<UpstreamOptions, 'model' | 'baseModel'>;

/** By their names at the upstream. */
const TAKE_ONE = /qwen/i;

/** The turns with one system turn, at the beginning. */
export function withOneSystem(turns: readonly Turn[], { model, baseModel = model }: Model): readonly Turn[] {
  if (!TAKE_ONE.test(baseModel) || !hasFurtherSystem(turns)) return turns;
  const { system, turns: others } = hoistSystem(turns.filter((turn) => turn.role !== 'system' || !isBlank(turn.parts)));
  return system === null ? others : [{ role: 'system', parts: [{ type: 'text', text: system }] }, ...others];
}

/** The same for the messages of a client's own body. */
export function withOneSystemMessage(body: JsonObject, { model, baseModel = model }: Model): JsonObject {
  if (!TAKE_ONE.test(baseModel)) return body;
  const messages = listOf(body['messages']).filter(isObject);
  if (!hasFurtherSystem(messages)) return body;
  const first = messages.findIndex(({ role }) => role !== 'system');
  const leading = messages.slice(0, first === -1 ? messages.length : first);
  const others = messages
    .slice(leading.length)
    .map((message) =>
      message['role'] === 'system' ? { role: 'user', content: reminderText(textOf(message)) } : message,
    );
  const system = leading.length === 0 ? [] : [{ role: 'system', content: leading.map(textOf).join('\n\n') }];
  return { ...body, messages: [...system, ...others] };
}

function isBlank(parts: readonly TextPart[]): boolean {
  return parts.every(({ text }) => text.trim() === '');
}

function hasFurtherSystem(turns: readonly { readonly role?: unknown }[]): boolean {
  return turns.findLastIndex(({ role }) => role === 'system') > 0;
}

function textOf({ content }: JsonObject): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .filter(isObject)
    .map(({ text }) => stringOf(text))
    .join('\n\n');
}
