/** What formats with stricter conversations than the canonical one need done to the turns. */
import { badRequest } from '../domain/errors.ts';
import { isObject, type JsonObject } from '../domain/json.ts';
import type { AnswerPart, ToolCallPart, ToolResultPart, Turn } from './canonical.ts';
import { JsonSizer } from './json/size.ts';

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
      const result = takeUnplaced(waiting.get(call.callId), placed);
      if (result !== null) results.push({ ...result, name: result.name ?? call.name });
    }
    if (results.length > 0) paired.push({ role: 'tool', parts: results });
  }
  return paired;
}

/** The results of one call id, in their order. */
interface WaitingResults {
  readonly results: ToolResultPart[];
  /** The first that may still wait for its place. */
  next: number;
}

function resultsByCallId(turns: readonly Turn[]): Map<string, WaitingResults> {
  const waiting = new Map<string, WaitingResults>();
  for (const part of turns.flatMap((turn) => (turn.role === 'tool' ? turn.parts : []))) {
    const same = waiting.get(part.callId);
    if (same === undefined) waiting.set(part.callId, { results: [part], next: 0 });
    else same.results.push(part);
  }
  return waiting;
}

/** The first result that has no place yet, which it has from now on. */
function takeUnplaced(waiting: WaitingResults | undefined, placed: Set<ToolResultPart>): ToolResultPart | null {
  if (waiting === undefined) return null;
  let result = waiting.results[waiting.next];
  while (result !== undefined && placed.has(result)) result = waiting.results[(waiting.next += 1)];
  if (result === undefined) return null;
  placed.add(result);
  return result;
}

/** Of all tool calls of a conversation together, where their arguments are read. */
const MAXIMUM_ARGUMENTS_LENGTH = 8 * 1024 * 1024;
const ARGUMENTS_LIMITS = { maxDepth: 64, maxValues: 100_000 };

/**
 * Checks the tool calls of a conversation before {@link argumentsOf} is asked for each: JSON in a text may become far larger
 * when it is read than the text is.
 *
 * @throws ServiceError `bad_request` when they are too large
 */
export function checkArguments(turns: readonly Turn[]): void {
  const texts = turns.flatMap(({ role, parts }) => (role === 'assistant' ? parts : [])).flatMap(textOfArguments);
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  if (length > MAXIMUM_ARGUMENTS_LENGTH) {
    throw badRequest(`the arguments of all tool calls must have at most ${MAXIMUM_ARGUMENTS_LENGTH} characters`);
  }
  let values = 0;
  for (const text of texts) {
    const sizer = new JsonSizer({ ...ARGUMENTS_LIMITS, maxValues: ARGUMENTS_LIMITS.maxValues - values });
    sizer.push(Buffer.from(text));
    values += sizer.values;
  }
}

function textOfArguments(part: AnswerPart): string[] {
  return part.type === 'tool-call' ? [part.arguments] : [];
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
