import { expect } from 'chai';
import { ensurePartitions } from '../../db/partitions.ts';
import { settleSubmission } from '../../db/queries/submissions.ts';
import { insertTransfer } from '../../db/queries/transfers.ts';
import { newId } from '../../domain/ids.ts';
import { formatUsd, parseUsd } from '../../domain/money.ts';
import { describeInBrowser } from '../support/browser.ts';
import { useAccount, useTestConsole, useVisitor, Visitor } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { monthBefore } from '../support/months.ts';
import { writeReport } from '../support/reconciliation.ts';
import {
  createTaskRow,
  finishAsFailed,
  finishAsSucceeded,
  keyOf,
  openTaskSubmission,
  submitTask,
} from '../support/factories.ts';

const MONTHS = '/console/staff/months';

/** The rows of a table of a page, as the texts of their cells with their notes. */
function rowsOf(html: string, label: string): readonly (readonly string[])[] {
  const [, table = ''] = new RegExp(`aria-label="${label}".*?<table>(.*?)</table>`, 's').exec(html) ?? [];
  return [...table.matchAll(/<tr[^>]*>(.*?)<\/tr>/gs)]
    .slice(1)
    .map(([, row = '']) =>
      [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell = '']) =>
        cell.replaceAll('<div class="soft">', ' · ').replaceAll(/<[^>]+>/g, ''),
      ),
    );
}

