import { expect } from 'chai';
import { issueDocument, listDocuments, recordSeller } from '../../db/queries/billing-documents.ts';
import { topUp } from '../../db/queries/credits.ts';
import { parseUsd } from '../../domain/money.ts';
import { describeInBrowser } from '../support/browser.ts';
import { useAccount, useTestConsole, useVisitor, Visitor } from '../support/console.ts';

const SELLER = {
  name: 'Acme GmbH',
  address: ['Hauptstrasse 1', '10115 Berlin'],
  taxId: 'DE1',
  taxes: [{ name: 'VAT', percent: '19' }],
  taxPoint: 'paid',
} as const;

describe('the pages of receipts and invoices', () => {
  const app = useTestConsole();
  const customer = useAccount(app);
  const owner = useVisitor(app, () => ({ email: 'owner@example.com', account_id: customer.accountId }));
  let path: string;

  before(async () => {
    path = `/console/accounts/${customer.accountId}/billing`;
    await recordSeller(app.database, SELLER);
  });

  /** @returns the id of the receipt */
  async function pay(usd: string, reference: string): Promise<string> {
    const { accountId } = customer;
    await topUp(app.database, { accountId, amount: parseUsd(usd), reference });
    const [receipt] = await listDocuments(app.database, { accountId, limit: 1 });
    return receipt?.id ?? '';
  }

  it('show a document as issued, whatever the owner changes afterwards', async () => {
    const details = { billing_name: 'Ada Ltd', billing_address: 'Lane 2\r\nOxford', tax_id: 'GB2' };
    expect((await owner.edit(path, details, `${path}/details`)).status).to.equal(303);
    const id = await pay('11.90', '<b>wire</b>');
    expect((await owner.edit(path, { billing_name: 'Bob' }, `${path}/details`)).status).to.equal(303);
    const { text } = await owner.get(`${path}/documents/${id}`);
    const said = [
      'Acme GmbH',
      '10115 Berlin',
      'Ada Ltd',
      'Oxford',
      'GB2',
      '&lt;b&gt;wire',
      '$1.90',
      '$10.00',
      '$11.90',
    ];
    for (const words of said) expect(text).to.include(words);
    expect(text).not.to.include('Bob');
  });

  it('refuse details that are too long, and keep the input', async () => {
    const fields = { billing_name: 'x'.repeat(201), tax_id: 'GB3' };
    const { status, text } = await owner.edit(path, fields, `${path}/details`);
    expect(status).to.equal(400);
    expect(text).to.include('GB3');
  });

  it('show only documents of the account', async () => {
    const id = await pay('5', 'wire 2');
    const { accountId } = await app.createAccount();
    const stranger = await Visitor.invited(app, { email: 'stranger@example.com', account_id: accountId });
    expect((await stranger.get(`/console/accounts/${accountId}/billing/documents/${id}`)).status).to.equal(404);
    expect((await stranger.get(`${path}/documents/${id}`)).status).to.equal(404);
    const staff = await Visitor.invited(app, { email: 'staff@example.com', staff_role: 'readonly' });
    const ofStaff = `/console/staff/accounts/${customer.accountId}/documents`;
    expect((await staff.get(ofStaff)).text).to.include(`${ofStaff}/${id}`);
    expect((await staff.get(`${ofStaff}/${id}`)).text).to.include('wire 2');
  });

  describeInBrowser('in a browser', (browser) => {
    it('print on one page at their longest, without navigation', async () => {
      const { accountId } = customer;
      const party = { name: 'x'.repeat(100), address: Array.from({ length: 9 }, () => 'Street'), taxId: 'DE1' };
      const taxes = Array.from({ length: 8 }, (_, index) => ({ name: `Tax ${index}`, percent: '2.5' }));
      await recordSeller(app.database, { ...party, taxes, taxPoint: 'used' });
      const lines = Array.from({ length: 31 }, (_, index) => ({
        subject: 'video' as const,
        model: `model-${index}`,
        quantity: 3,
        amount: parseUsd('1234.500000000001'),
      }));
      const due = { accountId, kind: 'invoice', source: `2026-10 ${accountId}`, month: '2026-10', lines } as const;
      await app.database.transaction((transaction) => issueDocument(transaction, due));
      const [{ id }] = await app.database('billing_documents').where({ kind: 'invoice' });
      const tab = await browser.open(app.baseUrl);
      const { page } = tab;
      try {
        await tab.signIn(await Visitor.invited(app, { email: 'printer@example.com', account_id: customer.accountId }));
        await page.goto(`${path}/documents/${id}`);
        const pdf = (await page.pdf({ format: 'A4' })).toString('latin1');
        expect(pdf.match(/\/Type\s*\/Page\b/g)).to.have.length(1);
        await page.emulateMedia({ media: 'print' });
        expect(await page.getByRole('navigation').first().isVisible()).to.equal(false);
        expect(await page.getByRole('button', { name: 'Print' }).isVisible()).to.equal(false);
        expect(await page.getByText('$38,269.50 USD').isVisible()).to.equal(true);
      } finally {
        await tab.close();
      }
    });
  });
});
