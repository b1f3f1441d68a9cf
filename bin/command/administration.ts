/** Calls the administration endpoints for commands, and prints the answers. */
import type { AdminClient } from './admin-client.ts';
import type { Fields } from './json.ts';
import { dataOf, describe, rowsOf, table, textOf } from './print.ts';

/** Receives the lines that the command prints. */
export interface Terminal {
  readonly print: (text: string) => void;
  /** Writes chunks as they arrive, and reads no faster than it can write. */
  readonly pipe: (chunks: AsyncIterable<Uint8Array>) => Promise<void>;
}

export interface Administration {
  readonly isJson: () => boolean;
  readonly print: (text: string) => void;
  /** Calls an endpoint. @throws CommandError with the service's own message if it refuses */
  readonly call: AdminClient['call'];
  /** Prints an answer unchanged. */
  readonly showJson: (answer: Fields) => void;
  /** Calls an endpoint that answers with one object, and prints the object. */
  readonly show: (...call: Parameters<AdminClient['call']>) => Promise<void>;
  /** Prints a page of a list, and how to get the next page. */
  readonly list: (path: string, columns: readonly string[]) => Promise<void>;
  /** Prints a text answer. */
  readonly showText: (path: string) => Promise<void>;
  /** Prints all rows as CSV or NDJSON, if the options ask for it. @returns whether they did */
  readonly exportAll: (path: string, options: Options) => Promise<boolean>;
}

type Options = Readonly<Record<string, string | boolean | undefined>>;

/** The media type for each export option. */
const EXPORTS = { csv: 'text/csv', csvComma: 'text/csv;decimal=comma', ndjson: 'application/x-ndjson' } as const;

/**
 * @param connect called when a command runs, so that `--help` needs no running Genway
 * @param isJson whether to print answers unchanged
 */
export function createAdministration(
  connect: () => Promise<AdminClient>,
  { print, pipe }: Terminal,
  isJson: () => boolean,
): Administration {
  const call: AdminClient['call'] = async (...asked) => (await connect()).call(...asked);
  const showJson = (answer: Fields): void => print(JSON.stringify(answer, null, 2));
  const list: Administration['list'] = async (path, columns) => {
    const answer = await call('GET', path);
    if (isJson()) return showJson(answer);
    print(table(rowsOf(answer), columns));
    if (answer['next_cursor']) print(`more: --cursor ${textOf(answer['next_cursor'])}`);
  };
  const exportAll: Administration['exportAll'] = async (path, { csv, csvComma, ndjson }) => {
    const mediaType = csv ? EXPORTS.csv : csvComma ? EXPORTS.csvComma : ndjson ? EXPORTS.ndjson : undefined;
    if (mediaType !== undefined) await pipe(await (await connect()).stream(path, mediaType));
    return mediaType !== undefined;
  };
  return {
    isJson,
    print,
    call,
    showJson,
    list,
    exportAll,
    show: async (...asked) => {
      const answer = await call(...asked);
      if (isJson()) showJson(answer);
      else print(describe(dataOf(answer)));
    },
    showText: async (path) => {
      if (isJson()) return showJson(await call('GET', path));
      print((await (await connect()).text(path, 'text/plain')).trimEnd());
    },
  };
}
