import { expect } from 'chai';
import { checkPlans } from '../../catalogue/check-plans.ts';
import { parseOperatorFile } from '../../catalogue/operator-file.ts';
import { checkSite } from '../../catalogue/site.ts';
import { CATALOGUE } from '../support/catalogue.ts';

/** The findings of a site with one plan. */
function findingsOf(plan: object): readonly string[] {
  const text = JSON.stringify({
    name: 'Acme',
    plans: [{ id: 'basic', name: 'Basic', stripe_price: 'price_1', ...plan }],
  });
  const file = parseOperatorFile(text, 'site.yaml', () => undefined);
  const { value, findings } = checkSite(file);
  return [...findings, ...(value ? checkPlans(file, value, CATALOGUE) : [])].map(({ message }) => message);
}

describe('a plan in the file of the site', () => {
  it('needs a price, and has models of the catalogue', () => {
    expect(findingsOf({ usd_per_month: 10, models: ['textg-*', 'vidone-3.0'] })).to.deep.equal([]);
    expect(findingsOf({ usd_per_month: 10, models: ['textg-*', 'vidnone-*'] })).to.deep.equal([
      'the plan "basic" has "vidnone-*", which is no model of the catalogue',
    ]);
    for (const wrong of [
      {},
      { usd_per_month: -1 },
      { usd_per_month: 1, seats: 0 },
      { usd_per_month: 1, models: ['a*b'] },
    ]) {
      expect(findingsOf(wrong), JSON.stringify(wrong)).to.have.length(1);
    }
  });
});
