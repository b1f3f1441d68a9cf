import { expect } from 'chai';
import type { TextRequest } from '../../../text/canonical.ts';
import { renderThinking } from '../../../text/generate-content/thinking.ts';
import { textRequest } from '../support.ts';

type Wish = Pick<TextRequest, 'reasoningEffort' | 'reasoningBudget'>;

const HIGH: Wish = { reasoningEffort: 'high' };
/** The wishes as clients state them: an effort comes with each budget. */
const OFF: Wish = { reasoningEffort: 'low', reasoningBudget: 0 };
const LITTLE: Wish = { reasoningEffort: 'low', reasoningBudget: 100 };
const MUCH: Wish = { reasoningEffort: 'high', reasoningBudget: 60_000 };

function thinkingOf(model: string, wish: Wish) {
  return renderThinking(textRequest(wish), { model, apiKey: 'secret', reasons: true });
}

const level = (thinkingLevel: string) => ({ includeThoughts: true, thinkingLevel });
const budget = (thinkingBudget: number) => ({ includeThoughts: true, thinkingBudget });

/** For each model what it gets for thinking at a high effort, none, a little and much. */
const CASES: Readonly<Record<string, readonly object[]>> = {
  'gemini-2.5-pro': [budget(32_768), budget(128), budget(128), budget(32_768)],
  'gemini-2.5-flash': [budget(24_576), budget(0), budget(100), budget(24_576)],
  'gemini-2.5-flash-lite': [budget(24_576), budget(0), budget(512), budget(24_576)],
  'gemini-3.1-pro-preview': [level('high'), level('low'), budget(128), budget(32_768)],
  'another-model': [level('high'), budget(0), budget(100), budget(60_000)],
};

describe('a Gemini model', () => {
  for (const [model, [high, off, little, much]] of Object.entries(CASES)) {
    it(`gets an effort and budgets as it accepts them, as ${model} does`, () => {
      // contract 4.8:56 4.8:61
      expect(thinkingOf(model, HIGH)).to.deep.equal(high);
      expect(thinkingOf(model, OFF)).to.deep.equal(off);
      expect(thinkingOf(model, LITTLE)).to.deep.equal(little);
      expect(thinkingOf(model, MUCH)).to.deep.equal(much);
      expect(thinkingOf(model, {})).to.deep.equal({ includeThoughts: true });
    });
  }

  it('is known by the name of the vendor, where the upstream has another', () => {
    const options = { model: 'ours', baseModel: 'gemini-2.5-pro', apiKey: 'secret', reasons: true };
    expect(renderThinking(textRequest(HIGH), options)).to.deep.equal(budget(32_768));
  });

  it('gets no settings of thinking if it does not think', () => {
    const options = { model: 'gemini-2.0-flash', apiKey: 'secret', reasons: false };
    expect(renderThinking(textRequest({}), options)).to.equal(undefined);
  });
});
