import { expect } from 'chai';
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

describe('the cache of a messages upstream', () => {
  const text = { type: 'text', text: 'A long prompt', cache_control };

  it('gets the marks of a messages client, wherever they stand', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' }, cache_control };
    const call = { type: 'tool_use', id: 'call_1', name: 'look', input: {}, cache_control };
    const result = { type: 'tool_result', tool_use_id: 'call_1', content: 'rain', cache_control };
    const tool = { name: 'look', input_schema: { type: 'object' }, cache_control };
    const body = {
      max_tokens: 9,
      system: [{ type: 'text', text: 'Be kind.' }, text],
      tools: [tool],
      messages: [
        { role: 'user', content: [text, image] },
        { role: 'assistant', content: [call] },
        { role: 'user', content: [result] },
      ],
    };
    expect(sent('messages', body)).to.deep.include({
      system: body.system,
      tools: body.tools,
      messages: body.messages,
    });
  });

  it('gets the marks of the parts of a chat-completions client', () => {
    const body = {
      messages: [
        { role: 'system', content: [text] },
        { role: 'user', content: [text] },
      ],
    };
    expect(sent('chat-completions', body)).to.deep.include({
      system: [text],
      messages: [{ role: 'user', content: [text] }],
    });
  });

  it('gets marks at the system text, the tools and the last turn over a route with auto_cache', () => {
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

  it('gets no marks of ours beside those of a client', () => {
    const body = {
      messages: [
        { role: 'user', content: [text] },
        { role: 'user', content: 'Second' },
      ],
    };
    expect(JSON.stringify(sent('chat-completions', body, { autoCache: true })).match(/ephemeral/g)).to.have.lengthOf(1);
  });
});
