/**
 * Models now and then wrap several tool calls into one of a tool that nobody offered:
 * `multi_tool_use.parallel({"tool_uses": [{"recipient_name": "functions.look", "parameters": {…}}, …]})`.
 */
import type { JsonObject } from '../canonical.ts';
import { isObject } from '../read.ts';
import { objectOf, stringOf } from '../upstream-errors.ts';

export interface Call {
  readonly callId: string;
  readonly name: string;
  readonly arguments: string;
}

const RECIPIENT = /^functions\.(.+)$/;

/** Whether a call by this name may be a wrapper, which only its whole arguments tell. */
export function mayWrapCalls(name: string): boolean {
  return name === 'multi_tool_use.parallel' || name === 'parallel';
}

/** The calls that a function_call item makes: one, or those it wraps. All but the first of these have an empty id. */
export function callsOf(item: JsonObject): Call[] {
  const callId = stringOf(item['call_id']);
  const call = { callId, name: stringOf(item['name']), arguments: stringOf(item['arguments']) };
  if (!mayWrapCalls(call.name)) return [call];
  const wrapped = wrappedCalls(call.arguments);
  return wrapped.length === 0 ? [call] : wrapped.map((each, index) => ({ callId: index === 0 ? callId : '', ...each }));
}

function wrappedCalls(text: string): Omit<Call, 'callId'>[] {
  const uses = objectOf(parsed(text))['tool_uses'];
  if (!Array.isArray(uses)) return [];
  const calls = uses.map((use: unknown) => {
    const { recipient_name: recipient, parameters } = objectOf(use);
    const name = RECIPIENT.exec(stringOf(recipient))?.[1];
    return name === undefined || !isObject(parameters) ? null : { name, arguments: JSON.stringify(parameters) };
  });
  return calls.every((call) => call !== null) ? calls : [];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
