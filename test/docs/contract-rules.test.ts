import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { NUMBERED_CONTRACT, numbersIn } from './contract-page.ts';

const tests = join(import.meta.dirname, '..');
/** Tables whose rows are history, or data that a test compares as a whole. */
const UNNUMBERED_TABLES = /^\| (model|video model|image model|since) \|/;
/** A comment with the rules that a test checks, as `section:number`. */
const HELD = /\/\/ contract ((?:\d[\d.]*:\d+ ?)+)$/gm;

/** The sections by their numbers. */
const sections = new Map(
  NUMBERED_CONTRACT.split(/^(?=#{2,4} \d)/m).flatMap((text) => {
    const [, number] = /^#+ (\d[\d.]*?)\.? /.exec(text) ?? [];
    return number === undefined ? [] : [[number, text] as const];
  }),
);

/** The rules of the page as `section:number`, in order. */
const rules = [...sections].flatMap(([section, text]) => numbersIn(text).map((number) => `${section}:${number}`));

const held = readdirSync(tests, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .flatMap((file) => Array.from(readFileSync(join(tests, file), 'utf8').matchAll(HELD), ([, named = '']) => named))
  .flatMap((named) => named.split(' '));

/** The list items, with their further lines, and the rows of tables that have no number. */
function unnumberedIn(text: string): readonly string[] {
  let header = '';
  const items = text.split(/^(?=- )|\n\n/m).filter((item) => item.startsWith('- '));
  const rows = text.split('\n').filter((line, index, lines) => {
    if (lines[index + 1]?.startsWith('|---') === true) header = line;
    return line.startsWith('| ') && line !== header && !UNNUMBERED_TABLES.test(header);
  });
  return [...items, ...rows].filter((rule) => numbersIn(rule).length === 0);
}

describe('the rules of docs/contract.md', () => {
  it('are numbered, each once within its section, and every list item and row of a table is a rule', () => {
    expect(rules.filter((rule, index) => rules.indexOf(rule) !== index)).to.deep.equal([]);
    expect([...sections.values()].flatMap(unnumberedIn)).to.deep.equal([]);
  });

  it('have a test each, and no test names a rule that does not exist', () => {
    expect(
      rules.filter((rule) => !held.includes(rule)),
      'without a test',
    ).to.deep.equal([]);
    expect(
      held.filter((rule) => !rules.includes(rule)),
      'not on the page',
    ).to.deep.equal([]);
  });
});
