import { expect } from 'chai';
import { type JsonObject, objectOf } from '../../../domain/json.ts';
import { adoptBody } from '../../../text/chat-completions/adopt-body.ts';
import { parseRequest } from '../../../text/chat-completions/parse-request.ts';
import { growthOf } from '../../support/growth.ts';
import { createRefusalReader } from '../../support/refusal.ts';

const base = { model: 'textd-v2.5', messages: [{ role: 'user', content: 'Hello' }] };
const parameters = { type: 'object', properties: { path: { type: 'string' } } };
const definition = { name: 'read', description: 'Reads a file', parameters };
const tool = { type: 'function', function: definition };

const refusal = createRefusalReader((body) => adoptBody(objectOf(body)));

function messagesOf(...content: readonly JsonObject[]): JsonObject {
  return { messages: [{ role: 'user', content }] };
}

const call = (id: string, name: string, text: string): JsonObject => ({
  id,
  type: 'function',
  function: { name, arguments: text },
});
const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } };
const adoptedPicture = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };

/** The body as the agent sends it, and as chat completions has it. */
const CASES: Readonly<Record<string, readonly [sent: JsonObject, adopted: JsonObject]>> = {
  'a tool of responses': [{ tools: [{ type: 'function', ...definition }] }, { tools: [tool] }],
  // contract 4.8.1:46
  'bounds of -1': [{ max_tokens: -1, max_completion_tokens: -1, top_k: -1, seed: -1 }, { seed: -1 }],
  'the effort of Codex': [{ reasoning_effort: 'ultra' }, { reasoning_effort: 'max' }],
  'a tool of messages': [
    { tools: [{ name: 'read', description: 'Reads a file', input_schema: parameters }] },
    { tools: [tool] },
  ],
  'a tool of messages with its type': [
    { tools: [{ type: 'custom', name: 'read', description: 'Reads a file', input_schema: parameters }] },
    { tools: [tool] },
  ],
  'a custom tool of responses': [
    { tools: [{ type: 'custom', name: 'patch', format: { type: 'text' } }] },
    { tools: [{ type: 'custom', custom: { name: 'patch', format: { type: 'text' } } }] },
  ],
  'tools of two formats': [{ tools: [tool, { type: 'function', ...definition }] }, { tools: [tool, tool] }],
  'marks of a tool': [
    { tools: [{ ...definition, cache_control: { type: 'ephemeral' } }] },
    { tools: [{ ...tool, cache_control: { type: 'ephemeral' } }] },
  ],
  'the chosen tool of responses': [
    { tool_choice: { type: 'function', name: 'read' } },
    { tool_choice: { type: 'function', function: { name: 'read' } } },
  ],
  'the chosen tool of messages': [
    { tool_choice: { type: 'tool', name: 'read' } },
    { tool_choice: { type: 'function', function: { name: 'read' } } },
  ],
  'the parts of responses': [
    messagesOf({ type: 'input_text', text: 'Hi' }, { type: 'input_image', image_url: 'https://a.example/b.png' }),
    messagesOf({ type: 'text', text: 'Hi' }, { type: 'image_url', image_url: { url: 'https://a.example/b.png' } }),
  ],
  'a link as a picture': [
    messagesOf({ type: 'image_url', image_url: 'https://a.example/b.png', detail: 'low' }),
    messagesOf({ type: 'image_url', image_url: { url: 'https://a.example/b.png', detail: 'low' } }),
  ],
  'calls of messages': [
    {
      messages: [
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'So' },
            { type: 'tool_use', id: 'a', name: 'read', input: { path: 'a.txt' } },
            { type: 'tool_use', id: 'b', name: 'list' },
          ],
        },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'list', input: {} }] },
      ],
    },
    {
      messages: [
        {
          role: 'assistant',
          content: [{ type: 'text', text: 'So' }],
          tool_calls: [call('a', 'read', '{"path":"a.txt"}'), call('b', 'list', '{}')],
        },
        { role: 'assistant', content: null, tool_calls: [call('c', 'list', '{}')] },
      ],
    },
  ],
  'results of messages': [
    messagesOf(
      { type: 'text', text: 'Next' },
      { type: 'tool_result', tool_use_id: 'a', content: 'Hello' },
      { type: 'tool_result', tool_use_id: 'b', content: [{ type: 'text', text: 'Hi' }, picture], is_error: false },
      { type: 'tool_result', tool_use_id: 'c' },
    ),
    {
      messages: [
        { role: 'tool', tool_call_id: 'a', content: 'Hello' },
        { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: 'Hi' }, adoptedPicture] },
        { role: 'tool', tool_call_id: 'c', content: '' },
        { role: 'user', content: [{ type: 'text', text: 'Next' }] },
      ],
    },
  ],
  'only results of messages': [
    messagesOf({ type: 'tool_result', tool_use_id: 'a', content: 'Hello' }),
    { messages: [{ role: 'tool', tool_call_id: 'a', content: 'Hello' }] },
  ],
  'pictures of messages': [
    messagesOf(
      { ...picture, cache_control: { type: 'ephemeral' } },
      { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } },
    ),
    messagesOf(
      { ...adoptedPicture, cache_control: { type: 'ephemeral' } },
      { type: 'image_url', image_url: { url: 'https://a.example/b.png' } },
    ),
  ],
  'any tool': [{ tool_choice: { type: 'any' } }, { tool_choice: 'required' }],
  'a choice as an object': [{ tool_choice: { type: 'auto' } }, { tool_choice: 'auto' }],
};

