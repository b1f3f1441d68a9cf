import { expect } from 'chai';
import type { JsonObject } from '../../../domain/json.ts';
import { adoptBody } from '../../../text/chat-completions/adopt-body.ts';
import { parseRequest } from '../../../text/chat-completions/parse-request.ts';
import { objectOf } from '../../../text/upstream-errors.ts';
import { createRefusalReader } from '../../support/refusal.ts';

const base = { model: 'textd-v2.5', messages: [{ role: 'user', content: 'Hello' }] };
const parameters = { type: 'object', properties: { path: { type: 'string' } } };
const definition = { name: 'read', description: 'Reads a file', parameters };
const tool = { type: 'function', function: definition };

const refusal = createRefusalReader((body) => adoptBody(objectOf(body)));

function messagesOf(...content: readonly JsonObject[]): JsonObject {
  return { messages: [{ role: 'user', content }] };
}

/** The body as the agent sends it, and as chat completions has it. */
const CASES: Readonly<Record<string, readonly [sent: JsonObject, adopted: JsonObject]>> = {
  'a tool of responses': [{ tools: [{ type: 'function', ...definition }] }, { tools: [tool] }],
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
    ]) {
      const body = { ...base, ...fields };
      expect(adoptBody(body)).to.equal(body);
    }
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
