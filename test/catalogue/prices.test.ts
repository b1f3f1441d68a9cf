import { expect } from 'chai';
import { formatUsd } from '../../domain/money.ts';
import { type TokenUsage, assertExactPricing, priceText } from '../../domain/pricing.ts';
import { CATALOGUE, soldTextModel } from '../support/catalogue.ts';

/** Every expected amount below was calculated by hand, in USD. The listed prices: test/docs/contract.test.ts. */

const SUNDAY_NIGHT = '2026-10-04T03:00:00+08:00';

function cost(id: string, usage: Partial<TokenUsage>, moment: string = SUNDAY_NIGHT): string {
  const tokens = { inputTotal: 0, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, outputTotal: 0, ...usage };
  return formatUsd(priceText(soldTextModel(id).pricing, tokens, Date.parse(moment)).charge);
}

describe('the prices of the catalogue', () => {
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
        // contract 2.6:7 2.6:8 2.6:9 2.6:10
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
        // contract 2.6:6
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
      // The same boundary in UTC: Saturday in UTC, and Sunday in UTC+8.
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
        // contract 2.6:11 2.6:12 2.6:13
        expect(cost(id, DAY, moment)).to.equal(usd);
      });
    }

    it('doubles the cached-input rate of the high-cache line too', () => {
      // contract 2.6:6
      const cached = { inputTotal: 100_000, cacheRead: 100_000 };
      expect(cost('textl-v4.1-flash-hc', cached, '2026-10-05T08:59:59+08:00')).to.equal('0.001');
      expect(cost('textl-v4.1-flash-hc', cached, '2026-10-05T09:00:00+08:00')).to.equal('0.002');
    });

    it('multiplies the cached-input rate of texte-3 too', () => {
      // contract 2.6:6
      const cached = { inputTotal: 100_000, cacheRead: 100_000 };
      expect(cost('texte-3', cached, '2026-10-05T07:00:00+08:00')).to.equal('0.0005775');
      expect(cost('texte-3', cached, '2026-10-05T09:00:00+08:00')).to.equal('0.000924');
    });
  });

  it('is exact in pico-USD for every model', () => {
    for (const { pricing } of CATALOGUE.textModels.values()) expect(() => assertExactPricing(pricing)).not.to.throw();
  });
});
