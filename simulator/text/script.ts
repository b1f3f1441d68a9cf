/**
 * Decides what a simulated model answers, from the request alone, so that all formats answer alike.
 * `docs/simulator.md` explains the directives, which may be in any text of the conversation; of two with the same name, the
 * later one counts.
 */
import { BadDirectiveError, oneOf, parseDirectives, wholeNumber, type Directives } from '../directives.ts';
import type { CallEntry, Conversation, Entry, ResultEntry } from './conversation.ts';
import { badRequest, failureOfStatus, SCRIPTED_FAILURES, TextFailure } from './failure.ts';
import { exampleOf } from './schema-example.ts';
import { readPlainWish, type WishedCall } from './sentences.ts';
import { scriptedQueries, searchesOf, WEB_SEARCH } from './searches.ts';
import { countInputTokens, repeatWords, splitIntoPieces } from './tokens.ts';

/** A complete answer, and the faults while it is sent. */
export interface Script {
  /** The pieces of the reasoning and of the text; each is streamed separately and is one token. */
  readonly reasoning: readonly string[];
  readonly text: readonly string[];
  readonly calls: readonly ScriptedCall[];
  /** The queries of the searches that the vendor runs itself, before the text. */
  readonly searches: readonly string[];
  readonly finish: Finish;
  /** Null to report no usage. */
  readonly usage: Usage | null;
  /** The name under which the request is counted; undefined to count it under none. */
  readonly mark: string | undefined;
  readonly faults: Faults;
}

export interface ScriptedCall {
  readonly name: string;
  /** JSON text of an object. */
  readonly arguments: string;
}

export type Finish =
  | { readonly reason: 'stop' | 'length' | 'tool-calls' }
  | { readonly reason: 'stop-sequence'; readonly sequence: string };

/** Token counts. */
export interface Usage {
  /** All of the input, the cached part included. */
  readonly input: number;
  readonly cached: number;
  /** All of the output, the reasoning included. */
  readonly output: number;
  readonly reasoning: number;
  /** The audio in the input and in the output. */
  readonly audioInput: number;
  readonly audioOutput: number;
}

export interface Faults {
  readonly delayMs: number;
  readonly chunkMs: number;
  /** The failure to answer with or, after some chunks, the end of the answer. */
  readonly failure: TextFailure | null;
  /** The number of chunks before the fault; null for never. */
  readonly failAfter: number | null;
  readonly dropAfter: number | null;
  readonly malformedAfter: number | null;
}

/** Families whose models reason before they answer, unless the request's effort or a directive says otherwise. */
const REASONING_MODELS = /^(text[ghijkl]|demo-)/;
const REASONING_TOKENS = 20;
const REASONING_WORDS = ['Let', 'me', 'think', 'about', 'what', 'was', 'asked', 'and', 'how', 'to', 'answer.'];
const REPLY_WORDS = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta', 'eta', 'theta', 'iota', 'kappa'];

const TOKENS_PER_MEDIUM = 258;
/** Each piece of a spoken answer takes 0.1 s. */
export const PIECE_MS = 100;
const AUDIO_TOKENS_PER_PIECE = 2;
const MAX_SCRIPTED_TOKENS = 1_000_000;
const ECHO_PIECES = 12;

/** Everything that the model reads, as one text: it is counted, cached and searched for directives. */
export function promptOf({ tools, entries }: Conversation): string {
  const offers = tools.map((tool) => `tool ${tool.name}: ${tool.description} ${JSON.stringify(tool.schema) ?? ''}`);
  return [...offers, ...entries.map(promptOfEntry)].join('\n');
}

function promptOfEntry(entry: Entry): string {
  if (entry.kind === 'text') return `${entry.role}: ${entry.text}`;
  return entry.kind === 'call' ? `call ${entry.name}: ${entry.arguments}` : `result: ${entry.text}`;
}

/**
 * @param prompt the result of {@link promptOf} for the conversation
 * @param cachedTokens the number of its tokens in the cache
 * @throws TextFailure when the history is invalid, or the prompt is too long
 * @throws BadDirectiveError when a directive's value is invalid
 */
