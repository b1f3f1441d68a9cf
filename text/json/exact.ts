/**
 * Integers that a JavaScript number rounds, such as ids of 19 digits. A parsed document holds the rounded number; the
 * digits are kept beside it, by the object or array that has the number, so that they are written as they were read.
 */

const keptDigits = new WeakMap<object, Map<string, string>>();

/** Whether a number of a JSON document may be rounded. Also true for some texts in strings. */
export function mayRound(json: string): boolean {
  return /\d{16}/.test(json) && /[:,[\s]-?\d{16,}\s*[,\]}]/.test(json);
}

/** Whether a value is a number that rounds an integer. @param text the integer as it was read */
export function isRounded(value: unknown, text: string): boolean {
  return typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(text);
}

/** Keeps the digits of an item or field of `parent`. */
export function keepDigits(parent: object, name: string, digits: string): void {
  const kept = keptDigits.get(parent) ?? new Map<string, string>();
  keptDigits.set(parent, kept.set(name, digits));
}

export function hasDigits(parent: object): boolean {
  return keptDigits.has(parent);
}

/** The digits of an item or field, if it still is the number that rounded them. */
export function digitsOf(parent: object, name: string, value: unknown): string | undefined {
  const digits = keptDigits.get(parent)?.get(name);
  return digits !== undefined && Number(digits) === value ? digits : undefined;
}
