/**
 * The features of models with full compatibility: for each one, how a client of each format requests it, and what an
 * upstream of each format receives. Tests every feature for all sixteen pairs of formats, whole and streamed.
 */
import { expect } from 'chai';
import { joinedChoices, planExchange, type Exchange, type ReadRequest } from '../../../services/text/exchange.ts';
import type { TextRoute } from '../../../catalogue/types.ts';
import { isObject, type JsonObject } from '../../../domain/json.ts';
import { WIRE_FORMAT_NAMES, type WireFormatName } from '../../../domain/wire-format-name.ts';
import type { WireFormat } from '../../../text/wire-format.ts';
import type { AnswerPart, FinishReason, TextResult } from '../../../text/canonical.ts';
import { FORMATS } from '../../../text/formats.ts';
import { Meter } from '../../../text/meter.ts';
import { withOfferedEffort } from '../../../text/reasoning.ts';
import { runStage } from '../../../text/stage.ts';
import { textModel } from '../../support/text.ts';
import { eventsOf, resultOf } from '../../text/answers.ts';
import { answerOfStream, fromBytes, renderContext, streamedTo, textResult, throughJson } from '../../text/support.ts';

type PerFormat<Cell> = Readonly<Record<WireFormatName, Cell>>;

/** Parts of a body: the same for each client, or by the client's format; null where the format has no field for it. */
type Sent = object | null | ((client: WireFormatName) => object | null);

interface Feature {
  readonly name: string;
  /** The fields of a client's body; null where the format has no field for it. */
  readonly asked: PerFormat<object | null>;
  /** Parts of an upstream's body. */
  readonly sent: PerFormat<Sent>;
  /** The client's field that answers report as without effect, where an upstream has none. */
  readonly named?: Partial<PerFormat<string>>;
  /** The upstream's answer, `Hello` by default. */
  readonly answer?: readonly AnswerPart[];
  /** The answer that the client receives; the upstream's answer by default. */
  readonly got?: readonly AnswerPart[] | ((client: WireFormatName, upstream: WireFormatName) => readonly AnswerPart[]);
  readonly finish?: FinishReason;
  /** The number of calls to upstreams that return one answer per call. */
  readonly answers?: number;
  readonly route?: Partial<Omit<TextRoute, 'format'>>;
}

const by = <Cell>(chat: Cell, responses: Cell, messages: Cell, native: Cell): PerFormat<Cell> => ({
  'chat-completions': chat,
  responses,
  messages,
  'generate-content': native,
});
type More = Partial<Omit<Feature, 'sent'> & { readonly sent: Partial<PerFormat<Sent>> }>;

/** A feature that clients and upstreams of a format express in the same fields, except for the given upstreams. */
const alike = (name: string, fields: PerFormat<object | null>, { sent, ...more }: More = {}): Feature => ({
  name,
  asked: fields,
  sent: { ...fields, ...sent },
  ...more,
});
const config = (fields: object): object => ({ generationConfig: fields });
const text = (words: string): AnswerPart => ({ type: 'text', text: words });
const call = (name: string, json: string): AnswerPart => ({
  type: 'tool-call',
  callId: 'call_1',
  name,
  arguments: json,
});

const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const TOOL = { name: 'look', description: 'Looks at a city', parameters: SCHEMA };
const TOOLS = by<object>(
  { tools: [{ type: 'function', function: TOOL }] },
  { tools: [{ type: 'function', ...TOOL }] },
  { tools: [{ name: 'look', description: TOOL.description, input_schema: SCHEMA }] },
  {
    tools: [{ functionDeclarations: [{ name: 'look', description: TOOL.description, parametersJsonSchema: SCHEMA }] }],
  },
);
const withTools = (name: string, choice: PerFormat<object>, more: More = {}): Feature =>
  alike(
    name,
    by(
      { ...TOOLS['chat-completions'], ...choice['chat-completions'] },
      { ...TOOLS.responses, ...choice.responses },
      { ...TOOLS.messages, ...choice.messages },
      { ...TOOLS['generate-content'], ...choice['generate-content'] },
    ),
    { answer: [call('look', '{"city":"Oslo"}')], finish: 'tool-calls', ...more },
  );

