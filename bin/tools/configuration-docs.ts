/** Generates `docs/configuration.md` from the table in `config-variables.ts`. */
import { writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { VARIABLE_GROUPS, type Variable } from '../../config-variables.ts';
import { formatText } from './format.ts';

export const CONFIGURATION_DOCS = join(import.meta.dirname, '../../docs/configuration.md');

const INTRODUCTION = `# Configuration

Environment variables are Genway's only configuration. Every process checks all variables when it starts. If a variable is missing or
invalid, the process lists every such variable and does not start. An empty variable counts as not set, but an empty secret is an error.
Genway logs a warning for a variable whose name begins with \`GENWAY_\` and is not on this page.

\`npm start\` needs no variables: the command generates the secrets once and keeps them with its other state in \`GENWAY_HOME\`.

This page is generated from \`config-variables.ts\` by \`npm run docs:configuration\`.
`;

/** Returns the text of the generated page. */
export async function renderConfigurationDocs(): Promise<string> {
  const groups = Object.entries(VARIABLE_GROUPS).map(([title, group]) => `## ${title}\n\n${renderTable(group)}`);
  return formatText(CONFIGURATION_DOCS, [INTRODUCTION, ...groups].join('\n\n'));
}

function renderTable(group: Readonly<Record<string, Variable>>): string {
  const rows = Object.entries(group).map(([name, row]) => [
    `\`${name}\``,
    renderDefault(row),
    row.kind.form,
    row.meaning,
  ]);
  const head = [['variable', 'default', 'value', 'meaning'], Array<string>(4).fill('---')];
  return [...head, ...rows].map(renderRow).join('\n');
}

function renderRow(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function renderDefault({ defaultText, required }: Variable): string {
  if (required) return '**required**';
  // The page must be the same on every machine.
  return defaultText ? `\`${defaultText.replace(homedir(), '~')}\`` : '';
}

if (process.argv[1] === import.meta.filename) writeFileSync(CONFIGURATION_DOCS, await renderConfigurationDocs());
