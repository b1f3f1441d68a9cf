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
/** A feature that clients and upstreams of a format express in the same fields. */
const alike = (name: string, fields: PerFormat<object | null>, more: Partial<Feature> = {}): Feature => ({
  name,
  asked: fields,
  sent: fields,
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
const withTools = (name: string, choice: PerFormat<object>, more: Partial<Feature> = {}): Feature =>
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
const KEPT_FOR_AN_HOUR = {
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral', ttl: '1h' } }] },
  ],
};
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
  {
    name: 'a system text',
    asked: by<object>(
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
    sent: by<Sent>(
      {
        messages: [
          { role: 'system', content: 'Be kind.' },
          { role: 'user', content: 'Hi' },
        ],
      },
      (client) =>
        client === 'responses' ? { instructions: 'Be kind.' } : { input: [{ role: 'system', content: 'Be kind.' }] },
      { system: 'Be kind.' },
      { systemInstruction: { parts: [{ text: 'Be kind.' }] } },
    ),
  },
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
  {
    name: 'a document to cite',
    asked: by<object | null>(null, null, aboutDocument({ citations: { enabled: true } }), null),
    sent: by<Sent>(null, null, aboutDocument({ citations: { enabled: true } }), null),
    named: { messages: 'document.citations' },
  },
  {
    name: 'what a document is about, also under another name of the model',
    route: { model: 'other' },
    asked: by<object | null>(null, null, aboutDocument({ context: 'Of the city' }), null),
    sent: by<Sent>(null, null, aboutDocument({ context: 'Of the city' }), null),
    named: { messages: 'document.context' },
  },
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
  {
    // The native format names the functions that may be called, so Genway omits the others.
    ...withTools(
      'a call of one tool',
      by<object>(
        { tool_choice: { type: 'function', function: { name: 'look' } } },
        { tool_choice: { type: 'function', name: 'look' } },
        { tool_choice: { type: 'tool', name: 'look' } },
        { toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['look'] } } },
      ),
    ),
    sent: by<Sent>(
      (client) =>
        client === 'generate-content'
          ? { tool_choice: 'required' }
          : { tool_choice: { type: 'function', function: { name: 'look' } } },
      (client) =>
        client === 'generate-content'
          ? { tool_choice: 'required' }
          : { tool_choice: { type: 'function', name: 'look' } },
      (client) => ({ tool_choice: client === 'generate-content' ? { type: 'any' } : { type: 'tool', name: 'look' } }),
      { toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['look'] } } },
    ),
  },
  {
    name: 'one call at a time',
    asked: by<object | null>(
      { ...TOOLS['chat-completions'], parallel_tool_calls: false },
      { ...TOOLS.responses, parallel_tool_calls: false },
      { ...TOOLS.messages, tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
      null,
    ),
    sent: by<Sent>(
      { parallel_tool_calls: false },
      { parallel_tool_calls: false },
      { tool_choice: { disable_parallel_tool_use: true } },
      null,
    ),
    named: {
      'chat-completions': 'parallel_tool_calls',
      responses: 'parallel_tool_calls',
      messages: 'tool_choice.disable_parallel_tool_use',
    },
  },
  {
    name: 'strict arguments',
    asked: by<object | null>(
      { tools: [{ type: 'function', function: { ...TOOL, strict: true } }] },
      { tools: [{ type: 'function', ...TOOL, strict: true }] },
      { tools: [{ name: 'look', input_schema: SCHEMA, strict: true }] },
      null,
    ),
    sent: by<Sent>(
      { tools: [{ function: { strict: true } }] },
      { tools: [{ strict: true }] },
      { tools: [{ strict: true }] },
      null,
    ),
    named: { 'chat-completions': 'tools.strict', responses: 'tools.strict', messages: 'tools.strict' },
  },
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
  {
    // Upstreams of the messages and generate-content formats also receive instructions in words; the answer is checked.
    name: 'an answer in JSON',
    asked: by<object | null>(
      { response_format: { type: 'json_object' } },
      { text: { format: { type: 'json_object' } } },
      null,
      config({ responseMimeType: 'application/json' }),
    ),
    sent: by<Sent>(
      { response_format: { type: 'json_object' } },
      { text: { format: { type: 'json_object' } } },
      { system: 'Answer with one JSON object and nothing else: no explanation and no code fence around it.' },
      config({ responseMimeType: 'application/json' }),
    ),
    answer: [CITY],
  },
  {
    name: 'a short answer',
    asked: by<object | null>({ verbosity: 'low' }, { text: { verbosity: 'low' } }, null, null),
    sent: by<Sent>({ verbosity: 'low' }, { text: { verbosity: 'low' } }, null, null),
    named: { 'chat-completions': 'verbosity', responses: 'text.verbosity' },
  },
  {
    name: 'two answers',
    asked: by<object | null>({ n: 2 }, null, null, config({ candidateCount: 2 })),
    sent: by<Sent>({ n: 2 }, {}, {}, config({ candidateCount: 2 })),
    answers: 2,
  },
];

