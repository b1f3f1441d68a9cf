import { expect } from 'chai';
import * as fc from 'fast-check';
import type { TextPricing } from '../../domain/pricing.ts';
import { chargedUsage, holdAmounts, priceConsumption, type TextEstimate } from '../../domain/text-price.ts';
import { usageOf } from '../../domain/text-tokens.ts';

const PRICING: TextPricing = {
  rates: { input: 100n, cachedInput: 10n, cacheWrite: 125n, cacheWrite1h: 200n, output: 500n },
  tiers: [],
  peaks: [],
};

function estimateOf(settings: Partial<TextEstimate> = {}): TextEstimate {
  return {
    model: {
      pricing: PRICING,
      contextTokens: null,
      maxInputTokens: 1_000_000,
      outputTokenLimit: 1_000,
      assumedOutputTokens: 100,
    },
    startedAtMs: 0,
    estimateInputTokens: () => 400,
    maxInputTokens: 1_000,
    maxOutputTokens: 50,
    isCachedFor1h: false,
    choiceCount: 1,
    callCount: 1,
    ...settings,
  };
}

const NO_USAGE = usageOf(() => null);

describe('the price of a text request', () => {
  it('is at most the hold, whatever an upstream reports of a prompt within its bound', () => {
    const count = fc.option(fc.nat(2_000));
    const counts = fc.record({
      inputTotal: fc.option(fc.nat(1_000)),
      cacheRead: count,
      cacheWrite: count,
      cacheWrite1h: count,
      outputTotal: count,
      reasoning: count,
    });
    const reported = counts.map((some) => ({ ...NO_USAGE, ...some }));
    const calls = fc.array(reported, { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(calls, fc.boolean(), fc.constantFrom(null, 50), ([first, ...others], isCachedFor1h, bound) => {
        const callCount = others.length + 1;
        const estimate = estimateOf({ isCachedFor1h, callCount, choiceCount: callCount, maxOutputTokens: bound });
        const ofOne = { countedOutputTokens: 2_000, choiceCount: 1 };
        const { charge } = priceConsumption(estimate, bound, {
          ...ofOne,
          usage: first ?? null,
          status: 'succeeded',
          upstream: { provider: 'simulator' },
          otherCalls: others.map((usage) => ({ ...ofOne, usage, isWhole: true })),
        });
        expect(charge <= holdAmounts(estimate).maxAmount).to.equal(true);
      }),
    );
  });

  it('includes one-hour cache writes only if the request asked for them', () => {
    const usage = { ...NO_USAGE, inputTotal: 900, cacheRead: 100, cacheWrite: 600, cacheWrite1h: 700, outputTotal: 9 };
    const consumption = { usage, countedOutputTokens: 9 };
    const told = (isCachedFor1h: boolean) => chargedUsage(estimateOf({ isCachedFor1h }), 50, consumption);
    expect(told(false)).to.deep.equal({ ...usage, cacheWrite1h: 0 });
    expect(told(true)).to.deep.equal({ ...usage, cacheWrite1h: 600 });
    expect(chargedUsage(estimateOf(), 50, { ...consumption, usage: { ...usage, cacheWrite1h: null } })).to.include({
      cacheWrite: 600,
      cacheWrite1h: null,
    });
  });
});
