import { expect } from 'chai';
import { MAX_BILL_BYTES } from '../../console/pages/staff/months/import-bill.tsx';
import { deleteBill } from '../../services/money/bills.ts';
import { listVendorBills } from '../../db/queries/vendor-bills.ts';
import { finishReconciliation, insertReconciliation } from '../../db/queries/reconciliations.ts';
import { recordCost } from '../../db/queries/submissions.ts';
import { BILL_CHECK } from '../../db/reconciliation/bill-check.ts';
import { newId } from '../../domain/ids.ts';
import { formatUsd, parseUsd } from '../../domain/money.ts';
import type { Month } from '../../domain/month.ts';
import { describeInBrowser } from '../support/browser.ts';
import { startTestConsole, useTestConsole, useVisitor, Visitor } from '../support/console.ts';
import { thisMonth } from '../support/months.ts';
import { checkBooks } from '../support/reconciliation.ts';
import { createTaskRow, finishAsSucceeded, keyOf, submitTask } from '../support/factories.ts';

const ENTRIES = { vendor: 'fal', upstreams: 'fal', job: 'request_id', model: 'endpoint_id', amount: 'cost_total' };
const TITLES = 'request_id,endpoint_id,cost_total\n';

describe('the import of a bill in the console', () => {
  const app = useTestConsole();
  const finance = useVisitor(app, () => ({ email: 'fin@example.com', staff_role: 'finance' }));
  let month: Month;
  let path: string;
  let task: string;

  before(async () => {
    month = thisMonth();
    path = `/console/staff/months/${month.name}/import-bill`;
    const customer = await app.createAccount({ fundedUsd: 10 });
    const row = await createTaskRow(app.database, keyOf(customer));
    task = row.id;
    await submitTask(app.database, row, 'job-1');
    await recordCost(app.database, row.id, { reported: null, cost: parseUsd('0.5') });
    await finishAsSucceeded(app.database, row);
    await app.database.transaction(async (transaction) => {
      await transaction.raw('SET LOCAL session_replication_role = replica');
      await transaction('submissions').update({ provider: 'fal', model: 'veo' });
    });
  });

  const bills = async () => listVendorBills(app.database, month);
  const importFile = (content: string, entries: Record<string, string> = {}) =>
    finance.sendFile(path, { usd_per_unit: '1', ...ENTRIES, ...entries }, { name: 'csv', content });

  it('starts with the vendor’s known columns, and then with those of its latest bill', async () => {
    expect((await finance.get(`/console/staff/months/${month.name}`)).text).to.include(path);
    const known = (await finance.get(`${path}?vendor=fal`)).text;
    for (const column of ['request_id', 'endpoint_id', 'cost_total']) expect(known).to.include(`value="${column}"`);
    await importFile('job;what;usd\n', { job: 'Job', model: 'What', amount: 'USD' });
    const latest = (await finance.get(`${path}?vendor=fal`)).text;
    expect(latest).to.include('value="What"').and.include('value="fal"').and.include('come from the latest bill');
    await deleteBill(app.database, 'fal', month);
  });

  it('opens the comparison, which links the tasks and the page where differences are acknowledged', async () => {
    const sent = await importFile(`${TITLES}job-1,veo,0.7\nx-9,veo,2\n`);
    const compared = `/console/staff/months/${month.name}/bills/fal`;
    expect([sent.status, sent.headers['location']]).to.deep.equal([303, compared]);
    const { text } = await finance.get(compared);
    expect(text).to.include('Different price').and.include('Billed without a record');
    expect(text.match(/<dd><span class="money">[^<]*/g)?.map((sum) => sum.replace(/.*>/, ''))).to.deep.equal([
      '$2.70',
      '$0.50',
      '+$2.20',
    ]);
    expect(text).to.include(`/console/staff/tasks/${task}`).and.include('href="/console/staff/reconciliations"');
    const [bill] = await bills();
    expect(bill).to.deep.include({ vendor: 'fal', upstreams: ['fal'], lines: 2, author: 'fin@example.com' });
  });

  it('has findings that link to the comparison', async () => {
    const id = newId('reconciliation');
    await insertReconciliation(app.database, { id, requestedBy: 'operator' });
    await finishReconciliation(app.database, id, await checkBooks(app.database, [BILL_CHECK]));
    const { text } = await finance.get(`/console/staff/reconciliations/${id}`);
    expect(text).to.include(`<a href="/console/staff/months/${month.name}/bills/fal">fal ${month.name} veo</a>`);
  });

  it('is carried out once, however often the form is sent, and another file is not a repetition', async () => {
    const form_id = newId('form');
    const first = await importFile(`${TITLES}job-1,veo,1\n`, { form_id });
    const importedAt = (await bills())[0]?.importedAt;
    const again = await importFile(`${TITLES}job-1,veo,1\n`, { form_id });
    expect([first.status, again.status]).to.deep.equal([303, 303]);
    expect((await bills())[0]?.importedAt).to.deep.equal(importedAt);
    expect((await importFile(`${TITLES}job-1,veo,2\n`, { form_id })).status).to.equal(409);
  });

  it('accepts other known columns of the vendor, and keeps them', async () => {
    const google = {
      vendor: 'google',
      upstreams: 'gemini',
      job: '',
      model: 'SKU description',
      amount: 'Unrounded cost ($)',
    };
    const report = 'Service description,SKU description,Unrounded subtotal ($)\nGemini API,Veo,0.25\n';
    expect((await importFile(report, google)).status).to.equal(303);
    const [, bill] = await bills();
    expect(bill?.columns.amount).to.equal('Unrounded subtotal ($)');
    expect(formatUsd(bill?.amount ?? 0n)).to.equal('0.25');
  });

  it('is refused with the input kept, where the file has no such columns', async () => {
    const { status, text } = await importFile('a,b\n1,2\n', { job: 'nothing' });
    expect(status).to.equal(400);
    expect(text).to.include('No line at the start of the file has the columns').and.include('value="nothing"');
  });

  it('is refused with the input kept, and says what to do, where the file has another encoding', async () => {
    const entries = { usd_per_unit: '1', ...ENTRIES, upstreams: 'fal other' };
    const { status, text } = await finance.sendFile(path, entries, { name: 'csv', content: Buffer.from([0xb1, 0xd2]) });
    expect(status).to.equal(400);
    expect(text)
      .to.match(/field-csv-fault[^>]*>This file is not UTF-8 text/)
      .and.include('value="fal other"');
  });

  it('is refused in words without names of the API, where an entry is missing', async () => {
    const { status, text } = await importFile(`${TITLES}job-1,veo,0.7\n`, { amount: '' });
    expect(status).to.equal(400);
    expect(text)
      .to.match(/field-amount-fault[^>]*>Fill this in/)
      .and.not.include('columns.amount');
  });

  it('is refused with the exchange rate of a currency, where the file names another one', async () => {
    const content = 'request_id,endpoint_id,cost_total,Currency\njob-1,veo,10,CNY\n';
    const refused = await importFile(content, { usd_per_unit: '' });
    expect(refused.status).to.equal(400);
    expect(refused.text).to.match(/field-usd_per_unit-fault[^>]*>Line 2 of the bill is in CNY/);
    expect((await importFile(content, { usd_per_unit: '0.14' })).status).to.equal(303);
    expect(formatUsd((await bills())[0]?.amount ?? 0n)).to.equal('1.4');
  });

  it('is refused with the size limit, where the file is larger', async () => {
    const content = `${TITLES}${'x'.repeat(MAX_BILL_BYTES)}`;
    const { status, text } = await importFile(content);
    expect(status).to.equal(413);
    expect(text).to.include('The file is larger than 8 MB');
  });

  it('is deleted from the page of the bill', async () => {
    const { headers } = await finance.send(`/console/staff/months/${month.name}/bills/google/forget`);
    expect(headers['location']).to.equal(`/console/staff/months/${month.name}`);
    expect((await bills()).map(({ vendor }) => vendor)).to.deep.equal(['fal']);
  });
});

