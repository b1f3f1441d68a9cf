import { expect } from 'chai';
import type { JsonObject } from '../../../domain/json.ts';
import type { WireFormatName } from '../../../domain/wire-format-name.ts';
import { FORMATS } from '../../../text/formats.ts';
import type { UpstreamOptions } from '../../../text/wire-format.ts';

const OPTIONS: UpstreamOptions = { model: 'm', apiKey: 'secret', compatibility: 'full' };
const cache_control = { type: 'ephemeral' };

function sent(format: WireFormatName, body: object, options: Partial<UpstreamOptions> = {}): unknown {
  const request = FORMATS[format].client.parseRequest({ model: 'm', ...body }, { compatibility: 'full' });
  const built = FORMATS.messages.upstream.buildRequest(request, { ...OPTIONS, ...options });
  return JSON.parse(JSON.stringify(built.body));
}

describe('the prompt cache of a messages upstream', () => {
  const text = { type: 'text', text: 'A long prompt', cache_control };

  it('gets the marks of a messages client in every place', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' }, cache_control };
    const call = { type: 'tool_use', id: 'call_1', name: 'look', input: {}, cache_control };
    const result = { type: 'tool_result', tool_use_id: 'call_1', content: 'rain', cache_control };
    const messages = [
      { role: 'user', content: [text, image] },
      { role: 'assistant', content: [call] },
      { role: 'user', content: [result] },
    ];
    expect(sent('messages', { max_tokens: 9, messages })).to.deep.include({ messages });
    const tools = [{ name: 'look', input_schema: { type: 'object' }, cache_control }];
    const start = { max_tokens: 9, system: [{ type: 'text', text: 'Be kind.' }, text], tools };
    const { system } = start;
    expect(sent('messages', { ...start, messages: messages.slice(0, 1) })).to.deep.include({ system, tools });
  });

  it('gets the last four marks, because vendors refuse more', () => {
    // contract 4.8:23
    const plain = { type: 'text', text: 'A long prompt' };
    const tools = [{ name: 'look', input_schema: { type: 'object' }, cache_control }];
    const content = [text, text, text, text];
    const body = { max_tokens: 9, system: [text], tools, messages: [{ role: 'user', content }] };
    expect(sent('messages', body)).to.deep.include({
      system: [plain],
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
      messages: [{ role: 'user', content }],
    });
    expect(sent('messages', { ...body, cache_control })).to.deep.include({
      messages: [{ role: 'user', content: [plain, ...content.slice(1)] }],
    });
  });

  it('gets the marks of the parts and tools of a chat-completions client', () => {
    const body = {
      tools: [{ type: 'function', function: { name: 'look' }, cache_control }],
      messages: [
        { role: 'system', content: [text] },
        { role: 'user', content: [text] },
      ],
    };
    expect(sent('chat-completions', body)).to.deep.include({
      tools: [{ name: 'look', input_schema: { type: 'object' }, cache_control }],
      system: [text],
      messages: [{ role: 'user', content: [text] }],
    });
  });

  it('gets marks at the system text, the tools and the last message over a route with auto_cache', () => {
    const look = { name: 'look', parameters: { type: 'object' } };
    const body = {
      tools: [{ type: 'function', function: look }],
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'First' },
        { role: 'assistant', content: 'Yes' },
        { role: 'user', content: 'Second' },
      ],
    };
    expect(sent('chat-completions', body, { autoCache: true })).to.deep.include({
      system: [{ type: 'text', text: 'Be kind.', cache_control }],
      tools: [{ name: 'look', input_schema: { type: 'object' }, cache_control }],
      messages: [
        { role: 'user', content: 'First' },
        { role: 'assistant', content: 'Yes' },
        { role: 'user', content: [{ type: 'text', text: 'Second', cache_control }] },
      ],
    });
  });

  it('gets the same marks in the forwarded body of a messages client', () => {
    const tools = ['a', 'b'].map((name) => ({ name, input_schema: { type: 'object' } }));
    const body = {
      model: 'm',
      max_tokens: 9,
      system: 'Be kind.',
      tools,
      messages: [
        { role: 'user', content: 'First' },
        { role: 'assistant', content: 'Yes' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'A' },
            { type: 'text', text: 'B' },
          ],
        },
      ],
    };
    const forwarded = (fields: object): JsonObject => {
      const own = { ...body, ...fields };
      const request = FORMATS.messages.client.parseRequest(own, { compatibility: 'full' });
      return FORMATS.messages.upstream.forwardRequest(own, request, { ...OPTIONS, autoCache: true }).body;
    };
    expect(forwarded({})).to.deep.equal({
      ...body,
      system: [{ type: 'text', text: 'Be kind.', cache_control }],
      tools: [tools[0], { ...tools[1], cache_control }],
      messages: [
        ...body.messages.slice(0, 2),
        {
          role: 'user',
          content: [
            { type: 'text', text: 'A' },
            { type: 'text', text: 'B', cache_control },
          ],
        },
      ],
    });
    expect(forwarded({ cache_control })).to.deep.equal({ ...body, cache_control });
    expect(forwarded({ system: [text] })).to.deep.equal({ ...body, system: [text] });
  });

  it('gets the lifetime of a mark as sent by the client', () => {
    for (const ttl of ['5m', '1h']) {
      const marked = { ...text, cache_control: { ...cache_control, ttl } };
      const tool = { name: 'look', input_schema: { type: 'object' }, cache_control: marked.cache_control };
      const messages = [{ role: 'user', content: [marked] }];
      const own = { max_tokens: 9, system: [marked], tools: [tool], messages, cache_control: marked.cache_control };
      expect(sent('messages', own)).to.deep.include(own);
      expect(sent('chat-completions', { messages })).to.deep.include({ messages });
    }
  });

  it('gets the mark of a search result, or that inside it', () => {
    const found = { type: 'search_result', source: 'https://a.example', title: 'A', content: [text] };
    for (const block of [found, { ...found, content: [{ type: 'text', text: 'A' }], cache_control }]) {
      const messages = [{ role: 'user', content: [block] }];
      expect(JSON.stringify(sent('messages', { max_tokens: 9, messages })).match(/ephemeral/g)).to.have.lengthOf(1);
    }
  });

  it('gets the marks of pictures and files of a chat-completions client', () => {
    const png = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' }, cache_control };
    const pdf = { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA' }, cache_control };
    const body = { messages: [{ role: 'user', content: [png, pdf] }] };
    expect(JSON.stringify(sent('chat-completions', body)).match(/ephemeral/g)).to.have.lengthOf(2);
  });

  it('gets no unknown lifetime: full compatibility refuses it by its path, other models use the usual one', () => {
    const marked = { ...text, cache_control: { ...cache_control, ttl: '2h' } };
    const messages = [{ role: 'user', content: [marked] }];
    for (const [format, fields, path] of [
      ['chat-completions', { messages }, 'messages[0].content[0].cache_control.ttl'],
      ['messages', { messages }, 'messages[0].content[0].cache_control.ttl'],
      ['messages', { system: [marked] }, 'system[0].cache_control.ttl'],
      ['messages', { tools: [{ name: 'a', cache_control: marked.cache_control }] }, 'tools[0].cache_control.ttl'],
      ['messages', { cache_control: marked.cache_control }, 'cache_control.ttl'],
    ] as const) {
      const body = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }], ...fields };
      const { client } = FORMATS[format];
      expect(() => client.parseRequest(body, { compatibility: 'full' })).to.throw(`"${path}" must be one of: [5m 1h]`);
      const { body: usual } = FORMATS.messages.upstream.buildRequest(client.parseRequest(body, {}), { ...OPTIONS });
      expect(JSON.stringify(usual)).to.not.include('ttl');
    }
  });

  it('gets no marks of Genway beside those of a client', () => {
    const body = {
      messages: [
        { role: 'user', content: [text] },
        { role: 'user', content: 'Second' },
      ],
    };
    expect(JSON.stringify(sent('chat-completions', body, { autoCache: true })).match(/ephemeral/g)).to.have.lengthOf(1);
  });
});
