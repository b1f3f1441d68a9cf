/** Exports of whole lists, streamed row by row: CSV for spreadsheets, one JSON object a line for programs. */
import { Readable } from 'node:stream';
import type { Answer } from './endpoint/answers.ts';
import type { Column, Presentation } from '../domain/resource/resource.ts';
import { text } from '../domain/json-schema.ts';
import type { Context } from './state.ts';

export const NDJSON = 'application/x-ndjson';
/** RFC 4180, section 3. */
export const CSV = 'text/csv; charset=utf-8; header=present';

/** Explains exports in the descriptions of endpoints that use {@link sendAll}. */
export const EXPORTS =
  'With `Accept: text/csv` or `application/x-ndjson`, all rows are streamed without pages; amounts in CSV are exact.';

/** Adds the export media types to an answer. */
export function orAllRows({ content, ...answer }: Answer): Answer {
  return {
    ...answer,
    content: {
      ...content,
      'text/csv': { schema: text('All rows, one per line after a header; amounts are exact') },
      [NDJSON]: { schema: text('All rows, one JSON object per line') },
    },
  };
}

export type Rows<Row> = Iterable<Row> | AsyncIterable<Row>;

/**
 * Sends all rows if the client's `Accept` header asks for them.
 *
 * @param rows called when the client wants all rows; rows are read no faster than the client takes them
 * @returns whether it did
 */
export function sendAll<Row>(
  context: Context,
  rows: () => Rows<Row>,
  { columns, present }: Presentation<Row>,
): boolean {
  switch (context.accepts('json', 'csv', NDJSON)) {
    case 'csv':
      context.type = CSV;
      context.body = Readable.from(toCsv(rows(), columns));
      return true;
    case NDJSON:
      sendLines(context, rows, present);
      return true;
    default:
      return false;
  }
}

/** Sends all rows as JSON lines, whatever the client prefers. */
export function sendLines<Row>(context: Context, rows: () => Rows<Row>, present: (row: Row) => object): void {
  context.type = NDJSON;
  context.body = Readable.from(toNdjson(rows(), present));
}

/** RFC 4180, line by line: https://www.rfc-editor.org/rfc/rfc4180 */
export async function* toCsv<Row>(rows: Rows<Row>, columns: readonly Column<Row>[]): AsyncIterable<string> {
  yield toLine(columns.map(([name]) => name));
  for await (const row of rows) yield toLine(columns.map(([, value]) => String(value(row) ?? '')));
}

/** One JSON object a line. */
export async function* toNdjson<Row>(rows: Rows<Row>, present: (row: Row) => object): AsyncIterable<string> {
  for await (const row of rows) yield `${JSON.stringify(present(row))}\n`;
}

function toLine(cells: readonly string[]): string {
  return `${cells.map(quoted).join(',')}\r\n`;
}

/** The characters that some spreadsheet takes for the start of a formula, full-width signs too. */
const FORMULA = String.raw`[=+\-@\t\r\n＝＋－＠]`;
const STARTS_FORMULA = new RegExp(`^${FORMULA}`);
/** Spreadsheets whose list separator is a semicolon or a tab split cells there, and drop quotation marks around them. */
const HIDDEN_FORMULA = new RegExp(String.raw`([;\t][\s"']*)(?=${FORMULA})`, 'g');

/**
 * Quotes a cell. Text that a spreadsheet would run as a formula is escaped; negative numbers are left alone:
 * https://owasp.org/www-community/attacks/CSV_Injection
 */
function quoted(cell: string): string {
  const isFormula = STARTS_FORMULA.test(cell) && !/^-[\d.]+$/.test(cell);
  const text = (isFormula ? `'${cell}` : cell).replace(HIDDEN_FORMULA, "$1'");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
