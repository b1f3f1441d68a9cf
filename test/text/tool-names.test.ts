/** Names of tools that a vendor refuses, for all pairs of formats. */
import { expect } from 'chai';
import * as fc from 'fast-check';
import { isObject, type JsonObject } from '../../domain/json.ts';
import { type WireFormatName, WIRE_FORMAT_NAMES } from '../../domain/wire-format-name.ts';
import type { Turn } from '../../text/canonical.ts';
import { planConversion } from '../../text/convert.ts';
import { FORMATS } from '../../text/formats.ts';
import { Meter } from '../../text/meter.ts';
import { withFittingNames } from '../../text/tool-names.ts';
import { renderContext, textRequest, textResult } from './support.ts';

const LONG = 'a'.repeat(100);
const NAMES = [
  `${LONG}1`,
  `${LONG}2`,
  'files.server:look',
  'files server look',
  '1st',
  'look',
  'Größe',
  '名'.repeat(40),
];

/** The strings in the fields of a body in which formats have names of tools. */
function namesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn);
  if (!isObject(value)) return [];
  const { name, allowedFunctionNames = [] } = value;
  return [name, allowedFunctionNames]
    .flat()
    .filter((one) => typeof one === 'string')
    .concat(Object.values(value).flatMap(namesIn));
}

function conversationWith(name: string): Turn[] {
  const callId = `call_${NAMES.indexOf(name)}`;
  return [
    { role: 'assistant', parts: [{ type: 'tool-call', callId, name, arguments: '{}' }] },
    { role: 'tool', parts: [{ type: 'tool-result', callId, name, content: [{ type: 'text', text: 'seen' }] }] },
  ];
}

function planned(client: WireFormatName, upstream: WireFormatName, chosen: string) {
  const request = textRequest({
    turns: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }, ...NAMES.flatMap(conversationWith)],
    tools: NAMES.map((name) => ({ name })),
    toolChoice: { type: 'tool', name: chosen },
  });
  const options = { model: 'upstream', apiKey: 'secret' };
  return planConversion(FORMATS[client], FORMATS[upstream], request, options, new Meter());
}

describe('names of tools', () => {
  for (const upstream of WIRE_FORMAT_NAMES) {
    const { toolNames } = FORMATS[upstream].upstream;

    it(`are those that ${upstream} accepts, one for each, in tools, calls, results and the choice`, () => {
      // contract 4.8:20
      const { body } = planned('messages', upstream, `${LONG}2`).upstreamRequest;
      const tools = new Set(namesIn(body['tools']));
      expect(tools).to.have.property('size', NAMES.length);
      for (const name of namesIn(body))
        expect(name)
          .to.match(toolNames)
          .and.to.satisfy((one: string) => tools.has(one));
      expect(tools.has('look')).to.equal(true);
      const [chosen] = namesIn(body['tool_choice'] ?? body['toolConfig']);
      expect(chosen).to.equal([...tools][1]);
    });

    for (const client of WIRE_FORMAT_NAMES) {
      it(`are the client's own again in calls from ${upstream} to ${client}`, () => {
        // contract 4.8:20
        for (const [index, name] of NAMES.entries()) {
          const conversion = planned(client, upstream, name);
          const sent = [...new Set(namesIn(conversion.upstreamRequest.body['tools']))][index] ?? '';
          const call = { type: 'tool-call', callId: 'call_a', name: sent, arguments: '{}' } as const;
          const answer = textResult({ parts: [call], finish: { reason: 'tool-calls' } });
          const body: JsonObject = FORMATS[upstream].client.renderResult(answer, renderContext());
          expect(JSON.stringify(conversion.convertResult(body, renderContext()))).to.contain(JSON.stringify(name));
        }
      });
    }
  }

  it('differ for two namespaces with the same end', () => {
    const namespaces = ['a', 'b'].map((start) => `${start}${'x'.repeat(70)}`);
    const tools = namespaces.map((name) => ({ type: 'namespace', name, tools: [{ type: 'function', name: 'look' }] }));
    const body = { model: 'm', input: 'Hi', tools };
    const request = FORMATS.responses.client.parseRequest(body, { compatibility: 'full' });
    const options = { model: 'upstream', apiKey: 'secret' };
    const conversion = planConversion(FORMATS.responses, FORMATS.messages, request, options, new Meter());
    const sent = namesIn(conversion.upstreamRequest.body['tools']);
    expect(new Set(sent)).to.have.property('size', 2);
    const call = { type: 'tool-call', callId: 'call_a', name: sent[1] ?? '', arguments: '{}' } as const;
    const answer = textResult({ parts: [call], finish: { reason: 'tool-calls' } });
    const answered = FORMATS.messages.client.renderResult(answer, renderContext());
    const { output } = conversion.convertResult(answered, renderContext({ ...request })) ?? {};
    expect(output).to.containSubset([{ type: 'function_call', name: 'look', namespace: namespaces[1] }]);
  });

  it('are those of the tools that a model means, if it adds a namespace or omits one of the client', () => {
    // contract 4.8:20
    const wait = { type: 'function', name: 'wait' };
    const tools = [
      { type: 'custom', name: 'exec' },
      { type: 'namespace', name: 'functions', tools: [wait] },
      { type: 'namespace', name: 'one', tools: [{ type: 'function', name: 'open' }] },
      { type: 'namespace', name: 'two', tools: [{ type: 'function', name: 'open' }] },
    ];
    const body = { model: 'm', input: 'Hi', tools };
    const request = FORMATS.responses.client.parseRequest(body, { compatibility: 'full' });
    const options = { model: 'upstream', apiKey: 'secret' };
    const meant: readonly (readonly [string, JsonObject])[] = [
      ['exec', { type: 'custom_tool_call', name: 'exec' }],
      ['functions__exec', { type: 'custom_tool_call', name: 'exec' }],
      ['functions.exec', { type: 'custom_tool_call', name: 'exec' }],
      ['functions__wait', { type: 'function_call', name: 'wait', namespace: 'functions' }],
      ['wait', { type: 'function_call', name: 'wait', namespace: 'functions' }],
      ['one__open', { type: 'function_call', name: 'open', namespace: 'one' }],
      ['open', { type: 'function_call', name: 'open' }],
      ['functions.unknown', { type: 'function_call', name: 'functions.unknown' }],
    ];
    for (const [name, own] of meant) {
      const call = { type: 'tool-call', callId: 'call_a', name, arguments: '{"input":"ls"}' } as const;
      const answer = textResult({ parts: [call], finish: { reason: 'tool-calls' } });
      const sent: JsonObject = FORMATS['chat-completions'].client.renderResult(answer, renderContext());
      const conversion = planConversion(FORMATS.responses, FORMATS['chat-completions'], request, options, new Meter());
      expect(conversion.convertResult(sent, renderContext({ ...request }))?.['output'], name).to.containSubset([own]);
    }
  });

  it('stay the same from one request to the next', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (name) => {
        const pattern = FORMATS.messages.upstream.toolNames;
        const sent = (...others: string[]) =>
          withFittingNames(textRequest({ tools: [name, ...others].map((one) => ({ name: one })) }), pattern).request
            .tools[0]?.name;
        expect(sent()).to.equal(sent('look', LONG)).and.to.match(pattern);
      }),
    );
  });
});
