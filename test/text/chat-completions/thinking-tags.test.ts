import { expect } from 'chai';
import * as fc from 'fast-check';
import { TaggedText } from '../../../text/chat-completions/thinking-tags.ts';

/** The answer of these pieces. */
function told(pieces: readonly string[]): { reasoning: string; text: string } {
  const tagged = new TaggedText();
  const answer = { reasoning: '', text: '' };
  for (const { type, text } of [...pieces.flatMap((piece) => tagged.push(piece)), ...tagged.end()])
    answer[type] += text;
  return answer;
}

const CASES: readonly [string, string, string][] = [
  ['<think>Hm</think>Hi', 'Hm', 'Hi'],
  ['\n<think>\nHm\n</think>\n\nHi </think>', '\nHm\n', 'Hi </think>'],
  ['<think>cut off by the lim', 'cut off by the lim', ''],
  ['<think></think>', '', ''],
  ['<think>a < b </thin</think> ', 'a < b </thin', ''],
  ['Use <think> for thoughts', '', 'Use <think> for thoughts'],
  ['<thin', '', '<thin'],
  ['<thinking>', '', '<thinking>'],
  ['  Hi', '', '  Hi'],
  ['', '', ''],
];

describe('thinking tags', () => {
  for (const [written, reasoning, text] of CASES) {
    it(`are reasoning only at the start: ${JSON.stringify(written)}`, () => {
      const cuts = fc.array(fc.nat({ max: written.length }), { maxLength: 6 });
      fc.assert(
        fc.property(cuts, (places) => {
          const ends = [0, ...places.sort((left, right) => left - right), written.length];
          const pieces = ends.slice(1).map((end, index) => written.slice(ends[index], end));
          expect(told(pieces)).to.deep.equal({ reasoning, text });
        }),
      );
    });
  }

  it('thinking tags are emitted as they arrive', () => {
    const tagged = new TaggedText();
    expect(tagged.push('<think>He')).to.deep.equal([{ type: 'reasoning', text: 'He' }]);
    expect(tagged.push('llo</')).to.deep.equal([{ type: 'reasoning', text: 'llo' }]);
    expect(tagged.push('think>Hi')).to.deep.equal([{ type: 'text', text: 'Hi' }]);
    expect(tagged.isPlain).to.equal(true);
  });
});
