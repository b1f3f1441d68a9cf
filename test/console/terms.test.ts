import { expect } from 'chai';
import { OWN_SITE } from '../../catalogue/site.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { mediaPrices, offerOf } from '../../catalogue/offer.ts';
import { priceName, priceText } from '../../console/html/terms.tsx';
import { textsIn } from '../../console/texts/texts.ts';
import { parseUsd } from '../../domain/money.ts';

describe('prices in words', () => {
  const pricing = {
    per: 'second',
    byResolution: { '720p': parseUsd('0.1') },
    modifiers: [
      { when: { audio: true }, addition: parseUsd('0.24').toString(), factor: '1' },
      { when: { mode: 'pro' }, addition: '0', factor: '1.5' },
      { when: { audio: true, mode: 'pro' }, addition: parseUsd('0.02').toString(), factor: '2' },
    ],
  } as const;

  for (const [language, expected] of [
    [
      'en',
      ['720p: $0.10/s', 'With audio: +$0.24/s', 'With mode = pro: × 1.5', 'With audio, mode = pro: +$0.02/s, × 2'],
    ],
    ['zh', ['720p: $0.10/秒', '含 audio: +$0.24/秒', '含 mode = pro: × 1.5', '含 audio, mode = pro: +$0.02/秒, × 2']],
  ] as const) {
    it(`state the unit, and of a condition only what the condition changes: ${language}`, () => {
      const texts = textsIn(language, OWN_SITE.name);
      const shown = Object.entries(mediaPrices(pricing)).map(
        ([name, price]) => `${priceName(name, texts)}: ${priceText(name, price, texts)}`,
      );
      expect(shown).to.deep.equal(expected);
    });
  }
});

describe('the terms of a model', () => {
  it('have no JSON, and name each further field with its values', () => {
    const { models } = offerOf(loadCatalogue('catalogue/vendors.yaml'));
    const terms = models.flatMap((model) => Object.entries(model.terms));
    expect(terms.filter(([, words]) => /[{}"[\]]/.test(words))).to.deep.equal([]);
    expect(terms.filter(([name]) => name.startsWith('field ')).map(([, words]) => words)).to.include(
      'true or false, default false',
    );
  });
});
