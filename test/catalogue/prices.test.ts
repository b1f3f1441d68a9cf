import { expect } from 'chai';
import { loadCatalogue } from '../../catalogue/load.ts';
import { type TextModel, type VideoModel } from '../../catalogue/types.ts';
import { formatUsd } from '../../domain/money.ts';
import { type TokenUsage, assertExactPricing, priceText, priceVideo } from '../../domain/pricing.ts';

/** Every expected amount below was worked out by hand, in USD. */

const catalogue = loadCatalogue();
const SUNDAY_NIGHT = '2026-10-04T03:00:00+08:00';

function textModel(id: string): TextModel {
  const model = catalogue.textModels.get(id);
  if (!model) throw new Error(`no text model ${id}`);
  return model;
}

function videoModel(id: string): VideoModel {
  const model = catalogue.videoModels.get(id);
  if (!model) throw new Error(`no video model ${id}`);
  return model;
}

function cost(id: string, usage: Partial<TokenUsage>, moment: string = SUNDAY_NIGHT): string {
  const tokens = { inputTotal: 0, cacheRead: 0, cacheWrite: 0, outputTotal: 0, ...usage };
  return formatUsd(priceText(textModel(id).pricing, tokens, Date.parse(moment)).charge);
}

describe('the prices of the catalogue', () => {
  describe('100,000 tokens of one class, at the listed price', () => {
    /** Model, and what 100,000 tokens of plain input, of cached input and of output cost. */
    const LISTED = [
      ['textc-M3', '0.021', '0.0021', '0.084'],
      ['textd-v2.6-flash', '0.0098', '0.00098', '0.0196'],
      ['textd-v2.5', '0.0098', '0.00098', '0.0196'],
      ['texte-4-preview', '0.05838', '0.005838', '0.17507'],
      ['texte-3', '0.005775', '0.0005775', '0.0231'],
      ['textf3.8-max', '0.14', '0.014', '0.42'],
      ['textf3.8-flash', '0.0105', '0.00105', '0.0329'],
      ['textg-6.1-sol', '0.08', '0.008', '0.4'],
      ['textg-6-astra', '0.4', '0.04', '2'],
      ['textg-6-sol', '0.08', '0.008', '0.4'],
      ['textg-6-luna', '0.004', '0.0004', '0.02'],
      ['texth-4-argon', '0.1', '0.005', '0.5'],
      ['texth-3.8-flash', '0.0375', '0.00375', '0.1875'],
      ['texth-3.1-pro-preview', '0.1', '0.01', '0.6'],
      ['texti-k3', '0.21', '0.021', '1.05'],
      ['textj-4.7', '0.028', '0.0028', '0.112'],
      ['textk-5.3', '0.042', '0.0042', '0.168'],
      ['textk-5.3-flash', '0.007', '0.0007', '0.028'],
      ['textk-5.3-flashx', '0.014', '0.0014', '0.056'],
      ['textl-v4.1-flash', '0.01', '0.001', '0.03'],
      ['textl-v4-pro-0813', '0.04', '0.004', '0.12'],
      ['textl-v4.1-flash-hc', '0.01', '0.001', '0.03'],
      ['textl-v4-pro-0813-hc', '0.04', '0.004', '0.12'],
      ['textg-5.6-sol', '0.08', '0.008', '0.4'],
      ['textg-5.6-terra', '0.04', '0.004', '0.2'],
      ['textg-5.6-luna', '0.004', '0.0004', '0.02'],
      ['texth-3.6-flash', '0.03', '0.003', '0.15'],
      ['texth-3.7-flash', '0.035', '0.0035', '0.175'],
      ['textj-4.5', '0.02', '0.002', '0.08'],
      ['textj-4.6', '0.024', '0.0024', '0.096'],
      ['textl-v4-flash-0731', '0.008', '0.0008', '0.024'],
      ['texth-3.8-flash-free', '0', '0', '0'],
      ['textk-5.3-free', '0', '0', '0'],
      ['textk-5.3-flash-free', '0', '0', '0'],
      ['textl-v4.1-flash-free', '0', '0', '0'],
      ['textl-v4-flash-0731-free', '0', '0', '0'],
    ] as const;

    for (const [id, input, cached, output] of LISTED) {
      it(`of ${id} cost ${input}, ${cached} and ${output}`, () => {
        expect(cost(id, { inputTotal: 100_000 })).to.equal(input);
        expect(cost(id, { inputTotal: 100_000, cacheRead: 100_000 })).to.equal(cached);
        expect(cost(id, { outputTotal: 100_000 })).to.equal(output);
      });
    }

    it('are listed for every model', () => {
      expect(LISTED.map(([id]) => id)).to.have.members([...catalogue.textModels.keys()]);
    });

    it('cost as much when a cache is written with them: there is no fee for it', () => {
      for (const [id, input] of LISTED) {
        expect(cost(id, { inputTotal: 100_000, cacheWrite: 100_000 }), id).to.equal(input);
      }
    });
  });

  describe('long prompts', () => {
    for (const [id, inputTotal, usd] of [
      ['textc-M3', 512_000, '0.10752'],
      ['textc-M3', 512_001, '0.21504042'],
      ['textg-6.1-sol', 272_000, '0.2176'],
      ['textg-6.1-sol', 272_001, '0.4352016'],
      ['textg-6-astra', 272_000, '1.088'],
      ['textg-6-astra', 272_001, '2.176008'],
      ['textg-6-sol', 272_001, '0.2176008'],
      ['textg-6-luna', 272_001, '0.01088004'],
      ['textg-5.6-sol', 300_000, '0.24'],
      ['texth-4-argon', 900_000, '0.9'],
      ['texth-3.8-flash', 200_001, '0.075000375'],
      ['texth-3.1-pro-preview', 200_000, '0.2'],
      ['texth-3.1-pro-preview', 200_001, '0.400002'],
      ['textj-4.7', 199_999, '0.05599972'],
      ['textj-4.7', 200_000, '0.112'],
      ['textf3.8-max', 900_000, '1.26'],
      ['textk-5.3', 900_000, '0.378'],
    ] as const) {
      it(`${id} charges ${usd} for a prompt of ${inputTotal} tokens`, () => {
        expect(cost(id, { inputTotal })).to.equal(usd);
      });
    }

    for (const [id, inputTotal, usd] of [
      ['textc-M3', 512_001, '0.023184042'],
      ['textj-4.7', 200_000, '0.01344'],
      ['textg-6.1-sol', 272_001, '0.05152016'],
      ['textg-6-astra', 272_001, '0.2576008'],
      ['texth-3.1-pro-preview', 200_001, '0.0520002'],
    ] as const) {
      it(`${id} doubles cached input and output as well`, () => {
        expect(cost(id, { inputTotal, cacheRead: inputTotal, outputTotal: 1_000 })).to.equal(usd);
      });
    }
  });

  describe('peak hours', () => {
    const DAY = { inputTotal: 1_000, outputTotal: 1_000 };
    for (const [id, moment, usd] of [
      ['texte-3', '2026-10-05T07:59:59.999+08:00', '0.00028875'],
      ['texte-3', '2026-10-05T08:00:00.000+08:00', '0.000462'],
      ['texte-3', '2026-10-05T23:59:59.999+08:00', '0.000462'],
      ['texte-3', '2026-10-06T00:00:00.000+08:00', '0.00028875'],
      ['texte-3', '2026-10-04T12:00:00.000+08:00', '0.000462'],
      ['texte-3', '2026-10-09T23:59:59.999+08:00', '0.000462'],
      ['texte-3', '2026-10-10T00:00:00.000+08:00', '0.00028875'],
      ['texte-3', '2026-10-10T08:00:00.000+08:00', '0.000462'],
      // The same edge on the clock of UTC: it is Saturday there, and Sunday in UTC+8.
      ['texte-3', '2026-10-03T23:59:59.999Z', '0.00028875'],
      ['texte-3', '2026-10-04T00:00:00.000Z', '0.000462'],
      ['texte-4-preview', '2026-10-05T12:00:00.000+08:00', '0.0023345'],
      ['textl-v4.1-flash-hc', '2026-10-05T08:59:59.999+08:00', '0.0004'],
      ['textl-v4.1-flash-hc', '2026-10-05T09:00:00.000+08:00', '0.0008'],
      ['textl-v4.1-flash-hc', '2026-10-05T11:59:59.999+08:00', '0.0008'],
      ['textl-v4.1-flash-hc', '2026-10-05T12:00:00.000+08:00', '0.0004'],
      ['textl-v4.1-flash-hc', '2026-10-09T13:59:59.999+08:00', '0.0004'],
      ['textl-v4.1-flash-hc', '2026-10-09T14:00:00.000+08:00', '0.0008'],
      ['textl-v4.1-flash-hc', '2026-10-09T17:59:59.999+08:00', '0.0008'],
      ['textl-v4.1-flash-hc', '2026-10-09T18:00:00.000+08:00', '0.0004'],
      ['textl-v4.1-flash-hc', '2026-10-09T09:00:00.000+08:00', '0.0008'],
      ['textl-v4.1-flash-hc', '2026-10-09T23:59:59.999+08:00', '0.0004'],
      ['textl-v4.1-flash-hc', '2026-10-10T09:00:00.000+08:00', '0.0004'],
      ['textl-v4.1-flash-hc', '2026-10-10T10:00:00.000+08:00', '0.0004'],
      ['textl-v4.1-flash-hc', '2026-10-11T09:00:00.000+08:00', '0.0004'],
      ['textl-v4.1-flash-hc', '2026-10-11T15:00:00.000+08:00', '0.0004'],
      ['textl-v4-pro-0813-hc', '2026-10-05T09:00:00.000+08:00', '0.0032'],
      ['textl-v4-pro-0813-hc', '2026-10-05T18:00:00.000+08:00', '0.0016'],
      ['textl-v4-pro-0813', '2026-10-05T10:00:00.000+08:00', '0.0016'],
      ['textl-v4.1-flash', '2026-10-05T10:00:00.000+08:00', '0.0004'],
    ] as const) {
      it(`${id} charges ${usd} at ${moment}`, () => {
        expect(cost(id, DAY, moment)).to.equal(usd);
      });
    }

    it('doubles the cached-input rate of the high-cache line too', () => {
      const cached = { inputTotal: 100_000, cacheRead: 100_000 };
      expect(cost('textl-v4.1-flash-hc', cached, '2026-10-05T08:59:59+08:00')).to.equal('0.001');
      expect(cost('textl-v4.1-flash-hc', cached, '2026-10-05T09:00:00+08:00')).to.equal('0.002');
    });

    it('multiplies the cached-input rate of texte-3 too', () => {
      const cached = { inputTotal: 100_000, cacheRead: 100_000 };
      expect(cost('texte-3', cached, '2026-10-05T07:00:00+08:00')).to.equal('0.0005775');
      expect(cost('texte-3', cached, '2026-10-05T09:00:00+08:00')).to.equal('0.000924');
    });
  });

  it('is exact in pico-USD for every model', () => {
    for (const { pricing } of catalogue.textModels.values()) expect(() => assertExactPricing(pricing)).not.to.throw();
  });

  describe('videos', () => {
    for (const [id, resolution, durationSeconds, usd] of [
      ['vidone-3.0', '720p', 5, '0.5'],
      ['vidone-3.0', '1080p', 30, '4.5'],
      ['vidone-3.0-prime', '720p', 5, '0.5'],
      ['vidone-3.0-prime', '1080p', 30, '4.5'],
      ['vidtwo-1.1', '720p', 3, '0.24'],
      ['vidtwo-1.1', '1080p', 15, '1.8'],
    ] as const) {
      it(`${id} charges ${usd} for ${durationSeconds} seconds of ${resolution}`, () => {
        expect(formatUsd(priceVideo(videoModel(id).pricePerSecond, { resolution, durationSeconds }))).to.equal(usd);
      });
    }
  });

  it('prices the tiers of each image model', () => {
    const prices = [...catalogue.imageModels.values()].map(({ id, pricePerTier }) => [
      id,
      ...(['1K', '2K', '4K'] as const).map((tier) => formatUsd(pricePerTier[tier])),
    ]);
    expect(prices).to.deep.equal([
      ['imagea-2.5-sunburst', '0.04', '0.08', '0.16'],
      ['imageb-2', '0.03', '0.06', '0.12'],
    ]);
  });
});
