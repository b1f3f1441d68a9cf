/** Whole lists, sent row by row as they are read: as CSV for a spreadsheet, or as a JSON object a line for a program. */
import { Readable } from 'node:stream';
import type { Answer } from './endpoint/answers.ts';
import { text } from './openapi/json-schema.ts';
import type { Context } from './state.ts';

export const NDJSON = 'application/x-ndjson';

/** What descriptions of endpoints say that answer with {@link sendAll}. */
export const EXPORTS =
  'By `Accept: text/csv` or `application/x-ndjson` all rows are sent as they are read, without pages; amounts in CSV are exact.';

/** An answer that is also given in the media types of exports. */
export function orAllRows({ content, ...answer }: Answer): Answer {
  return {
    ...answer,
    content: {
      ...content,
      'text/csv': { schema: text('All rows, a line each after a header; amounts are exact') },
      [NDJSON]: { schema: text('All rows, a JSON object a line') },
    },
  };
}

type Rows<Row> = Iterable<Row> | AsyncIterable<Row>;

export interface Export<Row> {
  /** Called when the client wants all rows; they are read no faster than it takes them. */
  readonly rows: () => Rows<Row>;
  /** What a spreadsheet shows; amounts are exact decimals. */
  readonly columns: readonly Column<Row>[];
  readonly present: (row: Row) => object;
}

export type Column<Row> = readonly [name: string, value: (row: Row) => string | number | bigint | boolean | null];

/** Answers with all rows if the client asks for them by `Accept`. @returns whether it did */
export function sendAll<Row>(context: Context, { rows, columns, present }: Export<Row>): boolean {
  switch (context.accepts('json', 'csv', NDJSON)) {
    case 'csv':
      context.type = 'text/csv; charset=utf-8; header=present';
      context.body = Readable.from(toCsv(rows(), columns));
      return true;
    case NDJSON:
      context.type = NDJSON;
      context.body = Readable.from(toNdjson(rows(), present));
      return true;
    default:
      return false;
  }
}

/** RFC 4180, line by line: https://www.rfc-editor.org/rfc/rfc4180 */
async function* toCsv<Row>(rows: Rows<Row>, columns: readonly Column<Row>[]): AsyncIterable<string> {
  yield toLine(columns.map(([name]) => name));
  for await (const row of rows) yield toLine(columns.map(([, value]) => String(value(row) ?? '')));
}

async function* toNdjson<Row>(rows: Rows<Row>, present: (row: Row) => object): AsyncIterable<string> {
  for await (const row of rows) yield `${JSON.stringify(present(row))}\n`;
}

function toLine(cells: readonly string[]): string {
  return `${cells.map(quoted).join(',')}\r\n`;
}

/** What a spreadsheet would take for a formula is made text; a negative number is none. */
function quoted(cell: string): string {
  const text = /^[=+\-@\t\r]/.test(cell) && !/^-[\d.]+$/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
