import { expect } from 'chai';
import * as fc from 'fast-check';
import type { JsonObject } from '../../domain/json.ts';
import { formatUsd, parseUsd } from '../../domain/money.ts';
import {
  completeRates,
  assertExactMediaPricing,
  type PricePeak,
  type PriceTier,
  type TextPricing,
  type TokenUsage,
  assertExactPricing,
  boundText,
  parseFactor,
  parsePricePerMillionTokens,
  priceText,
  priceMedia,
} from '../../domain/pricing.ts';

const MONDAY_NOON_MS = Date.parse('2026-10-05T12:00:00Z');
const WEEK_MS = 7 * 24 * 60 * 60 * 1000;

const NO_VOICE = { hasAudioInput: false, hasAudioOutput: false, characters: 0, audioSeconds: 0 };
const pricing = (overrides: Partial<TextPricing> = {}): TextPricing => ({
  rates: completeRates({
    input: 1_000_000n,
    cachedInput: 50_000n,
    cacheWrite: 1_250_000n,
    cacheWrite1h: 2_000_000n,
    output: 5_000_000n,
  }),
  tiers: [],
  peaks: [],
  ...overrides,
});
const usage = (overrides: Partial<TokenUsage> = {}): TokenUsage => ({
  inputTotal: 0,
  cacheRead: 0,
  cacheWrite: 0,
  cacheWrite1h: 0,
  outputTotal: 0,
  ...overrides,
});
const tier = (overrides: Partial<PriceTier> = {}): PriceTier => ({
  thresholdTokens: 200,
  applies: 'over',
  factor: parseFactor('2'),
  ...overrides,
});
const peak = (overrides: Partial<PricePeak> = {}): PricePeak => ({
  utcOffsetMinutes: 0,
  weekdays: [1],
  windows: [{ fromMinute: 540, toMinute: 720 }],
  factor: parseFactor('1.6'),
  ...overrides,
});

/** The multiple of the base price for a prompt of that length. */
function multiplier(tiers: readonly PriceTier[], inputTotal: number): bigint {
  return priceText(pricing({ tiers }), usage({ inputTotal }), MONDAY_NOON_MS).ratesApplied.input / 1_000_000n;
}

function isPeak(overrides: Partial<PricePeak>, moment: string): boolean {
  return priceText(pricing({ peaks: [peak(overrides)] }), usage(), Date.parse(moment)).modifiers.length > 0;
}

