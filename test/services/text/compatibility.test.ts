/** Models with full compatibility, over every upstream format, with the simulator as the upstream. */
import { expect } from 'chai';
import OpenAI from 'openai';
import { WIRE_FORMAT_NAMES, type WireFormatName } from '../../../domain/wire-format-name.ts';
import { ASK, modelVia, textModel, useTestText } from '../../support/text.ts';
import { eventsOfText } from '../../text/support.ts';

const fullVia = (format: WireFormatName): string => `full-via-${format}`;
/** A model whose upstream accepts no schema, and whose answers Genway checks. */
const byTool = (format: WireFormatName): string => `by-tool-via-${format}`;
/** A model whose upstream refuses a temperature, and needs another field. */
const without = (format: WireFormatName): string => `without-temperature-via-${format}`;
const CHECKED = 'checked-via-chat-completions';
const PLAIN = 'full-without-reasoning';

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

/** The fields of each format that request an answer by the schema. */
const BY_SCHEMA: Readonly<Record<WireFormatName, object>> = {
  'chat-completions': { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: SCHEMA } } },
  responses: { text: { format: { type: 'json_schema', name: 'answer', schema: SCHEMA } } },
  messages: { output_config: { format: { type: 'json_schema', schema: SCHEMA } } },
  'generate-content': { generationConfig: { responseMimeType: 'application/json', responseJsonSchema: SCHEMA } },
};

