import { expect } from 'chai';
import { listOf, objectOf } from '../../domain/json.ts';
import { type StreamEvent, type Turn, UNREPORTED_USAGE } from '../../text/canonical.ts';
import { chatCompletions } from '../../text/chat-completions/index.ts';
import { planConversion } from '../../text/convert.ts';
import { FORMATS } from '../../text/formats.ts';
import { messages } from '../../text/messages/index.ts';
import { Meter } from '../../text/meter.ts';
import { runStage } from '../../text/stage.ts';
import type { WireFormat } from '../../text/wire-format.ts';
import { fromBytes, renderContext, roundTrip, streamedTo, textRequest, textResult } from './support.ts';

const options = { model: 'upstream-model', apiKey: 'secret' };
const events: readonly StreamEvent[] = [
  { type: 'response-start', id: null, model: null },
  { type: 'text-start', id: 't' },
  { type: 'text-delta', id: 't', text: 'Hello' },
  { type: 'text-end', id: 't' },
  {
    type: 'usage',
    usage: { ...UNREPORTED_USAGE, inputTotal: 4, cacheRead: 1, outputTotal: 2 },
  },
  { type: 'finish', reason: 'stop' },
];
const bytes = new TextEncoder().encode(streamedTo(chatCompletions, events, renderContext({ includeUsage: true })));

function* inReads(size: number): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.slice(start, start + size);
}

describe('conversion', () => {
  it('returns the answer of one format in another, whole and as a stream', () => {
    // contract 4.8:36
    const { whole, streamed } = roundTrip(chatCompletions, chatCompletions, events);
    expect(whole).to.have.nested.property('choices[0].message.content', 'Hello');
    expect(streamed).to.equal(streamedTo(chatCompletions, events, renderContext({ includeUsage: true })));
  });

  it('measures the upstream’s original answer', () => {
    const meter = new Meter();
    const plan = planConversion(chatCompletions, chatCompletions, textRequest(), options, meter);
    runStage(inReads(7), fromBytes(plan.convertStream(renderContext())));
    expect(meter).to.include({ finished: true, outputLength: 5 });
    expect(meter.usage).to.include({ inputTotal: 4, cacheRead: 1, outputTotal: 2 });
  });

  it('gives a call another id than the earlier calls of the conversation have', () => {
    // contract 4.8:65
    const call = { id: 'call_0', type: 'function', function: { name: 'look', arguments: '{}' } };
    const body = {
      choices: [{ index: 0, message: { role: 'assistant', tool_calls: [call] }, finish_reason: 'tool_calls' }],
    };
    const idIn = (turns: readonly Turn[]): unknown => {
      const plan = planConversion(messages, chatCompletions, textRequest({ turns }), options, new Meter());
      return objectOf(listOf(plan.convertResult(body, renderContext())?.['content'])[0])['id'];
    };
    const parts = [{ type: 'tool-call', callId: 'call_0', name: 'look', arguments: '{}' }] as const;
    expect(idIn([])).to.equal('call_0');
    expect(idIn([{ role: 'assistant', parts }]))
      .to.be.a('string')
      .and.not.equal('call_0');
  });

  it('cuts at stop sequences itself if the client must receive the matching one and the upstream does not report it', () => {
    const request = textRequest({ sampling: { stopSequences: ['END'] } });
    const telling: WireFormat = {
      ...chatCompletions,
      client: { ...chatCompletions.client, hasStopSequence: true },
    };
    const sentBy = (client: WireFormat): unknown =>
      planConversion(client, chatCompletions, request, options, new Meter()).upstreamRequest.body['stop'];
    expect(sentBy(chatCompletions)).to.deep.equal(['END']);
    expect(sentBy(telling)).to.equal(undefined);
  });

  it('sends as many stop sequences as the upstream accepts, and cuts at the others', () => {
    const stopSequences = ['1', '2', '3', '4', '5', 'END'];
    for (const [upstream, field, most] of [
      ['chat-completions', 'stop', 4],
      ['generate-content', 'generationConfig.stopSequences', 5],
      ['messages', 'stop_sequences', 6],
    ] as const) {
      const meter = new Meter();
      const plan = planConversion(
        chatCompletions,
        FORMATS[upstream],
        textRequest({ sampling: { stopSequences } }),
        options,
        meter,
      );
      expect(plan.upstreamRequest.body).to.have.deep.nested.property(field, stopSequences.slice(0, most));
      if (most === 6) continue;
      const whole = FORMATS[upstream].client.renderResult(
        textResult({ parts: [{ type: 'text', text: 'onENDtwo' }] }),
        renderContext(),
      );
      expect(plan.convertResult(whole, renderContext())).to.have.nested.property('choices[0].message.content', 'on');
    }
  });
});