const PNG = 'iVBORw0KGgo=';
const DATA_URL = `data:image/png;base64,${PNG}`;
const marked = (cache_control: object): object => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', cache_control }] }],
});
const MARKED = marked({ type: 'ephemeral' });
const KEPT_FOR_AN_HOUR = marked({ type: 'ephemeral', ttl: '1h' });
const THOUGHT: AnswerPart = { type: 'reasoning', text: 'Hm.' };

/** A messages body with a document that has these fields. */
function aboutDocument(fields: JsonObject): JsonObject {
  const source = { type: 'text', media_type: 'text/plain', data: 'Oslo' };
  return { messages: [{ role: 'user', content: [{ type: 'document', source, ...fields }] }] };
}

const CONVERSATION: readonly Feature[] = [
  alike(
    'a question',
    by<object>(
      { messages: [{ role: 'user', content: 'Hi' }] },
      { input: [{ role: 'user', content: 'Hi' }] },
      { messages: [{ role: 'user', content: 'Hi' }] },
      { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
    ),
  ),
  alike(
    'a system text',
    by<object>(
      {
        messages: [
          { role: 'system', content: 'Be kind.' },
          { role: 'user', content: 'Hi' },
        ],
      },
      { instructions: 'Be kind.' },
      { system: 'Be kind.' },
      { systemInstruction: { parts: [{ text: 'Be kind.' }] } },
    ),
    {
      sent: {
        responses: (client) =>
          client === 'responses' ? { instructions: 'Be kind.' } : { input: [{ role: 'system', content: 'Be kind.' }] },
      },
    },
  ),
  alike(
    'a picture',
    by<object>(
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: DATA_URL } }] }] },
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: DATA_URL }] }] },
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } }],
          },
        ],
      },
      { contents: [{ role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: PNG } }] }] },
    ),
  ),
  alike('a document to cite', by<object | null>(null, null, aboutDocument({ citations: { enabled: true } }), null), {
    named: { messages: 'document.citations' },
  }),
  alike(
    'what a document is about, also under another name of the model',
    by<object | null>(null, null, aboutDocument({ context: 'Of the city' }), null),
    { route: { model: 'other' }, named: { messages: 'document.context' } },
  ),
  alike(
    'a tool’s result',
    by<object>(
      {
        messages: [
          { role: 'user', content: 'Hi' },
          {
            role: 'assistant',
            tool_calls: [{ type: 'function', function: { name: 'look', arguments: '{"city":"Oslo"}' }, id: 'call_1' }],
          },
          { role: 'tool', content: 'rain', tool_call_id: 'call_1' },
        ],
        ...TOOLS['chat-completions'],
      },
      {
        input: [
          { role: 'user', content: 'Hi' },
          { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"city":"Oslo"}' },
          { type: 'function_call_output', call_id: 'call_1', output: 'rain' },
        ],
        ...TOOLS.responses,
      },
      {
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'look', input: { city: 'Oslo' } }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'rain' }] },
        ],
        ...TOOLS.messages,
      },
      {
        contents: [
          { role: 'user', parts: [{ text: 'Hi' }] },
          { role: 'model', parts: [{ functionCall: { id: 'call_1', name: 'look', args: { city: 'Oslo' } } }] },
          {
            role: 'user',
            parts: [{ functionResponse: { id: 'call_1', name: 'look', response: { output: 'rain' } } }],
          },
        ],
        ...TOOLS['generate-content'],
      },
    ),
  ),
];

