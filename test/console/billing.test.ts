import { expect } from 'chai';
import { mountConsole } from '../../console/serve.ts';
import { adjust, topUp } from '../../db/queries/credits.ts';
import { parseUsd } from '../../domain/money.ts';
import { startTestApp } from '../support/app.ts';
import { useAccount, useTestConsole, Visitor } from '../support/console.ts';
import { createTaskRow, createTextRequestRow, finishAsFailed, finishAsSucceeded, keyOf } from '../support/factories.ts';

const THIS_MONTH = new Date().toISOString().slice(0, 7);

describe('the billing pages', () => {
  const app = useTestConsole();
  const customer = useAccount(app, { fundedUsd: 1_000, signupUsd: 2 });
  const other = useAccount(app, { fundedUsd: 77 });
  let owner: Visitor;
  let path: string;

  before(async () => {
    const { accountId } = customer;
    for (let count = 0; count < 30; count++) {
      const task = await createTaskRow(app.database, keyOf(customer));
      await (count % 3 === 0 ? finishAsFailed(app.database, task) : finishAsSucceeded(app.database, task));
    }
    await createTaskRow(app.database, keyOf(customer));
    await adjust(app.database, {
      accountId,
      amount: parseUsd('-1.000000000001'),
      author: 'ada of operations',
      reason: 'a note among operators',
    });
    await topUp(app.database, { accountId, amount: parseUsd(5), reference: '=cmd|<img src=x onerror=alert(1)>' });
    owner = await Visitor.invited(app, { email: 'owner@example.com', account_id: accountId });
    path = `/console/accounts/${accountId}/billing`;
  });

  it('show the balance and its parts as the API does', async () => {
    const response = await fetch(`${app.baseUrl}/v1/balance`, {
      headers: { authorization: `Bearer ${customer.apiKey}` },
    });
    const { data } = (await response.json()) as { data: Record<string, number> };
    expect(data).to.include({ available_usd: 984.999999999999, funded_usd: 984.999999999999, signup_usd: 0 });
    const { text } = await owner.get(path);
    expect(text).to.include('984.999999999999').and.include('$1.00');
  });

  it('set the threshold of the low-balance warning, and refuse invalid amounts', async () => {
    const setTo = (usd: string) => owner.edit(path, { low_balance_usd: usd }, `${path}/low-balance`);
    const stored = async () =>
      (await app.database('accounts').where({ id: customer.accountId }).first('low_balance')) as object;
    expect((await setTo('12.5')).status).to.equal(303);
    expect(await stored()).to.deep.equal({ low_balance: '12500000000000' });
    expect((await setTo('much')).status).to.equal(400);
    expect((await setTo('')).status).to.equal(303);
    expect(await stored()).to.deep.equal({ low_balance: null });
  });

  it('show payments, whose references are text', async () => {
    for (const at of [path, `${path}/top-ups`]) {
      const { text } = await owner.get(at);
      expect(text).to.include('$1,000.00').and.include('&lt;img src=x').and.not.include('<img').and.not.include('$77');
    }
  });

  it('list each entry of the ledger once, page by page, with the balance after it and holds separately', async () => {
    const seen: string[] = [];
    let next: string | undefined = `${path}/ledger`;
    for (let pages = 0; next !== undefined && pages < 5; pages++) {
      const { text }: { text: string } = await owner.get(next);
      const rows = /<tbody>(.*)<\/tbody>/s.exec(text)?.[1]?.split('<tr>').slice(1) ?? [];
      expect(rows.length).to.be.at.most(50);
      seen.push(...rows);
      next = /href="([^"]+)">Older</.exec(text)?.[1]?.replaceAll('&amp;', '&');
    }
    const transfers = await app.database('transfers').where({ account_id: customer.accountId });
    expect(seen).to.have.length(transfers.filter(({ kind }) => kind !== 'reservation').length);
    expect(seen.filter((row) => row.includes('>-$1.00<'))).to.have.length(20);
    expect(seen[0]).to.include('+$5.00').and.include('$985.999999999999');
    expect(seen.at(-1)).to.include('+$2.00');
    const { text } = await owner.get(`${path}/ledger`);
    expect(text).to.include('$1.00 by 1 running task').and.include('title="985.999999999999 USD. Click to copy."');
  });

  it('filter the ledger by type, key and days, on the page and in the file', async () => {
    for (const [query, rows] of [
      ['type=task', 20],
      ['type=failed_task', 10],
      ['type=adjustment', 1],
      [`key=${customer.keyId}`, 30],
      ['to=2020-01-01', 0],
      [`from=${new Date().toISOString().slice(0, 10)}&type=topup`, 2],
      ['type=nonsense&key=nonsense&from=nonsense', 34],
    ] as const) {
      const { text } = await owner.get(`${path}/ledger?${query}`);
      expect(text.match(/<th scope="row">/g) ?? [], query).to.have.length(rows);
      const file = await owner.get(`${path}/ledger/export?${query}&format=jsonl`);
      expect(file.text.split('\n'), query).to.have.length(rows + 1);
    }
    expect((await owner.get(`${path}/ledger/export?format=pdf`)).status).to.equal(400);
  });

  it('link an entry to its task or text request, and to no request of another account', async () => {
    const { text } = await owner.get(`${path}/ledger?type=task`);
    const task = /href="(\/console\/accounts\/[^"]+\/tasks\/[^"]+)"/.exec(text)?.[1] ?? '';
    expect((await owner.get(task)).status).to.equal(200);
    const requests = path.replace(/billing$/, 'usage/requests');
    const mine = await createTextRequestRow(app.database, keyOf(customer));
    const theirs = await createTextRequestRow(app.database, keyOf(other));
    expect((await owner.get(`${requests}/${mine.id}`)).text)
      .to.include('1,234')
      .and.include('gpt-test');
    for (const unknown of [theirs.id, `txt_${'0'.repeat(32)}`, 'x']) {
      expect((await owner.get(`${requests}/${unknown}`)).status).to.equal(404);
    }
  });

  it('hide the internal notes of operators', async () => {
    for (const at of ['', '/ledger', '/ledger/export?format=csv', `/statements/${THIS_MONTH}`]) {
      const { text } = await owner.get(path + at);
      expect(text).not.to.include('among operators').and.not.include('ada of operations');
    }
  });

  it('show the statement of a month as the administration does, to the last digit', async () => {
    const response = await fetch(
      `${app.baseUrl}/admin/v1/accounts/${customer.accountId}/statements?month=${THIS_MONTH}`,
      { headers: { authorization: `Bearer ${app.adminToken}`, accept: 'text/csv' } },
    );
    const statement = await response.text();
    const file = await owner.get(`${path}/statements/${THIS_MONTH}/export?format=csv`);
    expect(file.text).to.equal(statement);
    expect(file.headers['content-disposition']).to.include(`statement-${THIS_MONTH}.csv`);
    const { text } = await owner.get(`${path}/statements/${THIS_MONTH}`);
    expect(text, 'the customer').to.match(/<address>[^<]+<br/);
    expect(text).to.include('Opening balance').and.include('$985.999999999999').and.include('can still change');
  });

  it('download the ledger of a month without formulas for spreadsheets, and its sum matches the statement', async () => {
    const { text } = await owner.get(`${path}/ledger/export?from=${THIS_MONTH}-01&format=csv`);
    const [head = '', ...rows] = text.trimEnd().split('\r\n');
    const column = head.split(',').indexOf('amount_usd');
    const sum = rows.reduce((total, row) => total + parseUsd(row.split(',')[column] ?? ''), 0n);
    expect(sum).to.equal(parseUsd('985.999999999999'));
    expect(rows.at(-1)?.split(',')[column + 1]).to.equal('985.999999999999');
    expect(text).to.include("'=cmd");
  });

  it('show charges and holds separately in a statement', async () => {
    const { text } = await owner.get(`${path}/statements/${THIS_MONTH}`);
    const [changes = '', holds = ''] = Array.from(text.matchAll(/<tbody>(.*?)<\/tbody>/gs), ([, body = '']) => body);
    expect(changes).to.include('-$20.00').and.include('$985.999999999999').and.not.include('Held for tasks');
    expect(holds).to.include('Held for tasks').and.include('$31.00').and.include('-$20.00').and.include('-$10.00');
  });

  for (const cursor of ['garbage', '99999999999999.tr_0', `99999999999999.tr_${'z'.repeat(32)}`, '-1.x', "'", 'é']) {
    it(`treat the cursor ${cursor.slice(0, 20)} as invalid, or as the first page`, async () => {
      const asked = encodeURIComponent(cursor);
      expect((await owner.get(`${path}/ledger?cursor=${asked}`)).text).to.include('>Task<');
      expect((await owner.get(`${path}/top-ups?cursor=${asked}`)).text).to.include('first');
    });
  }

  it('show nothing of another account by its cursor', async () => {
    const [row] = await app.database('transfers').where({ account_id: other.accountId });
    const cursor = `${new Date(row.created_at).getTime() + 1}.${row.id}`;
    for (const at of ['ledger', 'top-ups']) {
      expect((await owner.get(`${path}/${at}?cursor=${cursor}`)).text).not.to.include('$77');
    }
  });

  it('stay fast and small with 10,000 movements', async () => {
    const { accountId } = await app.createAccount({ fundedUsd: 1 });
    const member = await Visitor.invited(app, { email: 'many@example.com', account_id: accountId });
    await app.database.raw(
      /* sql */ `
      INSERT INTO transfers (id, opened_at, created_at, kind, debit, credit, amount, account_id, author, reason)
      SELECT 'tr_' || lpad(n::text, 32, '0'), date_trunc('milliseconds', now()), date_trunc('milliseconds', now()),
        'adjustment', 'adjustments', 'available', n, :accountId, 'ada', 'seed'
      FROM generate_series(1, 10000) AS n`,
      { accountId },
    );
    for (const at of ['', '/top-ups', '/ledger', `/statements/${THIS_MONTH}`]) {
      const { status, text } = await member.get(`/console/accounts/${accountId}/billing${at}`);
      expect([status, Buffer.byteLength(text) < 100_000], at).to.deep.equal([200, true]);
    }
  });
});

describe('adding funds', () => {
  it('redirects payers to the payment provider, with the account’s id', async () => {
    const topUpUrl = 'https://pay.example/?client_reference_id={account_id}';
    const app = await startTestApp({ mountPages: mountConsole, settings: { topUpUrl } });
    const { accountId } = await app.createAccount();
    const owner = await Visitor.invited(app, { email: 'owner@example.com', account_id: accountId });
    const developer = await Visitor.invited(app, {
      email: 'developer@example.com',
      account_id: accountId,
      member_role: 'developer',
    });
    const home = `/console/accounts/${accountId}`;
    for (const at of [home, `${home}/billing`]) {
      expect((await owner.get(at)).text).to.include(`href="https://pay.example/?client_reference_id=${accountId}"`);
    }
    expect((await developer.get(home)).text).not.to.include('pay.example');
    await app.stop();
  });
});
