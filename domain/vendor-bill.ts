/** The lines of vendors' bills. */
import { PICO_PER_USD, type PicoUsd } from './money.ts';

/** The titles of the columns that Genway reads from a bill. Case does not matter. */
export interface BillColumns {
  /** The vendor's name for the job. Null for a bill whose lines are sums. */
  readonly job: string | null;
  readonly model: string;
  readonly amount: string;
}

/** A line of a bill. */
export interface BilledLine {
  /** The line number in the file, from 1. */
  readonly line: number;
  readonly jobId: string | null;
  readonly model: string | null;
  /** Negative for a credit. */
  readonly amount: PicoUsd;
}

export const BILL_DIFFERENCES = ['extra', 'missing', 'wrong_price'] as const;

/**
 * A billed amount matches the recorded cost if they differ by at most `least`, in pico-USD, because vendors round, some
 * to a cent per line; or by at most a share of the cost: of a job, of all renders of a model, or of the text of a
 * model, whose tokens Genway counts where the vendor reported none.
 */
export const BILL_TOLERANCES = { least: 5_000_000_000, job: 0.01, renders: 0.001, text: 0.01 } as const;

/** A difference between a bill and our records. */
export interface BillDifference {
  /** `extra`: billed, but not in our records; `missing`: in our records, but not billed. */
  readonly difference: (typeof BILL_DIFFERENCES)[number];
  /** The upstream's name for the model; the bill's name for a model that we do not know. */
  readonly model: string;
  /** Null, like the task, where the lines of the model were added up. */
  readonly jobId: string | null;
  readonly taskId: string | null;
  /** The first line of the bill with the job or model; null if there is none. */
  readonly line: number | null;
  readonly billed: PicoUsd | null;
  readonly cost: PicoUsd | null;
}

/** A file whose cells are separated by semicolons has decimal commas. */
export type DecimalMark = '.' | ',';

/** Up to 15 digits before the point and 30 after it: more than bills have. */
const NUMBER = /^(-?)(\d{0,15})(?:\.(\d{0,30}))?(?:e([+-]?\d{1,2}))?$/i;
/** Marks of thousands only where they group digits by three: `0,5` with decimal points may be half or five. */
const GROUPED: Readonly<Record<DecimalMark, RegExp>> = {
  '.': /^-?(?:\d{1,3}(?:,\d{3})+|\d*)(?:\.\d*)?(?:e[+-]?\d+)?$/i,
  ',': /^-?(?:\d{1,3}(?:\.\d{3})+|\d*)(?:,\d*)?(?:e[+-]?\d+)?$/i,
};
const SIGNS = /[\s$€¥￥£元]|[A-Z]{3}/g;
/** Excludes the dollar sign: bills in US dollars have one or none. */
const CURRENCY_IN_AMOUNT = /[€¥￥£元]|[A-Z]{3}/;
const CURRENCY_IN_TITLE = /[€¥￥£元]|(?<=\()[A-Z]{3}(?=\))/;
const MAX_AMOUNT = 10n ** 9n * PICO_PER_USD;

/** Titles of the column that names the currency of a line, in lower case. */
export const CURRENCY_TITLES: readonly string[] = [
  'currency',
  'currency code',
  'currency_code',
  'amount_currency',
  '币种',
];

/**
 * Returns the currency of a line: from the currency column, the amount, or the title of the amount's column.
 *
 * @param cell the currency column's cell; null if the bill has no such column
 * @returns null if the line names no currency
 */
export function currencyOf(cell: string | null, amount: string, amountTitle: string): string | null {
  return (
    cell?.toUpperCase() ?? CURRENCY_IN_AMOUNT.exec(amount)?.[0] ?? CURRENCY_IN_TITLE.exec(amountTitle)?.[0] ?? null
  );
}

/**
 * Reads an amount, such as `$1,234.50`, `1.2e-05` and, with decimal commas, `1.234,5`.
 *
 * @param unit the value of one unit of the bill's currency
 * @returns rounded to the nearest pico-USD; null if the text is not an amount below a billion USD, or has marks of
 *   thousands that do not group digits by three, such as `0,5` with decimal points
 */
export function readBilledAmount(text: string, unit: PicoUsd, decimalMark: DecimalMark): PicoUsd | null {
  const digits = text.replace(SIGNS, '');
  if (!GROUPED[decimalMark].test(digits)) return null;
  const plain = digits.replaceAll(decimalMark === '.' ? ',' : '.', '').replace(decimalMark, '.');
  const [match, sign, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(plain) ?? [];
  if (match === undefined || whole + fraction === '') return null;
  const power = Number(exponent) - fraction.length;
  const scaled = BigInt(whole + fraction) * unit * 10n ** BigInt(Math.max(power, 0));
  const divisor = 10n ** BigInt(Math.max(-power, 0));
  const amount = (scaled + divisor / 2n) / divisor;
  if (amount >= MAX_AMOUNT) return null;
  return sign === '-' ? -amount : amount;
}