describe('models with full compatibility', () => {
  const text = useTestText({
    models: [
      ...WIRE_FORMAT_NAMES.map((format) => textModel(fullVia(format), [{ format }], { compatibility: 'full' })),
      ...WIRE_FORMAT_NAMES.map((format) => {
        const route = { format, structuredOutput: 'tool', checkOutput: true } as const;
        return textModel(byTool(format), [route], { compatibility: 'full' });
      }),
      ...WIRE_FORMAT_NAMES.map((format) => {
        const drop = [format === 'generate-content' ? 'generationConfig.temperature' : 'temperature'];
        return textModel(without(format), [{ format, drop, set: { tier: 'flex' } }], { compatibility: 'full' });
      }),
      textModel(CHECKED, [{ format: 'chat-completions', checkOutput: true }], { compatibility: 'full' }),
      textModel(PLAIN, [{ format: 'chat-completions' }], { compatibility: 'full', reasoning: false }),
    ],
  });

  const ask = async (format: WireFormatName, model: string, fields: object, prompt = 'Hi', stream = false) => {
    const { path, body } = ASK[format](model, prompt, stream);
    const response = await text.post(path, { ...body, ...fields });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };

  // features.test.ts covers every pair of formats.
  for (const [index, client] of WIRE_FORMAT_NAMES.entries()) {
    const upstream = WIRE_FORMAT_NAMES[(index + 1) % WIRE_FORMAT_NAMES.length] ?? client;
    for (const model of [fullVia(upstream), byTool(upstream)]) {
      it(`answer by a schema in ${client} as ${model}`, async () => {
        const { status, text: answer } = await ask(client, model, BY_SCHEMA[client]);
        expect(status, answer).to.equal(200);
        expect(answer).to.match(/\{\\"city\\":\s*\\"/);
      });
    }
  }

  it('lack the fields that their route drops, and name them, in every pair of formats', async () => {
    // contract 4.8:33
    for (const client of WIRE_FORMAT_NAMES) {
      const isNative = client === 'generate-content';
      const fields = isNative ? { generationConfig: { temperature: 0.2 } } : { temperature: 0.2 };
      for (const upstream of WIRE_FORMAT_NAMES) {
        const { status, headers } = await ask(client, without(upstream), fields);
        expect(status).to.equal(200);
        expect(headers.get('x-genway-ignored')).to.include(isNative ? 'generationConfig.temperature' : 'temperature');
        const [seen] = await text.seen(1);
        expect(JSON.stringify(seen?.body)).to.include('"tier":"flex"').and.not.include('"temperature"');
        expect((await ask(client, without(upstream), {})).headers.has('x-genway-ignored')).to.equal(false);
      }
    }
  });

  it('answer a body of responses at the address of chat completions with a chat completion', async () => {
    // contract 4.8.1:44
    const tools = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }];
    for (const upstream of WIRE_FORMAT_NAMES) {
      const body = { model: fullVia(upstream), input: [{ role: 'user', content: 'Call look with {}' }], tools };
      const whole = await text.post('/v1/chat/completions', body);
      expect(whole.status).to.equal(200);
      expect(await whole.text())
        .to.include('"chat.completion"')
        .and.match(/"tool_calls":.*"name":"look"/);
      const stream = await text.post('/v1/chat/completions', { ...body, stream: true });
      expect(await stream.text())
        .to.include('"chat.completion.chunk"')
        .and.include('data: [DONE]');
    }
  });

  it('answer in JSON over upstreams that only accept the request in words', async () => {
    for (const model of [fullVia('messages'), byTool('chat-completions')]) {
      const fields = { response_format: { type: 'json_object' } };
      const { status, text: answer } = await ask('chat-completions', model, fields);
      expect([status, Object(JSON.parse(answer)).choices[0].message.content]).to.deep.equal([200, '{}']);
    }
  });

  it('charge an answer that is not the requested JSON, and end it with an error, whole and streamed', async () => {
    // contract 8.3:14 4.8:24
    for (const stream of [false, true]) {
      const asked = [BY_SCHEMA['chat-completions'], { response_format: { type: 'json_object' } }] as const;
      const models = [CHECKED, fullVia('messages')] as const;
      for (const [index, fields] of asked.entries()) {
        const model = models[index] ?? '';
        const prompt = 'Say exactly: no JSON';
        const { status, text: answer } = await ask('chat-completions', model, fields, prompt, stream);
        expect(status).to.equal(stream ? 200 : 400);
        expect(answer).to.contain('"code":"bad_request"').and.to.contain('is charged: it is not JSON');
        expect(answer).to.not.contain('[DONE]');
        await text.idle();
        const [row] = await text.database('text_requests').orderBy('id', 'desc').limit(1);
        expect(row).to.include({ outcome: 'disconnected', model });
        expect(BigInt(row.charge) > 0n, row.charge).to.equal(true);
      }
    }
  });

  it('name the fields without effect in a header, whole and streamed', async () => {
    for (const stream of [false, true]) {
      const fields = { seed: 3, service_tier: 'flex', store: false };
      const { headers } = await ask('chat-completions', fullVia('messages'), fields, 'Hi', stream);
      expect(headers.get('x-genway-ignored')).to.equal('service_tier, seed');
      const { headers: none } = await ask('chat-completions', fullVia('messages'), {}, 'Hi', stream);
      expect(none.get('x-genway-ignored')).to.equal(null);
    }
  });

  it('name fields without effect that no header can hold by their printable characters, cut', async () => {
    const metadata = { [`\ud800ü\0\n${'x'.repeat(3_000)}`]: 'value', ['y'.repeat(3_000)]: 'value' };
    const { status, headers, text: answer } = await ask('messages', fullVia('chat-completions'), { metadata });
    expect(status, answer).to.equal(200);
    expect(headers.get('x-genway-ignored')).to.match(/^(?=.{4096}$)metadata\.\?{4}x{3000}, metadata\.y+$/);
  });

  it('omit a reasoning effort that the model does not have, and name it', async () => {
    const { status, headers } = await ask('chat-completions', PLAIN, { reasoning_effort: 'high' });
    expect([status, headers.get('x-genway-ignored')]).to.deep.equal([200, 'reasoning_effort']);
    const [sent] = await text.seen(1);
    expect(sent?.body).to.not.have.property('reasoning_effort');
  });

  it('show thinking on messages only on request, and its text only where the request does not omit it', async () => {
    const prompt = 'Think. [sim:reasoning=4]';
    for (const upstream of WIRE_FORMAT_NAMES) {
      const shown = async (fields: object): Promise<string> => {
        const { text: answer } = await ask('messages', fullVia(upstream), fields, prompt);
        const { content } = JSON.parse(answer) as { content: { type: string; thinking?: string }[] };
        const block = content.find(({ type }) => type === 'thinking' || type === 'redacted_thinking');
        return block === undefined ? 'none' : (block.thinking ?? '') === '' ? 'no text' : 'text';
      };
      expect(await shown({}), upstream).to.equal('none');
      expect(await shown({ thinking: { type: 'adaptive' } }), upstream).to.equal('text');
      expect(await shown({ max_tokens: 9000, thinking: { type: 'enabled', budget_tokens: 2000 } }), upstream).to.equal(
        'text',
      );
      if (upstream === 'messages') continue;
      expect(await shown({ thinking: { type: 'adaptive', display: 'omitted' } }), upstream).to.not.equal('text');
    }
  });

  it('show thoughts in the native format only on request', async () => {
    for (const upstream of WIRE_FORMAT_NAMES) {
      for (const stream of [false, true]) {
        const prompt = 'Think. [sim:reasoning=4]';
        const hasThoughts = async (thinkingConfig: object): Promise<boolean> => {
          const fields = { generationConfig: { thinkingConfig } };
          const { text: answer } = await ask('generate-content', fullVia(upstream), fields, prompt, stream);
          return answer.includes('"thought":true');
        };
        expect(await hasThoughts({ includeThoughts: true }), upstream).to.equal(true);
        expect(await hasThoughts({}), upstream).to.equal(false);
      }
    }
  });

  it('pass betas and their fields of messages clients on together', async () => {
    // contract 4.8.3:18
    const tools = [{ name: 'look', input_schema: SCHEMA, defer_loading: true }];
    const { path, body } = ASK.messages(fullVia('messages'), 'Hi', false);
    for (const beta of ['advanced-tool-use-2025-11-20', null]) {
      const headers: Record<string, string> = beta === null ? {} : { 'anthropic-beta': beta };
      const response = await text.post(path, { ...body, tools, thinking: { type: 'adaptive' } }, { headers });
      expect(response.status, await response.text()).to.equal(200);
      const [sent] = await text.seen(1);
      expect(sent?.headers['anthropic-beta']).to.equal(beta ?? undefined);
      expect(Object(sent?.body['tools'])[0]).to.have.property('name', 'look');
      expect('defer_loading' in Object(sent?.body['tools'])[0]).to.equal(beta !== null);
      expect(response.headers.get('x-genway-ignored')).to.equal(beta === null ? 'tools.defer_loading' : null);
    }
  });

  describe('on the responses format', () => {
    const tools = [
      { type: 'namespace', name: 'files', tools: [{ type: 'function', name: 'read', parameters: SCHEMA }] },
      { type: 'custom', name: 'apply_patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' } },
      { type: 'web_search' },
    ];

    for (const upstream of ['chat-completions', 'messages', 'generate-content'] as const) {
      it(`call the client’s own tools, and accept their results, over ${upstream}`, async () => {
        const client = new OpenAI({ apiKey: text.apiKey, baseURL: `${text.baseUrl}/v1` });
        const prompt = 'Call files__read with {"city":"Oslo"} and apply_patch with {"input":"*** Begin\\n"}';
        const events = await text.post('/v1/responses', {
          model: fullVia(upstream),
          input: prompt,
          tools,
          stream: true,
        });
        const seen = eventsOfText(await events.text()).map(({ data }) => JSON.parse(data) as Record<string, unknown>);
        expect(seen.map(({ type }) => type)).to.include('response.custom_tool_call_input.delta');
        expect(events.headers.get('x-genway-ignored')).to.equal('tools.web_search');
        const { response } = seen.at(-1) as unknown as { response: OpenAI.Responses.Response };
        const calls = response.output.filter(({ type }) => type.endsWith('_call'));
        expect(calls.map((call) => JSON.parse(JSON.stringify(call)))).to.containSubset([
          { type: 'function_call', name: 'read', namespace: 'files', arguments: '{"city":"Oslo"}' },
          { type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin\n' },
        ]);
        const results = calls.map((call) => ({
          type: `${call.type}_output`,
          call_id: 'call_id' in call ? call.call_id : '',
          output: 'done',
        }));
        const input = [{ role: 'user', content: prompt }, ...calls, ...results];
        // The SDK's types know neither namespaces nor every item.
        const body = {
          model: fullVia(upstream),
          input,
          tools,
        } as unknown as OpenAI.Responses.ResponseCreateParamsNonStreaming;
        const second = await client.responses.create(body);
        expect(second.output_text).to.contain('done');
      });
    }

    const added = {
      type: 'additional_tools',
      id: 'at_1',
      role: 'developer',
      tools: [
        {
          type: 'namespace',
          name: 'functions',
          tools: [
            { type: 'custom', name: 'exec', format: { type: 'text' } },
            { type: 'function', name: 'wait', parameters: SCHEMA, strict: false },
          ],
        },
        { type: 'web_search' },
      ],
    };
    const search = { type: 'tool_search', execution: 'client', description: 'Finds tools.', parameters: SCHEMA };
    const found = { type: 'namespace', name: 'mail', tools: [{ type: 'function', name: 'send', parameters: SCHEMA }] };
    const searched = [
      { type: 'tool_search_call', id: 'tsc_1', call_id: 'call_1', execution: 'client', arguments: { city: 'Oslo' } },
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'Oslo' } },
      { type: 'tool_search_output', call_id: 'call_1', execution: 'client', status: 'completed', tools: [found] },
      { type: 'tool_search_call', call_id: null, execution: 'server', arguments: {} },
      { type: 'tool_search_output', call_id: null, execution: 'server', tools: [found] },
    ];
    const calls = async (upstream: WireFormatName, body: object): Promise<unknown[]> => {
      const stream = await text.post('/v1/responses', { model: fullVia(upstream), ...body, stream: true });
      const seen = eventsOfText(await stream.text()).map(({ data }) => Object(JSON.parse(data)));
      const { output } = seen.at(-1).response;
      const ended = seen.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
      expect(ended).to.deep.equal(output);
      return output.filter(({ type }: { type: string }) => type.endsWith('_call'));
    };

    for (const upstream of ['chat-completions', 'messages', 'generate-content'] as const) {
      it(`offer the tools of input items, and return their calls as the client's own, over ${upstream}`, async () => {
        // contract 4.8.2:22
        const prompt = 'Call functions__exec with {"input":"text(1)"} and functions__wait with {"city":"Oslo"}';
        expect(await calls(upstream, { input: [added, { role: 'user', content: prompt }] })).to.containSubset([
          { type: 'custom_tool_call', name: 'exec', namespace: 'functions', input: 'text(1)' },
          { type: 'function_call', name: 'wait', namespace: 'functions', arguments: '{"city":"Oslo"}' },
        ]);
      });

      it(`let the client search for tools, and offer what the search found, over ${upstream}`, async () => {
        // contract 4.8.2:23
        const asks = (content: string) => ({ role: 'user', content });
        const wanted = { input: [asks('Call tool_search with {"city":"Oslo"}')], tools: [search] };
        expect(await calls(upstream, wanted)).to.containSubset([
          { type: 'tool_search_call', execution: 'client', status: 'completed', arguments: { city: 'Oslo' } },
        ]);
        const next = {
          input: [asks('Hi'), ...searched, asks('Call mail__send with {"city":"Oslo"}')],
          tools: [search],
        };
        expect(await calls(upstream, next)).to.containSubset([
          { type: 'function_call', name: 'send', namespace: 'mail', arguments: '{"city":"Oslo"}' },
        ]);
      });
    }

    it('forward items with tools to the vendor’s own upstream, without the vendor’s built-in tools', async () => {
      // contract 4.8.2:25
      const input = [added, ...searched, { role: 'user', content: 'Hi' }];
      const { status } = await ask('responses', fullVia('responses'), { input, tools: [search] });
      const [sent] = await text.seen(1);
      expect(status).to.equal(200);
      const { id: _, ...kept } = added;
      expect(sent?.body['tools']).to.deep.equal([search]);
      expect(sent?.body['input']).to.deep.equal([
        { ...kept, tools: added.tools.slice(0, 1) },
        ...searched.map(({ id: _id, ...item }) => item),
        { role: 'user', content: 'Hi' },
      ]);
    });

    it('forward the tools unchanged to the vendor’s own upstream, without the vendor’s built-in tools', async () => {
      const { status } = await ask('responses', fullVia('responses'), { tools: [tools[0], tools[2]] });
      const [sent] = await text.seen(1);
      expect(status).to.equal(200);
      expect(sent?.body['tools']).to.deep.equal([tools[0]]);
    });

    it('are not those that only the vendor runs: the refusal says what to do', async () => {
      // contract 4.8:26
      for (const type of ['code_interpreter', 'file_search', 'mcp']) {
        const refused = await ask('responses', fullVia('responses'), { tools: [{ type }] });
        expect(refused.status).to.equal(400);
        expect(refused.text).to.include(type).and.include('send a tool of the type');
      }
    });

    it('restrict the tools to the allowed ones', async () => {
      const look = { type: 'function', name: 'look', parameters: SCHEMA };
      const tool_choice = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'look' }] };
      await ask('responses', fullVia('messages'), { tools: [...tools, look], tool_choice });
      const [sent] = await text.seen(1);
      expect(sent?.body).to.containSubset({ tools: [{ name: 'look' }], tool_choice: { type: 'any' } });
      expect(sent?.body['tools']).to.have.lengthOf(1);
    });
  });
});

