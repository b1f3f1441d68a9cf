/** The messages format: https://docs.anthropic.com/en/api/messages and /en/docs/build-with-claude/streaming */
import { type JsonObject, listOf, objectOf, stringOf } from '../../domain/json.ts';
import type { Conversation, Entry, OfferedTool, ToolChoice } from './conversation.ts';
import { badRequest, RETRY_AFTER_SECONDS, TextFailure, type FailureKind } from './failure.ts';
import { numberOf, readContent, stringsOf } from './fields.ts';
import { bearerOf, newId, streamBlocks, type Block, type StreamedAnswer, type SimulatedFormat } from './format.ts';
import { pagesFor } from './searches.ts';
import type { Finish, Script, ScriptedCall, Usage } from './script.ts';
import { splitIntoPieces } from './tokens.ts';

type Wording = readonly [status: number, type: string, message: string];

/** https://docs.anthropic.com/en/api/errors */
const WORDINGS: Readonly<Record<FailureKind, Wording>> = {
  bad_request: [400, 'invalid_request_error', 'The request is invalid.'],
  content_policy_violation: [400, 'invalid_request_error', 'Output blocked by content filtering policy'],
  unauthenticated: [401, 'authentication_error', 'invalid x-api-key'],
  no_funds: [400, 'invalid_request_error', 'Your credit balance is too low to access the API.'],
  forbidden: [403, 'permission_error', 'Your API key does not have permission to use the specified resource.'],
  not_found: [404, 'not_found_error', 'The requested resource could not be found.'],
  context_exceeded: [400, 'invalid_request_error', 'prompt is too long: {input} tokens > {limit} maximum'],
  too_large: [413, 'request_too_large', 'Request exceeds the maximum size'],
  rate_limit_exceeded: [429, 'rate_limit_error', 'This request would exceed your rate limit. Please try again later.'],
  processing_failed: [500, 'api_error', 'Internal server error'],
  processing_unavailable: [529, 'overloaded_error', 'Overloaded'],
  processing_timeout: [504, 'timeout_error', 'Request timed out'],
};

export const messages: SimulatedFormat = {
  paths: ['/v1/messages'],
  count: {
    path: '/v1/messages/count_tokens',
    requestIn: (body) => {
      if ('max_tokens' in objectOf(body)) throw badRequest('max_tokens: Extra inputs are not permitted');
      return { ...objectOf(body), max_tokens: 1 };
    },
    render: (tokens) => ({ input_tokens: tokens }),
  },
  contentTypes: { whole: 'application/json', stream: 'text/event-stream; charset=utf-8' },

  /** The key may be in either header: recent versions of the vendor's SDK send the second. */
  requireCredential({ headers }, apiKey) {
    const key = headers['x-api-key'] ?? bearerOf(headers);
    if (key === undefined) throw new TextFailure('unauthenticated', { message: 'x-api-key header is required' });
    if (apiKey !== undefined && key !== apiKey) throw new TextFailure('unauthenticated');
    if (headers['anthropic-version'] === undefined) throw badRequest('anthropic-version: header is required');
  },

  open(input) {
    const body = objectOf(input);
    const conversation = readConversation(body);
    const kept = readMarks(body);
    return {
      conversation,
      renderWhole: (script) => renderWhole(conversation, script, kept),
      renderStream: (script) => renderStream(conversation, script, kept),
    };
  },

  headers: () => ({ 'request-id': newId('req_') }),

  renderFailure(failure) {
    const retry = { 'retry-after': String(RETRY_AFTER_SECONDS) };
    return {
      status: failure.status ?? WORDINGS[failure.kind][0],
      headers: failure.kind === 'rate_limit_exceeded' ? retry : {},
      body: JSON.stringify({ ...renderError(failure), request_id: newId('req_') }),
    };
  },
};

function renderError(failure: TextFailure): object {
  const [, type, message] = WORDINGS[failure.kind];
  return { type: 'error', error: { type, message: failure.wordedBy(message) } };
}

