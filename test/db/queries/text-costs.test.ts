import { expect } from 'chai';
import * as fc from 'fast-check';
import type { Database } from '../../../db/database.ts';
import { TOKEN_COUNTS } from '../../../domain/text-tokens.ts';
import { listTextCosts, recordTextCosts } from '../../../db/queries/text-costs.ts';
import {
  completeRates,
  type PricePeak,
  type PriceTier,
  parseFactor,
  priceText,
  type TextPricing,
} from '../../../domain/pricing.ts';
import { useTestDatabase } from '../../support/database.ts';

const ROUTE = { model: 'textc-M3', upstream: 'vendor', upstreamModel: 'm3' };
const RATES = {
  ...completeRates({
    input: 1_000n,
    cachedInput: 100n,
    cacheWrite: 1_300n,
    cacheWrite1h: 2_000n,
    output: 5_000n,
  }),
  audioInput: 7_000n,
  cachedAudioInput: 700n,
  audioOutput: 9_000n,
  character: 1_100n,
  audioSecond: 13_000n,
  webSearch: 10_000_000n,
  searchUnit: 17_000n,
};

const tier: fc.Arbitrary<PriceTier> = fc.record({
  thresholdTokens: fc.integer({ min: 1, max: 20 }),
  applies: fc.constantFrom('over', 'at_or_over'),
  factor: fc.constantFrom('1', '1.5', '2').map(parseFactor),
});
const peak: fc.Arbitrary<PricePeak> = fc.record({
  utcOffsetMinutes: fc.constantFrom(0, 480, -210, 845),
  weekdays: fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { minLength: 1 }),
  windows: fc
    .tuple(fc.integer({ min: 0, max: 719 }), fc.integer({ min: 720, max: 1440 }))
    .map(([fromMinute, toMinute]) => [{ fromMinute, toMinute }]),
  factor: fc.constantFrom('1.2', '3').map(parseFactor),
});
const pricing: fc.Arbitrary<TextPricing> = fc.record({
  rates: fc.constant(RATES),
  tiers: fc.array(tier, { maxLength: 2 }),
  peaks: fc.array(peak, { maxLength: 2 }),
});
const request = fc
  .record({
    inputTotal: fc.integer({ min: 0, max: 25 }),
    cacheRead: fc.integer({ min: 0, max: 20 }),
    cacheWrite: fc.integer({ min: 10, max: 20 }),
    cacheWrite1h: fc.integer({ min: 0, max: 10 }),
    characters: fc.nat(5),
    audioSeconds: fc.nat(5),
    webSearches: fc.nat(3),
    searchUnits: fc.nat(5),
    outputTotal: fc.integer({ min: 0, max: 20 }),
    calls: fc.integer({ min: 1, max: 3 }),
    atMs: fc.integer({ min: Date.parse('2026-01-01'), max: Date.parse('2026-12-31') }),
    audio: fc.nat(9),
  })
  .map(({ audio, ...counts }) => {
    const plain = Math.max(0, counts.inputTotal - counts.cacheRead - counts.cacheWrite);
    const audioCacheRead = Math.min(audio, counts.cacheRead);
    const audioInput = audioCacheRead + Math.min(audio, plain);
    return { ...counts, audioInput, audioCacheRead, audioOutput: Math.min(audio, counts.outputTotal) };
  });

describe('the database', () => {
  let database: Database;
  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });

  it('computes the same costs of text as the domain', async () => {
    const samples = fc.sample(fc.tuple(pricing, request), { numRuns: 300, seed: 1 });
    const costs = samples.map(([one], index) => ({ ...ROUTE, version: `v${index}`, pricing: one }));
    await recordTextCosts(database, costs);
    const requests = samples.map(([, { atMs, calls, ...usage }], index) => ({
      version: `v${index}`,
      input_tokens: usage.inputTotal,
      cache_read_tokens: usage.cacheRead,
      cache_write_tokens: usage.cacheWrite,
      cache_write_1h_tokens: usage.cacheWrite1h,
      output_tokens: usage.outputTotal,
      audio_input_tokens: usage.audioInput,
      audio_cache_read_tokens: usage.audioCacheRead,
      audio_output_tokens: usage.audioOutput,
      characters: usage.characters,
      audio_seconds: usage.audioSeconds,
      web_searches: usage.webSearches,
      search_units: usage.searchUnits,
      calls,
      created_at: new Date(atMs).toISOString(),
    }));
    const { rows } = await database.raw<{ rows: { cost: string }[] }>(
      `SELECT cost_of_text(jsonb_populate_record(NULL::text_requests, request.value), rates) AS cost
       FROM jsonb_array_elements(?::jsonb) WITH ORDINALITY AS request JOIN text_costs AS rates
         ON rates.version = request.value->>'version' ORDER BY request.ordinality`,
      [JSON.stringify(requests)],
    );
    expect(rows.map(({ cost }) => Number(cost))).to.deep.equal(
      samples.map(([one, { atMs, ...usage }]) => Number(priceText(one, usage, atMs).charge)),
    );
    const stored = await listTextCosts(database, 'v7');
    expect(stored).to.deep.equal([costs[7]]);
  });

  it('halves the cost of tokens at a vendor that charges half in its batches', async () => {
    const [rated] = fc.sample(pricing, { numRuns: 1, seed: 1 });
    if (rated === undefined) throw new Error('there is no sample');
    await recordTextCosts(database, [{ ...ROUTE, version: 'half', pricing: rated }]);
    const counts = Object.fromEntries(TOKEN_COUNTS.map(({ column }) => [column, 0]));
    const request = { ...counts, input_tokens: 700, output_tokens: 300, calls: 1, created_at: '2026-03-04' };
    const costOf = async (factor: string | null): Promise<number> => {
      const { rows } = await database.raw<{ rows: { cost: string }[] }>(
        `SELECT cost_of_text(jsonb_populate_record(NULL::text_requests, ?::jsonb), rates) AS cost
         FROM text_costs AS rates WHERE version = 'half'`,
        [JSON.stringify({ ...request, cost_factor: factor })],
      );
      return Number(rows[0]?.cost);
    };
    expect(await costOf('0.5')).to.equal((await costOf(null)) / 2);
  });
});