export function writeScript(conversation: Conversation, prompt: string, cachedTokens: number): Script {
  requireCallsOfResults(conversation.entries);
  const directives = parseDirectives(prompt);
  const promptTokens = countInputTokens(prompt);
  requireRoom(promptTokens, directives);
  const tokens = scriptedTokens(directives, 'tokens');
  const { text, calls } = contentOf(conversation, directives, tokens);
  const tokensPerPiece = conversation.isSpoken === true ? 1 + AUDIO_TOKENS_PER_PIECE : 1;
  const output = fitOutput(withRoom(conversation, tokensPerPiece), {
    reasoning: splitIntoPieces(repeatWords(REASONING_WORDS, reasoningTokens(conversation, directives, tokens))),
    text,
    calls,
    tokens,
  });
  const reasoning = output.reasoning.length;
  const audioOutput = conversation.isSpoken === true ? output.text.length * AUDIO_TOKENS_PER_PIECE : 0;
  const usage = {
    ...inputUsage(conversation, directives, promptTokens, cachedTokens),
    output: (output.tokens + audioOutput) * conversation.choiceCount,
    reasoning: reasoning * conversation.choiceCount,
    audioOutput: audioOutput * conversation.choiceCount,
  };
  const searches = searchesOf(conversation, directives);
  return {
    ...output,
    searches,
    usage: directives.has('no_usage') ? null : usage,
    mark: directives.get('mark'),
    faults: faultsOf(directives),
  };
}

/** Leaves room for the audio of each piece within the bound of the output. */
function withRoom(conversation: Conversation, tokensPerPiece: number): Conversation {
  const { maxOutputTokens } = conversation;
  return { ...conversation, maxOutputTokens: maxOutputTokens && Math.floor(maxOutputTokens / tokensPerPiece) };
}

/** Upstreams refuse the result of a call that was never made. */
function requireCallsOfResults(entries: readonly Entry[]): void {
  const callIds = new Set<string | null>([null]);
  for (const entry of entries) {
    if (entry.kind === 'call') callIds.add(entry.id);
    if (entry.kind === 'result' && !callIds.has(entry.callId)) {
      throw badRequest(`No tool call found for the tool result with the id ${entry.callId}.`);
    }
  }
}

function requireRoom(promptTokens: number, directives: Directives): void {
  const limit = wholeNumber(directives, 'context');
  if (limit === undefined || promptTokens <= limit) return;
  throw new TextFailure('context_exceeded', { values: { input: promptTokens, limit } });
}

function scriptedTokens(directives: Directives, name: string): number | undefined {
  const count = wholeNumber(directives, name);
  if (count === undefined || count <= MAX_SCRIPTED_TOKENS) return count;
  throw new BadDirectiveError(`directive "${name}" must be at most ${MAX_SCRIPTED_TOKENS}`);
}

/** A directive that sets only the output sets all of it, so that its usage is known beforehand. */
function reasoningTokens(
  { model, reasoningAllowed }: Conversation,
  directives: Directives,
  tokens: number | undefined,
): number {
  const scripted = scriptedTokens(directives, 'reasoning');
  if (scripted !== undefined) return scripted;
  return tokens === undefined && reasoningAllowed && REASONING_MODELS.test(model) ? REASONING_TOKENS : 0;
}

function inputUsage(
  { entries }: Conversation,
  directives: Directives,
  promptTokens: number,
  cachedTokens: number,
): Pick<Usage, 'input' | 'cached' | 'audioInput'> {
  const media = entries.reduce((sum, entry) => sum + (entry.kind === 'call' ? 0 : entry.mediaCount), 0);
  const input = wholeNumber(directives, 'prompt') ?? promptTokens + media * TOKENS_PER_MEDIUM;
  const cached = wholeNumber(directives, 'cached') ?? Math.min(cachedTokens, input);
  const audio = entries.reduce((sum, entry) => sum + (entry.kind === 'text' ? (entry.audioCount ?? 0) : 0), 0);
  return { input: Math.max(input, cached), cached, audioInput: Math.min(audio * TOKENS_PER_MEDIUM, input - cached) };
}

