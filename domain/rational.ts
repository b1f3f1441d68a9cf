/** Exact positive fractions, for factors such as 1.6 and for aspect ratios. */

/** A positive fraction in lowest terms, with its original notation. */
export interface Rational {
  readonly decimal: string;
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/**
 * Reads a number in decimal notation: `"1.6"` is eight fifths.
 *
 * @throws RangeError when it is not a positive plain decimal with at most six digits on each side of the point
 */
export function parseRational(decimal: string): Rational {
  const match = /^(\d{1,6})(?:\.(\d{1,6}))?$/.exec(decimal);
  if (!match || Number(decimal) === 0) throw new RangeError(`not a positive decimal: ${decimal}`);
  const [, whole = '', fraction = ''] = match;
  const numerator = Number(whole + fraction);
  const denominator = 10 ** fraction.length;
  const divisor = greatestCommonDivisor(numerator, denominator);
  return { decimal, numerator: BigInt(numerator / divisor), denominator: BigInt(denominator / divisor) };
}

/** The largest whole number that divides two positive whole numbers. */
export function greatestCommonDivisor(left: number, right: number): number {
  return right === 0 ? left : greatestCommonDivisor(right, left % right);
}
