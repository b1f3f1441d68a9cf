import { expect } from 'chai';
import { useSimulator } from '../../support/simulator.ts';
import { RESPONSES_SEQUENCE } from '../../text/answers.ts';
import { post, WIRE_FORMATS, type WireAnswer, type WireFormat } from './wire.ts';

const [chat, responses, messages, native] = WIRE_FORMATS as readonly [WireFormat, WireFormat, WireFormat, WireFormat];

const person = { type: 'object', properties: { age: { type: 'integer', minimum: 18 } }, required: ['age'] };

describe('requests for simulated text', () => {
  const simulator = useSimulator();

  const ask = (format: WireFormat, fields: object, prompt = 'Hi', stream = false): Promise<WireAnswer> =>
    post(simulator.url, format, prompt, { stream, body: { ...format.body(prompt, stream), ...fields } });

  for (const [format, fields] of [
    [chat, { response_format: { type: 'json_schema', json_schema: { name: 'person', schema: person } } }],
    [responses, { text: { format: { type: 'json_schema', name: 'person', schema: person } } }],
    [messages, { output_config: { format: { type: 'json_schema', schema: person } } }],
    [native, { generationConfig: { responseMimeType: 'application/json', responseJsonSchema: person } }],
    [native, { generation_config: { response_mime_type: 'application/json', response_schema: person } }],
  ] as const) {
    it(`get JSON of the requested schema, ${format.name}, ${Object.keys(fields).join()}`, async () => {
      expect((await ask(format, fields)).text).to.contain(JSON.stringify('{"age":18}'));
    });
  }

  for (const [format, fields] of [
    [chat, { messages: [{ role: 'tool', tool_call_id: 'call_9', content: 'x' }] }],
    [responses, { input: [{ type: 'function_call_output', call_id: 'call_9', output: 'x' }] }],
    [messages, { messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_9' }] }] }],
  ] as const) {
    it(`get 400 when they answer a tool call that the model did not make, ${format.name}`, async () => {
      const { status, text } = await ask(format, fields);
      expect([status, text.includes('call_9')]).to.deep.equal([400, true]);
    });
  }

  it('get an answer to a notice, which no call waits for', async () => {
    const notice = { type: 'function_call_output', name: 'goal_objective', namespace: 'agent', output: 'See it' };
    const { status, text } = await ask(responses, { input: [notice] });
    expect([status, text.includes('goal_objective: See it')]).to.deep.equal([200, true]);
  });

  for (const [format, fields] of [
    [chat, { model: '' }],
    [chat, { messages: [] }],
    [chat, { messages: [{ role: 'nobody', content: 'x' }] }],
    [responses, { max_output_tokens: 15 }],
    [messages, { max_tokens: undefined }],
    [messages, { stop_sequences: [' \n'] }],
    [messages, { messages: [{ role: 'tool', content: 'x' }] }],
    [native, { contents: [] }],
  ] as const) {
    it(`get 400 if the vendor would refuse them, ${format.name}, ${JSON.stringify(fields)}`, async () => {
      expect((await ask(format, fields)).status).to.equal(400);
    });
  }

  it('requests are counted by the mark of their prompt', async () => {
    for (const format of WIRE_FORMATS) await ask(format, {}, '[sim:mark=one,fail=bad_request]');
    await ask(chat, {}, '[sim:mark=two]', true);
    const response = await fetch(`${simulator.url}/_sim/marks`);
    expect(await response.json()).to.deep.equal({ data: { one: WIRE_FORMATS.length, two: 1 } });
  });

  it('get the requested number of choices', async () => {
    const [prompt, both] = ['[sim:say=Yes]', /"index":1/];
    for (const stream of [false, true]) {
      expect((await ask(chat, { n: 2 }, prompt, stream)).text).to.match(both);
      expect((await ask(native, { generationConfig: { candidateCount: 2 } }, prompt, stream)).text).to.match(both);
    }
  });

  it('get one tool call when they allow no more', async () => {
    const prompt = '[sim:tools=a+b]';
    const serial = await ask(chat, { parallel_tool_calls: false }, prompt);
    expect(serial.text).to.contain('"name":"a"').and.not.to.contain('"name":"b"');
    const choice = { type: 'auto', disable_parallel_tool_use: true };
    const single = await ask(messages, { tool_choice: choice }, prompt);
    expect(single.text).to.contain('"name":"a"').and.not.to.contain('"name":"b"');
  });

  it('get no thoughts in the native format unless they request thoughts', async () => {
    const prompt = '[sim:reasoning=3]';
    for (const stream of [false, true]) {
      const { text } = await ask(native, {}, prompt, stream);
      expect(text).to.contain('"thoughtsTokenCount":3').and.not.to.contain('"thought":true');
    }
  });

  it('get no usage in a chat stream unless they request usage', async () => {
    const without = await ask(chat, {}, 'Hi', true);
    expect(without.text).not.to.contain('usage');
    const asked = await ask(chat, { stream_options: { include_usage: true } }, 'Hi', true);
    expect(asked.text)
      .to.contain('"usage":null')
      .and.to.match(/"choices":\[\],"usage":\{"prompt_tokens":/);
  });

  it('get reasoning that they can send back when they request it encrypted', async () => {
    const { text } = await ask(responses, { include: ['reasoning.encrypted_content'] }, '[sim:reasoning=3]');
    expect(text).to.contain('"encrypted_content":"');
  });

  it('get calls under the own name of a tool in a namespace, which an item of the input may bring', async () => {
    const tools = [{ type: 'namespace', name: 'functions', tools: [{ type: 'function', name: 'wait' }] }];
    const prompt = 'Hi [sim:tool=functions__wait]';
    const message = { role: 'user', content: prompt };
    for (const fields of [{ tools }, { input: [{ type: 'additional_tools', tools }, message] }]) {
      for (const stream of [false, true]) {
        expect((await ask(responses, fields, prompt, stream)).text).to.include('"name":"wait","namespace":"functions"');
      }
    }
  });

  it('get the events of the responses format in order, numbered without gaps', async () => {
    const { text } = await ask(responses, {}, '[sim:reasoning=1,say=Yes,tool=look]', true);
    const events = [...text.matchAll(/^event: (.+)\ndata: (.+)$/gm)].map(([, name, data = '']) => {
      const { type, sequence_number: number } = JSON.parse(data) as { type: string; sequence_number: number };
      expect(name).to.equal(type);
      return [number, type];
    });
    expect(events).to.deep.equal(RESPONSES_SEQUENCE.map((type, index) => [index, type]));
  });

  it('get the events of the messages format in order', async () => {
    const { text } = await ask(messages, {}, '[sim:reasoning=1,say=Yes,tool=look]', true);
    expect([...text.matchAll(/^event: (.+)$/gm)].map(([, name]) => name)).to.deep.equal([
      'message_start',
      'content_block_start',
      'ping',
      'content_block_delta',
      'content_block_delta',
      'content_block_stop',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  });

  it('get an error when they stream natively without server-sent events', async () => {
    const plain: WireFormat = { ...native, path: () => '/v1beta/models/m:streamGenerateContent' };
    expect((await ask(plain, {}, 'Hi', true)).status).to.equal(400);
  });

  it('get an error above 64 MB', async () => {
    const answer = await ask(chat, { padding: 'x'.repeat(64 * 2 ** 20) });
    expect(answer.status).to.equal(413);
  });
});
