import { expect } from 'chai';
import { listDocuments, recordSeller } from '../../db/queries/billing-documents.ts';
import { topUp } from '../../db/queries/credits.ts';
import { newId } from '../../domain/ids.ts';
import { parseUsd } from '../../domain/money.ts';
import type { MemberRole } from '../../domain/roles.ts';
import { describeInBrowser } from '../support/browser.ts';
import {
  copyableIn,
  type Shown,
  UNLIMITED,
  useAccount,
  useTestConsole,
  useVisitor,
  Visitor,
} from '../support/console.ts';
import {
  createEndpoint,
  createMediaBatchRow,
  createTaskRow,
  createTextRequestRow,
  finishAsSucceeded,
  keyOf,
  submitTask,
} from '../support/factories.ts';

describe('the search of the console', () => {
  const app = useTestConsole();
  const customer = useAccount(app, { fundedUsd: 25 });
  const other = useAccount(app, { fundedUsd: 25 });
  const operator = useVisitor(app, () => ({ email: 'op@staff.example', staff_role: 'operator' }));
  const memberAs = (name: string, member_role: MemberRole) =>
    useVisitor(app, () => ({ email: `${name}@kites.example`, account_id: customer.accountId, member_role }));
  const owner = memberAs('olive', 'owner');
  const developer = memberAs('dev', 'developer');
  const finance = memberAs('fin', 'finance');
  const others = useVisitor(app, () => ({
    email: 'hal@harbour.example',
    account_id: other.accountId,
    member_role: 'owner',
  }));
  let secret: string;
  let known: Readonly<Record<string, string>>;

  before(async () => {
    const { accountId } = customer;
    await app
      .database('accounts')
      .where({ id: accountId })
      .update({ name: 'Kites Ltd', email: 'billing@kites.example', external_id: 'crm-7741' });
    await app.database('accounts').where({ id: other.accountId }).update({ name: 'Harbour Inc' });
    const keys = `/console/accounts/${accountId}/keys`;
    secret = copyableIn(await owner.send(keys, { name: 'renderfarm', ...UNLIMITED }));
    const task = await createTaskRow(app.database, keyOf(customer), { endUser: 'ann@kites' });
    await submitTask(app.database, task, 'cgt-20261127-x7k2');
    const text = await createTextRequestRow(app.database, keyOf(customer), { end_user: 'ann@kites' });
    const endpoint = await createEndpoint(app.database, { id: accountId });
    const { id: renderKeyId } = await app.database('api_keys').where({ name: 'renderfarm' }).first('id');
    const { reference, transfer_id } = await app.database('top_ups').where({ account_id: accountId }).first();
    const { url } = await app.database('webhook_endpoints').where({ id: endpoint.id }).first('url');
    known = {
      taskId: task.id,
      requestId: task.requestId,
      textId: text.id,
      batchId: await createMediaBatchRow(app.database, keyOf(customer)),
      endpointId: endpoint.id,
      endpointUrl: url,
      renderKeyId,
      reference,
      transferId: transfer_id,
    };
  });

  /** The result of a search: the page that its only match opens, or the list of the matches. */
  async function search(visitor: Visitor, text: string): Promise<string> {
    const { status, headers, text: shown }: Shown = await visitor.send('/console/search', { text });
    return status === 303 ? String(headers['location']) : `${status} ${/<main[\s\S]*<\/main>/.exec(shown)?.[0] ?? ''}`;
  }
  const at = (name: string): string => known[name] ?? 'none';

  it('finds an account by a part of its name, address or external id, in any case', async () => {
    for (const text of ['kites l', 'BILLING@', 'crm-77'])
      expect(await search(operator, text), text).to.equal(`/console/staff/accounts/${customer.accountId}`);
    expect(await search(operator, customer.accountId.slice(-9))).to.include(customer.accountId);
  });

  it('opens the person of an e-mail address', async () => {
    expect(await search(operator, 'olive@')).to.match(/^\/console\/staff\/people\/usr_\w+$/);
    expect(await search(operator, 'kites.example'))
      .to.include('fin@kites.example')
      .and.include('Kites Ltd');
  });

  it('finds a key by its name, its end, and the whole of it', async () => {
    const page = `/console/staff/accounts/${customer.accountId}/keys/${at('renderKeyId')}`;
    for (const text of [
      'renderfarm',
      secret.slice(-4),
      secret.slice(-6),
      `sk-…${secret.slice(-4)}`,
      secret,
      secret.slice(3),
    ])
      expect(await search(operator, text), text).to.equal(page);
  });

  it('finds a task, a batch, a text request, a transfer and an endpoint by their ids, and by any six characters of their ids', async () => {
    for (const [id, page] of [
      [at('taskId'), `/console/staff/tasks/${at('taskId')}`],
      [at('batchId'), `/console/staff/batches/${at('batchId')}`],
      [at('textId'), `/console/staff/text-requests/${at('textId')}`],
      [at('endpointId'), `/console/staff/webhooks/${at('endpointId')}`],
      [at('transferId'), `/console/staff/accounts?search=${at('transferId')}`],
    ] as const) {
      const parts = [id, id.slice(0, -1), id.slice(-6), id.slice(-12, -4), id.slice(id.indexOf('_') + 1, -2)];
      for (const text of [...parts, id.slice(-8).toUpperCase()])
        expect(await search(operator, text), text).to.equal(page);
    }
  });

  it('leads members from the id of a batch to the batches of their account', async () => {
    expect(await search(developer, at('batchId'))).to.equal(`/console/accounts/${customer.accountId}/batches`);
    expect(await search(finance, at('batchId'))).not.to.include('/batches');
  });

  it('finds a delivery by its id and by the id of its event, for members who develop and for operators', async () => {
    const { accountId } = customer;
    await finishAsSucceeded(app.database, await createTaskRow(app.database, keyOf(customer)));
    const { id, event_id: eventId } = await app.database('deliveries').where({ account_id: accountId }).first();
    const page = `/webhooks/${at('endpointId')}/deliveries/${id}`;
    for (const text of [id, id.slice(0, -3), eventId])
      expect(await search(developer, text), text).to.equal(`/console/accounts/${accountId}${page}`);
    expect(await search(operator, id.slice(0, -3))).to.equal(`/console/staff${page}`);
    for (const stranger of [finance, others]) expect(await search(stranger, id)).not.to.include(at('endpointId'));
  });

  it('finds the objects of a request, by its id and by the start of the id', async () => {
    expect(await search(operator, at('requestId'))).to.include(at('requestId'));
    expect(await search(operator, at('requestId').slice(0, 20))).to.equal(`/console/staff/tasks/${at('taskId')}`);
  });

  it("finds a task by the id of its vendor's job", async () => {
    expect(await search(operator, 'cgt-20261127-x7k2')).to.equal(`/console/staff/tasks/${at('taskId')}`);
    expect(await search(developer, 'cgt-20261127-x7k2')).to.match(new RegExp(`/tasks/${at('taskId')}$`));
  });

  it('finds the tasks and text requests of an end user by the name, which may be longer than the stored one', async () => {
    for (const visitor of [operator, developer, finance])
      expect(await search(visitor, 'ann@kites'))
        .to.include(`tasks/${at('taskId')}`)
        .and.include(`requests/${at('textId')}`)
        .and.match(/Task of Kites Ltd <time/);
    const name = 'n'.repeat(150);
    const { id } = await createTextRequestRow(app.database, keyOf(customer), { end_user: name.slice(0, 128) });
    expect(await search(operator, name)).to.equal(`/console/staff/text-requests/${id}`);
  });

  it('finds a payment by its reference', async () => {
    expect(await search(operator, at('reference').slice(1))).to.include(at('transferId'));
  });

  it('finds a receipt by its number, for readers with access to payments', async () => {
    const { accountId } = customer;
    const seller = { name: 'Acme', address: [], taxId: null, taxes: [], taxPoint: 'paid' } as const;
    await recordSeller(app.database, seller);
    await topUp(app.database, { accountId, amount: parseUsd(1), reference: 'of the receipt' });
    const [receipt] = await listDocuments(app.database, { accountId, limit: 1 });
    if (!receipt) throw new Error('there is no receipt');
    const { id, number } = receipt;
    expect(await search(finance, number)).to.equal(`/console/accounts/${accountId}/billing/documents/${id}`);
    expect(await search(operator, number)).to.equal(`/console/staff/accounts/${accountId}/documents/${id}`);
    expect(await search(developer, number)).to.include('No results');
  });

  it('shows members only objects of their accounts, within their role', async () => {
    const mine = `/console/accounts/${customer.accountId}`;
    const keyPage = `${mine}/keys/${at('renderKeyId')}`;
    expect(await search(owner, secret)).to.equal(keyPage);
    expect(await search(developer, 'renderfarm')).to.equal(keyPage);
    expect(await search(finance, secret))
      .to.include('No results')
      .and.not.include('renderfarm');
    expect(await search(finance, 'renderfarm')).to.include('No results');
    expect(await search(finance, at('reference').slice(1))).to.equal(`${mine}/billing`);
    expect(await search(developer, at('reference').slice(1))).to.include('No results');
    expect(await search(owner, 'dev@kites')).to.match(/\/members\/usr_/);
    expect(await search(developer, 'olive@kites')).to.include('No results');
    expect(await search(developer, at('taskId').slice(-8))).to.equal(`${mine}/tasks/${at('taskId')}`);
  });

  it('shows nobody objects of another account, whatever the query', async () => {
    const stranger = await Visitor.invited(app, { email: 'stranger@example.com', account_id: other.accountId });
    const ids = ['taskId', 'requestId', 'textId', 'endpointId', 'renderKeyId', 'transferId'].map(at);
    ids.push(customer.accountId, customer.keyId);
    const words = [secret, 'Kites', 'crm-7741', 'olive@kites', 'renderfarm', 'ann@kites', 'cgt-20261127-x7k2'];
    for (const text of [...words, ...ids.flatMap((id) => [id, id.slice(-8)])]) {
      const shown = await search(stranger, text);
      expect(shown, text).to.include('No results').and.not.include('Kites Ltd');
      expect(shown, text).not.to.include(customer.accountId.slice(4, 30) + '"');
    }
  });

  for (const text of [
    '%%%',
    '___',
    '\\\\\\',
    `' OR 1=1`,
    'a',
    '',
    ' ',
    '‮kites',
    newId('task'),
    `sk-${'0'.repeat(48)}`,
  ]) {
    it(`finds nothing for ${JSON.stringify(text)}, and suggests what to do`, async () => {
      expect(await search(operator, text)).to.match(/^200[\s\S]*(No results|at least three)/);
    });
  }

  it('offers lists of the names of accounts, in any spelling', async () => {
    const { accountId } = customer;
    await app.database('accounts').where({ id: accountId }).update({ name: 'Kites & <b>Ltd' });
    for (const path of ['tasks', 'text-requests']) {
      const { text } = await operator.get(`/console/staff/${path}`);
      expect(text, path).to.include(`<span title="${accountId}">Kites &amp; &lt;b&gt;Ltd</span>`);
      expect(text, path).not.to.include(`>${accountId}<`);
    }
    await app.database('accounts').where({ id: accountId }).update({ name: 'Kites Ltd' });
  });

  it('is refused with a text that the database cannot store', async () => {
    expect(await search(operator, 'a\0b')).to.match(/^400/);
  });

  it('accepts text only from a form, so that no key is in an address, and repeats no key', async () => {
    const shown = await operator.send('/console/search', { text: `sk-${'1'.repeat(48)}` });
    expect(shown.text).not.to.include('1'.repeat(48));
    expect((await operator.get(`/console/search?text=${secret}`)).text).not.to.include('renderfarm');
  });

  it('ends after two seconds, with a message', async () => {
    const slow = `CREATE FUNCTION slow_name() RETURNS text LANGUAGE sql AS $$ SELECT pg_sleep(5)::text $$`;
    await app.database.raw(slow);
    await app.database.raw('ALTER TABLE top_ups RENAME TO slow_top_ups');
    await app.database.raw(
      'CREATE VIEW top_ups AS SELECT transfer_id, account_id, reference || slow_name() AS reference FROM slow_top_ups',
    );
    try {
      expect(await search(operator, 'anything')).to.include('timed out');
    } finally {
      await app.database.raw('DROP VIEW top_ups');
      await app.database.raw('ALTER TABLE slow_top_ups RENAME TO top_ups');
    }
  });
});

describeInBrowser('the search of the console in a browser', (browser) => {
  const app = useTestConsole();

  it('opens a person by an e-mail address with the keyboard alone', async () => {
    const { accountId } = await app.createAccount({ fundedUsd: 25 });
    await Visitor.invited(app, { email: 'ada@kites.example', account_id: accountId });
    const tab = await browser.open(app.baseUrl);
    const { page } = tab;
    await tab.signIn(await Visitor.invited(app, { email: 'op@example.com', staff_role: 'operator' }));
    await page.goto('/console');
    await page.keyboard.press('Control+k');
    await page.keyboard.type('ada@kites');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/console/staff/people/usr_*');
    expect(await page.getByRole('status').count()).to.equal(0);
    await tab.close();
  });
});
