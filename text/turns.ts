/** The turns of a conversation: what is in them, and what formats that are stricter than the canonical model need of them. */
import { badRequest } from '../domain/errors.ts';
import { isObject, type JsonObject, stringOf } from '../domain/json.ts';
import type {
  AssistantPart,
  AudioPart,
  CacheBreakpoint,
  InputPart,
  TextPart,
  TextRequest,
  ToolCallPart,
  ToolResultPart,
  Turn,
} from './canonical.ts';
import { objectOfText } from './json/parse.ts';
import { jsonTextOf } from './json/write.ts';
import { JsonSizer } from './json/size.ts';
import { compact } from './read.ts';

/** The parts of all turns, and in place of tool results the parts of their content. */
export function partsOf(turns: readonly Turn[]): (InputPart | AssistantPart)[] {
  return turns.flatMap((turn): readonly (InputPart | AssistantPart)[] =>
    turn.role === 'tool' ? turn.parts.flatMap(({ content }) => content) : turn.parts,
  );
}

type Marked = Pick<TextRequest, 'turns' | 'tools' | 'cacheBreakpoint'>;

/** Whether the client marked what the upstream should keep in its cache. @param ttl looks for marks with this lifetime only */
export function hasCacheMarks(request: Marked, ttl?: CacheBreakpoint['ttl']): boolean {
  const isMarked = ({ cacheBreakpoint: mark }: Pick<Marked, 'cacheBreakpoint'>): boolean =>
    mark !== undefined && (ttl === undefined || mark.ttl === ttl);
  const { turns, tools } = request;
  return (
    isMarked(request) ||
    tools.some(isMarked) ||
    hasPart(turns, (part) => part.type !== 'reasoning' && part.type !== 'audio' && isMarked(part))
  );
}

/** Whether a part of the turns, or of their tool results, fulfils the condition. */
export function hasPart(turns: readonly Turn[], isSuch: (part: Turn['parts'][number]) => boolean): boolean {
  return turns.some(({ role, parts }) =>
    role === 'tool'
      ? parts.some((result) => isSuch(result) || result.content.some(isSuch))
      : parts.some((part: Turn['parts'][number]) => isSuch(part)),
  );
}

/** The system text that {@link hoistSystem} takes out of the turns, in its parts. */
export function hoistedParts(turns: readonly Turn[]): TextPart[] {
  return beginningOf(turns) === turns.length ? [] : leadingSystem(turns);
}

function leadingSystem(turns: readonly Turn[]): TextPart[] {
  return turns.slice(0, beginningOf(turns)).flatMap((turn) => (turn.role === 'system' ? turn.parts : []));
}

function beginningOf(turns: readonly Turn[]): number {
  const first = turns.findIndex(({ role }) => role !== 'system');
  return first === -1 ? turns.length : first;
}

/**
 * The system text at the beginning, joined by blank lines (null without any), and the other turns. System text in the
 * middle stays there, as a marked message of the user: moved to the beginning, it would change the prefix of the
 * conversation, which upstreams have in their caches. Without other turns the system text is a message of the user,
 * because no model answers to nothing.
 */
export function hoistSystem(turns: readonly Turn[]): { readonly system: string | null; readonly turns: Turn[] } {
  const texts = leadingSystem(turns).map(({ text }) => text);
  const others = turns.slice(beginningOf(turns)).map(reminderOf);
  const system = texts.length === 0 ? null : texts.join('\n\n');
  if (others.length > 0 || system === null) return { system, turns: others };
  return { system: null, turns: [{ role: 'user', parts: [{ type: 'text', text: system }] }] };
}

/** System text as a message of the user, in the tags that vendors' own agents use for instructions in the middle. */
function reminderOf(turn: Turn): Turn {
  if (turn.role !== 'system') return turn;
  const text = turn.parts.map((part) => part.text).join('\n\n');
  const cacheBreakpoint = turn.parts.findLast((part) => part.cacheBreakpoint !== undefined)?.cacheBreakpoint;
  const part = { type: 'text', text: reminderText(text), cacheBreakpoint } as const;
  return { role: 'user', parts: text.trim() === '' ? [] : [compact(part)] };
}

export function reminderText(text: string): string {
  return `<system-reminder>\n${text}\n</system-reminder>`;
}

