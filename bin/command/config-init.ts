/** `genway config init`: writes the operator's first two files, from catalogue/vendors.yaml. */
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Document, isMap, isSeq, parseDocument, stringify } from 'yaml';
import { VENDORS_CATALOGUE } from '../../catalogue/load.ts';
import { isObject } from '../../domain/json.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import type { MediaAdapter } from '../../providers/media/adapter.ts';
import { MEDIA_APIS } from '../../providers/media/protocols.ts';
import { TEXT_VENDORS } from '../../providers/text/vendors.ts';
import type { ConfigTerminal } from './config-terminal.ts';

/** The paths of the lists of models, or of families of models, in a catalogue. */
const LISTS = [
  ['media', 'videos'],
  ['media', 'images'],
  ['text', 'families'],
  ['text', 'voice'],
  ['text', 'realtime'],
] as const;

/**
 * Writes `catalogue.yaml` with the models of some vendors, and `upstreams.yaml` with the vendors, whose keys come from
 * the environment.
 *
 * @throws OperatorError for an unknown vendor, or if one of the files exists
 */
export async function initConfig(
  vendors: readonly string[],
  { folder, terminal }: { readonly folder: string; readonly terminal: ConfigTerminal },
): Promise<void> {
  const catalogue = parseDocument(await readFile(VENDORS_CATALOGUE, 'utf8'));
  const known = new Set(LISTS.flatMap((path) => itemsAt(catalogue, path).flatMap(providersOf)));
  const unknown = vendors.find((name) => !known.has(name));
  if (unknown !== undefined)
    throw new OperatorError(`There is no vendor "${unknown}". Name some of ${[...known].toSorted().join(', ')}.`);
  for (const path of LISTS) keepModelsOf(vendors, catalogue, path);
  catalogue.commentBefore = ' Models of real vendors, with prices to change. docs/catalogue.md has every key.';
  const written = stringify(upstreamsOf(vendors));
  const files = [
    [join(folder, 'catalogue.yaml'), catalogue.toString({ lineWidth: 0, flowCollectionPadding: false })],
    [join(folder, 'upstreams.yaml'), written],
  ] as const;
  const existing = files.find(([path]) => existsSync(path));
  if (existing) throw new OperatorError(`${existing[0]} exists. Move it away, or name another --folder.`);
  await mkdir(folder, { recursive: true });
  for (const [path, content] of files) await writeFile(path, content, { flag: 'wx' });
  const variables = [...new Set([...written.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name))];
  terminal.print(
    [
      `Wrote ${join(folder, 'catalogue.yaml')} and ${join(folder, 'upstreams.yaml')}.`,
      `Set ${variables.join(', ')}, GENWAY_CATALOGUE and GENWAY_PROVIDERS; then run genway config check --online.`,
    ].join('\n'),
  );
}

/** The models or families in a list, as plain data. */
function itemsAt(catalogue: Document, path: readonly string[]): readonly unknown[] {
  const list = catalogue.getIn(path);
  return isSeq(list) ? list.items.map((item) => (isMap(item) ? item.toJS(catalogue) : item)) : [];
}

function providersOf(model: unknown): readonly string[] {
  if (!isObject(model)) return [];
  const { route, routes = [route] } = model;
  return Array.isArray(routes) ? routes.map((one: unknown) => String(isObject(one) ? one['provider'] : '')) : [];
}

/** Removes the models of other vendors, a list without models, and the part of the catalogue without any. */
function keepModelsOf(vendors: readonly string[], catalogue: Document, path: readonly [string, string]): void {
  const list = catalogue.getIn(path);
  if (!isSeq(list)) return;
  const isKept = itemsAt(catalogue, path).map((model) => providersOf(model).every((name) => vendors.includes(name)));
  // The YAML library attaches the comment before the first model to the list.
  if (!isKept[0]) list.commentBefore = null;
  list.items = list.items.filter((_, index) => isKept[index]);
  if (list.items.length > 0) return;
  const [part, name] = path;
  catalogue.deleteIn(path);
  const rest = catalogue.get(part);
  // Without families, the rest of the text part is useless.
  if (name === 'families' || (isMap(rest) && rest.items.length === 0)) catalogue.delete(part);
}

/** A reference to a variable in the operator's files. */
function variable(name: string, word: string): string {
  return `\${${name.toUpperCase().replaceAll('-', '_')}_${word}}`;
}

/** The file of upstreams, with environment variables for credentials and for the operator's own addresses. */
function upstreamsOf(vendors: readonly string[]): object {
  const media = MEDIA_APIS.filter(([name]) => vendors.includes(name)).map(([name, protocol, adapter]) => ({
    name,
    protocol,
    ...(name !== protocol && { api: name.slice(protocol.length + 1) }),
    ...(adapter.baseUrl === null && { base_url: variable(name, 'URL') }),
    ...credentialOf(name, adapter),
  }));
  const text = Object.entries(TEXT_VENDORS)
    .filter(([name]) => vendors.includes(name))
    .map(([name, entryOf]) => ({ name, ...entryOf((word) => variable(name, word)) }));
  return { ...(media.length > 0 && { media }), ...(text.length > 0 && { text }) };
}

/** Tokens of Google expire, so that no variable can hold one. */
function credentialOf(name: string, { auth = [], keyPair }: MediaAdapter): object {
  if (auth.includes('google')) return { auth: { google: { credentials_file: variable(name, 'CREDENTIALS_FILE') } } };
  if (keyPair) return { access_key: variable(name, 'ACCESS_KEY'), secret_key: variable(name, 'SECRET_KEY') };
  return { api_key: variable(name, 'API_KEY') };
}
