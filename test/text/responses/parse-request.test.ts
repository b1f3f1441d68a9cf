import { expect } from 'chai';
import * as fc from 'fast-check';
import type { JsonObject } from '../../../domain/json.ts';
import { parseRequest } from '../../../text/responses/parse-request.ts';
import { READ_REQUEST } from '../../../text/responses/request-shape.ts';
import { itDecidesEveryField } from '../support.ts';
import { createRefusalReader } from '../../support/refusal.ts';

const base = { model: 'textg-6-sol', input: 'Hello' };

const EXAMPLES = {
  model: 'textg-6-luna',
  input: [{ role: 'user', content: 'Bye' }],
  instructions: 'Be kind.',
  max_output_tokens: 100,
  stream: true,
  temperature: 0.5,
  top_p: 0.5,
  tools: [{ type: 'function', name: 'look', parameters: { type: 'object' }, strict: true }],
  tool_choice: { type: 'function', name: 'look' },
  parallel_tool_calls: false,
  reasoning: { effort: 'xhigh', summary: 'auto' },
  text: { format: { type: 'json_schema', name: 'place', schema: { type: 'object' } }, verbosity: 'low' },
  user: 'someone',
  prompt_cache_key: 'conversation',
  metadata: { ticket: '7' },
};

const refusal = createRefusalReader(parseRequest);

function turnsOf(...input: readonly JsonObject[]) {
  return parseRequest({ ...base, input }).turns;
}

const message = (role: string, content: unknown): JsonObject => ({ type: 'message', role, content });
const call = (callId: string): JsonObject => ({
  type: 'function_call',
  id: `fc_${callId}`,
  call_id: callId,
  name: 'look',
  arguments: '{"at":1}',
  status: 'completed',
});
const output = (callId: string, value: unknown): JsonObject => ({
  type: 'function_call_output',
  call_id: callId,
  output: value,
});