describe('media prices', () => {
  const byResolution = { '720p': parseUsd('0.10'), '1080p': parseUsd('0.15') };
  const pricing = { per: 'second', byResolution, modifiers: [] } as const;
  const images = { per: 'image', byResolution: { '1K': 4n, '2K': 8n, '4K': 16n }, modifiers: [] } as const;

  for (const [resolution, durationSeconds, usd] of [
    ['720p', 2, '0.2'],
    ['720p', 5, '0.5'],
    ['1080p', 5, '0.75'],
    ['1080p', 30, '4.5'],
  ] as const) {
    it(`charge ${usd} USD for ${durationSeconds} seconds of ${resolution}`, () => {
      // contract 8.5:1
      expect(priceMedia(pricing, { resolution, durationSeconds })).to.equal(parseUsd(usd));
    });
  }

  it('refuse a resolution without a price, and a duration that is not a whole number of seconds', () => {
    expect(() => priceMedia(pricing, { resolution: '480p', durationSeconds: 5 })).to.throw(RangeError);
    for (const durationSeconds of [0, -1, 2.5, Number.NaN]) {
      expect(() => priceMedia(pricing, { resolution: '720p', durationSeconds })).to.throw(RangeError);
    }
  });

  it('charge a flat price for any duration of the video', () => {
    for (const durationSeconds of [1, 10]) {
      expect(priceMedia({ ...pricing, per: 'video' }, { resolution: '720p', durationSeconds })).to.equal(
        parseUsd('0.1'),
      );
    }
  });

  it('refuse an image of a tier that is not sold', () => {
    expect(() => priceMedia({ ...images, byResolution: { '1K': 4n } }, { resolution: '2K' })).to.throw(RangeError);
  });

  it('charge two videos as much as one of their length together', () => {
    const seconds = fc.integer({ min: 1, max: 1_000 });
    fc.assert(
      fc.property(seconds, seconds, (first, second) => {
        const [one, other, both] = [first, second, first + second].map((durationSeconds) =>
          priceMedia(pricing, { resolution: '1080p', durationSeconds }),
        );
        expect((one ?? 0n) + (other ?? 0n)).to.equal(both);
      }),
    );
  });

  it('charge an image by its tier', () => {
    // contract 8.5:2
    const prices = ['1K', '2K', '4K'].map((resolution) => priceMedia(images, { resolution }));
    expect(prices).to.deep.equal([4n, 8n, 16n]);
  });

  it('first add and then multiply the price changes of the parameters, for each second', () => {
    const modifiers = [
      { when: { audio: true }, addition: String(parseUsd('0.20')), factor: '1' },
      { when: { quality: 'high' }, addition: '0', factor: '1.5' },
      { when: { audio: true, quality: 'high' }, addition: '0', factor: '2' },
    ];
    const priceOf = (parameters: JsonObject) =>
      formatUsd(priceMedia({ ...pricing, modifiers }, { resolution: '720p', durationSeconds: 4, parameters }));
    expect(priceOf({})).to.equal('0.4');
    expect(priceOf({ audio: false, quality: 'low' })).to.equal('0.4');
    expect(priceOf({ audio: true })).to.equal('1.2');
    expect(priceOf({ quality: 'high' })).to.equal('0.6');
    expect(priceOf({ audio: true, quality: 'high' })).to.equal('3.6');
  });

  it('refuse factors that make a price finer than a pico-USD', () => {
    const modifiers = [{ when: { draft: true }, addition: '0', factor: '0.5' }];
    expect(() => assertExactMediaPricing({ byResolution: { '720p': 3n }, modifiers })).to.throw('not a whole number');
    expect(() => assertExactMediaPricing({ byResolution: { '720p': 4n }, modifiers })).not.to.throw();
  });
});

