/** Exports of whole lists, streamed row by row: CSV for spreadsheets, one JSON object per line for programs. */
import { Readable } from 'node:stream';
import type { Answer } from './endpoint/answers.ts';
import type { Presentation } from '../domain/resource/resource.ts';
import { text } from '../domain/json-schema.ts';
import type { Context } from './state.ts';
import { NDJSON, CSV, type Rows, toCsv, toNdjson } from '../services/exported-rows.ts';

/** The media type for clients whose spreadsheets have decimal commas. */
const CSV_WITH_COMMAS = `${CSV}; decimal=comma`;
/** A type matches any part of its parameters in `Accept`: RFC 9110, section 12.5.1. */
const NDJSON_IN_UTF_8 = `${NDJSON}; charset=utf-8`;
/** Explains exports in the descriptions of endpoints that use {@link sendAll}. */
export const EXPORTS =
  '`Accept: text/csv` or `application/x-ndjson` streams all rows without pages. Amounts in CSV are exact. ' +
  '`Accept: text/csv;decimal=comma` returns CSV with decimal commas, and semicolons between cells.';

/** Adds the export media types to an answer. */
export function withExports({ content, ...answer }: Answer): Answer {
  return {
    ...answer,
    content: {
      ...content,
      'text/csv': { schema: text('All rows, one per line after a header; amounts are exact') },
      [NDJSON]: { schema: text('All rows, one JSON object per line') },
    },
  };
}

/**
 * Sends all rows if the client's `Accept` header asks for them.
 *
 * @param rows called when the client wants all rows; the rows are read no faster than the client accepts them
 * @returns whether it sends the rows
 */
export function sendAll<Row>(
  context: Context,
  rows: () => Rows<Row>,
  { columns, present }: Presentation<Row>,
): boolean {
  const mediaType = context.accepts('json', CSV, CSV_WITH_COMMAS, NDJSON_IN_UTF_8);
  switch (mediaType) {
    case CSV:
    case CSV_WITH_COMMAS:
      context.type = CSV;
      context.body = Readable.from(toCsv(rows(), columns, mediaType === CSV ? 'point' : 'comma'));
      return true;
    case NDJSON_IN_UTF_8:
      sendLines(context, rows, present);
      return true;
    default:
      return false;
  }
}

/** Sends all rows as JSON lines, without regard to `Accept`. */
export function sendLines<Row>(context: Context, rows: () => Rows<Row>, present: (row: Row) => object): void {
  context.type = NDJSON;
  context.body = Readable.from(toNdjson(rows(), present));
}
