import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const DIGITS = '⁰¹²³⁴⁵⁶⁷⁸⁹';
/** The small numbers in front of rules. Numbers behind a letter or digit are exponents. */
const NUMBER = new RegExp(`(?<=^|[\\s|])[${DIGITS}]+(?=\\S)`, 'gm');

/** The source of the page `docs/contract.md`. */
export const NUMBERED_CONTRACT = readFileSync(join(import.meta.dirname, '../../docs/contract.md'), 'utf8');

/** The page without the numbers of its rules. */
export const CONTRACT = NUMBERED_CONTRACT.replace(NUMBER, '');

/** The rule numbers in a text of the page, in order. */
export function numbersIn(text: string): readonly number[] {
  return Array.from(text.matchAll(NUMBER), ([number]) =>
    Number(Array.from(number, (digit) => DIGITS.indexOf(digit)).join('')),
  );
}
