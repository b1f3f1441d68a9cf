/** The settings of clients in docs/clients.md. `npm run clients` uses them as they are written. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../stack/packages.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/clients.md'), 'utf8');

/** The values for the page's addresses, key and model. */
export interface Place {
  readonly apiUrl: string;
  readonly textUrl: string;
  readonly apiKey: string;
  readonly model: string;
}

export interface DocumentedClient {
  readonly versions: readonly string[];
  /** The variables of the environment. */
  readonly env: Settings;
  /** The content of the configuration file; empty if the client needs none. */
  readonly config: string;
}

/**
 * Reads the row of a client's family, which is its name up to a comma, and its configuration file below the table.
 *
 * @throws Error if the table has no such row
 */
export function findDocumented(client: string, place: Place): DocumentedClient {
  const [family = ''] = client.split(',');
  const row = PAGE.split('\n').find((line) => line.startsWith(`| ${family},`) || line.startsWith(`| ${family} |`));
  if (row === undefined) throw new Error(`The table of docs/clients.md has no row for ${family}: add one.`);
  const [, versions = '', settings = ''] = row.split(' | ');
  const [, paragraph = '', config = ''] =
    new RegExp(String.raw`^\*\*${family}\*\*(.*)\n\n\`\`\`\w+\n([^]*?)\`\`\``, 'm').exec(PAGE) ?? [];
  const assignments = `${settings} ${paragraph}`.matchAll(/`([A-Z_]+)=([^`]+)`/g);
  return {
    versions: versions.match(/\d[\w.]+/g) ?? [],
    env: Object.fromEntries(Array.from(assignments, ([, name = '', value = '']) => [name, applyTo(value, place)])),
    config: applyTo(config, place),
  };
}

function applyTo(text: string, { apiUrl, textUrl, apiKey, model }: Place): string {
  return text
    .replaceAll('http://127.0.0.1:8081', textUrl)
    .replaceAll('http://127.0.0.1:8080', apiUrl)
    .replaceAll('sk-…', apiKey)
    .replaceAll(/\bMODEL\b/g, model);
}
