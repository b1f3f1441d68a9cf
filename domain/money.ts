/**
 * Money is counted in whole **pico-USD** (10⁻¹² USD) everywhere between the edge and the database. A price of P USD per
 * million tokens is exactly P × 10⁶ pico-USD per token, so no listed price needs a fraction.
 */

/** An amount of money in pico-USD (10⁻¹² USD). */
export type PicoUsd = bigint;

const DECIMALS = 12;
export const PICO_PER_USD = 10n ** BigInt(DECIMALS);
export const PICO_PER_CENT = PICO_PER_USD / 100n;
const USD_PATTERN = /^(-?)(\d{1,20})(?:\.(\d{1,12}))?$/;

/**
 * Reads an amount in USD in decimal notation, without rounding.
 *
 * @param usd a decimal such as `"12.5"` or `0.05775`; at most 12 digits after the point
 * @returns the amount in pico-USD
 * @throws RangeError when the value is not a plain decimal, or has more than 12 decimals
 */
export function parseUsd(usd: string | number): PicoUsd {
  const text = typeof usd === 'number' ? decimalNotation(usd) : usd;
  const match = USD_PATTERN.exec(text);
  if (!match) throw new RangeError(`not an amount in USD with at most ${DECIMALS} decimals: ${text}`);
  const [, sign = '', whole = '0', fraction = ''] = match;
  const amount = BigInt(whole) * PICO_PER_USD + BigInt(fraction.padEnd(DECIMALS, '0'));
  return sign === '-' ? -amount : amount;
}

/** Writes an amount as an exact decimal in USD, without trailing zeros: `500000000000n` is `"0.5"`. */
export function formatUsd(amount: PicoUsd): string {
  const sign = amount < 0n ? '-' : '';
  const magnitude = amount < 0n ? -amount : amount;
  const fraction = (magnitude % PICO_PER_USD)
    .toString()
    .padStart(DECIMALS, '0')
    .replace(/(?<!0)0+$/, '');
  return `${sign}${magnitude / PICO_PER_USD}${fraction === '' ? '' : `.${fraction}`}`;
}

/** Writes an amount with all its digits, at least two of them decimals, for people: `$1,250.50`. */
export function formatDollars(amount: PicoUsd): string {
  const [whole = '0', fraction = ''] = formatUsd(amount).split('.');
  const sign = whole.startsWith('-') ? '-' : '';
  const grouped = BigInt(whole.replace('-', '')).toLocaleString('en-US');
  return `${sign}$${grouped}.${fraction.padEnd(2, '0')}`;
}

/** The amount as the JSON number that clients see. For output only: never compute with it. */
export function toUsdNumber(amount: PicoUsd): number {
  return Number(formatUsd(amount));
}

/** Writes a number without an exponent: JSON allows `1e-7`. */
function decimalNotation(value: number): string {
  const text = String(value);
  const match = /^(-?)(\d+)(?:\.(\d+))?e-(\d+)$/.exec(text);
  if (!match) return text;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const digits = whole + fraction;
  return `${sign}0.${digits.padStart(Number(exponent) + fraction.length, '0')}`;
}

/** The smaller of two amounts. */
export function smaller(left: PicoUsd, right: PicoUsd): PicoUsd {
  return left < right ? left : right;
}

/** The larger of two amounts. */
export function larger(left: PicoUsd, right: PicoUsd): PicoUsd {
  return left > right ? left : right;
}

/** The percentage of a part in a whole, with one decimal, rounded towards zero; null if the whole is zero. */
export function percentOf(part: PicoUsd, whole: PicoUsd): number | null {
  return whole === 0n ? null : Number((part * 1000n) / whole) / 10;
}
