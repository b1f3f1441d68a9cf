import { expect } from 'chai';
import * as fc from 'fast-check';
import type { JsonObject } from '../../../domain/json.ts';
import { parseRequest } from '../../../text/messages/parse-request.ts';
import { READ_REQUEST } from '../../../text/messages/request-shape.ts';
import { itDecidesEveryField } from '../support.ts';
import { createRefusalReader } from '../../support/refusal.ts';

const tool = { name: 'look', description: 'Looks.', input_schema: { type: 'object' } };
const base = {
  model: 'texti-k3',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Hello' }],
  tools: [tool],
};

const EXAMPLES = {
  model: 'textd-v2.5',
  max_tokens: 10,
  messages: [{ role: 'user', content: 'Bye' }],
  system: 'Be kind.',
  stream: true,
  temperature: 0.5,
  top_p: 0.5,
  top_k: 3,
  stop_sequences: ['END'],
  tools: [{ name: 'listen' }],
  tool_choice: { type: 'any' },
  output_config: { effort: 'high' },
  output_format: { type: 'json_schema', schema: { type: 'object' } },
  metadata: { user_id: 'someone' },
};

const refusal = createRefusalReader(parseRequest);

function turnsOf(...messages: readonly JsonObject[]) {
  return parseRequest({ ...base, messages }).turns;
}

function withBlock(role: string, block: unknown): JsonObject {
  return { ...base, messages: [{ role, content: [block] }] };
}

const PLAIN = { type: 'text', media_type: 'text/plain', data: 'Oslo' };
const FILE = { type: 'base64', media_type: 'application/pdf', data: 'AAAA' };
const RESULT = { type: 'search_result', source: 'a', title: 'b', content: [{ type: 'text', text: 'c' }] };

