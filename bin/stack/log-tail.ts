import { readFile } from 'node:fs/promises';

/** The last lines of a log file, to be shown in an error; empty when there is none. */
export async function logTail(file: string, lines = 15): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.trimEnd().split('\n').slice(-lines).join('\n');
}
