/** The responses format: https://platform.openai.com/docs/api-reference/responses and …/responses-streaming */
import { type JsonObject, listOf, objectOf, stringOf } from '../../domain/json.ts';
import { readTool, readToolChoice } from './chat-completions.ts';
import type { Conversation, Entry, OfferedTool, ToolChoice } from './conversation.ts';
import { badRequest } from './failure.ts';
import { numberOf, readContent } from './fields.ts';
import { newId, nowSeconds, streamBlocks, type Block, type StreamedAnswer, type SimulatedFormat } from './format.ts';
import { openaiCommon, openaiError } from './openai.ts';
import { pagesFor, WEB_SEARCH } from './searches.ts';
import type { Script, ScriptedCall, Usage } from './script.ts';
import { splitIntoPieces } from './tokens.ts';

const MIN_OUTPUT_TOKENS = 16;

export const responses: SimulatedFormat = {
  ...openaiCommon,
  paths: ['/v1/responses'],
  count: {
    path: '/v1/responses/input_tokens',
    requestIn: (body) => {
      if ('stream' in objectOf(body)) throw badRequest("Unknown parameter: 'stream'.");
      return body;
    },
    render: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
  },

  open(input) {
    const body = objectOf(input);
    const conversation = readConversation(body);
    return {
      conversation,
      renderWhole(script) {
        const items = planItems(script, body).map(({ done }) => done);
        return { ...renderHead(conversation, body), ...renderState(script, items) };
      },
      renderStream: (script) => renderStream(conversation, body, script),
    };
  },
};

function readConversation(body: JsonObject): Conversation {
  const model = stringOf(body['model']);
  if (model === '') throw badRequest("Missing required parameter: 'model'.");
  const { input, instructions } = body;
  if (typeof input !== 'string' && !Array.isArray(input)) throw badRequest("Missing required parameter: 'input'.");
  const maxOutputTokens = numberOf(body['max_output_tokens']);
  if (maxOutputTokens !== undefined && maxOutputTokens < MIN_OUTPUT_TOKENS) {
    throw badRequest(
      `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= ${MIN_OUTPUT_TOKENS}, but got ${maxOutputTokens} instead.`,
    );
  }
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  const system = stringOf(instructions);
  return {
    model,
    stream: body['stream'] === true,
    entries: [...(system === '' ? [] : [{ role: 'system', content: system }]), ...items].flatMap((item) =>
      readItem(objectOf(item)),
    ),
    tools: toolsIn(body).map(({ offered }) => offered),
    maxSearches: maxSearchesOf(body),
    toolChoice: readSearchChoice(body['tool_choice']),
    parallelCalls: body['parallel_tool_calls'] !== false,
    maxOutputTokens,
    // The format has no stop sequences.
    stopSequences: [],
    reasoningAllowed: objectOf(body['reasoning'])['effort'] !== 'none',
    answerSchema: readAnswerSchema(objectOf(objectOf(body['text'])['format'])),
    choiceCount: 1,
  };
}

const SEARCH_TOOL = /^web_search/;

function maxSearchesOf({ tools, max_tool_calls: most }: JsonObject): number {
  const isOffered = listOf(tools).some((tool) => SEARCH_TOOL.test(stringOf(objectOf(tool)['type'])));
  return isOffered ? (numberOf(most) ?? Number.POSITIVE_INFINITY) : 0;
}

function readSearchChoice(choice: unknown): ToolChoice {
  return SEARCH_TOOL.test(stringOf(objectOf(choice)['type'])) ? { name: WEB_SEARCH } : readToolChoice(choice);
}

/** A tool under the name by which the script knows it, and under its own name in a namespace. */
interface NamedTool {
  readonly offered: OfferedTool;
  readonly own: { readonly name: string; readonly namespace?: string };
}

/** The tools of a request, those that its input adds among them. */
function toolsIn({ tools, input }: JsonObject): readonly NamedTool[] {
  const added = listOf(input)
    .map(objectOf)
    .filter(({ type }) => ITEMS_WITH_TOOLS.includes(stringOf(type)));
  return [tools, ...added.map((item) => item['tools'])].flatMap(listOf).flatMap((tool) => namedTools(objectOf(tool)));
}

const ITEMS_WITH_TOOLS = ['additional_tools', 'tool_search_output'];

function namedTools(tool: JsonObject): readonly NamedTool[] {
  if (tool['type'] !== 'namespace') return readTool(tool).map((offered) => ({ offered, own: { name: offered.name } }));
  const namespace = stringOf(tool['name']);
  const inside = listOf(tool['tools']).flatMap((inner) => readTool(objectOf(inner)));
  return inside.map((offered) => ({
    offered: { ...offered, name: flatName(offered.name, namespace) },
    own: { name: offered.name, namespace },
  }));
}

