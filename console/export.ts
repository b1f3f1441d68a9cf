/** Exports whole lists as files, in the formats of the API: CSV for spreadsheets, JSON lines for programs. */
import type { Presentation } from '../domain/resource/resource.ts';
import { CSV, NDJSON, type Rows, toCsv, toNdjson } from '../services/exported-rows.ts';
import { badRequest } from '../domain/errors.ts';
import type { PageResult } from './page.ts';

/** The values of the parameter `format`. */
export const EXPORT_FORMATS = ['csv', 'csv-comma', 'jsonl'] as const;

/** The parameter of the query with the chosen columns of a table and its file. */
export const COLUMNS = 'columns';

/** Excel recognises UTF-8 files by this mark. */
const BYTE_ORDER_MARK = '\ufeff';

/**
 * Returns a file that the browser saves. Reads the rows while sending them.
 *
 * @param name the file's name without extension
 * @param query contains the `format`: `csv`, `csv-comma` for spreadsheets with decimal commas, or `jsonl` for JSON
 *   lines with whole objects; and the {@link COLUMNS} of CSV, all by default
 * @throws ServiceError `bad_request` for any other format
 */
export function exportFile<Row>(
  name: string,
  query: URLSearchParams,
  rows: Rows<Row>,
  { columns: all, present }: Presentation<Row>,
): PageResult {
  const asked = query.getAll(COLUMNS);
  const chosen = all.filter(([column]) => asked.includes(column));
  const columns = chosen.length === 0 ? all : chosen;
  switch (query.get('format') ?? 'csv') {
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
