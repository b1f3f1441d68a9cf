import { expect } from 'chai';
import { parseOperatorFile } from '../../catalogue/operator-file.ts';
import { bonusStepOf } from '../../catalogue/site-money.ts';
import { checkSite } from '../../catalogue/site.ts';
import { parseUsd } from '../../domain/money.ts';

const check = (text: string) => checkSite(parseOperatorFile(`name: Acme\n${text}`, 'site.yaml', () => undefined));

describe('the money of a site', () => {
  it('has the methods of the payment provider, the usual minimum and USD alone by default', () => {
    expect(check('').value).to.deep.include({
      payments: { methods: null, minUsd: 1, bonuses: [] },
      displayCurrency: null,
    });
  });

  it('names methods that take USD, a minimum, and a currency with its rate and day', () => {
    const { value } = check(
      'payments: { methods: [card, alipay], min_usd: 5, bonuses: [{ from_usd: 100, percent: 5, days: 90 }] }\ndisplay_currency: { code: CNY, usd_rate: 7.1, date: "2026-11-29" }',
    );
    expect(value).to.deep.include({
      payments: { methods: ['card', 'alipay'], minUsd: 5, bonuses: [{ fromUsd: 100, percent: 5, days: 90 }] },
      displayCurrency: { code: 'CNY', usdRate: 7.1, date: '2026-11-29' },
    });
  });

  it('gives a payment the bonus of the highest step that it reaches', () => {
    const bonuses = [500, 100].map((fromUsd) => ({ fromUsd, percent: fromUsd / 50, days: 90 }));
    const percentFor = (usd: string) => bonusStepOf({ bonuses }, parseUsd(usd))?.percent ?? 0;
    expect(['99.99', '100', '499.99', '500', '9000'].map(percentFor)).to.deep.equal([0, 2, 2, 10, 10]);
  });

  for (const wrong of [
    'payments: { bonuses: [{ from_usd: 100, percent: 0, days: 90 }] }',
    'payments: { methods: [sepa_debit] }',
    'payments: { methods: [] }',
    'payments: { min_usd: 0 }',
    'display_currency: { code: USD, usd_rate: 1, date: "2026-11-29" }',
    'display_currency: { code: CNY, usd_rate: 0, date: "2026-11-29" }',
    'display_currency: { code: CNY, usd_rate: 7.1 }',
  ]) {
    it(`refuses ${wrong}`, () => {
      expect(check(wrong).findings).to.have.length(1);
    });
  }
});