/** The name of a tool in a namespace as directives write it. */
function flatName(name: string, namespace: string): string {
  return namespace === '' ? name : `${namespace}__${name}`;
}

function readAnswerSchema({ type, schema }: JsonObject): unknown {
  if (type === 'json_object') return { type: 'object' };
  return type === 'json_schema' ? (schema ?? {}) : undefined;
}

function readItem(item: JsonObject): Entry[] {
  const { type, role, content } = item;
  switch (type) {
    case 'function_call':
      return [
        {
          kind: 'call',
          id: stringOf(item['call_id']),
          name: flatName(stringOf(item['name']), stringOf(item['namespace'])),
          arguments: stringOf(item['arguments']),
        },
      ];
    case 'function_call_output': {
      const [callId, name] = [stringOf(item['call_id']), stringOf(item['name'])];
      const output = readContent(item['output']);
      // Codex sends notices, which no call waits for.
      if (callId === '' && name !== '')
        return [{ kind: 'text', role: 'user', ...output, text: `${name}: ${output.text}` }];
      return [{ kind: 'result', callId, name: null, ...output }];
    }
    case undefined:
    case 'message': {
      const speaker = role === 'user' || role === 'assistant' ? role : 'system';
      return [{ kind: 'text', role: speaker, ...readContent(content) }];
    }
    default:
      // Reasoning and references do not matter here.
      return [];
  }
}

/** The fields that stay the same from the first event to the last; most repeat the request. */
function renderHead({ model }: Conversation, body: JsonObject): object {
  const reasoning = objectOf(body['reasoning']);
  return {
    id: newId('resp_'),
    object: 'response',
    created_at: nowSeconds(),
    background: false,
    error: null,
    instructions: body['instructions'] ?? null,
    max_output_tokens: body['max_output_tokens'] ?? null,
    max_tool_calls: null,
    model,
    parallel_tool_calls: body['parallel_tool_calls'] ?? true,
    previous_response_id: null,
    prompt_cache_key: body['prompt_cache_key'] ?? null,
    reasoning: { effort: reasoning['effort'] ?? null, summary: reasoning['summary'] ?? null },
    safety_identifier: null,
    service_tier: 'default',
    store: body['store'] ?? true,
    temperature: body['temperature'] ?? 1,
    text: { format: { type: 'text' }, ...objectOf(body['text']) },
    tool_choice: body['tool_choice'] ?? 'auto',
    tools: listOf(body['tools']),
    top_logprobs: 0,
    top_p: body['top_p'] ?? 1,
    truncation: 'disabled',
    user: body['user'] ?? null,
    metadata: body['metadata'] ?? {},
  };
}

/** The fields that change while the answer is generated; without a script, the answer has only started. */
function renderState(script: Script | null, output: readonly object[]): object {
  const isCut = script?.finish.reason === 'length';
  return {
    status: script === null ? 'in_progress' : statusOf(isCut),
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    output,
    usage: script === null || script.usage === null ? null : renderUsage(script.usage),
  };
}

function statusOf(isCut: boolean): 'completed' | 'incomplete' {
  return isCut ? 'incomplete' : 'completed';
}

function renderUsage({ input, cached, output, reasoning }: Usage): object {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}

type NamedEvent = readonly [type: string, fields: object];

/** An output item and its events. Their fields omit the item's id and index. */
interface ItemPlan {
  readonly id: string;
  readonly added: object;
  readonly done: object;
  readonly pieces: readonly string[];
  /** The place of the content inside the item. */
  readonly place: object;
  readonly beforeDeltas: readonly NamedEvent[];
  readonly deltaType: string;
  /** JsonObject of each delta besides `delta`. */
  readonly deltaFields: object;
  readonly afterDeltas: readonly NamedEvent[];
}

/** An answer without calls has a message, even an empty one, unless reasoning used the token limit. */
function planItems(script: Script, body: JsonObject): readonly ItemPlan[] {
  const { reasoning, text, calls, searches, finish } = script;
  const hasMessage = text.length > 0 || (calls.length === 0 && finish.reason !== 'length');
  return [
    ...(reasoning.length === 0 ? [] : [planReasoning(reasoning, body)]),
    ...searches.map(planSearch),
    ...(hasMessage ? [planMessage(text, statusOf(finish.reason === 'length'))] : []),
    ...calls.map((call) => planCall(call, toolsIn(body))),
  ];
}

