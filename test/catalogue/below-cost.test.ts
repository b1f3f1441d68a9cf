import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { soldBelowCost } from '../../catalogue/below-cost.ts';
import { parseCatalogue } from '../../catalogue/load.ts';

const shipped = readFileSync(new URL('../../catalogue/catalogue.yaml', import.meta.url), 'utf8');
/** The prices of the first model. */
const COST =
  "cost: { input: '0.21', output: '0.84', cached_input: '0.021', cache_write: '0.21', tiers: [{ threshold_tokens: 512000, applies: over, factor: '2' }] }";

function lossesOver(route: string): readonly string[] {
  const yaml = shipped.replace('format: chat-completions }]', `format: chat-completions, ${route} }]`);
  const losses = soldBelowCost(parseCatalogue(yaml, 'test.yaml'), null);
  return losses.filter(({ model, isBatch }) => model === 'textc-M3' && isBatch).map(({ what }) => what);
}

describe('prices below cost', () => {
  it('include those of batches at half the price, unless the vendor charges half in its own batches', () => {
    expect(lossesOver(COST)).to.include('input');
    expect(lossesOver(`${COST}, batch: native`)).to.deep.equal([]);
    expect(lossesOver(`${COST}, batch: { cost_factor: '0.6' }`)).to.include('input');
  });
});
