import { expect } from 'chai';
import { updateAccount } from '../../../db/queries/accounts.ts';
import {
  type BillingDocument,
  findDocument,
  issueSomeInvoices,
  listDocuments,
  recordSeller,
} from '../../../db/queries/billing-documents.ts';
import { adjust, grantSignupCredit, topUp } from '../../../db/queries/credits.ts';
import { issueCreditNotes, returnPayment } from '../../../db/queries/returned-payments.ts';
import type { Seller } from '../../../domain/billing-document.ts';
import { parseMonth } from '../../../domain/month.ts';
import { formatUsd, parseUsd } from '../../../domain/money.ts';
import { useTestDatabase } from '../../support/database.ts';
import {
  createAccount,
  createFundedKey,
  createTaskRow,
  finishAsSucceeded,
  sumTransfersUntil,
} from '../../support/factories.ts';
import { newHold, openTextLedger, settlementOf } from '../../support/text-money.ts';

const SELLER: Seller = {
  name: 'Acme GmbH',
  address: ['Hauptstrasse 1', '10115 Berlin'],
  taxId: 'DE1',
  taxes: [{ name: 'VAT', percent: '19' }],
  taxPoint: 'paid',
};
const YEAR = new Date().getUTCFullYear();
const ALL = { limit: 100 };