describe('months in the console of the staff', () => {
  const [thisMonth, lastMonth, past] = [monthBefore(0), monthBefore(1), monthBefore(2)];
  const app = useTestConsole();
  const customer = useAccount(app, { fundedUsd: 100 });
  const reader = useVisitor(app, () => ({ email: 'read@example.com', staff_role: 'readonly' }));
  let finance: Visitor;

  before(async () => {
    await ensurePartitions(app.database, past.moment);
    const oldest = { id: newId('account', past.moment.getTime()), name: 'Oldest', created_at: past.moment };
    await app.database('accounts').insert(oldest);
    // Nothing is summed by day yet, so that transfers may be backdated.
    await app.database('daily_usage_summed').update({ before: past.moment });
    const prices = ['1.000000000001', '2.5', '0.000000000009'];
    for (const price of prices) {
      const task = await createTaskRow(app.database, keyOf(customer), { price: parseUsd(price), model: `m-${price}` });
      await finishAsSucceeded(app.database, task);
    }
    await finishAsFailed(app.database, await createTaskRow(app.database, keyOf(customer)));
    finance = await Visitor.invited(app, { email: 'fin@example.com', staff_role: 'finance' });
  });

  it("are listed from the account's first month on, with their earnings", async () => {
    const { text } = await reader.get(MONTHS);
    const rows = rowsOf(text, 'Months');
    expect(rows).to.have.length(3);
    expect(rows[0]).to.include('$3.50 · 3 charges, 1 refund').and.include('Running ');
    expect(rows[1]?.slice(2, 5)).to.deep.equal(['$0.00', '$0.00', '$0.00']);
  });

  it('show no unknown margin where there is no revenue', async () => {
    const { text } = await reader.get(`${MONTHS}/${thisMonth.name}`);
    const row = rowsOf(text, 'By model').find(([name]) => name === 'vidone-3.0 (videos)');
    expect(row?.slice(1, 4)).to.deep.equal(['$0.00 · 0 charges, 1 refund', 'unknown', '–']);
  });

  it('have tables by model, vendor and customer that add up to the last digit', async () => {
    const { text } = await reader.get(`${MONTHS}/${thisMonth.name}`);
    for (const label of ['By model', 'By vendor', 'By customer']) {
      const rows = rowsOf(text, label);
      const revenue = (row: readonly string[] | undefined) =>
        parseUsd((row?.[1] ?? '').replace(/ · .*/, '').replaceAll(/[$,]/g, ''));
      const total = rows.at(-1);
      expect(total?.[0], label).to.equal('Total');
      const sum = rows.slice(0, -1).reduce((all, row) => all + revenue(row), 0n);
      expect(formatUsd(sum), label).to.equal('3.50000000001');
      expect(revenue(total), label).to.equal(sum);
    }
  });

  it('are exported with every transfer, as CSV and as JSON lines', async () => {
    const [counted] = await app.database('transfers').count<{ count: string }[]>();
    const csv = await reader.get(`${MONTHS}/${thisMonth.name}/export?format=csv`);
    expect(csv.headers['content-disposition']).to.include(`transfers-${thisMonth.name}.csv`);
    expect(csv.text.trim().split('\r\n')).to.have.length(Number(counted?.count) + 1);
    const lines = await reader.get(`${MONTHS}/${thisMonth.name}/export?format=jsonl`);
    const rows = lines.text
      .trim()
      .split('\n')
      .map((line): Readonly<Record<string, unknown>> => JSON.parse(line));
    expect(rows).to.have.length(Number(counted?.count));
    expect(rows.some(({ cause }) => cause === 'processing_failed')).to.equal(true);
    expect((await reader.get(`${MONTHS}/${thisMonth.name}/export?format=xml`)).status).to.equal(400);
  });

  it('have a statement for each customer, whose lines add up, and its export', async () => {
    const found = await reader.get(`${MONTHS}/${thisMonth.name}/statements?search=${customer.accountId}`);
    const path = `${MONTHS}/${thisMonth.name}/statements/${customer.accountId}`;
    expect(found.text).to.include(path);
    const [listed = []] = rowsOf(found.text, 'Customer statements');
    expect(listed.slice(1, 5)).to.deep.equal(['$0.00', '$100.00', '$3.50000000001', '$96.49999999999']);
    const rows = rowsOf((await reader.get(path)).text, 'Customer statements');
    const totals = rows.map((row) => parseUsd((row.at(-1) ?? '').replaceAll(/[$,]/g, '')));
    const closing = totals.at(-1);
    expect(totals.slice(0, -1).reduce((all, amount) => all + amount, 0n)).to.equal(closing);
    expect(closing).to.equal(parseUsd('96.49999999999'));
    const { text } = await reader.get(`${path}/export?format=csv`);
    expect(text.split('\r\n')[0]).to.equal('line,transfers,available_usd,reserved_usd,total_usd');
  });

  it('stay open while the latest reconciliation has findings, and the page gives the reason', async () => {
    const id = await writeReport(app.database, 1);
    const path = `${MONTHS}/${past.name}/close`;
    const shown = await finance.get(path);
    expect(shown.text).to.include(id).and.not.include('<button type="submit" class="danger"');
    const sent = await finance.send(path);
    expect(sent.status).to.equal(409);
    expect(sent.text).to.include('unacknowledged');
    await writeReport(app.database);
    expect((await finance.get(path)).text).to.include('<button type="submit" class="danger"');
  });

  it('are closed once, after a page that lists what closing freezes, and record the author', async () => {
    await insertTransfer(app.database, {
      id: newId('transfer', past.moment.getTime()),
      kind: 'adjustment',
      accountId: customer.accountId,
      amount: parseUsd(3),
      author: 'ada',
      reason: 'a test',
      createdAt: past.moment,
    });
    const path = `${MONTHS}/${past.name}/close`;
    const { text } = await finance.get(path);
    expect(text).to.include('You cannot reopen a closed month.').and.include('$3.00').and.include('Corrections');
    const answers = await Promise.all([finance.send(path), finance.send(path), finance.send(path)]);
    expect(answers.map(({ status }) => status)).to.deep.equal([303, 303, 303]);
    const closed = await app.database('closed_months').select('author');
    expect(closed).to.deep.equal([{ author: 'fin@example.com' }]);
    expect((await reader.get(`${MONTHS}/${past.name}`)).text).to.include('Closed by fin@example.com');
    const noted = await app.database('admin_actions').where({ author: 'fin@example.com' }).first('action');
    expect(noted).to.deep.equal({ action: 'console /staff/months/{month}/close' });
  });

  it('show the net of corrections, in the page that closes and in the sums of the export', async () => {
    await ensurePartitions(app.database, lastMonth.moment);
    const correct = (amount: string, taken: boolean) =>
      insertTransfer(app.database, {
        id: newId('transfer', lastMonth.moment.getTime()),
        kind: 'adjustment',
        accountId: customer.accountId,
        amount: parseUsd(amount),
        taken,
        author: 'ada',
        reason: 'a test',
        createdAt: lastMonth.moment,
      });
    await correct('255', false);
    await correct('1', true);
    const { text } = await finance.get(`${MONTHS}/${lastMonth.name}/close`);
    expect(rowsOf(text, 'Ledger of the month')).to.deep.equal([['Corrections', '$254.00']]);
    const csv = await finance.get(`${MONTHS}/${lastMonth.name}/export?format=csv`);
    const [head = '', ...lines] = csv.text.trimEnd().split('\r\n');
    for (const name of ['amount_usd', 'change_usd']) {
      const column = head.split(',').indexOf(name);
      const sum = lines.reduce((all, line) => all + parseUsd(line.split(',')[column] ?? ''), 0n);
      expect(sum, name).to.equal(parseUsd('254'));
    }
  });

  it('show payments and balances of customers beside the revenue, and unknown costs as unknown', async () => {
    // The sums of months are cached for some seconds.
    const text = await eventually(async () => {
      const page = await reader.get(`${MONTHS}/${thisMonth.name}`);
      return page.text.includes('$353.49') ? page.text : undefined;
    });
    const headlines = Array.from(
      text.matchAll(/<h2>([^<]+)<\/h2><p class="big">(.*?)<\/p>/gs),
      ([, title, shown = '']) => [title, shown.replaceAll(/<[^>]+>/g, '')],
    );
    expect(headlines).to.deep.equal([
      ['Revenue', '$3.50'],
      ['Cost', 'unknown'],
      ['Margin', 'unknown'],
      ['Received', '$100.00'],
      ['Owed to customers', '$353.49'],
    ]);
    const money = rowsOf(text, 'Customer balances');
    expect(money.map(([what, , amount]) => [what, amount])).to.deep.equal([
      ['Opening balance', '$257.00'],
      ['Charged for tasks', '-$3.50000000001'],
      ['Top-ups', '$100.00'],
      ['Closing balance', '$353.49999999999'],
    ]);
  });

  it('mark losses, and are sorted by the greatest loss, in USD or in percent', async () => {
    for (const [price, cost] of [
      ['2', '2.5'],
      ['0.1', '0.4'],
      ['4', '1'],
    ] as const) {
      const task = await createTaskRow(app.database, keyOf(customer), {
        price: parseUsd(price),
        model: `cost-${cost}`,
      });
      const submission = await openTaskSubmission(app.database, task);
      await settleSubmission(app.database, submission, {
        outcome: 'accepted',
        evidence: 'the answer',
        jobId: task.id,
      });
      await app
        .database('submissions')
        .where('task_id', task.id)
        .update({ cost: parseUsd(cost).toString() });
      await finishAsSucceeded(app.database, task);
    }
    const shown = async (sort: string) =>
      rowsOf((await reader.get(`${MONTHS}/${thisMonth.name}?sort=${sort}`)).text, 'By model')
        .filter(([name]) => name?.startsWith('cost-'))
        .map(([name, , , margin]) => [name, margin]);
    await eventually(async () => (await shown('margin_usd')).length === 3);
    const [large, small, gain] = [
      ['cost-2.5 (videos)', '-$0.50 · Loss -25.0 %'],
      ['cost-0.4 (videos)', '-$0.30 · Loss -300.0 %'],
      ['cost-1 (videos)', '$3.00 ·  75.0 %'],
    ];
    expect(await shown('margin_usd')).to.deep.equal([large, small, gain]);
    expect(await shown('margin_percent')).to.deep.equal([small, large, gain]);
    expect(await shown('cost_usd')).to.deep.equal([large, gain, small]);
    expect(await shown('nonsense')).to.deep.equal([gain, large, small]);
  });

  it('stay open before they end, and while an earlier month is open', async () => {
    for (const month of [thisMonth.name, monthBefore(-1).name, '2020-01']) {
      expect((await finance.send(`${MONTHS}/${month}/close`)).status, month).to.equal(409);
    }
    expect(await app.database('closed_months')).to.have.length(1);
  });

  it('say in the language of the reader why they stay open', async () => {
    const chinese = await Visitor.invited(app, { email: 'zh@example.com', staff_role: 'finance' });
    await chinese.setLanguage('zh');
    const path = `${MONTHS}/${thisMonth.name}/close`;
    for (const { text } of [await chinese.get(path), await chinese.send(path)]) {
      const [, alert = ''] = /role="alert">(.*?)<\/p>/s.exec(text) ?? [];
      expect(alert)
        .to.include('关')
        .and.not.match(/[a-z]{3}/);
    }
  });

  it('have no statement for an account that does not exist', async () => {
    const path = `${MONTHS}/${thisMonth.name}/statements`;
    for (const id of ['x', newId('account')]) expect((await reader.get(`${path}/${id}`)).status, id).to.equal(404);
  });
});

