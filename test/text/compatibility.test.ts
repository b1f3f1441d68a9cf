import { expect } from 'chai';
import { UPSTREAM_FORMAT_NAMES, WIRE_FORMAT_NAMES, type WireFormatName } from '../../domain/wire-format-name.ts';
import { FORMATS } from '../../text/formats.ts';
import { unusedOver } from '../../text/unused-fields.ts';
import type { ParseContext, UpstreamOptions } from '../../text/wire-format.ts';
import type { TextRequest } from '../../text/canonical.ts';
import { withOfferedEffort } from '../../text/reasoning.ts';

const OPTIONS: UpstreamOptions = { model: 'm', apiKey: 'secret', reasons: true, compatibility: 'full' };
const OFFER = { reasoning: true, reasoningEfforts: [] };

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

type PerFormat = Readonly<Record<WireFormatName, object | null>>;

interface Feature {
  readonly name: string;
  /** How a client of each format asks for it; null where the format has no field for it. */
  readonly asked: PerFormat;
  /** What an upstream of each format gets, as a part of its body; null where it has no field for it. */
  readonly sent: PerFormat;
}

/** A feature that clients and upstreams of a format write alike. */
function alike(name: string, fields: PerFormat): Feature {
  return { name, asked: fields, sent: fields };
}

const TOOL = { name: 'look', parameters: SCHEMA };
const TOOLS: PerFormat = {
  'chat-completions': { tools: [{ type: 'function', function: TOOL }] },
  responses: { tools: [{ type: 'function', ...TOOL }] },
  messages: { tools: [{ name: 'look', input_schema: SCHEMA }] },
  'generate-content': { tools: [{ functionDeclarations: [{ name: 'look', parametersJsonSchema: SCHEMA }] }] },
};

function withTools(name: string, choice: PerFormat): Feature {
  const fields = (format: WireFormatName): object => ({ ...TOOLS[format], ...choice[format] });
  return alike(name, {
    'chat-completions': fields('chat-completions'),
    responses: fields('responses'),
    messages: fields('messages'),
    'generate-content': fields('generate-content'),
  });
}

const inConfig = (fields: object): object => ({ generationConfig: fields });

