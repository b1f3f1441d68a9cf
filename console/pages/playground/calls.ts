/** The same call as code, in several languages. An example runs if GENWAY_KEY is set. */
import { isObject, type JsonObject } from '../../../domain/json.ts';

export interface Call {
  readonly url: string;
  readonly body: JsonObject;
  /** The path of the result in the response, such as `data.id`. */
  readonly result: readonly (string | number)[];
}

export interface CodeExample {
  readonly language: string;
  readonly code: string;
}

export function examplesOf(call: Call): readonly CodeExample[] {
  return [
    { language: 'curl', code: curl(call) },
    { language: 'Python', code: python(call) },
    { language: 'TypeScript', code: typeScript(call) },
  ];
}

function curl({ url, body }: Call): string {
  const json = JSON.stringify(body, null, 2).replaceAll("'", String.raw`'\''`);
  return [
    `curl '${url}' \\`,
    `  -H "Authorization: Bearer $GENWAY_KEY" \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${json}'`,
  ].join('\n');
}

function python({ url, body, result }: Call): string {
  return [
    'import os',
    'import requests',
    '',
    'answer = requests.post(',
    `    ${JSON.stringify(url)},`,
    `    headers={"Authorization": f"Bearer {os.environ['GENWAY_KEY']}"},`,
    `    json=${inPython(body, 1)},`,
    ')',
    'answer.raise_for_status()',
    `print(answer.json()${result.map((name) => `[${JSON.stringify(name)}]`).join('')})`,
  ].join('\n');
}

function typeScript({ url, body, result }: Call): string {
  const json = JSON.stringify(body, null, 2).replaceAll('\n', '\n  ');
  const path = result.map((name) => (typeof name === 'number' ? `[${name}]` : `.${name}`)).join('');
  return [
    "import { env } from 'node:process';",
    '',
    `const answer = await fetch(${JSON.stringify(url)}, {`,
    "  method: 'POST',",
    "  headers: { Authorization: `Bearer ${env.GENWAY_KEY}`, 'Content-Type': 'application/json' },",
    `  body: JSON.stringify(${json}),`,
    '});',
    'if (!answer.ok) throw new Error(await answer.text());',
    `console.log((await answer.json())${path});`,
  ].join('\n');
}

/** Writes a value in Python, which differs from JSON only in `true`, `false` and `null`. */
function inPython(value: unknown, depth: number): string {
  const pad = '    '.repeat(depth + 1);
  const end = '    '.repeat(depth);
  if (Array.isArray(value)) {
    return `[\n${value.map((item) => `${pad}${inPython(item, depth + 1)},\n`).join('')}${end}]`;
  }
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (!isObject(value)) return JSON.stringify(value ?? null).replace(/^null$/, 'None');
  const fields = Object.entries(value).map(([name, field]) => `${pad}"${name}": ${inPython(field, depth + 1)},\n`);
  return `{\n${fields.join('')}${end}}`;
}