function faultsOf(directives: Directives): Faults {
  const status = wholeNumber(directives, 'status');
  const kind = oneOf(directives, 'fail', SCRIPTED_FAILURES);
  if (status !== undefined && (status < 300 || status > 599)) {
    throw new BadDirectiveError('directive "status" must be from 300 to 599');
  }
  const failure = kind === undefined ? null : new TextFailure(kind, { status });
  return {
    delayMs: wholeNumber(directives, 'delay_ms') ?? 0,
    chunkMs: wholeNumber(directives, 'chunk_ms') ?? 0,
    failure: failure ?? (status === undefined ? null : failureOfStatus(status)),
    failAfter: wholeNumber(directives, 'fail_after') ?? null,
    dropAfter: wholeNumber(directives, 'drop_after') ?? null,
    malformedAfter: wholeNumber(directives, 'malformed_after') ?? null,
  };
}

interface Content {
  readonly text: string;
  readonly calls: readonly ScriptedCall[];
}

function contentOf(conversation: Conversation, directives: Directives, tokens: number | undefined): Content {
  const { entries } = conversation;
  const results = trailingResults(entries);
  const message = results.length > 0 ? '' : lastUserText(entries);
  const wish = readPlainWish(message);
  const isAnswer = results.length > 0;
  const calls = permittedCalls(
    conversation,
    isAnswer && !directives.has('search_again') ? [] : askedCalls(conversation, directives, wish),
  );
  return { calls, text: textOf() };

  function textOf(): string {
    const said = directives.get('say');
    if (said !== undefined) return said.replaceAll('_', ' ');
    if (isAnswer && calls.length === 0) return tellResults(entries, results);
    if (wish?.kind === 'say') return wish.text;
    if (tokens !== undefined) return repeatWords(REPLY_WORDS, tokens);
    if (calls.length > 0) return '';
    const schema = conversation.answerSchema ?? (asksForJson(entries) ? { type: 'object' } : undefined);
    if (schema !== undefined) {
      const example = exampleOf(schema);
      return conversation.answersInText === true ? String(example) : JSON.stringify(example);
    }
    return echo(message);
  }
}

/** Whether the system text asks for JSON, as clients of models without a field for it do. */
function asksForJson(entries: readonly Entry[]): boolean {
  return entries.some(
    (entry) =>
      entry.kind === 'text' && entry.role === 'system' && entry.text.includes('one JSON object and nothing else'),
  );
}

function lastUserText(entries: readonly Entry[]): string {
  const last = entries.findLast((entry) => entry.kind === 'text' && entry.role === 'user');
  return last?.kind === 'text' ? last.text : '';
}

