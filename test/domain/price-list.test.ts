import { expect } from 'chai';
import * as fc from 'fast-check';
import { parseUsd } from '../../domain/money.ts';
import { parseListFactor, PriceList, type PriceRule, type PlannedVersion, versionAt } from '../../domain/price-list.ts';
import { parseRational } from '../../domain/rational.ts';
import {
  batchPricing,
  completeRates,
  boundText,
  type MediaPricing,
  parseFactor,
  priceMedia,
  priceText,
  type TextPricing,
} from '../../domain/pricing.ts';

const decimal = fc
  .tuple(fc.integer({ min: 0, max: 999 }), fc.integer({ min: 0, max: 999_999 }), fc.integer({ min: 0, max: 6 }))
  .map(([whole, fraction, digits]) =>
    digits === 0 ? `${whole}` : `${whole}.${String(fraction).padStart(6, '0').slice(0, digits)}`,
  )
  .filter((text) => Number(text) > 0);
const rate = fc.bigInt({ min: 0n, max: 10n ** 12n });
const factors = fc.constantFrom('1', '1.6', '2', '1.25');
const textPricing: fc.Arbitrary<TextPricing> = fc
  .record({
    input: rate,
    cachedInput: rate,
    cacheWrite: rate,
    cacheWrite1h: rate,
    output: rate,
    tier: factors,
    peak: factors,
  })
  .map(({ tier, peak, ...rates }) => ({
    rates: completeRates({
      input: rates.input * 400n,
      cachedInput: rates.cachedInput * 400n,
      cacheWrite: rates.cacheWrite * 400n,
      cacheWrite1h: rates.cacheWrite1h * 400n,
      output: rates.output * 400n,
    }),
    tiers: [{ thresholdTokens: 1_000, applies: 'over', factor: parseFactor(tier) }],
    peaks: [
      {
        utcOffsetMinutes: 0,
        weekdays: [1],
        windows: [{ fromMinute: 0, toMinute: 720 }],
        factor: parseFactor(peak),
      },
    ],
  }));
const MONDAY_MS = Date.parse('2026-10-05T06:00:00Z');
const NO_VOICE = { hasAudioInput: false, hasAudioOutput: false, characters: 0, audioSeconds: 0 };
const usage = fc.record({
  inputTotal: fc.integer({ min: 0, max: 100_000 }),
  cacheRead: fc.constant(0),
  cacheWrite: fc.constant(0),
  cacheWrite1h: fc.constant(0),
  outputTotal: fc.integer({ min: 0, max: 100_000 }),
});

function listOf(factor: string, rules: readonly PriceRule[] = []): PriceList {
  return new PriceList({ id: 'partners@1', factor, rules });
}

describe('the factor of a price list for batches', () => {
  const list = (batchFactor: string | null) =>
    new PriceList({
      id: 'partners@1',
      factor: '0.5',
      rules: [{ model: 'textx-1', prices: { input: '2' } }],
      batchFactor,
    });
  for (const [what, given, ofCatalogue, charge, modifiers] of [
    ['replaces that of the catalogue', '0.6', '0.5', 1_200_000n, [{ kind: 'batch', factor: '0.6' }]],
    ['is that of the catalogue by default', null, '0.5', 1_000_000n, [{ kind: 'batch', factor: '0.5' }]],
    ['applies where the catalogue has none', '0.6', undefined, 1_200_000n, [{ kind: 'batch', factor: '0.6' }]],
    ['is none where neither has one', null, undefined, 2_000_000n, []],
  ] as const) {
    it(what, () => {
      // contract 8.6:8
      const rates = completeRates({ input: 8n, cachedInput: 0n, cacheWrite: 0n, cacheWrite1h: 0n, output: 8n });
      const batchFactor = ofCatalogue === undefined ? undefined : parseRational(ofCatalogue);
      const pricing = list(given).textPricing(model({ rates, tiers: [], peaks: [], batchFactor }));
      const tokens = { inputTotal: 1, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, outputTotal: 0 };
      expect(priceText(batchPricing(pricing), tokens, MONDAY_MS)).to.deep.include({ charge, modifiers });
      expect(priceText(pricing, tokens, MONDAY_MS), 'a direct request').to.include({ charge: 2_000_000n });
    });
  }

  it('obeys the rules of the other factors', () => {
    expect(() => list('0')).to.throw(RangeError);
  });
});

