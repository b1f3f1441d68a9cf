import { expect } from 'chai';
import { setEndUserBudget } from '../../db/queries/end-user-budgets.ts';
import { keyOf, type TestCaller } from '../support/factories.ts';
import { useTestConsole, Visitor } from '../support/console.ts';
import { newHold, openTextLedger, settlementOf } from '../support/text-money.ts';

const HOSTILE = '<b>"; DROP TABLE budgets; --</b>';

describe('the end users of an account in the console', () => {
  const app = useTestConsole();
  let customer: TestCaller;
  let path: string;
  let owner: Visitor;

  const budgets = () => app.database('budgets').where({ account_id: customer.accountId }).orderBy('id');
  const invited = (role: 'owner' | 'finance') => Visitor.member(app, customer.accountId, role);

  beforeEach(async () => {
    customer = await app.createAccount({ fundedUsd: 25 });
    await app.database('sign_in_attempts').delete();
    path = `/console/accounts/${customer.accountId}/end-users`;
    owner = await invited('owner');
  });

  it('keep the period of their usage where their budgets are filtered, and the filter where the period is chosen', async () => {
    const { text } = await owner.get(`${path}?from=2026-10-01&to=2026-10-31&end_user=alice`);
    const [usage = '', filter = ''] = text.split('<h2>Budgets');
    expect(usage).to.include('<input type="hidden" name="end_user" value="alice"/>');
    expect(filter).to.include('<input type="hidden" name="from" value="2026-10-01"/>');
    expect(filter).to.include('<input type="hidden" name="to" value="2026-10-31"/>');
  });

  it('are given budgets, which a form changes and a button deletes', async () => {
    const form = { end_user: HOSTILE, usage_limit_usd: '2.50', limit_period: 'week' };
    expect((await owner.send(path, form)).headers['location']).to.equal(path);
    await owner.send(path, { ...form, limit_period: 'day' });
    const [budget, ...others] = await budgets();
    expect(others).to.deep.equal([]);
    expect(budget).to.include({ end_user: HOSTILE, usage_limit: '2500000000000', limit_period: 'day' });
    const { text } = await owner.get(path);
    expect(text).to.include('&lt;b&gt;').and.include('of $2.50').and.include('renews each day');
    expect(text).not.to.include('<b>&quot;');
    const elsewhere = await app.createAccount({ fundedUsd: 1 });
    const stranger = await Visitor.invited(app, { email: 'stranger@example.com', account_id: elsewhere.accountId });
    await stranger.send(`/console/accounts/${elsewhere.accountId}/end-users/${budget.id}/delete`);
    expect(await budgets()).to.have.length(1);
    await owner.send(`${path}/${budget.id}/delete`);
    expect(await budgets()).to.deep.equal([]);
  });

  for (const [what, fields] of [
    ['an empty form', {}],
    ['no period', { end_user: 'alice', usage_limit_usd: '5' }],
    ['another period', { end_user: 'alice', usage_limit_usd: '5', limit_period: 'year' }],
    ['a negative amount', { end_user: 'alice', usage_limit_usd: '-5', limit_period: 'day' }],
  ] as const) {
    it(`get no budget by ${what}, and the form shows the reason`, async () => {
      const shown = await owner.send(path, fields);
      expect([shown.status, /role="alert"/.test(shown.text)]).to.deep.equal([400, true]);
      expect(await budgets()).to.deep.equal([]);
    });
  }

  it('every member sees the end users, and only members who may set budgets see the form', async () => {
    const { status, text } = await (await invited('finance')).get(path);
    expect([status, text.includes('Set budget')]).to.deep.equal([200, false]);
  });

  it('are listed by their charges, in a table and in a file, and found by name', async () => {
    const ledger = openTextLedger(app.databaseUrl, { poolSize: 1 });
    const holds = ['alice', 'bob', '=1+1'].map((endUser) => newHold(keyOf(customer), { endUser }));
    await ledger.hold(holds);
    await ledger.settle(holds.map((hold, index) => settlementOf(hold, { charge: BigInt(index * 100) })));
    await ledger.close();
    for (const endUser of ['alice', 'carol']) {
      await setEndUserBudget(app.database, {
        accountId: customer.accountId,
        endUser,
        usageLimit: 1n,
        limitPeriod: 'month',
      });
    }
    const operator = await Visitor.invited(app, {
      email: `op-${customer.accountId}@example.com`,
      staff_role: 'operator',
    });
    for (const [visitor, at] of [
      [owner, path],
      [operator, `/console/staff/accounts/${customer.accountId}/end-users`],
    ] as const) {
      const { text } = await visitor.get(at);
      expect(text.indexOf('=1+1')).to.be.below(text.indexOf('bob')).and.above(0);
      expect((await visitor.get(`${at}?end_user=alice`)).text).not.to.include('carol');
      const lines = (await visitor.get(`${at}/export?format=csv`)).text.split('\r\n');
      expect(lines[0]).to.include('end_user,requests,failed,input_tokens');
      expect(lines[1]).to.match(/^'=1\+1,1,0,.*,0.0000000002$/);
    }
  });
});