function echo(message: string): string {
  const text = message
    .replace(/\[sim:[^\][]*\]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  if (text === '') return 'You said nothing that can be repeated, but here is a reply.';
  const pieces = splitIntoPieces(text);
  return `You said: ${pieces.slice(0, ECHO_PIECES).join('')}${pieces.length > ECHO_PIECES ? ' …' : ''}`;
}

function askedCalls(
  { tools }: Conversation,
  directives: Directives,
  wish: ReturnType<typeof readPlainWish>,
): readonly ScriptedCall[] {
  const names = ['tool', 'tools'].flatMap((name) => directives.get(name)?.split('+') ?? []).filter(Boolean);
  if (names.length > 0) return names.map((name) => exampleCall(name, tools));
  const queries = tools.some(({ name }) => name === WEB_SEARCH) ? scriptedQueries(directives) : undefined;
  if (queries !== undefined)
    return queries.map((query) => ({ name: WEB_SEARCH, arguments: JSON.stringify({ query }) }));
  if (wish?.kind !== 'call') return [];
  return wish.calls.filter((call: WishedCall) => tools.some((tool) => tool.name === call.name));
}

/** The calls that the request's tool choice permits or requires. */
function permittedCalls(conversation: Conversation, asked: readonly ScriptedCall[]): readonly ScriptedCall[] {
  const { tools, toolChoice, parallelCalls } = conversation;
  if (toolChoice === 'none') return [];
  const isHosted = (conversation.maxSearches ?? 0) > 0 && !tools.some(({ name }) => name === WEB_SEARCH);
  const chosen = typeof toolChoice === 'object' ? toolChoice.name : undefined;
  const named = isHosted && chosen === WEB_SEARCH ? undefined : chosen;
  const calls = named === undefined ? asked : asked.filter((call) => call.name === named);
  const forced = named ?? (toolChoice === 'required' ? tools[0]?.name : undefined);
  if (calls.length === 0 && forced !== undefined) return [exampleCall(forced, tools)];
  return parallelCalls ? calls : calls.slice(0, 1);
}

function exampleCall(name: string, tools: Conversation['tools']): ScriptedCall {
  const tool = tools.find((candidate) => candidate.name === name);
  return { name, arguments: JSON.stringify(exampleOf({ type: 'object', ...Object(tool?.schema) })) };
}

function trailingResults(entries: readonly Entry[]): readonly ResultEntry[] {
  const last = entries.findLastIndex((entry) => entry.kind !== 'result');
  return entries.slice(last + 1).filter((entry) => entry.kind === 'result');
}

/** `name => result` for each result, in the order of the calls. */
function tellResults(entries: readonly Entry[], results: readonly ResultEntry[]): string {
  const unanswered = lastCalls(entries.slice(0, -results.length));
  const order = new Map(unanswered.map((call, index) => [call, index]));
  const told = results.map((result) => {
    const at = unanswered.findIndex((call) =>
      result.callId === null ? call.name === result.name : call.id === result.callId,
    );
    const [call] = at === -1 ? [] : unanswered.splice(at, 1);
    const position = call === undefined ? entries.length : (order.get(call) ?? 0);
    return { position, line: `${call?.name ?? result.name ?? 'unknown'} => ${result.text}` };
  });
  return told
    .toSorted((one, other) => one.position - other.position)
    .map(({ line }) => line)
    .join('\n');
}

/** The calls of the last message of the assistant. */
function lastCalls(entries: readonly Entry[]): CallEntry[] {
  const start = entries.findLastIndex(
    (entry) => entry.kind === 'result' || (entry.kind === 'text' && entry.role !== 'assistant'),
  );
  return entries.slice(start + 1).filter((entry) => entry.kind === 'call');
}

interface WantedOutput {
  readonly reasoning: readonly string[];
  readonly text: string;
  readonly calls: readonly ScriptedCall[];
  /** The tokens to report for text and calls, if different from their number. */
  readonly tokens: number | undefined;
}

interface FittedOutput extends Pick<Script, 'reasoning' | 'text' | 'calls' | 'finish'> {
  /** All tokens of the output. */
  readonly tokens: number;
}

/** Ends the output at the first stop sequence, and at the token limit. */
function fitOutput(
  { stopSequences, maxOutputTokens = Number.POSITIVE_INFINITY }: Conversation,
  { reasoning, text: wholeText, calls: wantedCalls, tokens = Number.POSITIVE_INFINITY }: WantedOutput,
): FittedOutput {
  const stop = firstStop(wholeText, stopSequences);
  const text = splitIntoPieces(stop === null ? wholeText : wholeText.slice(0, stop.index));
  const calls = stop === null ? wantedCalls : [];
  const made = text.length + calls.reduce((sum, call) => sum + 1 + splitIntoPieces(call.arguments).length, 0);
  // A stop sequence shortens the scripted output; without one, the scripted number counts.
  const reported = Number.isFinite(tokens) ? (stop === null ? tokens : Math.min(tokens, made)) : made;
  const total = reasoning.length + reported;
  if (total > maxOutputTokens) {
    const left = Math.max(maxOutputTokens - reasoning.length, 0);
    return {
      reasoning: reasoning.slice(0, maxOutputTokens),
      text: text.slice(0, left),
      calls: [],
      finish: { reason: 'length' },
      tokens: maxOutputTokens,
    };
  }
  const reason = calls.length > 0 ? 'tool-calls' : 'stop';
  const finish: Finish = stop === null ? { reason } : { reason: 'stop-sequence', sequence: stop.sequence };
  return { reasoning, text, calls, finish, tokens: total };
}

function firstStop(
  text: string,
  sequences: readonly string[],
): { readonly index: number; readonly sequence: string } | null {
  const hits = sequences
    .map((sequence) => ({ sequence, index: sequence === '' ? -1 : text.indexOf(sequence) }))
    .filter(({ index }) => index !== -1);
  return hits.toSorted((one, other) => one.index - other.index)[0] ?? null;
}