describe('Genway', () => {
  const test = useTestDatabase();

  async function documentsOf(accountId: string): Promise<readonly BillingDocument[]> {
    return (await listDocuments(test.database, { accountId, ...ALL })).toReversed();
  }

  /** The kind of each document with its total, oldest first. */
  async function totalsOf(accountId: string): Promise<readonly string[]> {
    const documents = await documentsOf(accountId);
    return documents.map(({ kind, total }) => `${kind} ${formatUsd(total)}`);
  }

  it('issues no documents before a seller is configured and after the seller is removed', async () => {
    const account = await createAccount(test.database, { fundedUsd: 5 });
    expect(await documentsOf(account.id)).to.deep.equal([]);
    await recordSeller(test.database, SELLER);
    await recordSeller(test.database, null);
    await topUp(test.database, { accountId: account.id, amount: parseUsd(5), reference: 'second' });
    expect(await documentsOf(account.id)).to.deep.equal([]);
    await recordSeller(test.database, SELLER);
    await recordSeller(test.database, SELLER);
    const [count] = await test.database('sellers').count<{ count: string }[]>();
    expect(Number(count?.count), 'changes of the seller').to.equal(3);
  });

  it('issues a receipt for each payment, with the seller, the payer and the included taxes', async () => {
    const { id } = await createAccount(test.database);
    await updateAccount(test.database, id, { billingName: 'Ada Ltd', billingAddress: 'Lane 2\nOxford', taxId: 'GB2' });
    await topUp(test.database, { accountId: id, amount: parseUsd('11.90'), reference: 'payment:pi_1' });
    await topUp(test.database, { accountId: id, amount: parseUsd('11.90'), reference: 'payment:pi_1' });
    const [receipt, ...others] = await documentsOf(id);
    expect(others).to.deep.equal([]);
    expect(receipt).to.deep.include({
      kind: 'receipt',
      number: `R-${YEAR}-000001`,
      month: null,
      reference: 'payment:pi_1',
      seller: { name: 'Acme GmbH', address: ['Hauptstrasse 1', '10115 Berlin'], taxId: 'DE1' },
      customer: { name: 'Ada Ltd', address: ['Lane 2', 'Oxford'], taxId: 'GB2' },
      lines: [{ subject: 'payment', model: null, quantity: 1, amount: parseUsd('11.90') }],
      total: parseUsd('11.90'),
      taxes: [{ name: 'VAT', percent: '19', amount: parseUsd('1.90') }],
    });
  });

  it('issues a credit note for a returned payment, and a receipt for a dispute that is won', async () => {
    const { id } = await createAccount(test.database);
    const reference = 'payment:pi_2';
    await topUp(test.database, { accountId: id, amount: parseUsd(20), reference });
    await returnPayment(test.database, reference, { refunded: parseUsd(5), refundedAt: 0 });
    await returnPayment(test.database, reference, { refunded: parseUsd(5), refundedAt: 0 });
    const dispute = { id: 'dp_1', amount: parseUsd(15) };
    await returnPayment(test.database, reference, { dispute: { ...dispute, isWon: false, isPrevented: false } });
    await returnPayment(test.database, reference, { dispute: { ...dispute, isWon: true, isPrevented: false } });
    expect(await totalsOf(id)).to.deep.equal(['receipt 20', 'credit_note 5', 'credit_note 15', 'receipt 15']);
    const [receipt, creditNote] = await documentsOf(id);
    expect(creditNote?.corrects).to.equal(receipt?.number);
  });

  it('issues a receipt for a refund that failed, and a credit note when it is repeated', async () => {
    const { id } = await createAccount(test.database);
    const reference = 'payment:pi_failed';
    await topUp(test.database, { accountId: id, amount: parseUsd(20), reference });
    for (const change of [
      { refunded: parseUsd(5), refundedAt: 1 },
      { failedRefund: { id: 're_1', amount: parseUsd(5), failedAt: 2 } },
      { failedRefund: { id: 're_1', amount: parseUsd(5), failedAt: 3 } },
      { refunded: parseUsd(5), refundedAt: 4 },
    ])
      await returnPayment(test.database, reference, change);
    expect(await totalsOf(id)).to.deep.equal(['receipt 20', 'credit_note 5', 'receipt 5', 'credit_note 5']);
  });

  it('issues credit notes with the taxes of the receipt, which add up, also after the taxes have changed', async () => {
    const { id } = await createAccount(test.database);
    const reference = 'payment:pi_parts';
    await topUp(test.database, { accountId: id, amount: parseUsd('1'), reference });
    await recordSeller(test.database, { ...SELLER, taxes: [{ name: 'VAT', percent: '25' }] });
    for (const [second, usd] of ['0.34', '0.67', '1'].entries()) {
      await returnPayment(test.database, reference, { refunded: parseUsd(usd), refundedAt: second });
    }
    await recordSeller(test.database, SELLER);
    const taxes = (await documentsOf(id)).map(({ kind, taxes: [tax] }) => [
      kind,
      tax?.percent,
      formatUsd(tax?.amount ?? 0n),
    ]);
    expect(taxes).to.deep.equal([
      ['receipt', '19', '0.16'],
      ['credit_note', '19', '0.05'],
      ['credit_note', '19', '0.06'],
      ['credit_note', '19', '0.05'],
    ]);
  });

  it('issues a credit note for what an account gives later for a returned payment', async () => {
    const { id: accountId } = await createAccount(test.database);
    const [reference, later] = ['payment:pi_3', 'payment:pi_4'];
    await topUp(test.database, { accountId, amount: parseUsd(20), reference });
    await adjust(test.database, { accountId, amount: -parseUsd(20), author: 'ada', reason: 'spent' });
    await returnPayment(test.database, reference, { refunded: parseUsd(15), refundedAt: 0 });
    await topUp(test.database, { accountId, amount: parseUsd(10), reference: later });
    expect(await totalsOf(accountId)).to.deep.equal(['receipt 20', 'receipt 10']);
    const issue = () => test.database.transaction((transaction) => issueCreditNotes(transaction, {}));
    expect((await Promise.all([issue(), issue()])).toSorted()).to.deep.equal([0, 1]);
    expect(await totalsOf(accountId)).to.deep.equal(['receipt 20', 'receipt 10', 'credit_note 10']);
  });

  it('numbers each kind without a gap, whoever pays at once and whatever fails', async () => {
    const accounts = await Promise.all(Array.from({ length: 8 }, () => createAccount(test.database)));
    const [before] = await test.database('billing_numbers').where({ kind: 'receipt' });
    await Promise.all(
      accounts.flatMap(({ id: accountId }, index) => [
        topUp(test.database, { accountId, amount: parseUsd(1), reference: 'one' }),
        topUp(test.database, { accountId, amount: parseUsd(1), reference: 'one' }),
        topUp(test.database, { accountId, amount: parseUsd(2), reference: `two-${index}` }),
        test.database
          .transaction(async (transaction) => {
            await topUp(transaction, { accountId, amount: parseUsd(3), reference: 'undone' });
            throw new Error('undone');
          })
          .catch(() => undefined),
      ]),
    );
    const numbers = await test
      .database('billing_documents')
      .where({ kind: 'receipt' })
      .orderBy('number')
      .pluck('number');
    expect(numbers).to.have.length(before.last_number + 16);
    expect(numbers).to.deep.equal(numbers.map((_, index) => `R-${YEAR}-${String(index + 1).padStart(6, '0')}`));
  });

  it('finds a document only for its account', async () => {
    const [one, other] = [await createAccount(test.database, { fundedUsd: 1 }), await createAccount(test.database)];
    const [document] = await documentsOf(one.id);
    const id = document?.id ?? '';
    expect(await findDocument(test.database, { id })).to.include({ accountId: one.id });
    expect(await findDocument(test.database, { id, accountId: one.id })).to.include({ accountId: one.id });
    expect(await findDocument(test.database, { id, accountId: other.id })).to.equal(null);
  });

  it('issues one invoice for each account that was charged in a closed month, from however many processes', async () => {
    const key = await createFundedKey(test.database, 100);
    await grantSignupCredit(test.database, key.accountId, parseUsd('0.5'));
    const idle = await createAccount(test.database, { fundedUsd: 1 });
    for (let count = 0; count < 3; count++) {
      await finishAsSucceeded(test.database, await createTaskRow(test.database, key));
    }
    const ledger = openTextLedger(test.url);
    const hold = newHold(key);
    const ahead = newHold(key, { createdAt: nextMonth() });
    await ledger.hold([hold, ahead]);
    await ledger.settle([settlementOf(hold), settlementOf(ahead)]);
    await ledger.close();
    const { charged, month } = await closeThisMonth(key.accountId);
    const issueAll = async (): Promise<void> => {
      while (await issueSomeInvoices(test.database, 1));
    };
    await Promise.all([issueAll(), issueAll(), issueAll()]);
    await issueAll();
    const invoices = (await documentsOf(key.accountId)).filter(({ kind }) => kind === 'invoice');
    expect(invoices.map(({ month: of, subtotal, taxes }) => ({ of, subtotal, taxes }))).to.deep.equal([
      { of: month, subtotal: charged - parseUsd('0.5'), taxes: [] },
    ]);
    expect(invoices[0]?.lines.map(({ subject, model, quantity }) => ({ subject, model, quantity }))).to.deep.equal([
      { subject: 'text', model: hold.model, quantity: 2 },
      { subject: 'video', model: 'vidone-3.0', quantity: 3 },
      { subject: 'granted_credit', model: null, quantity: 1 },
    ]);
    expect((await documentsOf(idle.id)).filter(({ kind }) => kind === 'invoice')).to.deep.equal([]);
    expect(await test.database('invoiced_months').select(test.database.raw('month::text'))).to.deep.equal([
      { month: `${month}-01` },
    ]);
  });

  /** The time of a process whose clock is ahead of the database's at the end of the month. */
  function nextMonth(): Date {
    const month = parseMonth(new Date().toISOString().slice(0, 7));
    return new Date((month?.to.getTime() ?? 0) + 10 * 60_000);
  }

  /** Makes the month over, summed and closed. @returns the charges of an account */
  async function closeThisMonth(accountId: string) {
    const name = new Date().toISOString().slice(0, 7);
    const month = parseMonth(name);
    if (!month) throw new Error(`not a month: ${name}`);
    await sumTransfersUntil(test.database, month.to);
    await test.database('closed_months').insert({
      month: `${name}-01`,
      author: 'ada',
      transfers: 0,
      amounts: {},
      checksum: 0,
    });
    const charges = await test
      .database('transfers')
      .where({ account_id: accountId })
      .whereIn('kind', ['settlement', 'charge', 'excess'])
      .pluck('amount');
    return { month: name, charged: charges.reduce((sum: bigint, amount: string) => sum + BigInt(amount), 0n) };
  }
});