/** The summary is shown unrequested, because many services of this format do so. */
function planReasoning(pieces: readonly string[], body: JsonObject): ItemPlan {
  const text = pieces.join('');
  const isEncrypted = listOf(body['include']).includes('reasoning.encrypted_content');
  const item = {
    id: newId('rs_'),
    type: 'reasoning',
    ...(isEncrypted ? { encrypted_content: Buffer.from(text).toString('base64') } : {}),
  };
  const part = { type: 'summary_text', text };
  return {
    id: item.id,
    added: { ...item, summary: [] },
    done: { ...item, summary: [part] },
    pieces,
    place: { summary_index: 0 },
    beforeDeltas: [['response.reasoning_summary_part.added', { part: { ...part, text: '' } }]],
    deltaType: 'response.reasoning_summary_text.delta',
    deltaFields: {},
    afterDeltas: [
      ['response.reasoning_summary_text.done', { text }],
      ['response.reasoning_summary_part.done', { part }],
    ],
  };
}

function planSearch(query: string): ItemPlan {
  const id = newId('ws_');
  const sources = pagesFor(query).map(({ url }) => ({ type: 'url', url }));
  return {
    id,
    added: { id, type: 'web_search_call', status: 'in_progress' },
    done: { id, type: 'web_search_call', status: 'completed', action: { type: 'search', query, sources } },
    pieces: [],
    place: {},
    beforeDeltas: [
      ['response.web_search_call.in_progress', {}],
      ['response.web_search_call.searching', {}],
    ],
    deltaType: '',
    deltaFields: {},
    afterDeltas: [['response.web_search_call.completed', {}]],
  };
}

function planMessage(pieces: readonly string[], status: 'completed' | 'incomplete'): ItemPlan {
  const text = pieces.join('');
  const item = { id: newId('msg_'), type: 'message', role: 'assistant' };
  const part = { type: 'output_text', annotations: [], logprobs: [], text };
  return {
    id: item.id,
    added: { ...item, status: 'in_progress', content: [] },
    done: { ...item, status, content: [part] },
    pieces,
    place: { content_index: 0 },
    beforeDeltas: [['response.content_part.added', { part: { ...part, text: '' } }]],
    deltaType: 'response.output_text.delta',
    deltaFields: { logprobs: [] },
    afterDeltas: [
      ['response.output_text.done', { text, logprobs: [] }],
      ['response.content_part.done', { part }],
    ],
  };
}

function planCall({ name, arguments: text }: ScriptedCall, tools: readonly NamedTool[]): ItemPlan {
  const own = tools.find(({ offered }) => offered.name === name)?.own ?? { name };
  const item = { id: newId('fc_'), type: 'function_call', call_id: newId('call_'), ...own };
  return {
    id: item.id,
    added: { ...item, status: 'in_progress', arguments: '' },
    done: { ...item, status: 'completed', arguments: text },
    pieces: splitIntoPieces(text),
    place: {},
    beforeDeltas: [],
    deltaType: 'response.function_call_arguments.delta',
    deltaFields: {},
    afterDeltas: [['response.function_call_arguments.done', { name: own.name, arguments: text }]],
  };
}

type EventWriter = (type: string, fields: string) => string;

function renderStream(conversation: Conversation, body: JsonObject, script: Script): StreamedAnswer {
  let sequenceNumber = 0;
  const event: EventWriter = (type, fields) =>
    `event: ${type}\ndata: {"type":"${type}","sequence_number":${sequenceNumber++},${fields}}\n\n`;
  const head = inner(renderHead(conversation, body));
  const stateEvent = (type: string, state: object): string => event(type, `"response":{${head},${inner(state)}}`);
  const items = planItems(script, body);
  return streamBlocks({
    opening:
      stateEvent('response.created', renderState(null, [])) + stateEvent('response.in_progress', renderState(null, [])),
    blocks: items.map((item, index) => itemBlock(item, index, event)),
    ending: () =>
      stateEvent(
        `response.${statusOf(script.finish.reason === 'length')}`,
        renderState(
          script,
          items.map(({ done }) => done),
        ),
      ),
    malformed: 'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","del\n\n',
    renderFailure(failure) {
      const { message, code, type, param } = openaiError(failure);
      return event('error', inner({ code: code ?? type, message, param }));
    },
  });
}

function itemBlock(item: ItemPlan, index: number, event: EventWriter): Block {
  const place = { item_id: item.id, output_index: index, ...item.place };
  const deltaHead = `${inner({ ...place, ...item.deltaFields })},"delta":`;
  const told = ([type, fields]: NamedEvent): string => event(type, inner({ ...place, ...fields }));
  return {
    pieces: item.pieces,
    opening: () =>
      event('response.output_item.added', inner({ output_index: index, item: item.added })) +
      item.beforeDeltas.map(told).join(''),
    delta: (piece) => event(item.deltaType, deltaHead + JSON.stringify(piece)),
    closing: () =>
      item.afterDeltas.map(told).join('') +
      event('response.output_item.done', inner({ output_index: index, item: item.done })),
  };
}

/** The JSON of an object without its braces, to be put into another. */
function inner(fields: object): string {
  return JSON.stringify(fields).slice(1, -1);
}
