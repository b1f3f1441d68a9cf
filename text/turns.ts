/** What formats with stricter conversations than the canonical one need done to the turns. */
import { badRequest } from '../domain/errors.ts';
import type { JsonObject, ToolCallPart, ToolResultPart, Turn } from './canonical.ts';
import { isObject } from './read.ts';

/** All system text joined by blank lines, wherever it stood, and the other turns; null when there is none. */
export function hoistSystem(turns: readonly Turn[]): { readonly system: string | null; readonly turns: Turn[] } {
  const texts = turns.flatMap((turn) => (turn.role === 'system' ? turn.parts.map((part) => part.text) : []));
  return {
    system: texts.length === 0 ? null : texts.join('\n\n'),
    turns: turns.filter((turn) => turn.role !== 'system'),
  };
}

/** The turns with neighbours of the same role made one. */
export function mergeNeighbours(turns: readonly Turn[]): Turn[] {
  const groups: [Turn, ...Turn[]][] = [];
  for (const turn of turns) {
    const last = groups.at(-1);
    if (last?.[0].role === turn.role) last.push(turn);
    else groups.push([turn]);
  }
  return groups.map((group) => {
    const [first] = group;
    const parts = group.flatMap((turn): readonly Turn['parts'][number][] => turn.parts);
    // The roles are equal, so the parts of all are of the kinds that the role allows.
    return group.length === 1 ? first : ({ role: first.role, parts } as Turn);
  });
}

/**
 * The turns with the results of each assistant turn's tool calls in one tool turn right after it, in the order of the
 * calls and with the tools' names, as far as the results are there. A result that answers no call stays where it is.
 * Clients that count their calls anew in each turn use an id again: each call takes the first result that is left.
 * Turns are not merged: for formats whose roles alternate, call {@link mergeNeighbours} before and after.
 */
export function pairToolResults(turns: readonly Turn[]): Turn[] {
  const waiting = resultsByCallId(turns);
  const placed = new Set<ToolResultPart>();
  const paired: Turn[] = [];
  for (const turn of turns) {
    if (turn.role === 'tool') {
      const orphans = turn.parts.filter((part) => !placed.has(part));
      for (const part of orphans) placed.add(part);
      if (orphans.length > 0) paired.push({ role: 'tool', parts: orphans });
      continue;
    }
    paired.push(turn);
    if (turn.role !== 'assistant') continue;
    const results: ToolResultPart[] = [];
    for (const call of turn.parts) {
      if (call.type !== 'tool-call') continue;
      const result = takeUnplaced(waiting.get(call.callId) ?? [], placed);
      if (result !== null) results.push({ ...result, name: result.name ?? call.name });
    }
    if (results.length > 0) paired.push({ role: 'tool', parts: results });
  }
  return paired;
}

function resultsByCallId(turns: readonly Turn[]): Map<string, ToolResultPart[]> {
  const results = new Map<string, ToolResultPart[]>();
  for (const part of turns.flatMap((turn) => (turn.role === 'tool' ? turn.parts : []))) {
    const same = results.get(part.callId);
    if (same === undefined) results.set(part.callId, [part]);
    else same.push(part);
  }
  return results;
}

/** Takes the first result out of `waiting` that has no place yet, and marks it as placed. */
function takeUnplaced(waiting: ToolResultPart[], placed: Set<ToolResultPart>): ToolResultPart | null {
  let result = waiting.shift();
  while (result !== undefined && placed.has(result)) result = waiting.shift();
  if (result === undefined) return null;
  placed.add(result);
  return result;
}

/**
 * A tool call's arguments as an object, for formats that do not carry JSON text.
 *
 * @throws ServiceError `bad_request` when they are something else
 */
export function argumentsOf(call: ToolCallPart): JsonObject {
  try {
    const value: unknown = call.arguments.trim() === '' ? {} : JSON.parse(call.arguments);
    if (isObject(value)) return value;
  } catch {
    // Told below, as for JSON that is not an object.
  }
  throw badRequest(`the arguments of the tool call "${call.callId}" must be a JSON object`);
}

/** The text of a tool result, its text parts joined by line ends. */
export function textOf(result: ToolResultPart): string {
  return result.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}
