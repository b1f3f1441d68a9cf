import { expect } from 'chai';
import * as fc from 'fast-check';
import { type StreamEvent, UNREPORTED_USAGE } from '../../text/canonical.ts';
import { collect } from '../../text/collect.ts';
import { runStage } from '../../text/stage.ts';
import { cutAtStopSequences } from '../../text/stop-sequences.ts';
import * as arbitrary from './arbitraries.ts';

function answer(deltas: readonly string[], after: readonly StreamEvent[] = []): StreamEvent[] {
  return [
    { type: 'response-start', id: null, model: null },
    { type: 'text-start', id: 't' },
    ...deltas.map((text) => ({ type: 'text-delta', id: 't', text }) as const),
    { type: 'text-end', id: 't' },
    ...after,
    {
      type: 'usage',
      usage: { ...UNREPORTED_USAGE, inputTotal: 1, outputTotal: 2 },
    },
    { type: 'finish', reason: 'stop' },
  ];
}

function cut(
  deltas: readonly string[],
  sequences: readonly string[],
): { text: string; stopSequence: string | undefined } {
  const [choice] = collect(runStage(answer(deltas), cutAtStopSequences(sequences))).choices;
  const [part] = choice?.parts ?? [];
  return { text: part?.type === 'text' ? part.text : '', stopSequence: choice?.finish.stopSequence };
}

/** The rule, one character at a time. */
function cutSlowly(text: string, sequences: readonly string[]): { text: string; stopSequence: string | undefined } {
  const longestFirst = [...sequences].sort((left, right) => right.length - left.length);
  for (let end = 1; end <= text.length; end += 1) {
    const hit = longestFirst.find((sequence) => text.slice(0, end).endsWith(sequence));
    if (hit !== undefined) return { text: text.slice(0, end - hit.length), stopSequence: hit };
  }
  return { text, stopSequence: undefined };
}

const letters = (minLength: number, maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength, maxLength });

describe('stop sequences', () => {
  it('cut where a sequence is complete first, for any split into deltas', () => {
    fc.assert(
      fc.property(
        fc.array(letters(1, 5), { maxLength: 8 }),
        fc.array(letters(1, 4), { maxLength: 3 }),
        (deltas, sequences) => {
          expect(cut(deltas, sequences)).to.deep.equal(cutSlowly(deltas.join(''), sequences));
        },
      ),
    );
  });

  it('leave an answer without them unchanged', () => {
    fc.assert(
      fc.property(arbitrary.events(2), (events) => {
        expect(collect(runStage(events, cutAtStopSequences(['\u0000never'])))).to.deep.equal(collect(events));
      }),
    );
  });

  it('drop everything after the cut but the usage, and report the matching sequence', () => {
    const after: StreamEvent[] = [
      { type: 'tool-input-start', id: 'c', callId: 'c', name: 'look' },
      { type: 'tool-input-delta', id: 'c', text: '{}' },
      { type: 'tool-input-end', id: 'c' },
    ];
    const result = collect(runStage(answer(['One EN', 'D two'], after), cutAtStopSequences(['END'])));
    expect(result.choices).to.deep.equal([
      { parts: [{ type: 'text', text: 'One ' }], finish: { reason: 'stop-sequence', stopSequence: 'END' } },
    ]);
    expect(result.usage.outputTotal).to.equal(2);
  });

  it('leave no empty text when the answer starts with one', () => {
    expect(collect(runStage(answer(['END two']), cutAtStopSequences(['END']))).choices[0]?.parts).to.deep.equal([]);
  });
});