function readConversation(body: JsonObject): Conversation {
  const model = stringOf(body['model']);
  if (model === '') throw badRequest('model: Field required');
  const maxOutputTokens = numberOf(body['max_tokens']);
  if (maxOutputTokens === undefined) throw badRequest('max_tokens: Field required');
  const turns = listOf(body['messages']);
  if (turns.length === 0) throw badRequest('messages: at least one message is required');
  const stopSequences = stringsOf(body['stop_sequences']);
  if (stopSequences.some((sequence) => sequence.trim() === '')) {
    throw badRequest('stop_sequences: each stop sequence must contain non-whitespace');
  }
  const choice = objectOf(body['tool_choice']);
  return {
    model,
    stream: body['stream'] === true,
    entries: [
      ...readSystem(body['system']),
      ...turns.flatMap((turn, index) => readTurn(objectOf(turn), `messages.${index}`)),
    ],
    tools: listOf(body['tools']).flatMap((tool) => readTool(objectOf(tool))),
    maxSearches: maxSearchesOf(listOf(body['tools']).map(objectOf)),
    toolChoice: readToolChoice(choice),
    parallelCalls: choice['disable_parallel_tool_use'] !== true,
    maxOutputTokens,
    stopSequences,
    reasoningAllowed: objectOf(body['output_config'])['effort'] !== 'none',
    answerSchema: objectOf(objectOf(body['output_config'])['format'])['schema'],
    choiceCount: 1,
  };
}

function readSystem(system: unknown): Entry[] {
  return system === undefined ? [] : [{ kind: 'text', role: 'system', ...readContent(system) }];
}

/** Results and calls are separate entries; the text around them is one. */
function readTurn({ role, content }: JsonObject, path: string): Entry[] {
  if (role !== 'user' && role !== 'assistant' && role !== 'system') {
    throw badRequest(`${path}.role: Input should be 'user' or 'assistant'`);
  }
  const blocks = listOf(content).map(objectOf);
  for (const [index, block] of blocks.entries()) requireOwnSignature(block, `${path}.content.${index}`);
  const calls = blocks.flatMap((block) => (block['type'] === 'tool_use' ? [readCall(block)] : []));
  const results = blocks.flatMap((block) => (block['type'] === 'tool_result' ? [readResult(block)] : []));
  const rest = typeof content === 'string' ? content : blocks.filter(isTextOrMedia);
  const texts: Entry[] = rest.length === 0 ? [] : [{ kind: 'text', role, ...readContent(rest) }];
  return [...results, ...texts, ...calls];
}

/** The service checks the signatures of thinking, and makes no redacted thinking here. */
function requireOwnSignature({ type, signature }: JsonObject, path: string): void {
  const isForeign = type === 'redacted_thinking' || (type === 'thinking' && signature !== SIGNATURE);
  if (isForeign) throw badRequest(`${path}: Invalid \`signature\` in \`${type}\` block`);
}

function isTextOrMedia({ type }: JsonObject): boolean {
  return type === 'text' || type === 'image' || type === 'document';
}

function readCall(block: JsonObject): Entry {
  return {
    kind: 'call',
    id: stringOf(block['id']),
    name: stringOf(block['name']),
    arguments: JSON.stringify(objectOf(block['input'])),
  };
}

function readResult(block: JsonObject): Entry {
  return { kind: 'result', callId: stringOf(block['tool_use_id']), name: null, ...readContent(block['content']) };
}

function readTool(tool: JsonObject): OfferedTool[] {
  const name = stringOf(tool['name']);
  if (name === '' || SEARCH_TOOL.test(stringOf(tool['type']))) return [];
  return [{ name, description: stringOf(tool['description']), schema: tool['input_schema'] }];
}

const SEARCH_TOOL = /^web_search_\d{8}$/;

function maxSearchesOf(tools: readonly JsonObject[]): number {
  const search = tools.find(({ type }) => SEARCH_TOOL.test(stringOf(type)));
  return search === undefined ? 0 : (numberOf(search['max_uses']) ?? Number.POSITIVE_INFINITY);
}

