/** Exports of whole lists as files, in the formats of the API: CSV for spreadsheets, JSON lines for programs. */
import type { Presentation } from '../domain/resource/resource.ts';
import { CSV, NDJSON, type Rows, toCsv, toNdjson } from '../api/exports.ts';
import { badRequest } from '../domain/errors.ts';
import type { PageResult } from './page.ts';

/** By the ending of a file's name. */
export const EXPORT_FORMATS = ['csv', 'jsonl'] as const;

/**
 * A file that the browser saves, read as it is sent.
 *
 * @param name without an ending
 * @param format `csv`, or `jsonl` for JSON lines
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
      return { kind: 'file', name: `${name}.csv`, type: CSV, body: toCsv(rows, columns) };
    case 'jsonl':
      return { kind: 'file', name: `${name}.jsonl`, type: NDJSON, body: toNdjson(rows, present) };
    default:
      throw badRequest(`"format" must be one of: ${EXPORT_FORMATS.join(', ')}`);
  }
}
