import { expect } from 'chai';
import { OWN_SITE } from '../../catalogue/site.ts';
import * as fc from 'fast-check';
import { findSalesBelowCost, setPriceList } from '../../services/money/price-lists.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { readRules, writeRules } from '../../console/pages/staff/price-lists/rules.ts';
import { textsIn } from '../../console/texts/texts.ts';
import { createPriceList } from '../../db/queries/price-lists.ts';
import { useAccount, useTestConsole, useVisitor } from '../support/console.ts';

const PATH = '/console/staff/price-lists';

describe('price lists in the console of the staff', () => {
  const app = useTestConsole();
  const customer = useAccount(app, { fundedUsd: 25 });
  const finance = useVisitor(app, () => ({ email: 'fin@example.com', staff_role: 'finance' }));
  const reader = useVisitor(app, () => ({ email: 'read@example.com', staff_role: 'readonly' }));

  const create = (fields: Record<string, string>) =>
    finance.send(PATH, { name: 'kites', factor: '0.9', rules: '', valid_from: '', reason: 'a test', ...fields });

  it('are created, shown with both prices of a model, and changed by finance', async () => {
    const created = await create({
      batch_factor: '0.6',
      rules: 'model vidone-3.0 720p=0.08\n\nfamily textg factor=0.5\n',
    });
    expect([created.status, created.headers['location']]).to.deep.equal([303, `${PATH}/kites`]);
    const { text } = await finance.get(`${PATH}/kites`);
    expect(text).to.include('<s class="soft">$0.10/s</s> <span class="money">$0.08/s</span>');
    expect(text).to.include('model vidone-3.0 720p=0.08\nfamily textg factor=0.5');
    expect(text).to.include('× 0.6').and.include('name="batch_factor"');
    const changed = await finance.send(`${PATH}/kites`, {
      factor: '0.8',
      rules: '',
      valid_from: '2031-01-01T00:00',
      reason: 'next year',
    });
    expect(changed.status).to.equal(303);
    expect((await finance.get(`${PATH}/kites?version=2`)).text)
      .to.include('next year')
      .and.include('2031-01-01 00:00 UTC')
      .and.include('fin@example.com');
  });

  const wrong: readonly (readonly [what: string, fields: Record<string, string>, words: string])[] = [
    ['an unknown model', { rules: 'family textg factor=2\n\nmodel x factor=2' }, 'Line 3: unknown model.'],
    ['an unknown family', { rules: 'model vidone-3.0 factor=2\nfamily kites factor=2' }, 'Line 2: unknown family.'],
    ['the name of another', { name: 'kites' }, 'A price list with this name exists'],
  ];
  for (const [what, fields, words] of wrong) {
    it(`are refused with ${what}, and the form keeps its input`, async () => {
      const shown = await create({ name: 'other', ...fields });
      expect(shown.status).to.be.within(400, 409);
      expect(shown.text)
        .to.include(words)
        .and.to.include(`value="${fields['factor'] ?? '0.9'}"`);
    });
  }

  it('are assigned to an account, whose page names the list and the author', async () => {
    const account = `/console/staff/accounts/${customer.accountId}`;
    const form = { price_list: 'kites', reason: 'by contract' };
    const sent = await finance.edit(`${account}?tab=money`, form, `${account}/price-list`);
    expect(sent.status).to.equal(303);
    const actions = async () => (await finance.get(`${account}?tab=actions`)).text;
    expect((await finance.get(account)).text).to.include(`<a href="${PATH}/kites">kites</a>`);
    expect(await actions()).to.include('by kites: by contract');
    await finance.edit(`${account}?tab=money`, { price_list: '', reason: 'ended' }, `${account}/price-list`);
    expect(await actions()).to.include('by the catalogue: ended');
  });

  it('the whole staff sees price lists, and only staff who may change them see the form', async () => {
    expect((await reader.get(`${PATH}/kites`)).text)
      .to.include('kites')
      .and.not.include('Create new version');
  });

  it('price lists are listed as problems if they sell below cost, once an account uses them', async () => {
    const services = { database: app.database, catalogue: loadCatalogue('catalogue/vendors.yaml') };
    expect(await findSalesBelowCost(services)).to.deep.equal([]);
    await createPriceList(app.database, 'cheap', { factor: '0.01', rules: [], author: 'Ada', reason: 'a test' });
    expect(await findSalesBelowCost(services), 'nobody pays by it').to.deep.equal([]);
    const { accountId } = customer;
    await setPriceList(services, { accountId, list: 'cheap', author: 'Ada', reason: 'a test' });
    const [loss, ...others] = await findSalesBelowCost(services);
    expect(others).to.deep.equal([]);
    expect(loss).to.include({ list: 'cheap@1' });
    expect(loss?.first.seconds, 'a video of a length').to.be.above(0);
    expect(loss && loss.first.price < loss.first.cost).to.equal(true);
  });
});

describe('the rules of a price list as text', () => {
  const word = fc.stringMatching(/^[a-z0-9.-]{1,12}$/);
  const rule = fc
    .record({
      target: fc.constantFrom('model', 'family'),
      name: word,
      factor: fc.option(word, { nil: undefined }),
      prices: fc.dictionary(
        word.filter((name) => name !== 'factor'),
        word,
        { minKeys: 1 },
      ),
    })
    .map(({ target, name, factor, prices }) => ({ [target]: name, ...(factor !== undefined && { factor }), prices }));

  it('are read back as they were written', () => {
    fc.assert(
      fc.property(fc.array(rule), (rules) => {
        expect(readRules(writeRules(rules), textsIn('en', OWN_SITE.name))).to.deep.equal(
          rules.map((one) => ({ ...one, prices: { ...one.prices } })),
        );
      }),
    );
  });
});
