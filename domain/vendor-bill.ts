/** The bills of vendors: what their lines say. */
import { PICO_PER_USD, type PicoUsd } from './money.ts';

/** The titles of the columns of a bill that are read, in any case. */
export interface BillColumns {
  /** The vendor's name for the job. Null for a bill whose lines are sums. */
  readonly job: string | null;
  readonly model: string;
  readonly amount: string;
}

/** A line of a bill. */
export interface BilledLine {
  /** Where it stands in the file, counted from 1. */
  readonly line: number;
  readonly jobId: string | null;
  readonly model: string | null;
  /** Negative for a credit. */
  readonly amount: PicoUsd;
}

export const BILL_DIFFERENCES = ['extra', 'missing', 'wrong_price'] as const;

/**
 * What is billed and what it cost by our records are the same if they differ by no more than `least`, in pico-USD, because vendors
 * round, some to a cent a line; or by no more than a share of the cost: of a job, of the renders of a model together, or of the text of
 * a model, whose tokens Genway counts where the vendor reported none.
 */
export const BILL_TOLERANCES = { least: 5_000_000_000, job: 0.01, renders: 0.001, text: 0.01 } as const;

/** Where a bill and our records disagree. */
export interface BillDifference {
  /** `extra` is billed and unknown to us, `missing` is known to us and not billed. */
  readonly difference: (typeof BILL_DIFFERENCES)[number];
  /** As the upstream calls it; as the bill does where we know no such model. */
  readonly model: string;
  /** Null where lines of the model were added up; then so is the task. */
  readonly jobId: string | null;
  readonly taskId: string | null;
  /** The first line of the bill that is about it; null if none is. */
  readonly line: number | null;
  readonly billed: PicoUsd | null;
  readonly cost: PicoUsd | null;
}

/** A file has decimal commas where semicolons stand between its cells. */
export type DecimalMark = '.' | ',';

/** Amounts below a billion USD, with all digits that anyone writes. */
const NUMBER = /^(-?)(\d{0,15})(?:\.(\d{0,30}))?(?:e([+-]?\d{1,2}))?$/i;
const SIGNS = /[\s$€¥￥£元]|[A-Z]{3}/g;
/** A dollar sign says nothing: bills in US dollars have one or none. */
const CURRENCY_IN_AMOUNT = /[€¥￥£元]|[A-Z]{3}/;
const CURRENCY_IN_TITLE = /[€¥￥£元]|(?<=\()[A-Z]{3}(?=\))/;
const MOST = 10n ** 9n * PICO_PER_USD;

/** Titles of the column that names the currency of a line, in small letters. */
export const CURRENCY_TITLES: readonly string[] = [
  'currency',
  'currency code',
  'currency_code',
  'amount_currency',
  '币种',
];

/**
 * The currency of a line, as the bill writes it: in a column of its own, beside the amount, or in the title of the column of amounts.
 *
 * @param cell of the column of currencies, if the bill has one
 * @returns null if the line names none
 */
export function currencyOf(cell: string | null, amount: string, amountTitle: string): string | null {
  return (
    cell?.toUpperCase() ?? CURRENCY_IN_AMOUNT.exec(amount)?.[0] ?? CURRENCY_IN_TITLE.exec(amountTitle)?.[0] ?? null
  );
}

/**
 * Reads an amount as people and programs write them, such as `$1,234.50`, `1.2e-05` and, with decimal commas, `1.234,5`.
 *
 * @param unit what 1 of the bill's currency is worth
 * @returns rounded to the nearest pico-USD; null if it is no amount below a billion USD
 */
export function readBilledAmount(text: string, unit: PicoUsd, decimalMark: DecimalMark): PicoUsd | null {
  const plain = text
    .replace(SIGNS, '')
    .replaceAll(decimalMark === '.' ? ',' : '.', '')
    .replace(decimalMark, '.');
  const [match, sign, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(plain) ?? [];
  if (match === undefined || whole + fraction === '') return null;
  const power = Number(exponent) - fraction.length;
  const scaled = BigInt(whole + fraction) * unit * 10n ** BigInt(Math.max(power, 0));
  const divisor = 10n ** BigInt(Math.max(-power, 0));
  const amount = (scaled + divisor / 2n) / divisor;
  if (amount >= MOST) return null;
  return sign === '-' ? -amount : amount;
}