const TOOL_CHOICES: readonly Feature[] = [
  withTools('a tool', by<object>({}, {}, {}, {})),
  withTools('two tools at once', by<object>({}, {}, {}, {}), {
    answer: [call('look', '{"city":"Oslo"}'), { ...call('look', '{"city":"Rome"}'), callId: 'call_2' } as AnswerPart],
  }),
  withTools(
    'a call of some tool',
    by<object>(
      { tool_choice: 'required' },
      { tool_choice: 'required' },
      { tool_choice: { type: 'any' } },
      { toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
    ),
  ),
  withTools(
    'no call',
    by<object>(
      { tool_choice: 'none' },
      { tool_choice: 'none' },
      { tool_choice: { type: 'none' } },
      { toolConfig: { functionCallingConfig: { mode: 'NONE' } } },
    ),
    { answer: [text('Hello')], finish: 'stop' },
  ),
  withTools(
    'a call of one tool',
    by<object>(
      { tool_choice: { type: 'function', function: { name: 'look' } } },
      { tool_choice: { type: 'function', name: 'look' } },
      { tool_choice: { type: 'tool', name: 'look' } },
      { toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['look'] } } },
    ),
    {
      // The native format names the functions that may be called, so Genway omits the others.
      sent: {
        'chat-completions': (client) => ({
          tool_choice: client === 'generate-content' ? 'required' : { type: 'function', function: { name: 'look' } },
        }),
        responses: (client) => ({
          tool_choice: client === 'generate-content' ? 'required' : { type: 'function', name: 'look' },
        }),
        messages: (client) => ({
          tool_choice: client === 'generate-content' ? { type: 'any' } : { type: 'tool', name: 'look' },
        }),
      },
    },
  ),
  alike(
    'one call at a time',
    by<object | null>(
      { ...TOOLS['chat-completions'], parallel_tool_calls: false },
      { ...TOOLS.responses, parallel_tool_calls: false },
      { ...TOOLS.messages, tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
      null,
    ),
    {
      named: {
        'chat-completions': 'parallel_tool_calls',
        responses: 'parallel_tool_calls',
        messages: 'tool_choice.disable_parallel_tool_use',
      },
    },
  ),
  alike(
    'strict arguments',
    by<object | null>(
      { tools: [{ type: 'function', function: { name: 'look', parameters: SCHEMA, strict: true } }] },
      { tools: [{ type: 'function', name: 'look', parameters: SCHEMA, strict: true }] },
      { tools: [{ name: 'look', input_schema: SCHEMA, strict: true }] },
      null,
    ),
    { named: { 'chat-completions': 'tools.strict', responses: 'tools.strict', messages: 'tools.strict' } },
  ),
];

const CITY = text('{"city":"Oslo"}');
const BY_SCHEMA = by<object>(
  { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: SCHEMA } } },
  { text: { format: { type: 'json_schema', name: 'answer', schema: SCHEMA } } },
  { output_config: { format: { type: 'json_schema', schema: SCHEMA } } },
  config({ responseMimeType: 'application/json', responseJsonSchema: SCHEMA }),
);

