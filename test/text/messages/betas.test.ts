import { expect } from 'chai';
import { WIRE_FORMAT_NAMES, type WireFormatName } from '../../../domain/wire-format-name.ts';
import { planConversion } from '../../../text/convert.ts';
import { messages } from '../../../text/messages/index.ts';
import { FORMATS } from '../../../text/formats.ts';
import { planForwarding } from '../../../text/forward.ts';
import { Meter } from '../../../text/meter.ts';
import { findFieldsUnusedAfterConversion } from '../../../text/unused-fields.ts';

const HEADER = 'context-management-2025-06-27, advanced-tool-use-2025-11-20,mcp-client-2025-11-20';
const SCHEMA = { type: 'object', properties: {} };

const BODY = {
  model: 'm',
  max_tokens: 9,
  system: [{ type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral', scope: 'global' } }],
  tools: [
    { name: 'find', input_schema: SCHEMA },
    {
      name: 'look',
      input_schema: SCHEMA,
      defer_loading: true,
      input_examples: [{}],
      eager_input_streaming: true,
      allowed_callers: ['direct'],
      cache_control: { type: 'ephemeral', scope: 'global' },
    },
  ],
  messages: [
    { role: 'user', content: 'Look.' },
    {
      role: 'assistant',
      content: [
        { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
        { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
        { type: 'tool_use', id: 'toolu_1', name: 'find', input: {} },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'tool_reference', tool_name: 'look' }] },
      ],
    },
    { role: 'assistant', content: [{ type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'x', input: {} }] },
    { role: 'user', content: 'Go on.' },
  ],
};

const NEEDS_BETA =
  /defer_loading|input_examples|eager_input|allowed_callers|"scope"|tool_reference|server_tool|mcp_tool/;

function forwarded(compatibility: 'full' | 'specification', betas?: string) {
  const request = messages.client.parseRequest(BODY, { compatibility, betas });
  const options = { model: 'm', apiKey: 'secret', compatibility };
  const { upstreamRequest } = planForwarding(messages.upstream, BODY, request, options, new Meter());
  return { ...upstreamRequest, unused: request.unused };
}

describe('the betas of a messages client', () => {
  it('reach a messages upstream with their fields, except those that run or store something', () => {
    // contract 4.8.3:18
    const { headers, body, unused } = forwarded('full', HEADER);
    expect(headers['anthropic-beta']).to.equal('context-management-2025-06-27,advanced-tool-use-2025-11-20');
    expect(body).to.deep.include({ system: BODY.system, tools: BODY.tools, messages: BODY.messages });
    expect(unused?.always ?? []).to.deep.equal([]);
  });

  const without: readonly (readonly [string, 'full' | 'specification', string | undefined])[] = [
    ['without the header', 'full', undefined],
    ['with another header', 'full', 'context-1m-2025-08-07'],
    ['with the compatibility of the specification', 'specification', HEADER],
  ];
  for (const [what, compatibility, betas] of without) {
    it(`reach no upstream ${what}, and neither do their fields, which are named`, () => {
      // contract 4.8.3:18
      const { headers, body, unused } = forwarded(compatibility, betas);
      expect(headers).to.not.have.property('anthropic-beta');
      expect(JSON.stringify(body)).to.contain('look can be called');
      expect(JSON.stringify(body)).to.not.match(NEEDS_BETA);
      expect(body['messages']).to.have.length(4);
      expect(unused?.always).to.include.members(['tools.defer_loading', 'tools.allowed_callers']);
    });
  }

  function converted(upstream: WireFormatName, betas?: string) {
    const request = messages.client.parseRequest(BODY, { compatibility: 'full', betas });
    const options = { model: 'upstream', apiKey: 'secret', compatibility: 'full' } as const;
    const { upstreamRequest } = planConversion(messages, FORMATS[upstream], request, options, new Meter());
    const unused = findFieldsUnusedAfterConversion(messages, FORMATS[upstream], request);
    return { ...upstreamRequest, unused };
  }

  it('reach a messages upstream with their fields in a converted request, as for another name of the model', () => {
    // contract 4.8.3:18
    const { headers, body, unused } = converted('messages', HEADER);
    expect(headers['anthropic-beta']).to.equal('context-management-2025-06-27,advanced-tool-use-2025-11-20');
    expect(JSON.stringify(body))
      .to.contain('{"type":"tool_reference","tool_name":"look"}')
      .and.not.contain('can be called');
    const [, tool] = Array.isArray(body['tools']) ? body['tools'] : [];
    expect(tool).to.deep.include({ defer_loading: true, input_examples: [{}], allowed_callers: ['direct'] });
    expect(unused.filter((name) => name.startsWith('tools.'))).to.deep.equal([]);
  });

  for (const upstream of WIRE_FORMAT_NAMES) {
    const betas = upstream === 'messages' ? undefined : HEADER;
    it(`are left out of a converted request to ${upstream} ${betas === undefined ? 'without the header' : 'with it'}`, () => {
      const { headers, body, unused } = converted(upstream, betas);
      expect(headers).to.not.have.property('anthropic-beta');
      expect(JSON.stringify(body)).to.contain('look can be called');
      expect(JSON.stringify(body)).to.not.match(NEEDS_BETA);
      expect(unused).to.include('tools.defer_loading');
    });
  }
});