describeInBrowser('months in a browser', (browser) => {
  const app = useTestConsole();

  before(async () => {
    const { accountId, keyId } = await app.createAccount({ fundedUsd: 9_999_999 });
    await app.database('accounts').where({ id: accountId }).update({ name: 'Harbour and Lighthouse Pictures Ltd' });
    for (const [price, cost] of [
      ['1048123.451234567891', '1312345.031234500007'],
      ['12345.000000000009', null],
    ] as const) {
      const model = 'cinema-2.0-professional';
      const task = await createTaskRow(app.database, { id: keyId, accountId }, { price: parseUsd(price), model });
      await submitTask(app.database, task, task.id);
      const submission = app.database('submissions').where({ task_id: task.id });
      await submission.update({ cost: cost && parseUsd(cost).toString() });
      await finishAsSucceeded(app.database, task);
    }
  });

  for (const language of ['en', 'zh'] as const) {
    it(`show every column of large sums on a screen of 1280 pixels, in ${language}`, async () => {
      const finance = await Visitor.invited(app, { email: `${language}@example.com`, staff_role: 'finance' });
      await finance.setLanguage(language);
      const tab = await browser.open(app.baseUrl, { width: 1280 });
      await tab.signIn(finance);
      for (const path of [MONTHS, `${MONTHS}/${monthBefore(0).name}`]) {
        await tab.page.goto(path);
        expect(await tab.page.textContent('main'), path).to.include('$1,312,345.03');
        const cutOff = `[...document.querySelectorAll('.table')].filter((table) => table.scrollWidth > table.clientWidth).map((table) => table.ariaLabel)`;
        expect(await tab.page.evaluate<string[]>(cutOff), path).to.deep.equal([]);
      }
      await tab.close();
    });
  }
});
