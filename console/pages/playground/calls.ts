/** The same call as code, in several languages. An example runs if API_KEY is set. */
import { posix } from 'node:path';
import { isObject, type JsonObject } from '../../../domain/json.ts';

export interface Call {
  readonly url: string;
  readonly body: JsonObject;
  /** Headers beside the key and the type of the body. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The path of the result in the response, such as `data.id`. */
  readonly result: readonly (string | number)[];
  /** The address of a file that the call sends beside the fields of the body, as a form. */
  readonly file?: string;
  /** The name for a response that is a file. */
  readonly saveAs?: string;
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

function curl({ url, body, headers = {}, file, saveAs }: Call): string {
  const json = JSON.stringify(body, null, 2).replaceAll("'", String.raw`'\''`);
  const call = [
    `curl '${url}'`,
    `-H "Authorization: Bearer $API_KEY"`,
    ...Object.entries(headers).map(([name, value]) => `-H '${name}: ${value}'`),
    ...(saveAs === undefined ? [] : [`--output ${saveAs}`]),
    ...(file === undefined
      ? [`-H 'Content-Type: application/json'`, `-d '${json}'`]
      : [
          ...Object.entries(body).map(([name, value]) => `-F '${name}=${String(value)}'`),
          `-F 'file=@-;filename=${posix.basename(file)}'`,
        ]),
  ].join(' \\\n  ');
  return file === undefined ? call : `curl -s '${file}' | ${call}`;
}

function python({ url, body, headers = {}, result, file, saveAs }: Call): string {
  const further = Object.entries(headers).map(([name, value]) => `, "${name}": "${value}"`);
  const path = result.map((name) => `[${JSON.stringify(name)}]`).join('');
  const lines = [
    'import os',
    'import requests',
    '',
    'answer = requests.post(',
    `    ${JSON.stringify(url)},`,
    `    headers={"Authorization": f"Bearer {os.environ['API_KEY']}"${further.join('')}},`,
    `    ${file === undefined ? 'json' : 'data'}=${inPython(body, 1)},`,
  ];
  if (file !== undefined)
    lines.push(`    files={"file": ("${posix.basename(file)}", requests.get(${JSON.stringify(file)}).content)},`);
  lines.push(')', 'answer.raise_for_status()');
  lines.push(saveAs === undefined ? `print(answer.json()${path})` : `open("${saveAs}", "wb").write(answer.content)`);
  return lines.join('\n');
}

function typeScript({ url, body, headers = {}, result, file, saveAs }: Call): string {
  const json = JSON.stringify(body, null, 2).replaceAll('\n', '\n  ');
  const path = result.map((name) => (typeof name === 'number' ? `[${name}]` : `.${name}`)).join('');
  const sent = [
    'Authorization: `Bearer ${env.API_KEY}`',
    ...Object.entries(headers).map(([name, value]) => `'${name}': '${value}'`),
    ...(file === undefined ? ["'Content-Type': 'application/json'"] : []),
  ];
  return [
    ...(saveAs === undefined ? [] : ["import { writeFile } from 'node:fs/promises';"]),
    "import { env } from 'node:process';",
    '',
    ...(file === undefined ? [] : formInTypeScript(body, file)),
    `const answer = await fetch(${JSON.stringify(url)}, {`,
    "  method: 'POST',",
    `  headers: { ${sent.join(', ')} },`,
    `  body: ${file === undefined ? `JSON.stringify(${json})` : 'form'},`,
    '});',
    'if (!answer.ok) throw new Error(await answer.text());',
    saveAs === undefined
      ? `console.log((await answer.json())${path});`
      : `await writeFile('${saveAs}', Buffer.from(await answer.arrayBuffer()));`,
  ].join('\n');
}

function formInTypeScript(body: JsonObject, file: string): readonly string[] {
  return [
    'const form = new FormData();',
    ...Object.entries(body).map(([name, value]) => `form.append('${name}', ${JSON.stringify(value)});`),
    `const file = await fetch(${JSON.stringify(file)});`,
    `form.append('file', await file.blob(), '${posix.basename(file)}');`,
    '',
  ];
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
