import { expect } from 'chai';
import { newId } from '../../domain/ids.ts';
import { eventually } from '../support/eventually.ts';
import type { TestCaller } from '../support/factories.ts';
import { call } from '../support/stack.ts';
import { copyableIn, UNLIMITED, useTestConsole, Visitor } from '../support/console.ts';

const WHOLE = {
  name: 'renamed',
  usage_limit_usd: '2.5',
  rate_limit_rpm: '30',
  expires_on: '2030-05-01',
  ip_allowlist: '203.0.113.7\n2001:db8::/32',
  models: 'vidone-3.0',
};

describe('the keys of an account in the console', () => {
  const app = useTestConsole({ recordsRefusals: true });
  let customer: TestCaller;
  let owner: Visitor;
  let operator: Visitor;
  let mine: string;
  let theirs: string;

  beforeEach(async () => {
    customer = await app.createAccount({ fundedUsd: 25 });
    const { accountId } = customer;
    owner = await Visitor.invited(app, { email: `owner-${accountId}@example.com`, account_id: accountId });
    operator = await Visitor.invited(app, { email: `op-${accountId}@example.com`, staff_role: 'operator' });
    await app.database('sign_in_attempts').delete();
    mine = `/console/accounts/${accountId}/keys`;
    theirs = `/console/staff/accounts/${accountId}/keys`;
  });

  const stored = (id = customer.keyId) => app.database('api_keys').where({ id }).first();
  const count = async (): Promise<number> =>
    (await app.database('api_keys').where({ account_id: customer.accountId })).length;

  for (const [what, fields] of [
    ['an empty form', {}],
    ['a name only', { name: 'careless' }],
    ['no limit and no word of it', { all_models: 'on' }],
    ['no models and no word of them', { unlimited: 'on' }],
    ['a limit that is also none', { ...UNLIMITED, usage_limit_usd: '5' }],
    ['models that are also all', { ...UNLIMITED, models: 'vidone-3.0' }],
    ['a model that is not sold', { unlimited: 'on', models: 'no-such-model' }],
    ['an address that is none', { ...UNLIMITED, ip_allowlist: 'everywhere' }],
    ['a rate that is no number', { ...UNLIMITED, rate_limit_rpm: 'fast' }],
    ['a day that is none', { ...UNLIMITED, expires_on: 'tomorrow' }],
  ] as const) {
    it(`are neither created nor changed by ${what}, and the form shows the reason`, async () => {
      const before = await stored();
      for (const [visitor, path] of [
        [owner, mine],
        [operator, theirs],
      ] as const) {
        for (const address of [path, `${path}/${customer.keyId}`]) {
          const shown = await visitor.edit(address, fields);
          expect([shown.status, /role="alert"/.test(shown.text)], address).to.deep.equal([400, true]);
        }
      }
      expect(await count()).to.equal(1);
      expect(await stored()).to.deep.equal(before);
    });
  }

  for (const by of ['a member', 'an operator'] as const) {
    it(`are changed by ${by}: name, limit, rate, day, addresses and models`, async () => {
      const [visitor, path] = by === 'a member' ? [owner, mine] : [operator, theirs];
      const page = `${path}/${customer.keyId}`;
      expect((await visitor.edit(page, WHOLE)).headers['location']).to.equal(page);
      expect(await stored()).to.deep.include({
        name: 'renamed',
        usage_limit: '2500000000000',
        rate_limit_rpm: 30,
        expires_at: new Date('2030-05-01T23:59:59Z'),
        ip_allowlist: ['203.0.113.7', '2001:db8::/32'],
        models: ['vidone-3.0'],
      });
      const { text } = await visitor.get(page);
      for (const shown of ['value="renamed"', 'value="2.5"', 'value="30"', 'value="2030-05-01"', '2001:db8::/32'])
        expect(text).to.include(shown);
      await visitor.send(page, UNLIMITED);
      expect(await stored()).to.deep.include({
        name: '',
        usage_limit: null,
        rate_limit_rpm: null,
        expires_at: null,
        ip_allowlist: null,
        models: null,
      });
    });

    it(`are created by ${by}, with a secret that works`, async () => {
      const [visitor, path] = by === 'a member' ? [owner, mine] : [operator, theirs];
      const authorization = `Bearer ${copyableIn(await visitor.send(path, WHOLE))}`;
      const answer = await fetch(`${app.baseUrl}/v1/balance`, { headers: { authorization } });
      expect([answer.status, await count()]).to.deep.equal([403, 2]);
    });

    it(`are deleted by ${by}, and no longer work`, async () => {
      const [visitor, path] = by === 'a member' ? [owner, mine] : [operator, theirs];
      await visitor.send(`${path}/${customer.keyId}/delete`);
      const authorization = `Bearer ${customer.apiKey}`;
      expect((await fetch(`${app.baseUrl}/v1/balance`, { headers: { authorization } })).status).to.equal(401);
      expect((await visitor.get(`${path}/${customer.keyId}`)).status).to.equal(404);
    });
  }

  it('keep the time of the day on which they expire while the day is unchanged', async () => {
    const expires_at = new Date('2031-02-03T04:05:06Z');
    await app.database('api_keys').where({ id: customer.keyId }).update({ expires_at });
    await owner.edit(`${mine}/${customer.keyId}`, { ...UNLIMITED, expires_on: '2031-02-03' });
    expect((await stored()).expires_at).to.deep.equal(expires_at);
  });

  it('keep the input when the form is refused', async () => {
    const { text } = await owner.edit(`${mine}/${customer.keyId}`, { ...WHOLE, usage_limit_usd: 'much' });
    expect(text).to.include('value="renamed"').and.include('value="much"').and.include('value="2030-05-01"');
  });

  it('show when money was last held for them', async () => {
    expect((await owner.get(mine)).text).to.include('never');
    const authorization = `Bearer ${customer.apiKey}`;
    await fetch(`${app.baseUrl}/v1/videos/tasks`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'vidone-3.0', prompt: 'A red kite over the sea' }),
    });
    const { last_used_at: usedAt } = await stored();
    expect(Date.now() - usedAt.getTime()).to.be.within(0, 60_000);
    expect((await owner.get(`${mine}/${customer.keyId}`)).text).to.include(usedAt.toISOString());
  });

  it('show the refused calls of their key with the reason, to members and operators, without the query', async () => {
    const { apiKey: key, keyId } = customer;
    const unknown = newId('task');
    await call(`${app.baseUrl}/v1/tasks/${unknown}?secret=zebrafish`, { key });
    await app.database('api_keys').where({ id: keyId }).update({ disabled_at: new Date() });
    const refused = await call<{ error: { code: string } }>(`${app.baseUrl}/v1/videos/tasks`, { key, body: {} });
    for (const open of [() => owner.get(`${mine}/${keyId}`), () => operator.get(`${theirs}/${keyId}`)]) {
      const shown = await eventually(async () => {
        const { text } = await open();
        return text.includes('POST /v1/videos/tasks') ? text : undefined;
      });
      expect(shown).to.include(`GET /v1/tasks/${unknown}`).and.include('There is no such task');
      expect(shown).to.include(refused.body.error.code).and.not.include('zebrafish');
    }
    const another = await app.createAccount();
    const others = await Visitor.invited(app, { email: 'another@example.com', account_id: another.accountId });
    const { text } = await others.get(`/console/accounts/${another.accountId}/keys/${another.keyId}`);
    expect(text).to.include('No call with this key was refused');
  });
});