describe('text prices', () => {
  it('charge each class of tokens at its own rate, and cached tokens only once', () => {
    const { charge } = priceText(
      pricing(),
      usage({ inputTotal: 1_000, cacheRead: 600, cacheWrite: 300, cacheWrite1h: 100, outputTotal: 10 }),
      MONDAY_NOON_MS,
    );
    // 100 × 1,000,000 + 600 × 50,000 + 200 × 1,250,000 + 100 × 2,000,000 + 10 × 5,000,000
    expect(charge).to.equal(630_000_000n);
  });

  it('never subtract more cached tokens than there were input tokens', () => {
    const { charge } = priceText(pricing(), usage({ inputTotal: 10, cacheRead: 100 }), MONDAY_NOON_MS);
    expect(charge).to.equal(5_000_000n);
  });

  it('refuse counts that are not numbers of tokens', () => {
    for (const wrong of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      for (const field of ['inputTotal', 'cacheRead', 'cacheWrite', 'cacheWrite1h', 'outputTotal'] as const) {
        expect(() => priceText(pricing(), usage({ [field]: wrong }), MONDAY_NOON_MS)).to.throw(RangeError);
      }
    }
  });

  it('refuse more one-hour cache writes than cache writes', () => {
    const wrong = usage({ inputTotal: 10, cacheWrite: 5, cacheWrite1h: 6 });
    expect(() => priceText(pricing(), wrong, MONDAY_NOON_MS)).to.throw(RangeError);
  });

  it('name the applied modifiers, and the rates after them', () => {
    const price = priceText(
      pricing({ tiers: [tier()], peaks: [peak({ weekdays: [1], windows: [{ fromMinute: 720, toMinute: 721 }] })] }),
      usage({ inputTotal: 201 }),
      MONDAY_NOON_MS,
    );
    expect(price.modifiers).to.deep.equal([
      { kind: 'tier', factor: '2' },
      { kind: 'peak', factor: '1.6' },
    ]);
    expect(price.ratesApplied).to.deep.equal(
      completeRates({
        input: 3_200_000n,
        cachedInput: 160_000n,
        cacheWrite: 4_000_000n,
        cacheWrite1h: 6_400_000n,
        output: 16_000_000n,
      }),
    );
  });

  describe('long prompts', () => {
    it('keep the base price at the threshold when the tier starts above it', () => {
      expect([199, 200, 201].map((tokens) => multiplier([tier()], tokens))).to.deep.equal([1n, 1n, 2n]);
    });

    it('leave the base price at the threshold when the tier starts at it', () => {
      const tiers = [tier({ applies: 'at_or_over' })];
      expect([199, 200, 201].map((tokens) => multiplier(tiers, tokens))).to.deep.equal([1n, 2n, 2n]);
    });

    it('multiply the tiers that are reached together', () => {
      const tiers = [tier(), tier({ thresholdTokens: 400, factor: parseFactor('3') })];
      expect([200, 201, 400, 401].map((tokens) => multiplier(tiers, tokens))).to.deep.equal([1n, 2n, 2n, 6n]);
    });

    it('count cached tokens as part of the prompt, but not output', () => {
      const tiers = [tier()];
      const cached = priceText(pricing({ tiers }), usage({ inputTotal: 201, cacheRead: 201 }), MONDAY_NOON_MS);
      const output = priceText(pricing({ tiers }), usage({ outputTotal: 201 }), MONDAY_NOON_MS);
      expect(cached.charge).to.equal(201n * 100_000n);
      expect(output.modifiers).to.deep.equal([]);
    });
  });

  describe('peak hours', () => {
    it('start with their first minute and end before their last', () => {
      // contract 2.6:13
      const moments = ['08:59:59.999', '09:00:00.000', '11:59:59.999', '12:00:00.000'];
      expect(moments.map((time) => isPeak({}, `2026-10-05T${time}Z`))).to.deep.equal([false, true, true, false]);
    });

    it('read days and hours in their own time zone', () => {
      const eastern = { utcOffsetMinutes: -300, windows: [{ fromMinute: 0, toMinute: 60 }] };
      expect(isPeak(eastern, '2026-10-05T04:59:59Z')).to.equal(false);
      expect(isPeak(eastern, '2026-10-05T05:00:00Z')).to.equal(true);
      const eightAhead = { utcOffsetMinutes: 480, windows: [{ fromMinute: 0, toMinute: 60 }] };
      expect(isPeak(eightAhead, '2026-10-04T16:00:00Z')).to.equal(true);
      expect(isPeak(eightAhead, '2026-10-05T16:00:00Z')).to.equal(false);
    });

    for (const [weekday, date] of [
      [0, '2026-10-04'],
      [1, '2026-10-05'],
      [6, '2026-10-10'],
      [4, '1970-01-01'],
      [2, '2028-02-29'],
      [3, '1969-12-31'],
    ] as const) {
      it(`treat ${date} as weekday ${weekday}`, () => {
        const weekdays = [0, 1, 2, 3, 4, 5, 6].filter((day) => isPeak({ weekdays: [day] }, `${date}T10:00:00Z`));
        expect(weekdays).to.deep.equal([weekday]);
      });
    }

    it('repeat every week', () => {
      const moment = fc.integer({ min: 0, max: 4_000_000_000_000 });
      const peaks = [peak({ utcOffsetMinutes: 480, weekdays: [1, 2, 3, 4, 5] })];
      fc.assert(
        fc.property(moment, (atMs) => {
          const [now, then] = [atMs, atMs + WEEK_MS].map((ms) => priceText(pricing({ peaks }), usage(), ms).modifiers);
          expect(now).to.deep.equal(then);
        }),
      );
    });
  });

  describe('factors and prices in an operator’s notation', () => {
    it('are read as a price per 1M tokens, in pico-USD per token', () => {
      expect(['0.05775', '1.40', '20', '0', '0.000001'].map(parsePricePerMillionTokens)).to.deep.equal([
        57_750n,
        1_400_000n,
        20_000_000n,
        0n,
        1n,
      ]);
    });

    for (const text of ['0.0000001', '-1', '', '1e3', 'free']) {
      it(`are refused with the price per 1M tokens ${JSON.stringify(text)}`, () => {
        expect(() => parsePricePerMillionTokens(text)).to.throw(RangeError);
      });
    }

    it('are refused with a factor below 1, which no hold could foresee', () => {
      expect(() => parseFactor('0.999999')).to.throw(RangeError, 'at least 1');
      expect(parseFactor('1').numerator).to.equal(1n);
    });

    it('are refused with rates that a factor would leave with a fraction of a pico-USD', () => {
      const rates = completeRates({ input: 10n, cachedInput: 10n, cacheWrite: 10n, cacheWrite1h: 10n, output: 12n });
      expect(() => assertExactPricing(pricing({ rates, peaks: [peak()] }))).to.throw(RangeError, 'output rate');
      expect(() => assertExactPricing(pricing({ rates, tiers: [tier()] }))).not.to.throw();
    });

    it('are refused with factors that are exact each but not together', () => {
      const half = parseFactor('1.5');
      const rates = completeRates({ input: 2n, cachedInput: 2n, cacheWrite: 2n, cacheWrite1h: 2n, output: 2n });
      const together = pricing({ rates, tiers: [tier({ factor: half })], peaks: [peak({ factor: half })] });
      expect(() => assertExactPricing({ ...together, peaks: [] })).not.to.throw();
      expect(() => assertExactPricing(together)).to.throw(RangeError, 'input rate');
    });
  });

  it('multiplies the price of every unit by tiers and peaks, except of a search', () => {
    // contract 2.6:17
    const both = pricing({ tiers: [tier()], peaks: [peak()], rates: { ...pricing().rates, webSearch: 10n } });
    const priced = priceText(both, { ...usage({ inputTotal: 201 }), webSearches: 3 }, MONDAY_NOON_MS);
    expect(priced.ratesApplied.webSearch).to.equal(10n);
    expect(() =>
      assertExactPricing(
        pricing({ peaks: [peak({ factor: parseFactor('1.7') })], rates: { ...pricing().rates, webSearch: 1n } }),
      ),
    ).to.not.throw();
  });

  describe('invariants of prices', () => {
    const tokens = fc.integer({ min: 0, max: 2_000_000 });
    const rate = fc.bigInt({ min: 0n, max: 10_000_000n }).map((rate) => rate * 100n);
    const anyRates = fc.record({
      input: rate,
      cachedInput: rate,
      cacheWrite: rate,
      cacheWrite1h: rate,
      output: rate,
      audioInput: rate,
      cachedAudioInput: rate,
      audioOutput: rate,
      character: rate,
      audioSecond: rate,
      webSearch: rate,
      searchUnit: rate,
    });
    const factor = fc.constantFrom('1', '1.5', '1.6', '2').map(parseFactor);
    const anyPricing: fc.Arbitrary<TextPricing> = fc.record({
      rates: anyRates,
      tiers: fc.array(
        fc.record({
          thresholdTokens: tokens,
          applies: fc.constantFrom('over' as const, 'at_or_over' as const),
          factor,
        }),
        { maxLength: 1 },
      ),
      peaks: fc.array(
        fc.record({
          utcOffsetMinutes: fc.constantFrom(0, 480, -300),
          weekdays: fc.subarray([0, 1, 2, 3, 4, 5, 6]),
          windows: fc.constant([{ fromMinute: 480, toMinute: 1440 }]),
          factor,
        }),
        { maxLength: 1 },
      ),
    });
    const anyUsage = fc
      .record({
        text: tokens,
        cachedText: tokens,
        cacheWrite5m: tokens,
        cacheWrite1h: tokens,
        answer: tokens,
        audio: tokens,
        audioCacheRead: tokens,
        audioOutput: tokens,
        characters: tokens,
        audioSeconds: tokens,
        webSearches: fc.nat(20),
        searchUnits: tokens,
      })
      .map(({ text, cachedText, cacheWrite5m, audio, answer, ...parts }) => {
        const cacheRead = cachedText + parts.audioCacheRead;
        const cacheWrite = cacheWrite5m + parts.cacheWrite1h;
        return {
          ...parts,
          inputTotal: text + audio + cacheRead + cacheWrite,
          cacheRead,
          cacheWrite,
          audioInput: audio + parts.audioCacheRead,
          outputTotal: answer + parts.audioOutput,
        };
      });
    type AnyUsage = typeof anyUsage extends fc.Arbitrary<infer Usage> ? Usage : never;
    const sumOf = (one: AnyUsage, other: AnyUsage): AnyUsage => ({
      inputTotal: one.inputTotal + other.inputTotal,
      cacheRead: one.cacheRead + other.cacheRead,
      cacheWrite: one.cacheWrite + other.cacheWrite,
      cacheWrite1h: one.cacheWrite1h + other.cacheWrite1h,
      outputTotal: one.outputTotal + other.outputTotal,
      audioInput: one.audioInput + other.audioInput,
      audioCacheRead: one.audioCacheRead + other.audioCacheRead,
      audioOutput: one.audioOutput + other.audioOutput,
      characters: one.characters + other.characters,
      audioSeconds: one.audioSeconds + other.audioSeconds,
      webSearches: one.webSearches + other.webSearches,
      searchUnits: one.searchUnits + other.searchUnits,
    });
    const moment = fc.integer({ min: 0, max: 4_000_000_000_000 });

    it('more tokens of any class never cost less', () => {
      fc.assert(
        fc.property(anyPricing, anyUsage, anyUsage, moment, (pricing, usage, more, atMs) => {
          const cost = priceText(pricing, usage, atMs).charge;
          expect(priceText(pricing, sumOf(usage, more), atMs).charge >= cost).to.equal(true);
          expect(cost >= 0n).to.equal(true);
        }),
      );
    });

    it('two requests cost as much as one with the tokens of both, where no tier starts', () => {
      fc.assert(
        fc.property(anyRates, anyUsage, anyUsage, moment, (rates, first, second, atMs) => {
          const cost = (usage: TokenUsage): bigint => priceText(pricing({ rates }), usage, atMs).charge;
          expect(cost(first) + cost(second)).to.equal(cost(sumOf(first, second)));
        }),
      );
    });

    it('a price can be recomputed from its reported rates', () => {
      fc.assert(
        fc.property(anyPricing, anyUsage, moment, (pricing, usage, atMs) => {
          assertExactPricing(pricing);
          const { charge, ratesApplied } = priceText(pricing, usage, atMs);
          expect(priceText({ rates: ratesApplied, tiers: [], peaks: [] }, usage, atMs).charge).to.equal(charge);
        }),
      );
    });

    it('the applied rates over the listed ones are the product of the factors', () => {
      fc.assert(
        fc.property(anyPricing, anyUsage, moment, (pricing, usage, atMs) => {
          const { ratesApplied, modifiers } = priceText(pricing, usage, atMs);
          const hundredths = modifiers.reduce((product, { factor }) => product * Math.round(Number(factor) * 100), 1);
          const scale = 100n ** BigInt(modifiers.length);
          expect(ratesApplied.output * scale).to.equal(pricing.rates.output * BigInt(hundredths));
        }),
      );
    });

    it('a hold covers every usage within the bounds', () => {
      // contract 8.3:4
      fc.assert(
        fc.property(anyPricing, anyUsage, tokens, tokens, moment, (pricing, usage, spareInput, spareOutput, atMs) => {
          const most = {
            maxInputTokens: usage.inputTotal + spareInput,
            isCachedFor1h: usage.cacheWrite1h > 0,
            hasAudioInput: usage.audioInput > 0,
            hasAudioOutput: usage.audioOutput > 0,
            characters: usage.characters,
            audioSeconds: usage.audioSeconds,
            webSearches: usage.webSearches,
            searchUnits: usage.searchUnits,
          };
          const { input, perOutputToken } = boundText(pricing, most, atMs);
          const bound = input + BigInt(usage.outputTotal + spareOutput) * perOutputToken;
          expect(bound >= priceText(pricing, usage, atMs).charge).to.equal(true);
        }),
      );
    });
  });

  it('a hold uses the highest input rate and the output bound, with the current modifiers', () => {
    // contract 8.3:4
    const bound = (isCachedFor1h: boolean) =>
      boundText(pricing({ tiers: [tier()] }), { ...NO_VOICE, maxInputTokens: 1_000, isCachedFor1h }, MONDAY_NOON_MS);
    expect(bound(false)).to.deep.equal({ input: 1_000n * 1_250_000n * 2n, perOutputToken: 5_000_000n * 2n });
    expect(bound(true)).to.deep.equal({ input: 1_000n * 2_000_000n * 2n, perOutputToken: 5_000_000n * 2n });
  });
});