const OUTPUT: readonly Feature[] = [
  alike('an answer by a schema', BY_SCHEMA, { answer: [CITY] }),
  alike('an answer by a schema that is checked', BY_SCHEMA, { answer: [CITY], route: { checkOutput: true } }),
  {
    name: 'an answer by a schema from an upstream that only has tools',
    route: { structuredOutput: 'tool' },
    asked: BY_SCHEMA,
    sent: by<Sent>(
      {
        tools: [{ type: 'function', function: { name: 'answer', parameters: SCHEMA } }],
        tool_choice: { type: 'function', function: { name: 'answer' } },
      },
      {
        tools: [{ type: 'function', name: 'answer', parameters: SCHEMA }],
        tool_choice: { type: 'function', name: 'answer' },
      },
      { tools: [{ name: 'answer', input_schema: SCHEMA }], tool_choice: { type: 'tool', name: 'answer' } },
      {
        tools: [{ functionDeclarations: [{ name: 'answer', parametersJsonSchema: SCHEMA }] }],
        toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['answer'] } },
      },
    ),
    answer: [text('Here is the city.'), call('answer', '{"city":"Oslo"}')],
    finish: 'stop',
    got: [CITY],
  },
  alike(
    'an answer in JSON',
    by<object | null>(
      { response_format: { type: 'json_object' } },
      { text: { format: { type: 'json_object' } } },
      null,
      config({ responseMimeType: 'application/json' }),
    ),
    {
      // Upstreams of the messages and generate-content formats also receive instructions in words; the answer is checked.
      sent: {
        messages: {
          system: 'Answer with one JSON object and nothing else: no explanation and no code fence around it.',
        },
      },
      answer: [CITY],
    },
  ),
  alike('a short answer', by<object | null>({ verbosity: 'low' }, { text: { verbosity: 'low' } }, null, null), {
    named: { 'chat-completions': 'verbosity', responses: 'text.verbosity' },
  }),
  alike('two answers', by<object | null>({ n: 2 }, null, null, config({ candidateCount: 2 })), {
    sent: { responses: {}, messages: {} },
    answers: 2,
  }),
];

const level = (thinkingLevel: string): object => config({ thinkingConfig: { thinkingLevel } });
const effort = (name: string): PerFormat<object> =>
  by<object>(
    { reasoning_effort: name },
    { reasoning: { effort: name } },
    { output_config: { effort: name } },
    level(name.toUpperCase()),
  );
/** A level that an upstream of the native format gets: as its clients write the level, or in Genway's words. */
const levelOf =
  (name: string, native = name) =>
  (client: WireFormatName): object =>
    level(client === 'generate-content' ? native.toUpperCase() : name);

const REASONING: readonly Feature[] = [
  alike('a high effort', effort('high'), {
    sent: {
      // Clients of the messages format request thinking themselves.
      messages: (client) => ({
        output_config: { effort: 'high' },
        ...(client !== 'messages' && { thinking: { type: 'adaptive' } }),
      }),
      'generate-content': levelOf('high'),
    },
  }),
  {
    name: 'an effort that the model does not have, as the nearest',
    asked: { ...effort('minimal'), messages: null },
    sent: { ...effort('low'), 'generate-content': levelOf('low', 'minimal') },
  },
  {
    name: 'a budget for reasoning',
    asked: by<object | null>(
      null,
      null,
      { max_tokens: 9_000, thinking: { type: 'enabled', budget_tokens: 2_000 } },
      config({ thinkingConfig: { thinkingBudget: 2_000 } }),
    ),
    sent: by<Sent>(
      { reasoning_effort: 'low' },
      { reasoning: { effort: 'low' } },
      { thinking: { type: 'enabled', budget_tokens: 2_000 } },
      config({ thinkingConfig: { thinkingBudget: 2_000 } }),
    ),
  },
  alike('an effort of a Claude model that has only budgets', effort('medium'), {
    route: { baseModel: 'claude-sonnet-4-5' },
    sent: {
      // Clients of the messages format request thinking themselves.
      messages: (client) => (client === 'messages' ? null : { thinking: { type: 'enabled', budget_tokens: 16_384 } }),
      'generate-content': levelOf('medium'),
    },
    named: { messages: 'output_config.effort' },
  }),
  alike(
    'no reasoning',
    {
      ...effort('none'),
      messages: { thinking: { type: 'disabled' } },
      'generate-content': config({ thinkingConfig: { thinkingBudget: 0 } }),
    },
    {
      // No level turns thinking off.
      sent: {
        'generate-content': (client) =>
          hasBudget(client) ? config({ thinkingConfig: { thinkingBudget: 0 } }) : level('low'),
      },
    },
  ),
  alike(
    'the thinking to be shown',
    by<object>({}, {}, { thinking: { type: 'adaptive' } }, config({ thinkingConfig: { includeThoughts: true } })),
    {
      sent: {
        responses: (client) => (client === 'responses' ? {} : { reasoning: { summary: 'auto' } }),
        messages: (client) =>
          hasBudget(client)
            ? { thinking: { type: 'adaptive', display: client === 'messages' ? undefined : 'summarized' } }
            : {},
      },
      answer: [THOUGHT, text('Hello')],
    },
  ),
  {
    name: 'the thinking to stay hidden',
    asked: by<object | null>(null, null, {}, {}),
    sent: by<Sent>({}, {}, {}, {}),
    answer: [THOUGHT, text('Hello')],
    got: [text('Hello')],
  },
  {
    // Upstreams of the messages format refuse it of a model that thinks.
    name: 'a temperature beside thinking',
    asked: by<object | null>(
      { temperature: 0.5, reasoning_effort: 'high' },
      { temperature: 0.5, reasoning: { effort: 'high' } },
      null,
      config({ temperature: 0.5, thinkingConfig: { thinkingLevel: 'HIGH' } }),
    ),
    sent: by<Sent>({ temperature: 0.5 }, { temperature: 0.5 }, null, config({ temperature: 0.5 })),
    named: {
      'chat-completions': 'temperature',
      responses: 'temperature',
      'generate-content': 'generationConfig.temperature',
    },
  },
];

