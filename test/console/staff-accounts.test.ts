import { expect } from 'chai';
import { ACCOUNT_TABS } from '../../console/pages/staff/accounts/account.tsx';
import { adjust } from '../../db/queries/credits.ts';
import { derivedId, newId } from '../../domain/ids.ts';
import { parseUsd } from '../../domain/money.ts';
import { PASSWORD, UNLIMITED, useAccount, useTestConsole, useVisitor, Visitor } from '../support/console.ts';
import { createTaskRow, finishAsSucceeded, keyOf } from '../support/factories.ts';
import { connectGenway } from '../support/genway.ts';
import { call } from '../support/stack.ts';

describe('accounts in the console of the staff', () => {
  const app = useTestConsole();
  const customer = useAccount(app, { fundedUsd: 25 });
  const operator = useVisitor(app, () => ({ email: 'op@example.com', staff_role: 'operator' }));
  const finance = useVisitor(app, () => ({ email: 'fin@example.com', staff_role: 'finance' }));
  let path: string;

  before(async () => {
    path = `/console/staff/accounts/${customer.accountId}`;
    await app
      .database('accounts')
      .where({ id: customer.accountId })
      .update({ name: 'Kites Ltd', email: 'kites@example.com', external_id: 'crm-77' });
  });

  const balanceOf = async (accountId: string): Promise<string> => {
    const [row] = await app
      .database('accounts')
      .where({ id: accountId })
      .select<{ funded_available: string }[]>('funded_available');
    return row?.funded_available ?? '';
  };
  const actionsBy = (author: string) => app.database('admin_actions').where({ author }).orderBy('id');

  for (const wanted of ['kites', 'KITES@example', 'crm-77']) {
    it(`are found by a part of their details: ${wanted}`, async () => {
      const { text } = await operator.get(`/console/staff/accounts?search=${wanted}`);
      expect(text).to.include('Kites Ltd').and.include(customer.accountId);
      expect(text).to.match(/name="search"[^>]*value="[^"]+"/);
    });
  }

  it('name the customer on the pages below the account, such as keys, end users and documents', async () => {
    const account = `/console/staff/accounts/${customer.accountId}`;
    const name = `<a href="${account}"><span title="${customer.accountId}">`;
    for (const page of ['keys', `keys/${customer.keyId}`, 'usage', 'end-users', 'documents', 'ledger']) {
      expect((await operator.get(`${account}/${page}`)).text, page).to.include(name);
    }
  });

  it('lead to the usage, the text requests, the batches and the webhooks of the customer', async () => {
    const task = await createTaskRow(app.database, keyOf(customer));
    await finishAsSucceeded(app.database, task);
    const { text } = await operator.get(path);
    const links = Array.from(text.matchAll(/href="([^"]*(?:account=acc_|\/usage)[^"]*)"/g), ([, link = '']) =>
      link.replaceAll('&amp;', '&'),
    );
    expect(links.length).to.be.at.least(5);
    for (const link of links) expect((await operator.get(link)).status, link).to.equal(200);
    expect((await operator.get(`${path}/usage`)).text)
      .to.include('By model')
      .and.include(task.model);
    expect((await operator.get(`${path}/usage/export?format=csv`)).text).to.include(task.model);
    expect((await operator.get(`/console/staff/accounts/${newId('account')}/usage`)).status).to.equal(404);
  });

  it('have a tab for each subject that the reader may see, and the actions that nobody can undo on one alone', async () => {
    const tabsOf = async (visitor: Visitor, at = path) => {
      const { text } = await visitor.get(at);
      const [, links = ''] = /<nav class="choices"[^>]*>(.*?)<\/nav>/s.exec(text) ?? [];
      const names = Array.from(links.matchAll(/href="[^"?]*(?:\?tab=(\w+))?"/g), ([, name = 'overview']) => name);
      const forms = Array.from(
        text.matchAll(/<form method="post" action="[^"]*\/accounts\/\w+\/([\w-]+)"/g),
        ([, form]) => form,
      );
      return { names, forms };
    };
    expect((await tabsOf(operator)).names).to.deep.equal(ACCOUNT_TABS);
    const readable = ['overview', 'keys', 'members', 'actions'];
    expect((await tabsOf(finance)).names).to.deep.equal([...readable, 'money']);
    for (const [tab, forms] of [
      ['overview', []],
      ['members', ['members']],
      ['actions', []],
      ['details', ['details']],
      ['money', ['adjust', 'price-list']],
      ['danger', ['suspend', 'erase']],
      ['no-tab', []],
    ] as const)
      expect((await tabsOf(operator, `${path}?tab=${tab}`)).forms, tab).to.deep.equal(forms);
    expect((await tabsOf(finance, `${path}?tab=danger`)).forms).to.deep.equal([]);
  });

  it('are found by the id of any of their objects, with its timeline', async () => {
    const task = await createTaskRow(app.database, keyOf(customer));
    for (const id of [customer.accountId, customer.keyId, task.id, task.reservationId, task.requestId]) {
      const { text } = await operator.get(`/console/staff/accounts?search=${id}`);
      expect(text, id).to.include('class="timeline"').and.include(customer.accountId);
    }
  });

  it('are not found by unknown text, and the page suggests what to do', async () => {
    for (const wanted of ['nobody-at-all', newId('task'), 'task_', '%25', "'"]) {
      const { status, text } = await operator.get(`/console/staff/accounts?search=${wanted}`);
      expect([status, text.includes('No account matches')], wanted).to.deep.equal([200, true]);
    }
  });

  it('are not searched for by text that the database cannot store', async () => {
    for (const at of ['?search=a%00b', '/acc_%00', '?cursor=%00']) {
      expect((await operator.get(`/console/staff/accounts${at}`)).status, at).to.equal(404);
    }
  });

  it('are suspended and reopened with a reason, and the author is recorded', async () => {
    expect((await operator.send(`${path}/suspend`, { reason: 'card was stolen' })).status).to.equal(303);
    const balance = () =>
      fetch(`${app.baseUrl}/v1/balance`, { headers: { authorization: `Bearer ${customer.apiKey}` } });
    expect((await balance()).status).to.equal(401);
    expect((await operator.get(path)).text).to.include('Suspended');
    expect((await operator.get(`${path}?tab=actions`)).text)
      .to.include('card was stolen')
      .and.include('op@example.com');
    await operator.send(`${path}/reopen`, { reason: 'it was not' });
    expect((await balance()).status).to.equal(200);
    const noted = await actionsBy('op@example.com');
    expect(noted.map(({ action }) => action)).to.include.members([
      'console /staff/accounts/{account_id}/suspend',
      'console /staff/accounts/{account_id}/reopen',
    ]);
  });

  it('are adjusted once, however often the form is sent', async () => {
    const { accountId } = await app.createAccount({ fundedUsd: 1 });
    const { text } = await finance.get(`/console/staff/accounts/${accountId}?tab=money`);
    const form_id = /\/adjust".*?name="form_id" value="([^"]+)"/s.exec(text)?.[1] ?? '';
    const fields = { form_id, amount_usd: '2.50', reason: 'goodwill' };
    const send = (changed: Record<string, string> = {}) =>
      finance.send(`/console/staff/accounts/${accountId}/adjust`, { ...fields, ...changed });
    const answers = await Promise.all([send(), send(), send()]);
    expect(answers.map(({ status }) => status)).to.deep.equal([303, 303, 303]);
    expect(await balanceOf(accountId)).to.equal('3500000000000');
    expect((await send({ amount_usd: '3' })).status).to.equal(409);
    expect(await balanceOf(accountId)).to.equal('3500000000000');
    const [adjustment] = await app.database('transfers').where({ account_id: accountId, kind: 'adjustment' });
    expect(adjustment).to.include({
      id: derivedId('transfer', form_id),
      author: 'fin@example.com',
      reason: 'goodwill',
    });
  });

  it('are not adjusted below zero, and the form keeps its input', async () => {
    const { accountId } = await app.createAccount({ fundedUsd: 1 });
    const at = `/console/staff/accounts/${accountId}`;
    const form_id = newId('form');
    const sent = await finance.send(`${at}/adjust`, { form_id, amount_usd: '-1.01', reason: 'chargeback' });
    expect(sent.status).to.equal(402);
    expect(sent.text).to.include('-1.01').and.include('chargeback').and.include(form_id);
    for (const amount of ['', '0', 'much', '1e3', '0.0000000000001']) {
      const shown = await finance.send(`${at}/adjust`, { form_id, amount_usd: amount, reason: 'x' });
      expect(shown.status, amount).to.equal(400);
    }
    expect(await balanceOf(accountId)).to.equal('1000000000000');
  });

  it('show finance what to repay once their owner closed them, until it is booked, and stay closed', async () => {
    // contract 4.11:76
    const { accountId } = await app.createAccount({ fundedUsd: 3 });
    const owner = await Visitor.member(app, accountId, 'owner');
    await owner.send(`/console/accounts/${accountId}/close`, { name: 'Test', current: PASSWORD });
    const at = `/console/staff/accounts/${accountId}`;
    const listed = async (state: string): Promise<boolean> =>
      (await finance.get(`/console/staff/accounts?state=${state}`)).text.includes(accountId);
    expect([await listed('suspended'), await listed('closed'), await listed('repayable')]).to.deep.equal([
      false,
      true,
      true,
    ]);
    const { text } = await finance.get(at);
    expect(text).to.include('Funds to repay').and.include('$3.00').and.include('first');
    expect((await finance.get(`${at}?tab=actions`)).text).to.include('closed by its owner with $3.00 of funds');
    const genway = await connectGenway(app);
    expect(await genway('accounts', 'list', '--closed')).to.include(accountId);
    expect(await genway('find', accountId))
      .to.include('(closed)')
      .and.include('Test was closed by its owner at');
    const repaid = { amount_usd: '-3', reason: 'repaid by bank transfer' };
    expect((await finance.send(`${at}/adjust`, repaid)).status).to.equal(303);
    expect([await listed('closed'), await listed('repayable')]).to.deep.equal([true, false]);

    const email = 'late@example.com';
    const admin = { key: app.adminToken };
    const refused = [
      (await operator.send(`${at}/reopen`, { reason: 'regret' })).status,
      (await operator.send(`${at}/keys`, { name: 'late', ...UNLIMITED })).status,
      (await operator.send(`${at}/members`, { email, name: 'Late', role: 'owner' })).status,
      (await call(`${app.baseUrl}/admin/v1/accounts/${accountId}/keys`, { ...admin, body: {} })).status,
      (await call(`${app.baseUrl}/admin/v1/accounts/${accountId}/reopen`, { ...admin, body: {} })).status,
    ];
    expect(refused).to.deep.equal([409, 409, 409, 409, 409]);
    const body = { url: 'https://receiver.test/', events: ['task.succeeded'] };
    const { status } = await call(`${app.baseUrl}/admin/v1/accounts/${accountId}/webhooks`, { ...admin, body });
    expect(status).to.equal(409);
  });

  it('have their keys disabled and enabled', async () => {
    await operator.send(`${path}/keys/${customer.keyId}/disable`);
    const disabled = () => app.database('api_keys').whereNotNull('disabled_at').pluck('id');
    expect(await disabled()).to.deep.equal([customer.keyId]);
    await operator.send(`${path}/keys/${customer.keyId}/enable`);
    expect(await disabled()).to.deep.equal([]);
  });

  it('list what operators did, with the author, the reason and the amount of each correction', async () => {
    const { accountId } = await app.createAccount({ fundedUsd: 4 });
    const account = `/console/staff/accounts/${accountId}`;
    await operator.send(`${account}/suspend`, { reason: 'a stolen card' });
    await adjust(app.database, { accountId, amount: parseUsd('-0.5'), author: 'ada', reason: 'a wrong price' });
    const { text } = await operator.get(`${account}?tab=actions`);
    const listed = text.slice(text.indexOf('<h2>Operator actions</h2>'));
    expect(listed.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' '))
      .to.match(/Suspended – op@example\.com a stolen card/)
      .and.match(/Correction -\$0\.50 ada a wrong price/);
    const found = await operator.get(`/console/staff/accounts?search=${accountId}`);
    expect(found.text).to.include('adjustment of -$0.50 by ada: a wrong price');
  });

  it('list the calls and forms of operators about the account and what it has, which have a page of their own', async () => {
    const { accountId } = await app.createAccount({ fundedUsd: 4 });
    const genway = await connectGenway(app);
    await genway('webhooks', 'create', accountId, 'https://receiver.example.com/');
    const [endpoint] = await app.database('webhook_endpoints').where({ account_id: accountId }).pluck('id');
    await operator.send(`/console/staff/webhooks/${endpoint}/redeliver`);
    const wordsOf = (text: string) => text.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
    for (const at of [
      `/console/staff/accounts/${accountId}?tab=actions`,
      `/console/staff/actions?account=${accountId}`,
    ]) {
      const words = wordsOf((await operator.get(at)).text);
      expect(words, at).to.match(
        /op@example\.com Form of the console \/console\/staff\/webhooks.*admin createWebhookOfAccount/,
      );
    }
    expect(wordsOf((await operator.get('/console/staff/actions?author=nobody')).text)).to.include('No actions.');
  });

  it('have a ledger with the author and reason of each correction, which links each entry to its cause', async () => {
    const caller = await app.createAccount({ fundedUsd: 4 });
    const { accountId } = caller;
    const task = await createTaskRow(app.database, keyOf(caller));
    await finishAsSucceeded(app.database, task);
    await adjust(app.database, { accountId, amount: parseUsd('-0.5'), author: 'ada', reason: 'a wrong price' });
    const account = `/console/staff/accounts/${accountId}`;
    for (const at of [account, `${account}/ledger`]) {
      const { text } = await finance.get(at);
      expect(text, at).to.include('a wrong price · ada').and.include('>-$0.50<').and.include('>$2.50<');
      expect(text, at).to.include(`href="/console/staff/tasks/${task.id}"`);
    }
    const { text } = await finance.get(`${account}/ledger/export?format=csv`);
    expect(text.trimEnd().split('\r\n').at(-1)).to.match(/,adjustment,-0\.5,2\.5,.*,ada,a wrong price$/);
    expect((await finance.get(`/console/staff/accounts/${newId('account')}/ledger`)).status).to.equal(404);
  });
});
