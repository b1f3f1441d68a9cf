/** Rows as CSV for spreadsheets, or as JSON lines for programs. */
import { formatUsd } from '../domain/money.ts';
import type { Cell } from '../domain/resource/field.ts';
import type { Column } from '../domain/resource/resource.ts';

export const NDJSON = 'application/x-ndjson';
/** RFC 4180, section 3. */
export const CSV = 'text/csv; charset=utf-8; header=present';

/** The decimal mark of numbers. */
export type DecimalMark = 'point' | 'comma';

export type Rows<Row> = Iterable<Row> | AsyncIterable<Row>;

/**
 * RFC 4180, line by line (https://www.rfc-editor.org/rfc/rfc4180), so that spreadsheets read numbers as numbers and
 * times as times: amounts have all digits, and times are `YYYY-MM-DD HH:MM:SS` in UTC, which spreadsheets know in every
 * language.
 *
 * @param decimal with `comma`, semicolons separate the cells, as spreadsheets in such languages expect
 */
export async function* toCsv<Row>(
  rows: Rows<Row>,
  columns: readonly Column<Row>[],
  decimal: DecimalMark = 'point',
): AsyncIterable<string> {
  yield toLine(
    columns.map(([name]) => name),
    decimal,
  );
  for await (const row of rows)
    yield toLine(
      columns.map(([, value]) => value(row)),
      decimal,
    );
}

/** One JSON object per line. */
export async function* toNdjson<Row>(rows: Rows<Row>, present: (row: Row) => object): AsyncIterable<string> {
  for await (const row of rows) yield `${JSON.stringify(present(row))}\n`;
}

function toLine(cells: readonly Cell[], decimal: DecimalMark): string {
  const separator = decimal === 'comma' ? ';' : ',';
  return `${cells.map((cell) => textOf(cell, decimal, separator)).join(separator)}\r\n`;
}

function textOf(cell: Cell, decimal: DecimalMark, separator: Separator): string {
  if (cell === null) return '';
  if (typeof cell === 'string') return quoted(cell, separator);
  if (cell instanceof Date) return cell.toISOString().slice(0, SECONDS_END).replace('T', ' ');
  const number = typeof cell === 'object' ? formatUsd(cell.picoUsd) : String(cell);
  return decimal === 'comma' ? number.replace('.', ',') : number;
}

/** The length of `YYYY-MM-DDTHH:MM:SS`. */
const SECONDS_END = 19;

/** The characters that start a formula in some spreadsheet, including full-width signs. */
const FORMULA = String.raw`[=+\-@\t\r\n＝＋－＠]`;
const STARTS_FORMULA = new RegExp(`^${FORMULA}`);
/** Spreadsheets with another list separator split cells there, and drop the quotation marks around them. */
const HIDDEN_FORMULA = {
  ',': new RegExp(String.raw`([;\t](?:(?!\t)[\s"'])*)(?=${FORMULA})`, 'g'),
  ';': new RegExp(String.raw`([,;\t](?:(?!\t)[\s"'])*)(?=${FORMULA})`, 'g'),
};
type Separator = keyof typeof HIDDEN_FORMULA;

/**
 * Quotes a text. Escapes a text that a spreadsheet would run as a formula, but not negative numbers:
 * https://owasp.org/www-community/attacks/CSV_Injection
 */
function quoted(cell: string, separator: Separator): string {
  const isFormula = STARTS_FORMULA.test(cell) && !/^-[\d.]+$/.test(cell);
  const text = (isFormula ? `'${cell}` : cell).replace(HIDDEN_FORMULA[separator], "$1'");
  return /["\r\n]/.test(text) || text.includes(separator) ? `"${text.replaceAll('"', '""')}"` : text;
}