/** Whether clients of the format bound reasoning by tokens. */
function hasBudget(client: WireFormatName): boolean {
  return client === 'messages' || client === 'generate-content';
}

const STOP = ['END'];
const SAMPLING = by<object>(
  { temperature: 0.5, top_p: 0.9 },
  { temperature: 0.5, top_p: 0.9 },
  { temperature: 0.5, top_p: 0.9 },
  config({ temperature: 0.5, topP: 0.9 }),
);

const SETTINGS: readonly Feature[] = [
  alike('temperature and top_p together of a Claude model that refuses both', SAMPLING, {
    route: { baseModel: 'claude-sonnet-4-5' },
    sent: { messages: null },
    named: {
      'chat-completions': 'top_p',
      responses: 'top_p',
      messages: 'top_p',
      'generate-content': 'generationConfig.topP',
    },
  }),
  alike(
    'a stop sequence',
    by<object | null>({ stop: STOP }, null, { stop_sequences: STOP }, config({ stopSequences: STOP })),
    {
      // Genway cuts where the upstream cannot, and for messages clients also where it does not report the stop sequence.
      sent: {
        'chat-completions': (client) => (client === 'messages' ? {} : { stop: STOP }),
        responses: {},
        'generate-content': (client) => (client === 'messages' ? {} : config({ stopSequences: STOP })),
      },
      answer: [text('Hello END and more')],
      got: (client, upstream) => {
        const isCutHere = upstream === 'responses' || (client === 'messages' && upstream !== 'messages');
        return [text(isCutHere ? 'Hello ' : 'Hello END and more')];
      },
    },
  ),
  alike(
    'a bound for the output',
    by<object>({ max_tokens: 99 }, { max_output_tokens: 99 }, { max_tokens: 99 }, config({ maxOutputTokens: 99 })),
  ),
  alike('a temperature and a share of likely tokens', SAMPLING),
  alike('the likeliest tokens only', by<object | null>({ top_k: 7 }, null, { top_k: 7 }, config({ topK: 7 })), {
    named: { 'chat-completions': 'top_k', messages: 'top_k', 'generate-content': 'generationConfig.topK' },
  }),
  alike('a seed', by<object | null>({ seed: 7 }, null, null, config({ seed: 7 })), {
    named: { 'chat-completions': 'seed', 'generate-content': 'generationConfig.seed' },
  }),
  alike('a penalty', by<object | null>({ frequency_penalty: 1 }, null, null, config({ frequencyPenalty: 1 })), {
    named: { 'chat-completions': 'frequency_penalty', 'generate-content': 'generationConfig.frequencyPenalty' },
  }),
  alike(
    'the name of the end user',
    by<object | null>({ user: 'somebody' }, { user: 'somebody' }, { metadata: { user_id: 'somebody' } }, null),
    { named: { 'chat-completions': 'user', responses: 'user', messages: 'metadata.user_id' } },
  ),
  alike(
    'a close look at a picture',
    by<object | null>(
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: DATA_URL, detail: 'high' } }] }] },
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: DATA_URL, detail: 'high' }] }] },
      null,
      null,
    ),
    { named: { 'chat-completions': 'image_url.detail', responses: 'input_image.detail' } },
  ),
  alike('marks for the cache', by<object | null>(MARKED, null, MARKED, null), {
    // An upstream of chat completions gets the client's own body.
    sent: { 'chat-completions': (client) => (client === 'chat-completions' ? MARKED : null) },
    named: { 'chat-completions': 'cache_control', messages: 'cache_control' },
  }),
  alike('marks for the cache to keep for an hour', by<object | null>(KEPT_FOR_AN_HOUR, null, KEPT_FOR_AN_HOUR, null), {
    // An upstream of chat completions gets the client's own body.
    sent: { 'chat-completions': (client) => (client === 'chat-completions' ? KEPT_FOR_AN_HOUR : null) },
    named: { 'chat-completions': 'cache_control', messages: 'cache_control' },
  }),
  alike(
    'a mark at the end of the request',
    by<object | null>(null, null, { cache_control: { type: 'ephemeral', ttl: '1h' } }, null),
    { named: { messages: 'cache_control' } },
  ),
  {
    name: 'what only the vendor itself offers',
    asked: by<object>(
      { service_tier: 'flex' },
      { service_tier: 'flex' },
      { service_tier: 'auto' },
      { cachedContent: 'cachedContents/1' },
    ),
    sent: by<Sent>(null, null, null, null),
    named: by('service_tier', 'service_tier', 'service_tier', 'cachedContent'),
  },
];