function readToolChoice({ type, name }: JsonObject): ToolChoice {
  if (type === 'none') return 'none';
  if (type === 'tool') return { name: stringOf(name) };
  return type === 'any' ? 'required' : 'auto';
}

/** The shares of a prompt up to its last cache mark, and up to its last mark with a lifetime of an hour. */
interface Kept {
  readonly share: number;
  readonly hourShare: number;
}

/** Marks with the longer lifetime come first: https://platform.claude.com/docs/en/build-with-claude/prompt-caching */
function readMarks(body: JsonObject): Kept {
  let length = 0;
  const ends = { '5m': 0, '1h': 0 };
  const mark = ({ cache_control: control }: JsonObject): void => {
    if (control === undefined) return;
    const { ttl = '5m' } = objectOf(control);
    if (ttl !== '5m' && ttl !== '1h') throw badRequest("cache_control.ttl: Input should be '5m' or '1h'");
    if (ttl === '1h' && ends['5m'] > 0) {
      throw badRequest("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block");
    }
    ends[ttl] = length;
  };
  const read = (value: unknown): void => {
    const block = objectOf(value);
    if (Array.isArray(block['content'])) block['content'].forEach(read);
    else length += JSON.stringify(value).length;
    mark(block);
  };
  for (const field of ['tools', 'system', 'messages']) {
    if (typeof body[field] === 'string') length += body[field].length;
    else listOf(body[field]).forEach(read);
  }
  mark(body);
  return { share: Math.max(...Object.values(ends)) / length, hourShare: ends['1h'] / length };
}

const STOP_REASONS: Readonly<Record<Finish['reason'], string>> = {
  stop: 'end_turn',
  'stop-sequence': 'stop_sequence',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
};

/** Signs the model's reasoning; clients send it back unchanged. */
const SIGNATURE = 'RXhhbXBsZSBzaWduYXR1cmUgb2YgYSBzaW11bGF0ZWQgdGhvdWdodA==';

function renderWhole({ model }: Conversation, script: Script, kept: Kept): object {
  const { reasoning, text, calls, searches, usage } = script;
  return {
    id: newId('msg_01'),
    type: 'message',
    role: 'assistant',
    model,
    content: [
      ...(reasoning.length === 0 ? [] : [{ type: 'thinking', thinking: reasoning.join(''), signature: SIGNATURE }]),
      ...searches.flatMap((query) =>
        renderSearch(query).map(({ block, input }) => ({ ...block, ...(input && { input }) })),
      ),
      ...(text.length === 0 ? [] : [{ type: 'text', text: text.join('') }]),
      ...calls.map((call) => ({ ...renderCall(call), input: JSON.parse(call.arguments) as unknown })),
    ],
    ...renderStop(script),
    ...(usage === null
      ? {}
      : { usage: { ...renderUsage(usage, kept), ...renderSearches(searches), service_tier: 'standard' } }),
  };
}

function renderSearches({ length }: Script['searches']): object {
  return length === 0 ? {} : { server_tool_use: { web_search_requests: length, web_fetch_requests: 0 } };
}

/** The call of a search, whose input is streamed, and its result. */
function renderSearch(query: string): readonly { readonly block: object; readonly input?: object }[] {
  const id = newId('srvtoolu_01');
  const content = pagesFor(query).map(({ url, title, content: page }) => {
    const encrypted = Buffer.from(page).toString('base64');
    return { type: 'web_search_result', url, title, encrypted_content: encrypted, page_age: null };
  });
  return [
    { block: { type: 'server_tool_use', id, name: 'web_search', input: {} }, input: { query } },
    { block: { type: 'web_search_tool_result', tool_use_id: id, content } },
  ];
}

function renderCall({ name }: ScriptedCall): object {
  return { type: 'tool_use', id: newId('toolu_01'), name, input: {} };
}