describe('adopted body of chat completions', () => {
  for (const [name, [sent, adopted]] of Object.entries(CASES)) {
    it(`has ${name} in the form of chat completions`, () => {
      expect(adoptBody({ ...base, ...sent })).to.deep.equal({ ...base, ...adopted });
    });
  }

  it('stays the same object where a body is one of chat completions, or has what no format has', () => {
    for (const fields of [
      {},
      { tools: [tool], tool_choice: { type: 'function', function: { name: 'read' } } },
      { tools: 'read', tool_choice: 7 },
      { tools: [null, 'read', { type: 'function' }, { type: 'web_search', name: 'search' }], tool_choice: 'auto' },
      { input: 'Hello' },
      { messages: [null, { role: 'user', content: [null, 'Hi', { type: 'text', text: 'Hi' }] }] },
      { messages: [{ role: 'user', content: [{ type: 'tool_use' }, { type: 'image' }] }] },
      { messages: [{ role: 'assistant', content: [{ type: 'tool_result' }] }, { content: [{ type: 'tool_result' }] }] },
    ]) {
      const body = { ...base, ...fields };
      expect(adoptBody(body)).to.equal(body);
    }
  });

  it('has calls of messages and their results in the conversation', () => {
    // contract 4.8.1:44
    const { turns } = parseRequest(
      adoptBody({
        ...base,
        messages: [
          ...base.messages,
          { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'read', input: { path: 'a.txt' } }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'Hello' }, picture] },
        ],
      }),
      { compatibility: 'full' },
    );
    expect(turns.slice(1)).to.deep.equal([
      { role: 'assistant', parts: [{ type: 'tool-call', callId: 'a', name: 'read', arguments: '{"path":"a.txt"}' }] },
      { role: 'tool', parts: [{ type: 'tool-result', callId: 'a', content: [{ type: 'text', text: 'Hello' }] }] },
      {
        role: 'user',
        parts: [{ type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'iVBORw0KGgo=' } }],
      },
    ]);
  });

  it('takes linear time for many blocks', () => {
    const growth = growthOf((size) => {
      const place = (id: number): JsonObject => ({ type: 'tool_result', tool_use_id: `${id}`, content: 'Hello' });
      const content = Array.from({ length: size }, (_, id) => place(id));
      const body = { ...base, messages: [{ role: 'user', content }] };
      return () => adoptBody(body);
    });
    expect(growth).to.be.at.most(3);
  });

  it('has the conversation, the tools and the settings of a body of responses', () => {
    const adopted = adoptBody({
      model: 'textd-v2.5',
      stream: true,
      store: false,
      instructions: 'Be brief.',
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'Read a.txt' }] },
        { type: 'function_call', call_id: 'call_1', name: 'read', arguments: '{"path":"a.txt"}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'Hello' },
      ],
      tools: [{ type: 'function', ...definition }, { type: 'web_search' }],
      reasoning: { effort: 'high', summary: 'auto' },
      text: { verbosity: 'low' },
      prompt_cache_key: 'conversation',
    });
    expect(adopted).to.deep.include({
      model: 'textd-v2.5',
      stream: true,
      tools: [{ type: 'function', function: { ...definition, strict: false } }],
      reasoning_effort: 'high',
      verbosity: 'low',
      web_search_options: {},
      prompt_cache_key: 'conversation',
    });
    const { turns } = parseRequest(adopted, { compatibility: 'full' });
    expect(turns.map(({ role }) => role)).to.deep.equal(['system', 'user', 'assistant', 'tool']);
  });

  it('refuses a body of responses that is malformed, or refers to an earlier answer', () => {
    expect(refusal({ model: 'textd-v2.5', input: 7 })).to.include('"input"');
    expect(refusal({ model: 'textd-v2.5', input: 'Hi', previous_response_id: 'resp_1' })).to.equal(
      '"previous_response_id" works at POST /v1/responses; send the whole conversation here',
    );
  });
});