const model = (pricing: TextPricing) => ({ id: 'textx-1', family: 'textx', pricing });

describe('the factor of a price list', () => {
  for (const wrong of ['0', '0.0', '-1', '1e2', '', '.5', '1000', '0.0000001', 'NaN', '1,5']) {
    it(`cannot be "${wrong}"`, () => {
      expect(() => parseListFactor(wrong)).to.throw(RangeError);
    });
  }

  it('charges the cost of the tokens times the factor, rounded up by less than a step of each rate', () => {
    // contract 8.6:2 8.6:4
    fc.assert(
      fc.property(textPricing, decimal, usage, (pricing, factor, tokens) => {
        const { numerator, denominator } = parseListFactor(factor);
        const listed = priceText(pricing, tokens, MONDAY_MS).charge * numerator;
        const charged = priceText(listOf(factor).textPricing(model(pricing)), tokens, MONDAY_MS).charge;
        // A rate is rounded to a multiple that tiers and peaks keep exact: 25, times at most 4.
        const most = BigInt(tokens.inputTotal + tokens.outputTotal) * 25n * 4n;
        expect(charged * denominator >= listed).to.equal(true);
        expect(charged * denominator < listed + (most + 1n) * denominator).to.equal(true);
      }),
    );
  });

  it('makes rates that tiers and peaks multiply without a fraction, so that the shown price is charged', () => {
    // contract 8.6:4
    fc.assert(
      fc.property(textPricing, decimal, usage, (pricing, factor, tokens) => {
        const sold = listOf(factor).textPricing(model(pricing));
        const { charge, ratesApplied } = priceText(sold, tokens, MONDAY_MS);
        const [tier, peak] = [sold.tiers[0]?.factor, sold.peaks[0]?.factor];
        const isLong = tokens.inputTotal > 1_000;
        const product = (isLong ? (tier?.numerator ?? 1n) : 1n) * (peak?.numerator ?? 1n);
        const divisor = (isLong ? (tier?.denominator ?? 1n) : 1n) * (peak?.denominator ?? 1n);
        expect(ratesApplied.input * divisor).to.equal(sold.rates.input * product);
        expect(charge).to.equal(
          BigInt(tokens.inputTotal) * ratesApplied.input + BigInt(tokens.outputTotal) * ratesApplied.output,
        );
      }),
    );
  });

  it('makes holds that no usage within their bounds exceeds', () => {
    fc.assert(
      fc.property(textPricing, decimal, usage, (pricing, factor, tokens) => {
        const sold = listOf(factor).textPricing(model(pricing));
        const most = { maxInputTokens: tokens.inputTotal, ...NO_VOICE, isCachedFor1h: false };
        const { input, perOutputToken } = boundText(sold, most, MONDAY_MS);
        expect(
          input + BigInt(tokens.outputTotal) * perOutputToken >= priceText(sold, tokens, MONDAY_MS).charge,
        ).to.equal(true);
      }),
    );
  });

  it('never makes a price negative, or a positive price zero', () => {
    fc.assert(
      fc.property(textPricing, decimal, (pricing, factor) => {
        const { rates } = listOf(factor).textPricing(model(pricing));
        for (const name of ['input', 'cachedInput', 'cacheWrite', 'output'] as const) {
          expect(rates[name] >= 0n).to.equal(true);
          expect(rates[name] === 0n).to.equal(pricing.rates[name] === 0n);
        }
      }),
    );
  });

  it('changes nothing if it is 1', () => {
    fc.assert(
      fc.property(textPricing, (pricing) => {
        expect(listOf('1').textPricing(model({ ...pricing, tiers: [], peaks: [] })).rates).to.deep.equal(pricing.rates);
      }),
    );
  });
});