describe('models with the compatibility of the specification', () => {
  const text = useTestText();

  it('accept settings that request nothing on the responses format, whatever the family', async () => {
    for (const fields of [
      { reasoning: {} },
      { text: {} },
      { text: { format: { type: 'text' } } },
      { reasoning: null },
    ]) {
      const response = await text.post('/v1/responses', { model: 'textc-M3', input: 'Hi', ...fields });
      expect(response.status, await response.text()).to.equal(200);
    }
    const refused = await text.post('/v1/responses', { model: 'textc-M3', input: 'Hi', reasoning: { effort: 'low' } });
    expect(refused.status).to.equal(400);
  });

  it('accept the tools of agents in items of the input, whatever their kind', async () => {
    // contract 4.8.2:22
    const tools = [{ type: 'namespace', name: 'functions', tools: [{ type: 'custom', name: 'exec' }] }];
    for (const model of ['textg-6-luna', 'textc-M3', 'texti-k3']) {
      const input = [
        { type: 'additional_tools', tools },
        { role: 'user', content: 'Hi' },
      ];
      const response = await text.post('/v1/responses', { model, input });
      expect(response.status, await response.text()).to.equal(200);
    }
  });

  it('name the fields that the contract accepts without effect', async () => {
    const { path, body } = ASK['generate-content']('texth-3.8-flash', 'Hi', false);
    const response = await text.post(path, {
      ...body,
      ...BY_SCHEMA['generate-content'],
      toolConfig: { functionCallingConfig: { mode: 'ANY' } },
    });
    expect(response.status).to.equal(200);
    expect(response.headers.get('x-genway-ignored')).to.equal(
      'toolConfig, generationConfig.responseMimeType, generationConfig.responseJsonSchema',
    );
  });

  it('accept the effort minimal on chat-completions as the lowest effort of the model', async () => {
    const { path, body } = ASK['chat-completions']('textg-6.1-sol', 'Hi', false);
    const response = await text.post(path, { ...body, reasoning_effort: 'minimal' });
    const [sent] = await text.seen(1);
    expect([response.status, sent?.body['reasoning']]).to.deep.equal([200, { effort: 'low', summary: 'auto' }]);
  });

  it('keep answering through upstreams of their own format', async () => {
    const response = await text.ask('messages', modelVia('messages'), 'Hi');
    expect(response.status).to.equal(200);
  });
});
