import { expect } from 'chai';
import * as fc from 'fast-check';
import {
  composeDocument,
  DOCUMENT_KINDS,
  type DocumentLine,
  groupSmallLines,
  netAmount,
  numberOf,
  type Seller,
} from '../../domain/billing-document.ts';
import { formatUsd, parseUsd, PICO_PER_CENT } from '../../domain/money.ts';

const BUYER = { name: 'Ada', address: [], taxId: null };

const sellerWith = (taxes: Seller['taxes'], taxPoint: Seller['taxPoint'] = 'paid'): Seller => ({
  name: 'Acme',
  address: ['Street 1'],
  taxId: null,
  taxes,
  taxPoint,
});

const line = (usd: string, model: string | null = null): DocumentLine => ({
  subject: 'text',
  model,
  quantity: 1,
  amount: parseUsd(usd),
});

const usdOf = (amounts: readonly { readonly amount: bigint }[]) => amounts.map(({ amount }) => formatUsd(amount));

describe('a billing document', () => {
  it('has the exact sum of its lines, and rounds its total half up to whole cents', () => {
    const totalOf = (...usd: readonly string[]) => {
      const lines = usd.map((amount) => line(amount));
      const { subtotal, total } = composeDocument('receipt', sellerWith([]), BUYER, lines);
      return [formatUsd(subtotal), formatUsd(total)];
    };
    expect(totalOf('0.004999999999')).to.deep.equal(['0.004999999999', '0']);
    expect(totalOf('0.005')).to.deep.equal(['0.005', '0.01']);
    expect(totalOf('0.003', '0.002', '1')).to.deep.equal(['1.005', '1.01']);
  });

  it('states each tax that the total includes', () => {
    const taxes = [
      { name: 'GST', percent: '5' },
      { name: 'PST', percent: '9.975' },
    ];
    const document = composeDocument('receipt', sellerWith(taxes), BUYER, [line('114.98')]);
    expect(usdOf(document.taxes)).to.deep.equal(['5', '9.98']);
    expect(formatUsd(netAmount(document))).to.equal('100');
  });

  it('states taxes where money is paid, or where it is used, and never in both', () => {
    const taxedKinds = (taxPoint: Seller['taxPoint']) =>
      DOCUMENT_KINDS.filter((kind) => {
        const seller = sellerWith([{ name: 'VAT', percent: '19' }], taxPoint);
        return composeDocument(kind, seller, BUYER, [line('10')]).taxes.length > 0;
      });
    expect(taxedKinds('paid')).to.deep.equal(['receipt', 'credit_note']);
    expect(taxedKinds('used')).to.deep.equal(['invoice']);
  });

  it('always adds up: the net amount plus the taxes is the total, in whole cents, each within half a cent', () => {
    const tax = fc.record({
      name: fc.constant('tax'),
      percent: fc.integer({ min: 0, max: 999_999 }).map((rate) => (rate / 10_000).toFixed(4)),
    });
    const amount = fc.bigInt({ min: 0n, max: 10n ** 24n });
    fc.assert(
      fc.property(fc.array(tax, { maxLength: 8 }), fc.array(amount, { maxLength: 20 }), (taxes, amounts) => {
        const lines = amounts.map((one) => ({ ...line('0'), amount: one }));
        const document = composeDocument('receipt', sellerWith(taxes), BUYER, lines);
        const sum = document.taxes.reduce((total, one) => total + one.amount, netAmount(document));
        expect(sum).to.equal(document.total);
        expect(document.total % PICO_PER_CENT).to.equal(0n);
        const rate = ({ percent }: { percent: string }) => BigInt(percent.replace('.', ''));
        const gross = taxes.reduce((whole, one) => whole + rate(one), 1_000_000n);
        for (const one of document.taxes) {
          const off = 2n * (one.amount * gross - document.total * rate(one));
          expect(off <= PICO_PER_CENT * gross && off >= -PICO_PER_CENT * gross).to.equal(true);
        }
      }),
    );
  });

  it('adds up with the other documents of its payment: what is credited in parts has the taxes of the receipt', () => {
    const taxes = [{ name: 'VAT', percent: '19' }];
    const parts = fc.array(fc.bigInt({ min: 0n, max: 10n ** 13n }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(parts, (amounts) => {
        const lineOf = (amount: bigint) => ({ ...line('0'), amount });
        const whole = amounts.reduce((sum, amount) => sum + amount, 0n);
        const receipt = composeDocument('receipt', sellerWith(taxes), BUYER, [lineOf(whole)]);
        let balance = whole;
        const notes = amounts.map((amount) => {
          const history = { receipt: 'R-1', balance, taxes: receipt.taxes };
          balance -= amount;
          return composeDocument(
            'credit_note',
            sellerWith([{ name: 'VAT', percent: '25' }]),
            BUYER,
            [lineOf(amount)],
            history,
          );
        });
        const sumOf = (values: readonly (bigint | undefined)[]) =>
          values.reduce((sum: bigint, one) => sum + (one ?? 0n), 0n);
        expect(sumOf(notes.map(({ total }) => total))).to.equal(receipt.total);
        expect(sumOf(notes.map((note) => note.taxes[0]?.amount))).to.equal(receipt.taxes[0]?.amount);
        for (const {
          total,
          taxes: [tax],
        } of notes)
          expect([total >= 0n, (tax?.amount ?? 0n) >= 0n]).to.deep.equal([true, true]);
      }),
    );
  });

  it('keeps its largest lines, and adds up the others', () => {
    const lines = ['1', '5', '0.5', '3'].map((usd, index) => line(usd, `model-${index}`));
    expect(groupSmallLines(lines, 4)).to.deep.equal(lines);
    expect(groupSmallLines(lines, 3).map(({ model, amount }) => [model, formatUsd(amount)])).to.deep.equal([
      ['model-1', '5'],
      ['model-3', '3'],
      [null, '1.5'],
    ]);
  });

  it('has a number of its kind and year', () => {
    expect(DOCUMENT_KINDS.map((kind) => numberOf(kind, 2026, 7))).to.deep.equal([
      'R-2026-000007',
      'CN-2026-000007',
      'INV-2026-000007',
    ]);
  });
});