describe('the price of a picture or video by a list', () => {
  const pricing: MediaPricing = {
    per: 'second',
    byResolution: { '720p': parseUsd('0.1'), '1080p': parseUsd('0.15') },
    modifiers: [{ when: { sound: true }, addition: parseUsd('0.05').toString(), factor: '1.5' }],
  };
  const priceOf = (list: PriceList, resolution: string, parameters = {}) =>
    priceMedia(list.mediaPricing({ id: 'vidx', pricing }), { resolution, durationSeconds: 10, parameters });

  for (const [what, factor, rules, resolution, parameters, usd] of [
    ['is multiplied by its factor', '0.8', [], '720p', {}, '0.8'],
    ['is multiplied with what parameters add', '0.8', [], '720p', { sound: true }, '1.8'],
    ['is the one written for its model', '0.8', [{ model: 'vidx', prices: { '720p': '0.07' } }], '720p', {}, '0.7'],
    [
      'keeps the factor of the list where none is written',
      '0.8',
      [{ model: 'vidx', prices: { '720p': '0.07' } }],
      '1080p',
      {},
      '1.2',
    ],
    ['takes the factor of its model', '0.8', [{ model: 'vidx', factor: '2' }], '1080p', {}, '3'],
    ['is not that of another model', '0.8', [{ model: 'vidy', factor: '2' }], '720p', {}, '0.8'],
  ] as const) {
    it(what, () => {
      expect(priceOf(listOf(factor, rules), resolution, parameters)).to.equal(parseUsd(usd));
    });
  }

  it('is a whole number of pico-USD, no less than the fraction, for every factor', () => {
    fc.assert(
      fc.property(decimal, fc.integer({ min: 1, max: 60 }), fc.boolean(), (factor, durationSeconds, sound) => {
        const order = { resolution: '1080p', durationSeconds, parameters: { sound } };
        const { numerator, denominator } = parseListFactor(factor);
        const price = priceMedia(listOf(factor).mediaPricing({ id: 'vidx', pricing }), order);
        const exact = priceMedia(pricing, order) * numerator;
        expect(price * denominator >= exact).to.equal(true);
        expect(price * denominator < exact + BigInt(durationSeconds) * 6n * denominator).to.equal(true);
      }),
    );
  });
});

describe('the price of text by a list', () => {
  const pricing: TextPricing = {
    rates: completeRates({
      input: 1_000_000n,
      cachedInput: 100_000n,
      cacheWrite: 0n,
      cacheWrite1h: 0n,
      output: 4_000_000n,
    }),
    tiers: [],
    peaks: [],
  };
  const inputOf = (rules: readonly PriceRule[]) => listOf('0.5', rules).textPricing(model(pricing)).rates.input;

  for (const [what, rules, input] of [
    ['has the factor of the list', [], 500_000n],
    ['has the factor of its family', [{ family: 'textx', factor: '2' }], 2_000_000n],
    [
      'has the rule of the model before that of its family', // contract 8.6:2
      [
        { family: 'textx', factor: '2' },
        { model: 'textx-1', factor: '3' },
      ],
      3_000_000n,
    ],
    ['has the price of 1M tokens that is written', [{ family: 'textx', prices: { input: '0.25' } }], 250_000n],
    ['has the factor of the list where no price is written', [{ model: 'textx-1', prices: { output: '9' } }], 500_000n],
  ] as const) {
    it(what, () => {
      expect(inputOf(rules)).to.equal(input);
    });
  }

  it('stays free for a free model, whatever the list has', () => {
    // contract 8.6:3
    const free = {
      rates: completeRates({ input: 0n, cachedInput: 0n, cacheWrite: 0n, cacheWrite1h: 0n, output: 0n }),
      tiers: [],
      peaks: [],
    };
    const rules = [{ model: 'textx-1', prices: { input: '1', output: '2' } }];
    expect(listOf('3', rules).textPricing(model(free)).rates).to.deep.equal(free.rates);
  });
});

describe('the version of a price list in force', () => {
  const planned = (...versions: [version: number, fromMs: number][]): PlannedVersion[] =>
    versions.map(([version, fromMs]) => ({ id: `a@${version}`, fromMs })).toReversed();

  it('is null before the first is valid', () => {
    expect(versionAt(planned([1, 100]), 99)).to.equal(null);
    expect(versionAt([], 99)).to.equal(null);
  });

  it('is the latest valid one, from the moment that it is valid', () => {
    expect(versionAt(planned([1, 100], [2, 200]), 199)).to.equal('a@1');
    expect(versionAt(planned([1, 100], [2, 200]), 200)).to.equal('a@2');
  });

  it('stays when an older version, planned for later, becomes valid', () => {
    // contract 8.6:5
    expect(versionAt(planned([1, 100], [2, 300], [3, 200]), 400)).to.equal('a@3');
  });
});
