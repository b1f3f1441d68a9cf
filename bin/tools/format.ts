import { readFile } from 'node:fs/promises';
import { format, type FormatConfig } from 'oxfmt';

const SETTINGS = new URL('../../.oxfmtrc.json', import.meta.url);

/** Formats generated text, as `npm run format` formats files. @throws Error if the text cannot be parsed */
export async function formatText(file: string, text: string): Promise<string> {
  const settings: FormatConfig = JSON.parse(await readFile(SETTINGS, 'utf8'));
  const { code, errors } = await format(file, text, settings);
  if (errors.length > 0)
    throw new Error(`${file} cannot be formatted: ${errors.map(({ message }) => message).join('; ')}`);
  return code;
}
