/** Exports of whole lists as files, in the formats of the API: CSV for spreadsheets, JSON lines for programs. */
import type { Presentation } from '../domain/resource/resource.ts';
import { CSV, NDJSON, type Rows, toCsv, toNdjson } from '../api/exports.ts';
import { badRequest } from '../domain/errors.ts';
import type { PageResult } from './page.ts';

/** By the ending of a file's name. */
export const EXPORT_FORMATS = ['csv', 'csv-comma', 'jsonl'] as const;

/** By this mark, Excel knows that a file is UTF-8. */
const BYTE_ORDER_MARK = '\ufeff';

/**
 * A file that the browser saves, read as it is sent.
 *
 * @param name without an ending
 * @param format `csv`, `csv-comma` for spreadsheets with decimal commas, or `jsonl` for JSON lines
 * @throws ServiceError `bad_request` for any other format
 */
export function exportFile<Row>(
  name: string,
  format: string,
  rows: Rows<Row>,
  { columns, present }: Presentation<Row>,
): PageResult {
  switch (format) {
    case 'csv':
      return { kind: 'file', name: `${name}.csv`, type: CSV, body: marked(toCsv(rows, columns)) };
    case 'csv-comma':
      return { kind: 'file', name: `${name}.csv`, type: CSV, body: marked(toCsv(rows, columns, 'comma')) };
    case 'jsonl':
      return { kind: 'file', name: `${name}.jsonl`, type: NDJSON, body: toNdjson(rows, present) };
    default:
      throw badRequest(`"format" must be one of: ${EXPORT_FORMATS.join(', ')}`);
  }
}

async function* marked(text: AsyncIterable<string>): AsyncIterable<string> {
  yield BYTE_ORDER_MARK;
  yield* text;
}