function renderStop({ finish }: Script): object {
  return {
    stop_reason: STOP_REASONS[finish.reason],
    stop_sequence: finish.reason === 'stop-sequence' ? finish.sequence : null,
  };
}

/** In this format the input excludes cache reads and cache writes. */
function renderUsage({ input, cached, output }: Usage, { share, hourShare }: Kept): object {
  const writtenIn = (part: number): number => Math.max(0, Math.floor(input * part) - cached);
  const [written, writtenForHour] = [writtenIn(share), writtenIn(hourShare)];
  return {
    input_tokens: input - cached - written,
    cache_creation_input_tokens: written,
    cache_creation: {
      ephemeral_5m_input_tokens: written - writtenForHour,
      ephemeral_1h_input_tokens: writtenForHour,
    },
    cache_read_input_tokens: cached,
    output_tokens: output,
  };
}

function renderStream({ model }: Conversation, script: Script, kept: Kept): StreamedAnswer {
  const { reasoning, text, calls, searches, usage } = script;
  const message = {
    id: newId('msg_01'),
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    ...(usage === null ? {} : { usage: { ...renderUsage({ ...usage, output: 1 }, kept), service_tier: 'standard' } }),
  };
  const plans = [
    ...(reasoning.length === 0 ? [] : [thinkingPlan(reasoning)]),
    ...searches.flatMap((query) => renderSearch(query).map(searchPlan)),
    ...(text.length === 0 ? [] : [textPlan(text)]),
    ...calls.map(callPlan),
  ];
  return streamBlocks({
    opening: frame('message_start', { message }),
    blocks: plans.map(planBlock),
    ending: () =>
      frame('message_delta', {
        delta: renderStop(script),
        ...(usage === null ? {} : { usage: { ...renderUsage(usage, kept), ...renderSearches(searches) } }),
      }) + frame('message_stop', {}),
    malformed: 'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"del\n\n',
    renderFailure: (failure) => `event: error\ndata: ${JSON.stringify(renderError(failure))}\n\n`,
  });
}

interface BlockPlan {
  readonly pieces: readonly string[];
  /** The block at its start. */
  readonly start: object;
  /** The type of the deltas and the name of the field that they carry. */
  readonly delta: readonly [type: string, field: string];
  /** A delta before the block stops. */
  readonly last?: object;
}

function thinkingPlan(pieces: readonly string[]): BlockPlan {
  return {
    pieces,
    start: { type: 'thinking', thinking: '', signature: '' },
    delta: ['thinking_delta', 'thinking'],
    last: { type: 'signature_delta', signature: SIGNATURE },
  };
}

function textPlan(pieces: readonly string[]): BlockPlan {
  return { pieces, start: { type: 'text', text: '' }, delta: ['text_delta', 'text'] };
}

function searchPlan({ block, input }: ReturnType<typeof renderSearch>[number]): BlockPlan {
  const pieces = input === undefined ? [] : [JSON.stringify(input)];
  return { pieces, start: block, delta: ['input_json_delta', 'partial_json'] };
}

/** The input of a call without arguments is an empty text. */
function callPlan(call: ScriptedCall): BlockPlan {
  return {
    pieces: call.arguments === '{}' ? [''] : splitIntoPieces(call.arguments),
    start: renderCall(call),
    delta: ['input_json_delta', 'partial_json'],
  };
}

function planBlock({ pieces, start, delta: [type, field], last }: BlockPlan, index: number): Block {
  const head = `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":`;
  const deltaHead = `${head}{"type":"${type}","${field}":`;
  const ping = index === 0 ? frame('ping', {}) : '';
  return {
    pieces,
    opening: () => frame('content_block_start', { index, content_block: start }) + ping,
    delta: (piece) => `${deltaHead}${JSON.stringify(piece)}}}\n\n`,
    closing: () =>
      (last === undefined ? '' : `${head}${JSON.stringify(last)}}\n\n`) + frame('content_block_stop', { index }),
  };
}

function frame(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}
