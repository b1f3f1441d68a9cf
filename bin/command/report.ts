/** How the commands print what they are answered, and the options that many of them share. */
import type { Command } from 'commander';
import type { AdminClient } from './admin-client.ts';
import type { Fields } from './json.ts';
import { dataOf, describe, rowsOf, table, textOf } from './print.ts';

/** What the command writes to. */
export interface Terminal {
  readonly print: (text: string) => void;
  /** Writes what arrives as it arrives, and takes no more than it can write. */
  readonly pipe: (chunks: AsyncIterable<Uint8Array>) => Promise<void>;
}

export interface Report {
  readonly isJson: () => boolean;
  readonly print: (text: string) => void;
  /** The answer as it came. */
  readonly showJson: (answer: Fields) => void;
  /** An answer about one thing. */
  readonly show: (answer: Fields) => void;
  /** A page of a list, with how to get the next one. */
  readonly showList: (list: Fields, columns: readonly string[]) => void;
  /** What the service itself tells in words. */
  readonly showText: (admin: AdminClient, path: string) => Promise<void>;
  /** All rows behind a path as CSV or NDJSON, if the options ask for it. @returns whether they did */
  readonly exportAll: (admin: AdminClient, path: string, options: Options) => Promise<boolean>;
}

export type Options = Readonly<Record<string, string | boolean | undefined>>;

/** The media type of each option for an export. */
const EXPORTS = { csv: 'text/csv', ndjson: 'application/x-ndjson' } as const;

/** @param isJson whether answers are printed as they come */
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

/** The query parameter of each option of a period, and of a list. */
export const PERIOD_FILTERS: Readonly<Record<string, string>> = { from: 'from', to: 'to' };
export const LIST_FILTERS: Readonly<Record<string, string>> = { ...PERIOD_FILTERS, limit: 'limit', cursor: 'cursor' };

export function periodOptions(command: Command): Command {
  return command.option('--from <time>', 'from this time on').option('--to <time>', 'before this time');
}

export function listOptions(command: Command): Command {
  return periodOptions(command)
    .option('--limit <count>', 'how many at most')
    .option('--cursor <cursor>', 'continue after an earlier page');
}

export function exportOptions(command: Command): Command {
  return command
    .option('--csv', 'all of it, for a spreadsheet')
    .option('--ndjson', 'all of it, a JSON object a line, for a program');
}

/** @param names the query parameter of each option */
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
