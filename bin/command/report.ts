/** How commands print answers, and the options that several of them share. */
import type { Command } from 'commander';
import type { AdminClient } from './admin-client.ts';
import type { Fields } from './json.ts';
import { dataOf, describe, rowsOf, table, textOf } from './print.ts';

/** Where the command prints. */
export interface Terminal {
  readonly print: (text: string) => void;
  /** Writes chunks as they arrive, and takes them no faster than it can write them. */
  readonly pipe: (chunks: AsyncIterable<Uint8Array>) => Promise<void>;
}

export interface Report {
  readonly isJson: () => boolean;
  readonly print: (text: string) => void;
  /** Prints an answer unchanged. */
  readonly showJson: (answer: Fields) => void;
  /** Prints an answer that contains one object. */
  readonly show: (answer: Fields) => void;
  /** Prints a page of a list, and how to get the next one. */
  readonly showList: (list: Fields, columns: readonly string[]) => void;
  /** Prints an answer that the service itself puts into words. */
  readonly showText: (admin: AdminClient, path: string) => Promise<void>;
  /** Prints all rows as CSV or NDJSON, if the options ask for it. @returns whether they did */
  readonly exportAll: (admin: AdminClient, path: string, options: Options) => Promise<boolean>;
}

export type Options = Readonly<Record<string, string | boolean | undefined>>;

/** The media type for each export option. */
const EXPORTS = { csv: 'text/csv', ndjson: 'application/x-ndjson' } as const;

/** @param isJson whether answers are printed unchanged */
export function createReport({ print, pipe }: Terminal, isJson: () => boolean): Report {
  const showJson = (answer: Fields): void => print(JSON.stringify(answer, null, 2));
  return {
    isJson,
    print,
    showJson,
    show: (answer) => (isJson() ? showJson(answer) : print(describe(dataOf(answer)))),
    showList: (list, columns) => {
      if (isJson()) return showJson(list);
      print(table(rowsOf(list), columns));
      if (list['next_cursor']) print(`more: --cursor ${textOf(list['next_cursor'])}`);
    },
    showText: async (admin, path) => {
      if (isJson()) return showJson(await admin.call('GET', path));
      print((await admin.text(path, 'text/plain')).trimEnd());
    },
    exportAll: async (admin, path, { csv, ndjson }) => {
      const mediaType = csv ? EXPORTS.csv : ndjson ? EXPORTS.ndjson : undefined;
      if (mediaType !== undefined) await pipe(await admin.stream(path, mediaType));
      return mediaType !== undefined;
    },
  };
}

/** The query parameter for each option of periods and lists. */
export const PERIOD_FILTERS: Readonly<Record<string, string>> = { from: 'from', to: 'to' };
export const LIST_FILTERS: Readonly<Record<string, string>> = { ...PERIOD_FILTERS, limit: 'limit', cursor: 'cursor' };

export function periodOptions(command: Command): Command {
  return command
    .option('--from <time>', 'from this time on (inclusive)')
    .option('--to <time>', 'until this time (exclusive)');
}

/** Of lists that have no period. */
export function pageOptions(command: Command): Command {
  return command
    .option('--limit <count>', 'the maximum number of rows')
    .option('--cursor <cursor>', 'continue after a previous page');
}

export function listOptions(command: Command): Command {
  return pageOptions(periodOptions(command));
}

export function exportOptions(command: Command): Command {
  return command
    .option('--csv', 'print all rows as CSV, for a spreadsheet')
    .option('--ndjson', 'print all rows, one JSON object per line, for a program');
}

/** @param names the query parameter for each option */
export function query(options: Options, names: Readonly<Record<string, string>>): string {
  const parameters = new URLSearchParams();
  for (const [option, name] of Object.entries(names)) {
    const value = options[option];
    if (typeof value === 'string') parameters.set(name, value);
  }
  return parameters.size === 0 ? '' : `?${parameters.toString()}`;
}

/** The fields that have a value. */
export function given(fields: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