describe('responses request', () => {
  const { background: _, ...shape } = READ_REQUEST.specification.shape;
  itDecidesEveryField(parseRequest, { shape }, base, EXAMPLES);

  it('waits for every answer, since nothing is stored', () => {
    // contract 4.8.2:18
    expect(refusal({ ...base, background: false })).to.equal('accepted');
    expect(refusal({ ...base, background: true })).to.equal(
      '"background" is not supported: wait for the answer or stream it',
    );
  });

  const wrongItem = (item: unknown): unknown => ({ ...base, input: [item] });
  const wrongPart = (part: JsonObject): unknown => wrongItem(message('user', [part]));
  const refusals: readonly (readonly [unknown, string])[] = [
    [[], 'the request body must be an object'],
    [{ input: 'Hello' }, '"model" is required'],
    [{ ...base, model: 5 }, '"model" must be a string'],
    [{ model: 'textg-6-sol' }, '"input" is required'],
    [{ ...base, input: 5 }, '"input" must be a string or an array'],
    [{ ...base, input: '' }, '"input" must not be empty'],
    [{ ...base, input: [] }, '"input" must contain at least one message'],
    [wrongItem('Hello'), '"input[0]" must be an object'],
    [wrongItem({ content: 'Hello' }), '"input[0].role" is required'],
    [wrongItem({ role: 'tool', content: '' }), '"input[0].role" must be one of: [user assistant system developer]'],
    [wrongItem({ role: 'user' }), '"input[0].content" is required'],
    [wrongItem({ role: 'user', content: 5 }), '"input[0].content" must be a string or an array'],
    [
      wrongItem({ type: 'computer_call', id: 'cu_1' }),
      '"input[0].type" must be one of: [message reasoning function_call function_call_output custom_tool_call custom_tool_call_output tool_search_call tool_search_output additional_tools agent_message image_generation_call compaction compaction_summary context_compaction compaction_trigger agent_reasoning web_search_call file_search_call code_interpreter_call mcp_list_tools mcp_call mcp_approval_request mcp_approval_response apply_patch_call apply_patch_call_output local_shell_call local_shell_call_output shell_call shell_call_output item_reference]',
    ],
    [
      { ...base, input: [{ type: 'additional_tools', tools: [{ type: 'custom' }] }, message('user', 'Hi')] },
      '"input[0].tools[0].name" is required',
    ],
    [
      wrongPart({ type: 'output_text', text: 'x' }),
      '"input[0].content[0].type" must be one of: [input_text input_image input_file]',
    ],
    [wrongPart({ type: 'input_text' }), '"input[0].content[0].text" is required'],
    [
      wrongPart({ type: 'input_image', file_id: 'file-1' }),
      '"input[0].content[0].file_id" is not supported: send the image in "image_url"',
    ],
    [
      wrongPart({ type: 'input_image', image_url: 'ftp://x' }),
      '"input[0].content[0].image_url" must be an https URL, or a base64 data URL with a media type',
    ],
    [wrongItem(output('', 'x')), '"input[0].call_id" must not be empty'],
    [wrongItem(output('c', undefined)), '"input[0].output" is required'],
    [wrongItem({ ...call('c'), arguments: {} }), '"input[0].arguments" must be a string'],
    [{ ...base, max_output_tokens: '10' }, '"max_output_tokens" must be an integer'],
    [{ ...base, max_output_tokens: 0 }, '"max_output_tokens" must be between 1 and 1073741823'],
    [{ ...base, max_output_tokens: 1_073_741_824 }, '"max_output_tokens" must be between 1 and 1073741823'],
    [{ ...base, max_output_tokens: 1_073_741_823 }, 'accepted'],
    [{ ...base, temperature: 'hot' }, '"temperature" must be a number'],
    [{ ...base, top_p: 1.5 }, '"top_p" must be between 0 and 1'],
    [{ ...base, stream: 'yes' }, '"stream" must be a boolean'],
    [{ ...base, instructions: ['Be kind.'] }, '"instructions" must be a string'],
    [
      { ...base, tools: [{ type: 'web_search' }] },
      '"tools[0]": the tool "web_search" is not supported; send tools of the type "function" (or ask the operator for a model with "compatibility: full")',
    ],
    [
      { ...base, tool_choice: { type: 'file_search' } },
      '"tool_choice": the choice "file_search" is not supported; choose a tool of the type "function" (or ask the operator for a model with "compatibility: full")',
    ],
    [{ ...base, tools: [{ type: 'function' }] }, '"tools[0].name" is required'],
    [{ ...base, tool_choice: 'any' }, '"tool_choice" must be one of: [auto none required]'],
    [
      { ...base, reasoning: { effort: 'most' } },
      '"reasoning.effort" must be one of: [none minimal low medium high xhigh max]',
    ],
    [
      { ...base, text: { format: { type: 'xml' } } },
      '"text.format.type" must be one of: [text json_object json_schema]',
    ],
    [{ ...base, messages: [] }, 'unknown field: messages'],
  ];
  for (const [body, sentence] of refusals) {
    it(`a request is refused with: ${sentence}`, () => expect(refusal(body)).to.equal(sentence)); // contract 4.8:4 4.8:26 4.8.2:1 4.8.2:2 4.8.2:4 4.8.2:5 4.8.2:6 4.8.2:7 4.8.2:24
  }

  for (const field of ['previous_response_id', 'conversation', 'prompt', 'context_management']) {
    it(`a request with "${field}" is refused as not supported, whatever its value`, () => {
      // contract 4.8.2:17
      for (const value of ['resp_1', { id: 'x' }, [{ type: 'compaction' }]]) {
        expect(refusal({ ...base, [field]: value })).to.contain(`"${field}" is not supported: `);
      }
    });
  }

  it('puts the instructions before the input, whose system and developer text keeps its place', () => {
    // contract 4.8.2:3
    const input = [message('user', 'Hi'), message('developer', [{ type: 'input_text', text: 'Be brief.' }])];
    expect(parseRequest({ ...base, instructions: 'Be kind.', input }).turns).to.deep.equal([
      { role: 'system', parts: [{ type: 'text', text: 'Be kind.' }] },
      { role: 'user', parts: [{ type: 'text', text: 'Hi' }] },
      { role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] },
    ]);
  });

  it('reads the items of one answer as one message, and the results of its calls as another', () => {
    // contract 4.8.2:24
    const turns = turnsOf(
      message('user', 'Look.'),
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: 'c2ln' },
      message('assistant', [{ type: 'output_text', text: 'I look.', annotations: [] }]),
      call('a'),
      call('b'),
      output('a', 'A tree.'),
      output('b', [
        { type: 'input_text', text: 'This:' },
        { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
      ]),
    );
    const image = { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AAAA' } };
    expect(turns.slice(1)).to.deep.equal([
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', text: 'Hm.', signature: 'c2ln' },
          { type: 'text', text: 'I look.' },
          { type: 'tool-call', callId: 'a', name: 'look', arguments: '{"at":1}' },
          { type: 'tool-call', callId: 'b', name: 'look', arguments: '{"at":1}' },
        ],
      },
      {
        role: 'tool',
        parts: [
          { type: 'tool-result', callId: 'a', content: [{ type: 'text', text: 'A tree.' }] },
          { type: 'tool-result', callId: 'b', content: [{ type: 'text', text: 'This:' }, image] },
        ],
      },
    ]);
  });

  it('reads images and files as bytes or as a link, in their order', () => {
    // contract 4.8:30 4.8.2:24
    const content = [
      { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'low' },
      { type: 'input_text', text: 'and' },
      { type: 'input_file', file_data: 'data:application/pdf;base64,AAAA', filename: 'a.pdf' },
      { type: 'input_file', file_url: 'https://example.com/b.pdf' },
    ];
    expect(turnsOf(message('user', content))[0]?.parts).to.deep.equal([
      { type: 'image', source: { kind: 'url', url: 'https://example.com/a.png' }, detail: 'low' },
      { type: 'text', text: 'and' },
      { type: 'file', source: { kind: 'base64', mediaType: 'application/pdf', data: 'AAAA' }, filename: 'a.pdf' },
      { type: 'file', source: { kind: 'url', url: 'https://example.com/b.pdf' } },
    ]);
  });

  it('reads encrypted reasoning as redacted, and drops empty reasoning', () => {
    // contract 4.8.2:24
    const hidden = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'c2ln' };
    const empty = { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: null };
    expect(turnsOf(hidden, empty)).to.deep.equal([
      { role: 'assistant', parts: [{ type: 'reasoning', text: '', signature: 'c2ln', redacted: true }] },
    ]);
  });

  it('reads an output that answers no call, which agents use for reports, as a message of the user', () => {
    const notice = { type: 'function_call_output', name: 'goal', namespace: 'agent', output: 'See it' };
    expect(turnsOf(notice)).to.deep.equal([
      {
        role: 'user',
        parts: [
          { type: 'text', text: 'goal:' },
          { type: 'text', text: 'See it' },
        ],
      },
    ]);
  });

  it('drops references to reasoning, which the model does not need, and refuses other references', () => {
    // contract 4.8.2:19
    const references = [{ type: 'item_reference', id: 'rs_1' }, { id: 'rs_2' }];
    expect(turnsOf(...references, message('user', 'Hi')).map((turn) => turn.role)).to.deep.equal(['user']);
    const stored = { type: 'item_reference', id: 'msg_1' };
    expect(refusal({ ...base, input: [message('user', 'Hi'), stored] })).to.contain(
      '"input[1]" refers to the item "msg_1", but items are not stored',
    );
  });

  it('is accepted or refused, whatever a client sends', () => {
    const fields = Object.fromEntries(Object.keys(EXAMPLES).map((field) => [field, fc.jsonValue()]));
    const part = fc.record({
      type: fc.constantFrom('input_text', 'input_image', 'input_file', 'output_text', 'refusal'),
      text: fc.jsonValue(),
      image_url: fc.jsonValue(),
      file_data: fc.jsonValue(),
    });
    const item = fc.record(
      {
        type: fc.constantFrom('message', 'reasoning', 'function_call', 'function_call_output', 'item_reference'),
        role: fc.constantFrom('user', 'assistant', 'system'),
        content: fc.oneof(fc.jsonValue(), fc.array(part, { maxLength: 2 })),
        summary: fc.jsonValue(),
        call_id: fc.jsonValue(),
        id: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.record(fields, { requiredKeys: [] }), fc.array(item, { maxLength: 3 }), (some, input) => {
        expect(refusal({ ...base, ...some })).to.be.a('string');
        expect(refusal({ ...base, input })).to.be.a('string');
      }),
    );
  });

  it('reads empty arguments as no arguments', () => {
    expect(turnsOf({ ...call('c'), arguments: '' })[0]?.parts[0]).to.have.property('arguments', '{}');
  });
});