/** Merges neighbouring turns of the same role. */
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
    // The roles are equal, so all parts are of kinds that the role allows.
    return group.length === 1 ? first : ({ role: first.role, parts } as Turn);
  });
}

/** The turns without white space at the end of an answer that the model should continue, which some vendors refuse. */
export function withoutFinalSpace(turns: readonly Turn[]): readonly Turn[] {
  const last = turns.at(-1);
  if (last?.role !== 'assistant') return turns;
  const parts = last.parts.slice(
    0,
    last.parts.findLastIndex((part) => part.type !== 'text' || part.text.trim() !== '') + 1,
  );
  const end = parts.at(-1);
  if (end?.type !== 'text') return turns;
  const trimmed = { ...end, text: end.text.trimEnd() };
  return [...turns.slice(0, -1), { ...last, parts: [...parts.slice(0, -1), trimmed] }];
}

/**
 * Puts the results of each assistant turn's tool calls into one tool turn right after it, in the order of the calls and
 * with the tools' names, as far as there are results. A result that answers no call stays where it is; one that repeats
 * the result of an earlier call is left out. Clients that number their calls anew in each turn reuse ids: each call takes the first result that is left. Turns are not merged:
 * for formats whose roles alternate, call {@link mergeNeighbours} before and after.
 */
export function pairToolResults(turns: readonly Turn[]): Turn[] {
  const waiting = resultsByCallId(turns);
  const placed = new Set<ToolResultPart>();
  const answeredCallIds = new Set<string>();
  const paired: Turn[] = [];
  for (const turn of turns) {
    if (turn.role === 'tool') {
      const orphans = turn.parts.filter((part) => !placed.has(part) && !answeredCallIds.has(part.callId));
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
      if (result === null) continue;
      answeredCallIds.add(call.callId);
      results.push({ ...result, name: result.name ?? call.name });
    }
    if (results.length > 0) paired.push({ role: 'tool', parts: results });
  }
  return paired;
}

/** The results for one call id, in order. */
interface WaitingResults {
  readonly results: ToolResultPart[];
  /** Index of the first that may still be without a place. */
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

/** Takes the first result that has no place yet. */
function takeUnplaced(waiting: WaitingResults | undefined, placed: Set<ToolResultPart>): ToolResultPart | null {
  if (waiting === undefined) return null;
  let result = waiting.results[waiting.next];
  while (result !== undefined && placed.has(result)) result = waiting.results[(waiting.next += 1)];
  if (result === undefined) return null;
  placed.add(result);
  return result;
}

/** For the arguments of all tool calls in a conversation together, where they have to be parsed. */
const MAXIMUM_ARGUMENTS_LENGTH = 8 * 1024 * 1024;
const ARGUMENTS_LIMITS = { maxDepth: 64, maxValues: 100_000 };

/**
 * Checks the size of a conversation's tool calls before {@link argumentsOf} parses each: parsed JSON may be far
 * larger than its text.
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

function textOfArguments(part: AssistantPart): string[] {
  return part.type === 'tool-call' ? [part.arguments] : [];
}

/**
 * A tool call's arguments as an object, for formats that do not have them as JSON text. Models make up arguments that
 * are not an object, and the output bound cuts others short; clients send both back, and the model sees its own text.
 */
export function argumentsOf(call: ToolCallPart): JsonObject {
  if (call.arguments.trim() === '') return {};
  return objectOfText(call.arguments) ?? { unreadable_arguments: call.arguments };
}

/** The arguments of a tool call as JSON text, from formats and upstreams that send an object. */
export function argumentsTextOf(value: unknown): string {
  return isObject(value) ? jsonTextOf(value) : stringOf(value);
}

/**
 * The text of the assistant's audio, for upstreams that do not know the audio.
 *
 * @throws ServiceError `bad_request` if the client did not send the text
 */
export function transcriptOf({ transcript = '', isInText = false }: AudioPart): TextPart {
  if (isInText) return { type: 'text', text: '' };
  if (transcript !== '') return { type: 'text', text: transcript };
  throw badRequest(
    'the model does not know the audio of an earlier answer: send what was said as the text of the message',
  );
}

/** Stands for an image of an earlier answer where the assistant's messages have no images. */
export const IMAGE_NOTE: TextPart = { type: 'text', text: '[image]' };

/** The text of a tool result: its text parts, joined by line breaks. */
export function textOf(result: ToolResultPart): string {
  return result.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}
