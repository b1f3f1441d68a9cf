import { expect } from 'chai';
import * as fc from 'fast-check';
import { UNREPORTED_USAGE, type Usage } from '../../text/canonical.ts';
import { Meter } from '../../text/meter.ts';
import { readUsage, settleUsage } from '../../text/usage.ts';

const counted = { prompt_tokens: 64, completion_tokens: 6, total_tokens: 70 };

function usageOf(numbers: Partial<Usage>): Usage {
  return { ...UNREPORTED_USAGE, ...numbers };
}

describe('the usage of an upstream', () => {
  const read = [
    { prompt_tokens_details: { cached_tokens: 32 } },
    { prompt_token_details: { cached_tokens: 32 } },
    { input_tokens_details: { cached_tokens: 32 } },
    { cached_tokens: 32 },
    { num_cached_tokens: 32 },
    { cache_read_input_tokens: 32 },
    { prompt_cache_hit_tokens: 32, prompt_cache_miss_tokens: 32 },
    { cached_tokens: 32, prompt_tokens_details: { cached_tokens: 0 } },
    { num_cached_tokens: 0, prompt_tokens_details: { cached_tokens: 32 } },
  ];
  for (const cached of read) {
    it(`has the cached tokens of ${JSON.stringify(cached)} inside its input`, () => {
      expect(readUsage({ ...counted, ...cached })).to.include({ inputTotal: 64, cacheRead: 32, outputTotal: 6 });
    });
  }

  const written = [
    { prompt_tokens_details: { cache_write_tokens: 20 } },
    { prompt_tokens_details: { cache_creation_tokens: 20, cached_tokens: 0 } },
    { prompt_tokens_details: { cached_creation_tokens: 20 } },
    { cache_creation_input_tokens: 20 },
    { prompt_cache_write_tokens: 20 },
  ];
  for (const cached of written) {
    it(`counts cache writes within the input: ${JSON.stringify(cached)}`, () => {
      expect(readUsage({ ...counted, ...cached })).to.include({ inputTotal: 64, cacheWrite: 20, outputTotal: 6 });
    });
  }

  it('counts one-hour cache writes within all cache writes', () => {
    const byLifetime = { ephemeral_5m_input_tokens: 12, ephemeral_1h_input_tokens: 8 };
    for (const cached of [
      { cache_creation_input_tokens: 20, cache_creation: byLifetime },
      { prompt_tokens_details: { cache_write_tokens: 20, cache_creation_token_details: byLifetime } },
    ]) {
      expect(readUsage({ ...counted, ...cached })).to.include({ cacheWrite: 20, cacheWrite1h: 8 });
    }
  });

  it('is read under the names of either format', () => {
    const usage = { input_tokens: 64, output_tokens: 6, output_tokens_details: { reasoning_tokens: 4 } };
    expect(readUsage(usage)).to.deep.equal(usageOf({ inputTotal: 64, outputTotal: 6, reasoning: 4 }));
    expect(readUsage({ ...counted, reasoning_tokens: 4 })).to.include({ outputTotal: 6, reasoning: 4 });
  });

  it('has no unreported number', () => {
    expect(readUsage({})).to.deep.equal(usageOf({}));
    expect(readUsage({ prompt_tokens: '3', completion_tokens: -1, total_tokens: null })).to.deep.equal(usageOf({}));
  });

  it('counts tokens once that are reported as both read from and written to the cache', () => {
    const usage = { prompt_tokens: 2_168, completion_tokens: 100, total_tokens: 2_268 };
    const details = { cached_tokens: 2_161, cache_write_tokens: 2_161 };
    expect(readUsage({ ...usage, prompt_tokens_details: details })).to.include({
      inputTotal: 2_168,
      cacheRead: 2_161,
      cacheWrite: 7,
      outputTotal: 100,
    });
    // Beside the input: the total includes them, too.
    expect(readUsage({ ...usage, total_tokens: 6_590, prompt_tokens_details: details })).to.include({
      inputTotal: 6_490,
      cacheWrite: 2_161,
      outputTotal: 100,
    });
  });

  it('adds cached tokens to a smaller prompt', () => {
    const usage = { prompt_tokens: 298, completion_tokens: 14, total_tokens: 312 };
    expect(readUsage({ ...usage, prompt_tokens_details: { cached_tokens: 387 } })).to.include({
      inputTotal: 685,
      cacheRead: 387,
      outputTotal: 14,
    });
  });

  it('adds cached tokens to the prompt, and not to the output, if the total includes them', () => {
    const usage = { prompt_tokens: 100, completion_tokens: 5, total_tokens: 185 };
    expect(readUsage({ ...usage, cached_tokens: 80 })).to.include({ inputTotal: 180, outputTotal: 5 });
  });

  it('has reasoning inside the output: of the total, or where reasoning exceeds the output', () => {
    // contract 2.6:5
    const usage = { prompt_tokens: 10, completion_tokens: 9 };
    const reasoning = { completion_tokens_details: { reasoning_tokens: 340 } };
    expect(readUsage({ ...usage, ...reasoning, total_tokens: 359 }).outputTotal).to.equal(349);
    expect(readUsage({ ...usage, ...reasoning }).outputTotal).to.equal(349);
    expect(readUsage({ ...usage, total_tokens: 359 }).outputTotal).to.equal(349);
    expect(readUsage({ ...usage, ...reasoning, cached_tokens: 340, total_tokens: 359 }).outputTotal).to.equal(349);
  });

  it('is the same however it is reported: separately or included, with a total or without', () => {
    const counts = fc.record({
      plain: fc.integer({ min: 1, max: 100 }),
      cached: fc.integer({ min: 101, max: 999 }),
      said: fc.integer({ min: 0, max: 50 }),
      reasoning: fc.integer({ min: 51, max: 100 }),
    });
    fc.assert(
      fc.property(counts, fc.boolean(), fc.boolean(), fc.boolean(), (of, cachedInside, reasoningInside, hasTotal) => {
        const usage = settleUsage({
          ...UNREPORTED_USAGE,
          input: of.plain + (cachedInside ? of.cached : 0),
          cacheRead: of.cached,
          output: of.said + (reasoningInside ? of.reasoning : 0),
          reasoning: of.reasoning,
          total: hasTotal ? of.plain + of.cached + of.said + of.reasoning : null,
        });
        expect(usage).to.include({ inputTotal: of.plain + of.cached, outputTotal: of.said + of.reasoning });
      }),
    );
  });

  it('has the audio tokens of chat completions, of realtime sessions and of the native format', () => {
    const details = { audio_tokens: 60, cached_tokens_details: { audio_tokens: 20 } };
    for (const names of [
      ['prompt_tokens_details', 'completion_tokens_details'],
      ['input_token_details', 'output_token_details'],
    ] as const) {
      const usage = readUsage({ [names[0]]: details, [names[1]]: { audio_tokens: 8 } });
      expect(usage).to.include({ audioInput: 60, audioCacheRead: 20, audioOutput: 8 });
    }
    expect(readUsage({ prompt_tokens: 5 })).to.include({ audioInput: null, audioCacheRead: null, audioOutput: null });
  });

  it('has parts that fit into their totals, whatever was reported', () => {
    const count = fc.option(fc.nat(1000));
    const told = fc.record({
      input: count,
      cacheRead: count,
      cacheWrite: count,
      cacheWrite1h: count,
      output: count,
      reasoning: count,
      total: count,
    });
    fc.assert(
      fc.property(told, (counts) => {
        const { inputTotal, cacheRead, cacheWrite, cacheWrite1h, outputTotal, reasoning } = settleUsage({
          ...UNREPORTED_USAGE,
          ...counts,
        });
        if (inputTotal !== null) expect(inputTotal).to.be.at.least((cacheRead ?? 0) + (cacheWrite ?? 0));
        expect(cacheWrite ?? 0).to.be.at.least(cacheWrite1h ?? 0);
        if (outputTotal !== null) expect(outputTotal).to.be.at.least(reasoning ?? 0);
        expect(outputTotal ?? 0).to.be.at.least(counts.output ?? 0);
      }),
    );
  });

  it('is not lost when the last report has only zeros', () => {
    const meter = new Meter();
    const told = usageOf({ inputTotal: 12, outputTotal: 5, cacheRead: 4 });
    meter.see({ type: 'usage', usage: told });
    meter.see({ type: 'usage', usage: usageOf({ inputTotal: 0, outputTotal: 0, cacheRead: 0 }) });
    expect(meter.usage).to.deep.equal(told);
  });
});