describeInBrowser('the import of a bill in a browser', (browser) => {
  it('sends a file, and shows the limit before a larger one is sent', async () => {
    const app = await startTestConsole();
    const tab = await browser.open(app.baseUrl);
    try {
      const { page } = tab;
      await tab.signIn(await Visitor.invited(app, { email: 'fin@example.com', staff_role: 'finance' }));
      await page.goto(`/console/staff/months/${thisMonth().name}`);
      await page.getByRole('link', { name: 'Import bill' }).click();
      await page.getByRole('link', { name: 'openai' }).click();
      await page.getByLabel('Billed upstreams').fill('openai');
      const file = page.getByLabel('File');
      const csv = { name: 'cost.csv', mimeType: 'text/csv' };
      await file.setInputFiles({ ...csv, buffer: Buffer.alloc(MAX_BILL_BYTES + 1, 'x') });
      const told = await page.evaluate<string>(`document.querySelector('#field-csv').validationMessage`);
      expect(told).to.include('larger than 8 MB');
      await file.setInputFiles({ ...csv, buffer: Buffer.from('line_item,amount_value\ngpt-5.1 input,0.02\n') });
      await page.getByRole('button', { name: 'Import bill' }).click();
      await page.getByText('Billed without a record').waitFor();
      expect(tab.complaints).to.deep.equal([]);
    } finally {
      await tab.close();
      await app.stop();
    }
  });
});