const FEATURES: readonly Feature[] = [
  alike('an answer by a schema', {
    'chat-completions': { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: SCHEMA } } },
    responses: { text: { format: { type: 'json_schema', name: 'answer', schema: SCHEMA } } },
    messages: { output_config: { format: { type: 'json_schema', schema: SCHEMA } } },
    'generate-content': inConfig({ responseMimeType: 'application/json', responseJsonSchema: SCHEMA }),
  }),
  {
    name: 'an answer in JSON',
    asked: {
      'chat-completions': { response_format: { type: 'json_object' } },
      responses: { text: { format: { type: 'json_object' } } },
      messages: null,
      'generate-content': inConfig({ responseMimeType: 'application/json' }),
    },
    sent: {
      'chat-completions': { response_format: { type: 'json_object' } },
      responses: { text: { format: { type: 'json_object' } } },
      messages: {
        system: 'Answer with one JSON object and nothing else: no explanation and no code fence around it.',
      },
      'generate-content': inConfig({ responseMimeType: 'application/json' }),
    },
  },
  {
    name: 'a high reasoning effort',
    asked: {
      'chat-completions': { reasoning_effort: 'high' },
      responses: { reasoning: { effort: 'high' } },
      messages: { output_config: { effort: 'high' } },
      'generate-content': inConfig({ thinkingConfig: { thinkingLevel: 'HIGH' } }),
    },
    sent: {
      'chat-completions': { reasoning_effort: 'high' },
      responses: { reasoning: { effort: 'high' } },
      messages: { output_config: { effort: 'high' }, thinking: { type: 'adaptive' } },
      'generate-content': inConfig({ thinkingConfig: { thinkingLevel: 'high' } }),
    },
  },
  {
    name: 'a budget for reasoning',
    asked: {
      'chat-completions': null,
      responses: null,
      messages: { max_tokens: 9_000, thinking: { type: 'enabled', budget_tokens: 2_000 } },
      'generate-content': inConfig({ thinkingConfig: { thinkingBudget: 2_000 } }),
    },
    sent: {
      'chat-completions': { reasoning_effort: 'low' },
      responses: { reasoning: { effort: 'low' } },
      messages: { thinking: { type: 'enabled', budget_tokens: 2_000 } },
      'generate-content': inConfig({ thinkingConfig: { thinkingBudget: 2_000 } }),
    },
  },
  {
    name: 'no reasoning',
    asked: {
      'chat-completions': { reasoning_effort: 'none' },
      responses: { reasoning: { effort: 'none' } },
      messages: { thinking: { type: 'disabled' } },
      'generate-content': inConfig({ thinkingConfig: { thinkingBudget: 0 } }),
    },
    sent: {
      'chat-completions': { reasoning_effort: 'none' },
      responses: { reasoning: { effort: 'none' } },
      messages: { thinking: { type: 'disabled' } },
      'generate-content': { generationConfig: {} },
    },
  },
  withTools('a call of some tool', {
    'chat-completions': { tool_choice: 'required' },
    responses: { tool_choice: 'required' },
    messages: { tool_choice: { type: 'any' } },
    'generate-content': { toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
  }),
  withTools('no call', {
    'chat-completions': { tool_choice: 'none' },
    responses: { tool_choice: 'none' },
    messages: { tool_choice: { type: 'none' } },
    'generate-content': { toolConfig: { functionCallingConfig: { mode: 'NONE' } } },
  }),
  {
    name: 'one call at a time',
    asked: {
      'chat-completions': { ...TOOLS['chat-completions'], parallel_tool_calls: false },
      responses: { ...TOOLS.responses, parallel_tool_calls: false },
      messages: { ...TOOLS.messages, tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
      'generate-content': null,
    },
    sent: {
      'chat-completions': { parallel_tool_calls: false },
      responses: { parallel_tool_calls: false },
      messages: { tool_choice: { disable_parallel_tool_use: true } },
      'generate-content': null,
    },
  },
  alike('a seed', {
    'chat-completions': { seed: 7 },
    responses: null,
    messages: null,
    'generate-content': inConfig({ seed: 7 }),
  }),
  alike('the likeliest tokens only', {
    'chat-completions': { top_k: 7 },
    responses: null,
    messages: { top_k: 7 },
    'generate-content': inConfig({ topK: 7 }),
  }),
  alike('penalties', {
    'chat-completions': { frequency_penalty: 1, presence_penalty: 1 },
    responses: null,
    messages: null,
    'generate-content': inConfig({ frequencyPenalty: 1, presencePenalty: 1 }),
  }),
  alike('a short answer', {
    'chat-completions': { verbosity: 'low' },
    responses: { text: { verbosity: 'low' } },
    messages: null,
    'generate-content': null,
  }),
];

const PROMPTS: Readonly<Record<WireFormatName, object>> = {
  'chat-completions': { model: 'm', messages: [{ role: 'user', content: 'Hi' }] },
  responses: { model: 'm', input: 'Hi' },
  messages: { model: 'm', max_tokens: 9_000, messages: [{ role: 'user', content: 'Hi' }] },
  'generate-content': { contents: [{ parts: [{ text: 'Hi' }] }] },
};

const CONTEXT: ParseContext = { address: { model: 'm', stream: false }, compatibility: 'full' };

function parse(format: WireFormatName, fields: object): TextRequest {
  const request = FORMATS[format].client.parseRequest({ ...PROMPTS[format], ...fields }, CONTEXT);
  return withOfferedEffort(request, OFFER);
}

describe('a request with full compatibility', () => {
  for (const { name, asked, sent } of FEATURES) {
    for (const client of WIRE_FORMAT_NAMES) {
      const fields = asked[client];
      if (fields === null) continue;
      for (const upstream of UPSTREAM_FORMAT_NAMES) {
        const expected = sent[upstream];
        const outcome = expected === null ? 'is reported as without effect' : 'arrives';
        it(`for ${name} in ${client} ${outcome} on ${upstream}`, () => {
          const request = parse(client, fields);
          const { body } = FORMATS[upstream].upstream.buildRequest(request, OPTIONS);
          const unused = unusedOver(FORMATS[client], FORMATS[upstream], request, false);
          if (expected === null) expect(unused).to.not.deep.equal([]);
          else expect(JSON.parse(JSON.stringify(body))).to.containSubset(expected);
          expect(unused.length > 0).to.equal(expected === null);
        });
      }
    }
  }
});