const PROMPTS = by<JsonObject>(
  { model: 'm', messages: [{ role: 'user', content: 'Hi' }] },
  { model: 'm', input: [{ role: 'user', content: 'Hi' }] },
  { model: 'm', max_tokens: 9_000, messages: [{ role: 'user', content: 'Hi' }] },
  { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
);

/** A client's request, as parsed by the service. */
type Read = ReadRequest & { readonly format: WireFormat };

function readRequest(client: WireFormatName, fields: object, stream: boolean): Read {
  const isInPath = client === 'generate-content';
  const body: JsonObject = { ...PROMPTS[client], ...(isInPath ? {} : { stream }), ...fields };
  const context = { compatibility: 'full', ...(isInPath && { address: { model: 'm', stream } }) } as const;
  const parsed = FORMATS[client].client.parseRequest(body, context);
  const request = withOfferedEffort(parsed, { reasoning: true, reasoningEfforts: ['none', 'low', 'medium', 'high'] });
  const model = textModel('m', [{ format: client }], {
    reasoning: true,
    compatibility: 'full',
    outputTokenLimit: 1_000,
  });
  return { format: FORMATS[client], body, request, model, streamsArray: false };
}

/** A route to an upstream that speaks a format of clients. */
type RouteInFormat = TextRoute & { readonly format: WireFormatName };

/** The upstream exchanges of a request, and the answer that the client received. */
async function exchange(read: Read, route: RouteInFormat, answer: TextResult) {
  const context = { ...renderContext(), request: { ...read.request, includeUsage: true } };
  const joined = joinedChoices(route, read.request);
  const { choices } = answer;
  const exchanges: Exchange[] = [];
  let received = '';
  for (let choice = 0; choice < (joined?.count ?? 1); choice += 1) {
    const meter: Meter = new Meter(() => meter.usage);
    const planned = planExchange(read, route, 'secret', context, meter, joined && { calls: joined, choice });
    exchanges.push(planned);
    const given = { ...answer, choices: joined === null ? choices : choices.slice(choice, choice + 1) };
    const bytes = answerBytes(route.format, given, read.request.stream);
    if (read.request.stream) received += textOf(runStage([bytes], fromBytes(planned.readStream())));
    else received = textOf([(await planned.readResult(bytes)) ?? ''].flat());
  }
  return {
    exchanges,
    result: read.request.stream ? answerOfStream(read.format, received) : wholeAnswer(read, received),
  };
}

/** The answer of an upstream of the format. */
function answerBytes(format: WireFormatName, answer: TextResult, stream: boolean): Uint8Array {
  const context = renderContext({ model: 'm', includeUsage: true, reasoningDisplay: 'text' });
  const { client } = FORMATS[format];
  const sent = stream
    ? streamedTo(FORMATS[format], [...eventsOf(answer)], context)
    : JSON.stringify(client.renderResult(answer, context));
  return new TextEncoder().encode(sent);
}

function textOf(pieces: readonly (string | Uint8Array)[]): string {
  return pieces.map((piece) => (typeof piece === 'string' ? piece : new TextDecoder().decode(piece))).join('');
}

function wholeAnswer({ format }: Read, body: string): TextResult {
  return resultOf(format.upstream.parseResult(JSON.parse(body)));
}

/** Parts without the ids and signatures that formats add. */
function plain(parts: readonly AnswerPart[]): readonly object[] {
  return parts.map((part) =>
    part.type === 'tool-call'
      ? { type: part.type, name: part.name, arguments: part.arguments }
      : { type: part.type, text: part.text },
  );
}

function sentTo(cell: Sent, client: WireFormatName): object | null {
  return typeof cell === 'function' ? cell(client) : cell;
}

async function check(feature: Feature, client: WireFormatName, upstream: WireFormatName, stream: boolean) {
  const { asked, sent, named = {}, answer = [text('Hello')], got = answer, finish = 'stop', answers = 1 } = feature;
  const route: RouteInFormat = { provider: 'p', format: upstream, model: 'm', order: 0, weight: 1, ...feature.route };
  const choice = {
    parts: answer,
    finish: { reason: answer.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop' },
  } as const;
  const told = { ...textResult(), choices: Array.from({ length: answers }, () => choice) };
  const read = readRequest(client, asked[client] ?? {}, stream);
  const { exchanges, result } = await exchange(read, route, told);
  const expected = sentTo(sent[upstream], client);
  for (const { upstreamRequest, unusedFields } of exchanges) {
    const body = throughJson(upstreamRequest.body);
    expect(body).to.containSubset(throughJson(expected ?? {}));
    expect(upstreamRequest.path.includes('stream') || (isObject(body) && body['stream'] === true)).to.equal(stream);
    expect(unusedFields).to.deep.equal(expected === null ? [named[client]] : []);
  }
  expect(result.choices).to.have.lengthOf(answers);
  const parts = typeof got === 'function' ? got(client, upstream) : got;
  for (const one of result.choices) {
    expect(plain(one.parts)).to.deep.equal(plain(parts));
    const isCut = parts.some((part) => part.type === 'text' && part.text === 'Hello ');
    expect(one.finish.reason).to.equal(isCut && client === 'messages' ? 'stop-sequence' : finish);
  }
}

const FEATURES = { CONVERSATION, TOOL_CHOICES, OUTPUT, REASONING, SETTINGS };

describe('a client of a model with full compatibility', () => {
  for (const features of Object.values(FEATURES)) {
    for (const feature of features) {
      for (const client of WIRE_FORMAT_NAMES) {
        if (feature.asked[client] === null) continue;
        for (const upstream of WIRE_FORMAT_NAMES) {
          const isSent = sentTo(feature.sent[upstream], client) !== null;
          const outcome = isSent ? 'gets' : 'learns that it cannot have';
          it(`in ${client} ${outcome} ${feature.name} over ${upstream}`, async () => {
            // contract 4.8.1:15
            for (const stream of [false, true]) await check(feature, client, upstream, stream);
          });
        }
      }
    }
  }
});
