import { expect } from 'chai';
import * as fc from 'fast-check';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { UNREPORTED_USAGE, type AnswerPart, type StreamEvent, type TextResult } from '../../text/canonical.ts';
import { collect } from '../../text/collect.ts';
import { cutAtBound } from '../../text/output-bound.ts';
import { runStage } from '../../text/stage.ts';
import { eventsOf } from './answers.ts';

const SENTENCE = 'The quick brown fox jumps over the lazy dog and runs away again.';

function cut(maxTokens: number, parts: readonly AnswerPart[]): TextResult {
  const choices = [{ parts, finish: { reason: 'stop' } as const }];
  const result = { id: null, model: null, choices, usage: UNREPORTED_USAGE };
  return collect(runStage(eventsOf(result), cutAtBound(maxTokens)));
}

describe('cutting at a bound', () => {
  for (const maxTokens of [1, 5, 13]) {
    it(`keeps ${maxTokens} tokens of a text, and reports the cut`, () => {
      const { choices } = cut(maxTokens, [{ type: 'text', text: SENTENCE }]);
      const [part] = choices[0]?.parts ?? [];
      expect(part?.type === 'text' && SENTENCE.startsWith(part.text)).to.equal(true);
      expect(part?.type === 'text' ? countTokens(part.text) : 0).to.equal(maxTokens);
      expect(choices[0]?.finish).to.deep.equal({ reason: 'length' });
    });
  }

  it('leaves an answer within the bound unchanged', () => {
    const parts = [
      { type: 'reasoning', text: 'Hm.', signature: 's' },
      { type: 'text', text: 'Hello there!' },
    ] as const;
    expect(cut(15, parts).choices).to.deep.equal([{ parts, finish: { reason: 'stop' } }]);
  });

  it('counts reasoning, and omits a tool call beyond the bound', () => {
    // contract 4.8:9
    const call = { type: 'tool-call', callId: 'a', name: 'look_up', arguments: '{"place":"Oslo"}' } as const;
    expect(cut(15, [call]).choices[0]?.parts).to.deep.equal([call]);
    const { parts, finish } = cut(15, [{ type: 'text', text: SENTENCE.slice(0, 40) }, call]).choices[0] ?? {};
    expect(parts).to.deep.equal([{ type: 'text', text: SENTENCE.slice(0, 40) }]);
    expect(finish).to.deep.equal({ reason: 'length' });
    const thought = cut(5, [
      { type: 'reasoning', text: SENTENCE },
      { type: 'text', text: 'So' },
    ]);
    expect(thought.choices[0]?.parts.map(({ type }) => type)).to.deep.equal(['reasoning']);
  });

  it('cuts at the same place for any split of the text', () => {
    const whole = cut(7, [{ type: 'text', text: SENTENCE }]).choices;
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), (size) => {
        const deltas: StreamEvent[] = [];
        for (let start = 0; start < SENTENCE.length; start += size) {
          deltas.push({ type: 'text-delta', id: 'a', text: SENTENCE.slice(start, start + size) });
        }
        const events: StreamEvent[] = [
          { type: 'response-start', id: null, model: null },
          { type: 'text-start', id: 'a' },
          ...deltas,
          { type: 'text-end', id: 'a' },
          { type: 'finish', reason: 'stop' },
        ];
        const [choice] = collect(runStage(events, cutAtBound(7))).choices;
        const [part] = choice?.parts ?? [];
        const [expected] = whole[0]?.parts ?? [];
        const length = part?.type === 'text' ? part.text.trimEnd().length : 0;
        const expectedLength = expected?.type === 'text' ? expected.text.trimEnd().length : 0;
        // A split word counts as a token before it is complete.
        expect(length).to.be.within(expectedLength - size, expectedLength + size);
        expect(choice?.finish).to.deep.equal({ reason: 'length' });
      }),
    );
  });
});
