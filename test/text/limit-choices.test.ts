import { expect } from 'chai';
import * as fc from 'fast-check';
import { planConversion } from '../../text/convert.ts';
import { WIRE_FORMAT_NAMES } from '../../domain/wire-format-name.ts';
import { FORMATS } from '../../text/formats.ts';
import { limitChoices } from '../../text/limit-choices.ts';
import { Meter } from '../../text/meter.ts';
import { collect } from '../../text/collect.ts';
import { encodeEvent } from '../../text/sse.ts';
import { runStage } from '../../text/stage.ts';
import { resultOf } from './answers.ts';
import * as arbitrary from './arbitraries.ts';
import { fromBytes, renderContext } from './support.ts';

const { 'chat-completions': chatCompletions, 'generate-content': generateContent } = FORMATS;
const options = { model: 'upstream', apiKey: 'secret' };

describe('unrequested choices', () => {
  it('are removed, and requested ones stay unchanged', () => {
    fc.assert(
      fc.property(arbitrary.events(4), fc.integer({ min: 1, max: 4 }), (events, count) => {
        const { choices } = collect(events);
        fc.pre(choices.every(({ parts }) => parts.length > 0));
        expect(resultOf(runStage(events, limitChoices(count))).choices).to.deep.equal(choices.slice(0, count));
      }),
    );
  });

  it('do not change the index of the requested one', () => {
    const events = [
      { type: 'text-start', id: 'b', choice: 1 },
      { type: 'text-delta', id: 'b', text: 'Hello' },
      { type: 'text-start', id: 'a', choice: 0 },
      { type: 'text-delta', id: 'a', text: 'Hi' },
      { type: 'finish', choice: 1, reason: 'stop' },
      { type: 'finish', choice: 0, reason: 'stop' },
    ] as const;
    expect(resultOf(runStage(events, limitChoices(1))).choices).to.deep.equal([
      { parts: [{ type: 'text', text: 'Hello' }], finish: { reason: 'stop' } },
    ]);
    expect(resultOf(runStage(events, limitChoices(2))).choices).to.have.length(2);
  });

  const upstreams = [
    [
      chatCompletions,
      (text: string, index?: number) => ({ index, message: { content: text }, finish_reason: 'stop' }),
      (items: readonly unknown[]) => ({ choices: items }),
    ],
    [
      generateContent,
      (text: string, index?: number) => ({ index, content: { parts: [{ text }] }, finishReason: 'STOP' }),
      (items: readonly unknown[]) => ({ candidates: items }),
    ],
  ] as const;
  for (const [upstream, itemOf, bodyOf] of upstreams) {
    for (const client of WIRE_FORMAT_NAMES.map((name) => FORMATS[name])) {
      for (const hasIndexes of [true, false]) {
        const how = hasIndexes ? 'with' : 'without';
        it(`do not mix into one answer from ${upstream.name} to ${client.name} ${how} indexes`, () => {
          const items = ['First', 'Second'].map((text, index) => itemOf(text, hasIndexes ? index : undefined));
          const context = renderContext();
          const plan = () => planConversion(client, upstream, context.request, options, new Meter());
          const whole = JSON.stringify(plan().convertResult(bodyOf(items), context));
          const frame = encodeEvent(JSON.stringify(bodyOf(items)).replaceAll('"message"', '"delta"'));
          const streamed = runStage([Buffer.from(frame)], fromBytes(plan().convertStream(context))).join('');
          for (const answer of [whole, streamed]) expect(answer).to.contain('First').and.not.contain('Second');
        });
      }
    }
  }
});
