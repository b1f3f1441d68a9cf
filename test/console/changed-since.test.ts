import { expect } from 'chai';
import { createPriceList } from '../../db/queries/price-lists.ts';
import { UNLIMITED, useAccount, useTestConsole, useVisitor, Visitor } from '../support/console.ts';
import { createEndpoint } from '../support/factories.ts';

/** A form that two tabs open, and what each of them sends. */
interface Edit {
  readonly page: string;
  /** The path of the form below the page. */
  readonly form?: string;
  /** The tab of the page that has the form. */
  readonly tab?: string;
  readonly first: Readonly<Record<string, string>>;
  readonly second: Readonly<Record<string, string>>;
  /** The stored value in the refusal of the second tab. */
  readonly stored: string;
}

const ENDPOINT = { url: 'http://127.0.0.1:9/one', events: 'task.failed' };
const PRICES = { rules: '', valid_from: '', reason: 'a test' };

describe('a form over fields that somebody else changed', () => {
  const app = useTestConsole({ settings: { allowPrivateAddresses: true } });
  const customer = useAccount(app, { fundedUsd: 10 });
  const operatorOf = (email: string) => () =>
    ({ email, account_id: customer.accountId, staff_role: 'operator' }) as const;
  const one = useVisitor(app, operatorOf('one@example.com'));
  const other = useVisitor(app, operatorOf('other@example.com'));
  let paths: { readonly member: string; readonly staff: string; readonly endpoint: string; readonly person: string };

  before(async () => {
    const { accountId: account_id } = customer;
    await Visitor.invited(app, { email: 'third@example.com', account_id, member_role: 'developer' });
    const [{ id: third }] = await app.database('users').where({ email: 'third@example.com' });
    await createPriceList(app.database, 'partners', { factor: '0.9', rules: [], author: 'Ada', reason: 'a test' });
    paths = {
      member: `/console/accounts/${account_id}`,
      staff: `/console/staff/accounts/${account_id}`,
      endpoint: (await createEndpoint(app.database, { id: account_id })).id,
      person: third,
    };
  });

  const edits: Readonly<Record<string, () => Edit>> = {
    'a key by a member': () => ({
      page: `${paths.member}/keys/${customer.keyId}`,
      first: { ...UNLIMITED, name: 'first name' },
      second: { ...UNLIMITED, name: 'second name' },
      stored: 'Name is now “first name”',
    }),
    'a key by an operator': () => ({
      page: `${paths.staff}/keys/${customer.keyId}`,
      first: { unlimited: 'on', models: 'vidone-3.0', limit_period: 'day' },
      second: UNLIMITED,
      stored: 'Limit renewal is now “each day”; Models is now “vidone-3.0”',
    }),
    'the details of an account': () => ({
      page: paths.staff,
      tab: '?tab=details',
      form: '/details',
      first: { name: 'First', email: 'first@example.com' },
      second: { name: 'Second' },
      stored: 'E-mail is now “first@example.com”',
    }),
    'the price list of an account': () => ({
      page: paths.staff,
      tab: '?tab=money',
      form: '/price-list',
      first: { price_list: 'partners', reason: 'a contract' },
      second: { price_list: '', reason: 'none' },
      stored: 'Price list is now “partners”',
    }),
    'the billing details of an account': () => ({
      page: `${paths.member}/billing`,
      form: '/details',
      first: { tax_id: 'GB1' },
      second: { tax_id: 'GB2' },
      stored: 'Tax number is now “GB1”',
    }),
    'the threshold of the low-balance warning': () => ({
      page: `${paths.member}/billing`,
      form: '/low-balance',
      first: { low_balance_usd: '5' },
      second: { low_balance_usd: '6' },
      stored: 'is now “5”',
    }),
    'a webhook endpoint': () => ({
      page: `${paths.member}/webhooks/${paths.endpoint}`,
      first: ENDPOINT,
      second: { ...ENDPOINT, url: 'http://127.0.0.1:9/two' },
      stored: 'URL is now “http://127.0.0.1:9/one”',
    }),
    'the name of a person': () => ({
      page: `/console/staff/people/${paths.person}`,
      first: { name: 'First Person' },
      second: { name: 'Second Person' },
      stored: 'Name is now “First Person”',
    }),
    'the role of a member by an operator': () => ({
      page: `/console/staff/people/${paths.person}`,
      form: '/role',
      first: { account_id: customer.accountId, role: 'finance' },
      second: { account_id: customer.accountId, role: 'developer' },
      stored: 'Role is now “Finance”',
    }),
    'the role of a member by an owner': () => ({
      page: `${paths.member}/members/${paths.person}`,
      form: '/role',
      first: { role: 'finance' },
      second: { role: 'developer' },
      stored: 'Role is now “Finance”',
    }),
    'a price list': () => ({
      page: '/console/staff/price-lists/partners',
      first: { ...PRICES, factor: '0.8' },
      second: { ...PRICES, factor: '0.7' },
      stored: 'Latest version is now “2”',
    }),
  };

  for (const [what, editOf] of Object.entries(edits)) {
    it(`saves ${what} only once the reader has seen what is stored now`, async () => {
      const { page, tab = '', form = '', first, second, stored } = editOf();
      await Promise.all([one.get(page + tab), other.get(page + tab)]);
      expect((await one.send(page + form, first)).status).to.equal(303);
      const refused = await other.send(page + form, second);
      expect(refused.status).to.equal(409);
      expect(refused.text).to.include('Nothing was saved').and.include(stored);
      expect((await one.edit(page + tab, first, page + form)).status).to.equal(303);
      expect((await other.send(page + form, second)).status).to.equal(what === 'a price list' ? 409 : 303);
    });
  }

  it('keeps the entries of the reader, and is refused in the language of the reader', async () => {
    const page = `${paths.member}/billing`;
    await Promise.all([one.get(page), other.get(page)]);
    await other.setLanguage('zh');
    await one.send(`${page}/details`, { tax_id: 'GB3' });
    const { text } = await other.send(`${page}/details`, { tax_id: 'GB4' });
    await other.setLanguage('en');
    expect(text).to.include('未保存').and.include('现在是“GB3”').and.include('value="GB4"');
  });

  it('such a form is refused also after a refusal for a wrong entry', async () => {
    const page = `${paths.member}/keys/${customer.keyId}`;
    await Promise.all([one.get(page), other.get(page)]);
    expect((await other.send(page, { ...UNLIMITED, rate_limit_rpm: 'fast' })).status).to.equal(400);
    await one.send(page, { ...UNLIMITED, name: 'changed meanwhile' });
    expect((await other.send(page, { ...UNLIMITED, rate_limit_rpm: '7' })).status).to.equal(409);
  });

  it('saves one of several forms that arrive at once', async () => {
    const page = `${paths.member}/keys/${customer.keyId}`;
    await one.get(page);
    const names = ['a', 'b', 'c', 'd'];
    const answers = await Promise.all(names.map((name) => one.send(page, { ...UNLIMITED, name: `at once ${name}` })));
    expect(answers.map(({ status }) => status)).to.have.members([303, 409, 409, 409]);
  });

  it('such a form is refused if it does not say what it showed', async () => {
    const page = `${paths.member}/keys/${customer.keyId}`;
    await one.get(page);
    expect((await one.send(page, { ...UNLIMITED, name: 'blind', shown: '' })).status).to.equal(409);
  });
});