describe('messages request', () => {
  itDecidesEveryField(parseRequest, READ_REQUEST.specification, base, EXAMPLES);

  const refusals: readonly (readonly [unknown, string])[] = [
    ['Hello', 'the request body must be an object'],
    [{ ...base, model: undefined }, '"model" is required'],
    [{ ...base, max_tokens: undefined }, '"max_tokens" is required'],
    [{ ...base, max_tokens: '10' }, '"max_tokens" must be an integer'],
    [{ ...base, max_tokens: 0 }, '"max_tokens" must be at least 1'],
    [{ ...base, messages: undefined }, '"messages" is required'],
    [{ ...base, messages: [] }, '"messages" requires at least 1 item'],
    [{ ...base, messages: [{ role: 'user' }] }, '"messages[0].content" is required'],
    [{ ...base, messages: [{ role: 'user', content: 5 }] }, '"messages[0].content" must be a string or an array'],
    [
      { ...base, messages: [{ role: 'tool', content: '' }] },
      '"messages[0].role" must be one of: [user assistant system]',
    ],
    [
      withBlock('user', { type: 'tool_use' }),
      '"messages[0].content[0].type" must be one of: [text image document search_result tool_result]',
    ],
    [
      withBlock('assistant', { type: 'image' }),
      '"messages[0].content[0].type" must be one of: [text thinking redacted_thinking tool_use server_tool_use tool_search_tool_result web_search_tool_result web_fetch_tool_result code_execution_tool_result bash_code_execution_tool_result text_editor_code_execution_tool_result mcp_tool_use mcp_tool_result]',
    ],
    [withBlock('user', { type: 'tool_result' }), '"messages[0].content[0].tool_use_id" is required'],
    [
      withBlock('user', { type: 'image', source: { type: 'file', file_id: 'file_1' } }),
      '"messages[0].content[0].source.type" must be one of: [base64 url]',
    ],
    [
      withBlock('assistant', { type: 'tool_use', id: 'a', name: 'look', input: '{}' }),
      '"messages[0].content[0].input" must be an object',
    ],
    [{ ...base, system: [{ type: 'image' }] }, '"system[0].type" must be one of: [text]'],
    [{ ...base, stop_sequences: 'END' }, '"stop_sequences" must be an array'],
    [{ ...base, tool_choice: 'auto' }, '"tool_choice" must be an object'],
    [{ ...base, tool_choice: { type: 'required' } }, '"tool_choice.type" must be one of: [auto any tool none]'],
    [{ ...base, tool_choice: { type: 'tool' } }, '"tool_choice.name" is required'],
    [
      { ...base, tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
      '"tools[0].type" is not supported: there is no hosted tool "web_search_20250305"; ' +
        'send a tool with a name and an input_schema',
    ],
    [
      { ...base, output_config: { format: { type: 'text' } } },
      '"output_config.format.type" must be one of: [json_schema]',
    ],
    [{ ...base, prompt: 'Hello' }, 'unknown field: prompt'],
  ];
  for (const [body, message] of refusals) {
    it(`a request is refused with: ${message}`, () => expect(refusal(body)).to.equal(message)); // contract 4.8:4 4.8:26 4.8.3:2 4.8.3:3 4.8.3:4 4.8.3:8 4.8.3:9 4.8.3:10 4.8.3:11 4.8.3:19
  }

  it('reads the system text as a string or as blocks, and in mid-conversation', () => {
    // contract 4.8.3:4 4.8.3:5
    const system = [
      { type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'Be brief.' },
    ];
    const later = { role: 'system', content: 'Be quick.' };
    expect(parseRequest({ ...base, system, messages: [...base.messages, later] }).turns).to.deep.equal([
      {
        role: 'system',
        parts: [
          { type: 'text', text: 'Be kind.', cacheBreakpoint: {} },
          { type: 'text', text: 'Be brief.' },
        ],
      },
      { role: 'user', parts: [{ type: 'text', text: 'Hello' }] },
      { role: 'system', parts: [{ type: 'text', text: 'Be quick.' }] },
    ]);
    expect(parseRequest({ ...base, system: '' }).turns).to.have.lengthOf(1);
  });

  it('puts tool results before the text of their message', () => {
    // contract 4.8.3:19
    const content = [
      { type: 'text', text: 'Here.' },
      { type: 'tool_result', tool_use_id: 'a', content: 'A', is_error: true },
      { type: 'tool_result', tool_use_id: 'b' },
    ];
    expect(turnsOf({ role: 'user', content })).to.deep.equal([
      {
        role: 'tool',
        parts: [
          { type: 'tool-result', callId: 'a', content: [{ type: 'text', text: 'A' }], isError: true },
          { type: 'tool-result', callId: 'b', content: [] },
        ],
      },
      { role: 'user', parts: [{ type: 'text', text: 'Here.' }] },
    ]);
  });

  it('reads images as bytes or as a link, also inside of a tool result', () => {
    // contract 4.8:30 4.8.3:19
    const bytes = { type: 'image', source: { type: 'base64', media_type: 'image/PNG', data: 'AAAA' } };
    const link = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };
    const [result, input] = turnsOf({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'a', content: [link] }, bytes],
    });
    expect(result?.parts).to.have.nested.property('[0].content[0].source.url', link.source.url);
    expect(input?.parts).to.deep.equal([
      { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AAAA' } },
    ]);
  });

  it('reads documents as bytes, as a link and as text', () => {
    // contract 4.8.3:19
    const sources = [
      { type: 'base64', media_type: 'application/pdf', data: 'AAAA' },
      { type: 'url', url: 'https://example.com/a.pdf' },
      { type: 'text', media_type: 'text/plain', data: 'Plain.' },
    ];
    const content = sources.map((source) => ({ type: 'document', source, title: 'Report' }));
    expect(turnsOf({ role: 'user', content })[0]?.parts).to.deep.equal([
      { type: 'file', source: { kind: 'base64', mediaType: 'application/pdf', data: 'AAAA' }, filename: 'Report' },
      {
        type: 'file',
        source: { kind: 'url', mediaType: 'application/pdf', url: 'https://example.com/a.pdf' },
        filename: 'Report',
      },
      { type: 'text', text: 'Plain.' },
    ]);
  });

  it('reads an answer that a client sends back, ignoring an empty signature', () => {
    // contract 4.8.3:19
    const content = [
      { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
      { type: 'thinking', thinking: 'So.', signature: '' },
      { type: 'redacted_thinking', data: 'cmVk' },
      { type: 'text', text: 'I look.', citations: null },
      { type: 'tool_use', id: 'a', name: 'look', input: { at: 1 } },
    ];
    expect(turnsOf({ role: 'assistant', content })[0]?.parts).to.deep.equal([
      { type: 'reasoning', text: 'Hm.', signature: 'c2ln' },
      { type: 'reasoning', text: 'So.' },
      { type: 'reasoning', text: '', signature: 'cmVk', redacted: true },
      { type: 'text', text: 'I look.' },
      { type: 'tool-call', callId: 'a', name: 'look', arguments: '{"at":1}' },
    ]);
  });

  const choices: readonly (readonly [JsonObject, JsonObject])[] = [
    [{ type: 'auto' }, { toolChoice: { type: 'auto' } }],
    [{ type: 'any' }, { toolChoice: { type: 'required' } }],
    [{ type: 'none' }, { toolChoice: { type: 'none' } }],
    [{ type: 'tool', name: 'look' }, { toolChoice: { type: 'tool', name: 'look' } }],
    [
      { type: 'auto', disable_parallel_tool_use: true },
      { toolChoice: { type: 'auto' }, parallelToolCalls: false },
    ],
  ];
  for (const [choice, expected] of choices) {
    it(`reads the tool choice ${JSON.stringify(choice)}`, () => {
      // contract 4.8.3:10
      expect(parseRequest({ ...base, tool_choice: choice })).to.deep.equal({ ...parseRequest(base), ...expected });
    });
  }

  it('answers by the requested model alone, and shows progress as thinking, as agents for models with fallbacks ask for', () => {
    // contract 4.8.3:15 4.8.3:27
    const sent = { ...base, fallbacks: [{ model: 'texti-k2' }], fallback_credit_token: 'token', billing_policy: {} };
    const thinking = { type: 'adaptive', display: 'updates' };
    for (const fallbacks of [sent.fallbacks, 'default']) {
      const request = parseRequest({ ...sent, fallbacks, thinking }, { compatibility: 'full' });
      expect(request).to.include({ model: 'texti-k3', reasoningDisplay: 'text' });
      expect(request.unused?.always).to.include.members(['fallbacks', 'fallback_credit_token', 'billing_policy']);
    }
  });

  it('ignores the tool choice without tools', () => {
    // contract 4.8.3:10
    for (const choice of [{ type: 'any', disable_parallel_tool_use: true }, 'whatever']) {
      const body = { ...base, tools: [], tool_choice: choice };
      expect(parseRequest(body)).to.deep.equal({ ...parseRequest(base), tools: [] });
    }
  });

  it('reads a schema for the answer', () => {
    // contract 4.8.3:11
    const format = { type: 'json_schema', schema: { type: 'object' } };
    expect(parseRequest({ ...base, output_config: { format } }).outputFormat).to.deep.equal({
      type: 'json-schema',
      name: 'answer',
      schema: { type: 'object' },
    });
  });

  it('shortens the name of an end user to the length that every format accepts', () => {
    // contract 4.8.3:13
    const userId = `user_${'0123456789abcdef'.repeat(4)}_session_1`;
    expect(parseRequest({ ...base, metadata: { user_id: userId } }).userId).to.equal(userId.slice(0, 64));
  });

  // contract 4.8.3:24
  for (const [what, block, names] of [
    ['text to cite', { type: 'document', source: PLAIN, citations: { enabled: true } }, ['document.citations']],
    ['a title', { type: 'document', source: PLAIN, title: 'Oslo' }, ['document.title']],
    ['a context', { type: 'document', source: FILE, title: 'a.pdf', context: 'Cities' }, ['document.context']],
    ['a file to cite', { type: 'document', source: FILE, citations: { enabled: true } }, ['document.citations']],
    ['results to cite', { ...RESULT, citations: { enabled: true } }, ['search_result.citations']],
    ['nothing of the kind', { type: 'document', source: FILE, title: 'a.pdf', citations: { enabled: false } }, []],
    ['results', RESULT, []],
  ] as const) {
    it(`names what other formats do not have of ${what}`, () => {
      const inResult = { type: 'tool_result', tool_use_id: 'a', content: [block] };
      for (const content of [[block], [inResult]]) {
        const { unused, hasSources = false } = parseRequest({ ...base, messages: [{ role: 'user', content }] });
        expect([hasSources, unused?.converted ?? []]).to.deep.equal([names.length > 0, names]);
      }
    });
  }

  it('reads or refuses any value of a field, and never crashes', () => {
    const block = fc.record(
      {
        type: fc.constantFrom('text', 'image', 'document', 'tool_result', 'tool_use', 'thinking', 'redacted_thinking'),
        content: fc.jsonValue(),
        source: fc.oneof(fc.jsonValue(), fc.record({ type: fc.constantFrom('base64', 'url', 'text') })),
        input: fc.jsonValue(),
        id: fc.jsonValue(),
      },
      { requiredKeys: ['type'] },
    );
    const content = fc.oneof(fc.jsonValue(), fc.array(fc.oneof(block, fc.jsonValue()), { maxLength: 3 }));
    const message = fc.record({ role: fc.constantFrom('user', 'assistant', 'system', 'tool'), content });
    const fields = fc.oneof(
      fc.tuple(fc.constant('messages'), fc.array(message, { minLength: 1, maxLength: 3 })),
      fc.tuple(fc.constantFrom(...Object.keys(READ_REQUEST.full.shape)), fc.jsonValue()),
    );
    fc.assert(
      fc.property(fields, ([field, value]) => {
        expect(refusal({ ...base, [field]: value }))
          .to.be.a('string')
          .and.not.equal('');
      }),
    );
  });
});
