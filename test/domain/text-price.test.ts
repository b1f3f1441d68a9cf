import { expect } from 'chai';
import * as fc from 'fast-check';
import type { TextPricing } from '../../domain/pricing.ts';
import { chargedUsage, holdAmounts, priceConsumption, type TextEstimate } from '../../domain/text-price.ts';
import { usageOf } from '../../domain/text-tokens.ts';
import { completeRates } from '../../domain/pricing.ts';

const PRICING: TextPricing = {
  rates: {
    ...completeRates({ input: 100n, cachedInput: 10n, cacheWrite: 125n, cacheWrite1h: 200n, output: 500n }),
    audioInput: 800n,
    cachedAudioInput: 20n,
    audioOutput: 1_600n,
  },
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
    hasAudioInput: false,
    hasAudioOutput: false,
    characters: 0,
    audioSeconds: 0,
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
      audioInput: count,
      audioCacheRead: count,
      audioOutput: count,
    });
    const mayHave = fc.record({
      isCachedFor1h: fc.boolean(),
      hasAudioInput: fc.boolean(),
      hasAudioOutput: fc.boolean(),
    });
    const reported = counts.map((some) => ({ ...NO_USAGE, ...some }));
    const calls = fc.array(reported, { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(
        calls,
        mayHave,
        fc.constantFrom(null, 50),
        fc.nat(2_000),
        ([first, ...others], some, bound, audio) => {
          const callCount = others.length + 1;
          const estimateAudioInputTokens = () => audio;
          const own = { estimateAudioInputTokens, callCount, choiceCount: callCount, maxOutputTokens: bound };
          const estimate = estimateOf({ ...some, ...own });
          const ofOne = { countedOutputTokens: 2_000, countedAudioTokens: audio, choiceCount: 1 };
          const { charge } = priceConsumption(estimate, bound, {
            ...ofOne,
            usage: first ?? null,
            status: 'succeeded',
            upstream: { provider: 'simulator' },
            otherCalls: others.map((usage) => ({ ...ofOne, usage, isWhole: true })),
          });
          expect(charge <= holdAmounts(estimate).maxAmount).to.equal(true);
        },
      ),
    );
  });

  it('has the rates of audio for audio, and counts it only if the request may have any', () => {
    const usage = { ...NO_USAGE, inputTotal: 100, cacheRead: 60, audioInput: 70, outputTotal: 9, audioOutput: 4 };
    const consumption = { usage, countedOutputTokens: 9, status: 'succeeded', upstream: { provider: 'a' } } as const;
    const priced = (hasAudioInput: boolean, hasAudioOutput: boolean) =>
      priceConsumption(estimateOf({ hasAudioInput, hasAudioOutput }), 50, consumption);
    const { charge, tokens } = priced(true, true);
    // At most 40 of the 70 audio tokens are not cached.
    expect(tokens).to.include({ audioInputTokens: 70, audioCacheReadTokens: 30, audioOutputTokens: 4 });
    expect(charge).to.equal(40n * 800n + 30n * 20n + 30n * 10n + 5n * 500n + 4n * 1_600n);
    expect(priced(false, false).charge).to.equal(40n * 100n + 60n * 10n + 9n * 500n);
  });

  it('has the rates of audio for every token of audio, reported or counted by Genway', () => {
    const rates = completeRates({ input: 0n, cachedInput: 0n, cacheWrite: 0n, cacheWrite1h: 0n, output: 0n });
    const pricing = { ...PRICING, rates: { ...rates, audioInput: 7n, cachedAudioInput: 7n, audioOutput: 11n } };
    const part = fc.double({ min: 0, max: 1, noNaN: true });
    const cases = fc.record({ input: fc.nat(1_000), output: fc.nat(50), inputPart: part, outputPart: part });
    const statuses = fc.constantFrom('succeeded' as const, 'disconnected' as const);
    fc.assert(
      fc.property(cases, fc.boolean(), statuses, ({ input, output, inputPart, outputPart }, isReported, status) => {
        const audio = { input: Math.floor(input * inputPart), output: Math.floor(output * outputPart) };
        const totals = { ...NO_USAGE, inputTotal: input, outputTotal: output };
        const parts = { audioInput: audio.input, audioOutput: audio.output };
        const estimate = estimateOf({
          hasAudioInput: true,
          hasAudioOutput: true,
          estimateAudioInputTokens: () => audio.input,
        });
        const { charge } = priceConsumption({ ...estimate, model: { ...estimate.model, pricing } }, 50, {
          usage: isReported ? { ...totals, ...parts } : totals,
          countedOutputTokens: output,
          countedAudioTokens: audio.output,
          status,
          upstream: { provider: 'simulator' },
        });
        expect(charge).to.equal(7n * BigInt(audio.input) + 11n * BigInt(audio.output));
      }),
    );
  });

  it('has the reported seconds of audio, up to the most that the file may have, also if the client left', () => {
    const estimate = estimateOf({ audioSeconds: 1, maxAudioSeconds: 100 });
    const secondsOf = (audioSeconds: number) =>
      (['succeeded', 'disconnected'] as const).map(
        (status) =>
          priceConsumption(estimate, 50, {
            usage: null,
            countedOutputTokens: 0,
            audioSeconds,
            status,
            upstream: { provider: 'simulator' },
          }).tokens.audioSeconds,
      );
    expect([secondsOf(9), secondsOf(900)]).to.deep.equal([
      [9, 9],
      [100, 100],
    ]);
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
