/**
 * Receipts, credit notes and invoices. A receipt confirms a payment, a credit note confirms its refund, and an invoice
 * states the charges of an account in a month. Documents state whole cents, rounded half up. The documents of one payment are
 * rounded together: totals and taxes of all its parts add up to those of the whole, as its receipt states them.
 */
import { PICO_PER_CENT, type PicoUsd } from './money.ts';

export const DOCUMENT_KINDS = ['receipt', 'credit_note', 'invoice'] as const;

export type DocumentKind = (typeof DOCUMENT_KINDS)[number];

/** When tax is due: when an account pays, or when it spends the payment. */
export const TAX_POINTS = ['paid', 'used'] as const;

export type TaxPoint = (typeof TAX_POINTS)[number];

/** The seller or the customer. */
export interface Party {
  readonly name: string;
  /** The lines of the address. */
  readonly address: readonly string[];
  readonly taxId: string | null;
}

export interface Tax {
  readonly name: string;
  /** A decimal with at most four digits after the point, such as `19` or `8.875`. */
  readonly percent: string;
}

export interface Seller extends Party {
  /** The taxes that every amount includes. */
  readonly taxes: readonly Tax[];
  readonly taxPoint: TaxPoint;
}

export const LINE_SUBJECTS = [
  'payment',
  'returned_payment',
  'image',
  'video',
  'text',
  'others',
  'granted_credit',
] as const;

export interface DocumentLine {
  readonly subject: (typeof LINE_SUBJECTS)[number];
  /** Null if the line is about no single model. */
  readonly model: string | null;
  /** The number of payments, tasks or text requests. */
  readonly quantity: number;
  /** Exact; negative for granted credit, which nobody paid. */
  readonly amount: PicoUsd;
}

export interface TaxLine extends Tax {
  /** In whole cents; the total includes it. */
  readonly amount: PicoUsd;
}

/** The content of a document. */
export interface DocumentContent {
  readonly seller: Party;
  readonly customer: Party;
  readonly lines: readonly DocumentLine[];
  /** The exact sum of the lines. */
  readonly subtotal: PicoUsd;
  /** The subtotal in whole cents. */
  readonly total: PicoUsd;
  /** The taxes that the total includes; empty where another document states them. */
  readonly taxes: readonly TaxLine[];
  /** The number of the receipt that a credit note corrects, if there is one. */
  readonly corrects: string | null;
}

/** The documents of a payment before the next one. */
export interface PaymentHistory {
  /** The number of the first receipt; null if the first credit was not documented. */
  readonly receipt: string | null;
  /** The exact sum of the receipts, less the credit notes. */
  readonly balance: PicoUsd;
  /** The taxes of the first document. Later documents state the same ones, whatever the seller's are by then. */
  readonly taxes: readonly Tax[];
}

/** Returns a document with these lines. @param history null for the first document of a payment, and for an invoice */
export function composeDocument(
  kind: DocumentKind,
  { taxes, taxPoint, ...seller }: Seller,
  customer: Party,
  lines: readonly DocumentLine[],
  history: PaymentHistory | null = null,
): DocumentContent {
  const subtotal = lines.reduce((sum, { amount }) => sum + amount, 0n);
  const isTaxed = taxPoint === (kind === 'invoice' ? 'used' : 'paid');
  const stated = history?.taxes ?? (isTaxed ? taxes : []);
  const sign = kind === 'credit_note' ? -1n : 1n;
  const balance = history?.balance ?? 0n;
  const [before, after] = [inCents(balance, 1n), inCents(balance + sign * subtotal, 1n)];
  const taxesBefore = taxesIn(before, stated);
  return {
    seller,
    customer,
    lines,
    subtotal,
    total: sign * (after - before),
    taxes: taxesIn(after, stated).map((tax, index) => ({
      ...tax,
      amount: sign * (tax.amount - (taxesBefore[index]?.amount ?? 0n)),
    })),
    corrects: kind === 'credit_note' ? (history?.receipt ?? null) : null,
  };
}

/** The total without its taxes. */
export function netAmount({ total, taxes }: Pick<DocumentContent, 'total' | 'taxes'>): PicoUsd {
  return taxes.reduce((rest, { amount }) => rest - amount, total);
}

/** Returns the lines with the largest amounts, and one line for the others. */
export function groupSmallLines(lines: readonly DocumentLine[], maxLines: number): readonly DocumentLine[] {
  if (lines.length <= maxLines) return lines;
  const sorted = lines.toSorted((one, other) => Number(other.amount - one.amount));
  const others = sorted.slice(maxLines - 1);
  const quantity = others.reduce((sum, line) => sum + line.quantity, 0);
  const amount = others.reduce((sum, line) => sum + line.amount, 0n);
  return [...sorted.slice(0, maxLines - 1), { subject: 'others', model: null, quantity, amount }];
}

const PREFIXES: Readonly<Record<DocumentKind, string>> = { receipt: 'R', credit_note: 'CN', invoice: 'INV' };

/** The number of a document, such as `INV-2026-000001`. Each kind counts from 1 in each year. */
export function numberOf(kind: DocumentKind, year: number, count: number): string {
  return `${PREFIXES[kind]}-${year}-${String(count).padStart(6, '0')}`;
}

const PERCENT_DECIMALS = 4;
/** A hundred percent, in the unit of {@link rateOf}. */
const WHOLE = 100n * 10n ** BigInt(PERCENT_DECIMALS);

function taxesIn(total: PicoUsd, taxes: readonly Tax[]): readonly TaxLine[] {
  const gross = taxes.reduce((sum, { percent }) => sum + rateOf(percent), WHOLE);
  return taxes.map(({ name, percent }) => ({ name, percent, amount: inCents(total * rateOf(percent), gross) }));
}

/** A percentage in ten-thousandths of a percent. */
function rateOf(percent: string): bigint {
  const [whole = '0', decimals = ''] = percent.split('.');
  return BigInt(whole + decimals.padEnd(PERCENT_DECIMALS, '0'));
}

/** Returns `amount / divisor` in whole cents, rounded half away from zero. The divisor is positive. */
function inCents(amount: bigint, divisor: bigint): PicoUsd {
  if (amount < 0n) return -inCents(-amount, divisor);
  const cent = PICO_PER_CENT * divisor;
  return ((2n * amount + cent) / (2n * cent)) * PICO_PER_CENT;
}
