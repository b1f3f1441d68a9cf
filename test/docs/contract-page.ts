import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The anchor with the number of a rule, behind its text. */
const NUMBER = / ?<sup id="[\d.]+:(\d+)">\d+<\/sup>/g;

/** The source of the page `docs/contract.md`. */
export const NUMBERED_CONTRACT = readFileSync(join(import.meta.dirname, '../../docs/contract.md'), 'utf8');

/** The page without the numbers of its rules. */
export const CONTRACT = NUMBERED_CONTRACT.replace(NUMBER, '');

/** The rule numbers in a text of the page, in order. */
export function numbersIn(text: string): readonly number[] {
  return Array.from(text.matchAll(NUMBER), ([, number]) => Number(number));
}
