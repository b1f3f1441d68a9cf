/**
 * Models sometimes wrap several tool calls into a call of a tool that the client did not define:
 * `multi_tool_use.parallel({"tool_uses": [{"recipient_name": "functions.look", "parameters": {…}}, …]})`.
 */
import { isObject, objectOf, stringOf } from '../domain/json.ts';
import type { StreamEvent } from './canonical.ts';
import { objectOfText } from './json/parse.ts';
import { jsonTextOf } from './json/write.ts';

interface Call {
  readonly callId: string;
  readonly name: string;
  readonly arguments: string;
}

const RECIPIENT = /^functions\.(.+)$/;

/** Whether a call with this name may be a wrapper. Only its complete arguments show whether it is. */
export function canWrapCalls(name: string): boolean {
  return name === 'multi_tool_use.parallel' || name === 'parallel';
}

/**
 * The events of a complete call, or of the calls that it wraps, of which all but the first have an empty id.
 *
 * @param id the beginning of the parts' ids
 */
export function* eventsOfCall(call: Call, id: string, choice = 0): Generator<StreamEvent, void, undefined> {
  const wrapped = canWrapCalls(call.name) ? wrappedCalls(call.arguments) : [];
  const calls = wrapped.map((each, index) => ({ ...each, callId: index === 0 ? call.callId : '' }));
  for (const [index, { callId, name, arguments: text }] of (calls.length === 0 ? [call] : calls).entries()) {
    const partId = `${id}-${index}`;
    yield { type: 'tool-input-start', id: partId, callId, name, choice };
    yield { type: 'tool-input-delta', id: partId, text };
    yield { type: 'tool-input-end', id: partId };
  }
}

function wrappedCalls(text: string): Omit<Call, 'callId'>[] {
  const uses = objectOfText(text)?.['tool_uses'];
  if (!Array.isArray(uses)) return [];
  const calls = uses.map((use: unknown) => {
    const { recipient_name: recipient, parameters } = objectOf(use);
    const name = RECIPIENT.exec(stringOf(recipient))?.[1];
    return name === undefined || !isObject(parameters) ? null : { name, arguments: jsonTextOf(parameters) };
  });
  return calls.every((call) => call !== null) ? calls : [];
}