const REASONING: readonly Feature[] = [
  {
    name: 'a high effort',
    asked: by<object>(
      { reasoning_effort: 'high' },
      { reasoning: { effort: 'high' } },
      { output_config: { effort: 'high' } },
      config({ thinkingConfig: { thinkingLevel: 'HIGH' } }),
    ),
    sent: by<Sent>(
      { reasoning_effort: 'high' },
      { reasoning: { effort: 'high' } },
      // Clients of the messages format request thinking themselves.
      (client) => ({
        output_config: { effort: 'high' },
        ...(client !== 'messages' && { thinking: { type: 'adaptive' } }),
      }),
      (client) => config({ thinkingConfig: { thinkingLevel: client === 'generate-content' ? 'HIGH' : 'high' } }),
    ),
  },
  {
    name: 'an effort that the model does not have, as the nearest',
    asked: by<object | null>(
      { reasoning_effort: 'minimal' },
      { reasoning: { effort: 'minimal' } },
      null,
      config({ thinkingConfig: { thinkingLevel: 'MINIMAL' } }),
    ),
    sent: by<Sent>(
      { reasoning_effort: 'low' },
      { reasoning: { effort: 'low' } },
      { output_config: { effort: 'low' } },
      (client) => config({ thinkingConfig: { thinkingLevel: client === 'generate-content' ? 'MINIMAL' : 'low' } }),
    ),
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
  {
    name: 'an effort of a Claude model that has only budgets',
    route: { baseModel: 'claude-sonnet-4-5' },
    asked: by<object>(
      { reasoning_effort: 'medium' },
      { reasoning: { effort: 'medium' } },
      { output_config: { effort: 'medium' } },
      config({ thinkingConfig: { thinkingLevel: 'MEDIUM' } }),
    ),
    sent: by<Sent>(
      { reasoning_effort: 'medium' },
      { reasoning: { effort: 'medium' } },
      // Clients of the messages format request thinking themselves.
      (client) => (client === 'messages' ? null : { thinking: { type: 'enabled', budget_tokens: 16_384 } }),
      (client) => config({ thinkingConfig: { thinkingLevel: client === 'generate-content' ? 'MEDIUM' : 'medium' } }),
    ),
    named: { messages: 'output_config.effort' },
  },
  {
    name: 'no reasoning',
    asked: by<object>(
      { reasoning_effort: 'none' },
      { reasoning: { effort: 'none' } },
      { thinking: { type: 'disabled' } },
      config({ thinkingConfig: { thinkingBudget: 0 } }),
    ),
    sent: by<Sent>(
      { reasoning_effort: 'none' },
      { reasoning: { effort: 'none' } },
      { thinking: { type: 'disabled' } },
      // No level turns thinking off.
      (client) => config({ thinkingConfig: hasBudget(client) ? { thinkingBudget: 0 } : { thinkingLevel: 'low' } }),
    ),
  },
  {
    name: 'the thinking to be shown',
    asked: by<object>(
      {},
      {},
      { thinking: { type: 'adaptive' } },
      config({ thinkingConfig: { includeThoughts: true } }),
    ),
    sent: by<Sent>(
      {},
      (client) => (client === 'responses' ? {} : { reasoning: { summary: 'auto' } }),
      (client) =>
        hasBudget(client)
          ? { thinking: { type: 'adaptive', display: client === 'messages' ? undefined : 'summarized' } }
          : {},
      config({ thinkingConfig: { includeThoughts: true } }),
    ),
    answer: [THOUGHT, text('Hello')],
  },
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

const SETTINGS: readonly Feature[] = [
  {
    name: 'temperature and top_p together of a Claude model that refuses both',
    route: { baseModel: 'claude-sonnet-4-5' },
    asked: by<object>(
      { temperature: 0.5, top_p: 0.9 },
      { temperature: 0.5, top_p: 0.9 },
      { temperature: 0.5, top_p: 0.9 },
      config({ temperature: 0.5, topP: 0.9 }),
    ),
    sent: by<Sent>(
      { temperature: 0.5, top_p: 0.9 },
      { temperature: 0.5, top_p: 0.9 },
      null,
      config({ temperature: 0.5, topP: 0.9 }),
    ),
    named: {
      'chat-completions': 'top_p',
      responses: 'top_p',
      messages: 'top_p',
      'generate-content': 'generationConfig.topP',
    },
  },
  {
    // Genway cuts where the upstream cannot, and for messages clients also where it does not report the stop sequence.
    name: 'a stop sequence',
    asked: by<object | null>({ stop: STOP }, null, { stop_sequences: STOP }, config({ stopSequences: STOP })),
    sent: by<Sent>(
      (client) => (client === 'messages' ? {} : { stop: STOP }),
      {},
      { stop_sequences: STOP },
      (client) => (client === 'messages' ? {} : config({ stopSequences: STOP })),
    ),
    answer: [text('Hello END and more')],
    got: (client, upstream) => {
      const isCutHere = upstream === 'responses' || (client === 'messages' && upstream !== 'messages');
      return [text(isCutHere ? 'Hello ' : 'Hello END and more')];
    },
  },
  alike(
    'a bound for the output',
    by<object>({ max_tokens: 99 }, { max_output_tokens: 99 }, { max_tokens: 99 }, config({ maxOutputTokens: 99 })),
  ),
  alike(
    'a temperature and a share of likely tokens',
    by<object>(
      { temperature: 0.5, top_p: 0.5 },
      { temperature: 0.5, top_p: 0.5 },
      { temperature: 0.5, top_p: 0.5 },
      config({ temperature: 0.5, topP: 0.5 }),
    ),
  ),
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
  {
    name: 'marks for the cache',
    asked: by<object | null>(
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }] }] },
      null,
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }] }] },
      null,
    ),
    sent: by<Sent>(
      // The client's own body.
      (client) => (client === 'chat-completions' ? {} : null),
      null,
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }] }] },
      null,
    ),
    named: { 'chat-completions': 'cache_control', messages: 'cache_control' },
  },
  {
    name: 'marks for the cache to keep for an hour',
    asked: by<object | null>(KEPT_FOR_AN_HOUR, null, KEPT_FOR_AN_HOUR, null),
    // An upstream of chat completions gets the client's own body.
    sent: by<Sent>((client) => (client === 'chat-completions' ? KEPT_FOR_AN_HOUR : null), null, KEPT_FOR_AN_HOUR, null),
    named: { 'chat-completions': 'cache_control', messages: 'cache_control' },
  },
  {
    name: 'a mark at the end of the request',
    asked: by<object | null>(null, null, { cache_control: { type: 'ephemeral', ttl: '1h' } }, null),
    sent: by<Sent>(null, null, { cache_control: { type: 'ephemeral', ttl: '1h' } }, null),
    named: { messages: 'cache_control' },
  },
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

/** The upstream exchanges of a request, and the answer that the client received. */
/** A route to an upstream that speaks a format of clients. */
type RouteInFormat = TextRoute & { readonly format: WireFormatName };

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
