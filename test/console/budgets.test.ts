import { expect } from 'chai';
import type { ErrorBody } from '../support/app.ts';
import { type TestCaller } from '../support/factories.ts';
import { connectGenway } from '../support/genway.ts';
import { useTestConsole, Visitor } from '../support/console.ts';
import { call } from '../support/stack.ts';

describe('the budgets of an account', () => {
  const app = useTestConsole();
  let customer: TestCaller;
  let path: string;
  let owner: Visitor;

  const budgets = () => app.database('budgets').where({ account_id: customer.accountId }).orderBy('id');
  const invited = (role: 'owner' | 'developer') => Visitor.member(app, customer.accountId, role);

  beforeEach(async () => {
    customer = await app.createAccount({ fundedUsd: 25 });
    await app.database('sign_in_attempts').delete();
    path = `/console/accounts/${customer.accountId}/budgets`;
    owner = await invited('owner');
  });

  it('the budgets are set, changed and deleted by the owner in the console', async () => {
    const form = { models: 'vidone-3.0, textg-*', usage_limit_usd: '2.50', limit_period: 'week' };
    expect((await owner.send(path, form)).headers['location']).to.equal(path);
    await owner.send(path, { ...form, usage_limit_usd: '3' });
    await owner.send(path, { ...form, models: '' });
    const [budget, whole] = await budgets();
    expect(budget).to.deep.include({
      models: ['textg-*', 'vidone-3.0'],
      usage_limit: '3000000000000',
      is_ceiling: false,
    });
    expect(whole).to.deep.include({ models: null, usage_limit: '2500000000000' });
    const { text } = await owner.get(path);
    expect(text).to.include('textg-*, vidone-3.0').and.include('of $3.00').and.include('All models');
    await owner.send(`${path}/${budget.id}/delete`);
    expect(await budgets()).to.have.length(1);
  });

  it('stay where the operator set them, and where another account asks', async () => {
    // contract 4.11:75
    const genway = await connectGenway(app);
    const limit = ['--usage-limit-usd', '1', '--limit-period', 'day'];
    await genway('account-budgets', 'set', customer.accountId, ...limit, '--is-ceiling');
    const [ceiling] = await budgets();
    const { text } = await owner.get(path);
    expect(text).to.include('set by the operator').and.not.include(`${ceiling.id}/delete`);
    await owner.send(`${path}/${ceiling.id}/delete`);
    await owner.send(path, { models: '', usage_limit_usd: '5', limit_period: 'day' });
    const [kept, own] = await budgets();
    expect([kept.usage_limit, own.usage_limit]).to.deep.equal(['1000000000000', '5000000000000']);
    const elsewhere = await app.createAccount({ fundedUsd: 1 });
    const stranger = await Visitor.invited(app, { email: 'stranger@example.com', account_id: elsewhere.accountId });
    await stranger.send(`/console/accounts/${elsewhere.accountId}/budgets/${own.id}/delete`);
    expect(await budgets()).to.have.length(2);
    const listed = await genway('account-budgets', 'list', customer.accountId, '--json');
    expect(
      JSON.parse(listed).data.map(({ is_ceiling: isCeiling }: { is_ceiling: boolean }) => isCeiling),
    ).to.deep.equal([false, true]);
    await genway('account-budgets', 'delete', ceiling.id);
    expect(await budgets()).to.have.length(1);
  });

  it('the budgets are read, and not set, by other members', async () => {
    const developer = await invited('developer');
    const { status, text } = await developer.get(path);
    expect([status, text.includes('Set budget')]).to.deep.equal([200, false]);
    const form = { models: '', usage_limit_usd: '5', limit_period: 'day' };
    expect((await developer.send(path, form)).status).to.equal(403);
    expect(await budgets()).to.deep.equal([]);
  });

  for (const [what, fields] of [
    ['an empty form', {}],
    ['a star in the middle', { models: 'text*-1', usage_limit_usd: '5', limit_period: 'day' }],
    ['a negative amount', { models: '', usage_limit_usd: '-5', limit_period: 'day' }],
  ] as const) {
    it(`a budget is refused for ${what}, and the form shows the reason`, async () => {
      const shown = await owner.send(path, fields);
      expect([shown.status, /role="alert"/.test(shown.text)]).to.deep.equal([400, true]);
      expect(await budgets()).to.deep.equal([]);
    });
  }

  it('refuse text and tasks with their models and their renewal', async () => {
    // contract 5:30
    const { accountId, apiKey: key } = customer;
    const body = { usage_limit_usd: 0.000_001, limit_period: 'month' };
    const set = (models: readonly string[]) =>
      call(`${app.baseUrl}/admin/v1/accounts/${accountId}/budgets`, { key: app.adminToken, body: { ...body, models } });
    await set(['textg-*']);
    await set(['vidone-3.0']);
    const chat = { model: 'textg-6-sol', messages: [{ role: 'user', content: 'Hello' }] };
    const text = await call<ErrorBody>(`${app.baseUrl}/v1/chat/completions`, { key, body: chat });
    const refusal = (model: string) =>
      new RegExp(`is left of the account's budget of 0\\.000001 USD a month for ${model}, which renews at`);
    expect(text.status).to.equal(402);
    expect(text.body.error.message).to.match(refusal('textg-\\*'));
    const video = { model: 'vidone-3.0', prompt: 'A kite' };
    const task = await call<ErrorBody>(`${app.baseUrl}/v1/videos/tasks`, { key, body: video });
    expect([task.status, task.body.error.code]).to.deep.equal([402, 'insufficient_credits']);
    expect(task.body.error.message).to.match(refusal('vidone-3\\.0'));
  });
});
