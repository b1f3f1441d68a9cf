import { expect } from 'chai';
import { mediaBelowCost, textBelowCost } from '../../domain/below-cost.ts';
import { parseUsd } from '../../domain/money.ts';
import { completeRates, type MediaPricing, parseFactor, type TextPricing } from '../../domain/pricing.ts';

const text = (input: bigint, changes: Partial<TextPricing> = {}): TextPricing => ({
  rates: completeRates({ input, cachedInput: 0n, cacheWrite: 0n, cacheWrite1h: 0n, output: 100n }),
  tiers: [],
  peaks: [],
  ...changes,
});
const tier = { thresholdTokens: 200_000, applies: 'over', factor: parseFactor('2') } as const;
const peak = {
  utcOffsetMinutes: 480,
  weekdays: [1],
  windows: [{ fromMinute: 540, toMinute: 720 }],
  factor: parseFactor('2'),
} as const;

describe('prices of text below cost', () => {
  for (const [what, pricing, cost, found] of [
    ['are none at cost', text(100n), text(100n), []],
    ['are those of a kind of tokens', text(99n), text(100n), ['input']],
    [
      'are those of long prompts, where only the upstream has a tier',
      text(150n),
      text(100n, { tiers: [tier] }),
      ['input', 'output'],
    ],
    ['are none where both have the tier', text(150n, { tiers: [tier] }), text(100n, { tiers: [tier] }), []],
    [
      'are those of its peak hours, where only the upstream has some',
      text(150n),
      text(100n, { peaks: [peak] }),
      ['input', 'output'],
    ],
    [
      'are those outside peak hours, where only the catalogue has some',
      text(60n, { peaks: [peak] }),
      text(100n),
      ['input'],
    ],
  ] as const) {
    it(what, () => {
      expect(textBelowCost(pricing, cost).map((one) => one.what)).to.deep.equal(found);
    });
  }

  it('prices of text are compared by 1M tokens', () => {
    expect(textBelowCost(text(99n), text(100n))).to.deep.equal([
      { what: 'input', seconds: null, price: 99_000_000n, cost: 100_000_000n },
    ]);
  });
});

describe('prices of media below cost', () => {
  const pricing: MediaPricing = {
    per: 'second',
    byResolution: { '720p': parseUsd('0.10'), '1080p': parseUsd('0.20') },
    modifiers: [{ when: { sound: true }, addition: parseUsd('0.05').toString(), factor: '1' }],
  };
  const sold = { pricing, durations: [5, 10], isVideo: true, defaults: { sound: false } };
  const usd = (amount: string) => parseUsd(amount).toString();

  for (const [what, cost, found] of [
    ['are none at cost', { per: 'second', prices: { '720p': usd('0.1'), '1080p': usd('0.2') } }, []],
    ['are those of a resolution', { per: 'second', prices: { '*': usd('0.15') } }, ['720p']],
    [
      'are those of the shortest, where a render has one cost',
      { per: 'render', prices: { '*': usd('0.6') } },
      ['720p'],
    ],
    [
      'are those with a value of a parameter',
      {
        per: 'second',
        prices: { '*': usd('0.1') },
        modifiers: [{ when: { sound: true }, addition: usd('0.06'), factor: '1' }],
      },
      ['720p'],
    ],
    [
      'are not known where the upstream reports its charge in units',
      { per: 'unit', prices: { credits: usd('9') } },
      [],
    ],
  ] as const) {
    it(what, () => {
      expect(mediaBelowCost(sold, cost).map((one) => one.what)).to.deep.equal(found);
    });
  }
});
