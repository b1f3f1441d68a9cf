/**
 * A YAML file that the operator writes: what it says, and where. Everything that is wrong with it is found at once, each with
 * its line and column.
 */
import { readFileSync } from 'node:fs';
import {
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type YAMLMap,
} from 'yaml';
import { type FieldPath, fillIn, type ReadVariable, writePath } from '../domain/fill-in.ts';

/** Something to put right in a file. */
export interface Finding {
  readonly file: string;
  /** From 1; null where the file cannot be read. */
  readonly line: number | null;
  readonly column: number | null;
  /** Names the field by its path, and says what it may be. */
  readonly message: string;
  /** A warning keeps nothing from working: something written has no effect. */
  readonly severity: 'error' | 'warning';
}

export interface OperatorFile {
  /** As the operator names it. */
  readonly name: string;
  /** The parsed content, with the values of the environment, not validated yet. Null if the file is not YAML. */
  readonly document: unknown;
  /** The same before the environment was filled in, so that it may be shown. */
  readonly written: unknown;
  /** The YAML errors, and the variables that are not set. */
  readonly findings: readonly Finding[];
  /** The fields that name a variable that is not set: no other finding about them is needed. */
  readonly unsetPaths: ReadonlySet<string>;
  /** @param at whether the name of the field is meant, or its value */
  finding(path: FieldPath, message: string, options?: FindingOptions): Finding;
}

interface FindingOptions {
  readonly severity?: Finding['severity'];
  readonly at?: 'name' | 'value';
}

/** Finds a file that cannot be read wrong as a whole. */
export function readOperatorFile(path: string, readVariable: ReadVariable): OperatorFile {
  try {
    return parseOperatorFile(readFileSync(path, 'utf8'), path, readVariable);
  } catch (error) {
    const message = `it cannot be read: ${error instanceof Error ? error.message : String(error)}`;
    const finding: Finding = { file: path, line: null, column: null, message, severity: 'error' };
    return unreadable(path, [finding]);
  }
}

/**
 * @param text YAML
 * @param name of the file, in findings
 */
export function parseOperatorFile(text: string, name: string, readVariable: ReadVariable): OperatorFile {
  const lineCounter = new LineCounter();
  const hidden = hideBraces(text);
  if (isTooDeep(hidden)) {
    const message = `its brackets are nested more than ${MAX_BRACKETS} deep`;
    return unreadable(name, [{ file: name, line: null, column: null, message, severity: 'error' }]);
  }
  const parsed = parseDocument(hidden, { merge: true, lineCounter, prettyErrors: false });
  const findingAt = (offset: number, message: string, severity: Finding['severity']): Finding => {
    const { line, col: column } = lineCounter.linePos(offset);
    return { file: name, line, column, message: showBraces(message), severity };
  };
  if (parsed.errors.length > 0) {
    // The parser's own words may hold a key; only those about the form are shown.
    const findings = parsed.errors.map(({ pos: [offset], code }) => findingAt(offset, yamlMistake(code), 'error'));
    return unreadable(name, findings);
  }
  const finding: OperatorFile['finding'] = (path, message, { severity = 'error', at = 'value' } = {}) =>
    findingAt(offsetOf(parsed, path, at), message, severity);
  const written = withBraces(parsed.toJS());
  const { filled, missing } = fillIn(written, readVariable);
  return {
    name,
    document: filled,
    written,
    findings: missing.map(({ path, name: variable }) =>
      finding(path, `"${writePath(path)}" needs the environment variable ${variable}, which is not set`),
    ),
    unsetPaths: new Set(missing.map(({ path }) => writePath(path))),
    finding,
  };
}

function unreadable(name: string, findings: readonly Finding[]): OperatorFile {
  const finding: OperatorFile['finding'] = (_path, message, { severity = 'error' } = {}) => ({
    file: name,
    line: null,
    column: null,
    message,
    severity,
  });
  return { name, document: null, written: null, findings, unsetPaths: new Set(), finding };
}

/** The deepest nesting that is parsed. A file nested far deeper makes the parser run out of memory, which ends the process. */
const MAX_BRACKETS = 100;

function isTooDeep(text: string): boolean {
  let depth = 0;
  for (const lexeme of new Lexer().lex(text)) {
    if (lexeme === '[' || lexeme === '{') depth += 1;
    else if (lexeme === ']' || lexeme === '}') depth -= 1;
    if (depth > MAX_BRACKETS) return true;
  }
  return false;
}

const YAML_MISTAKES: Readonly<Record<string, string>> = {
  BAD_INDENT: 'this line is indented further or less than its neighbours',
  DUPLICATE_KEY: 'this key occurs twice',
  MULTIPLE_DOCS: 'a file holds one document: take `---` away',
  TAB_AS_INDENT: 'YAML is indented with spaces, not with tabs',
  BLOCK_AS_IMPLICIT_KEY: 'a value with keys of its own begins on a new line',
  MULTILINE_IMPLICIT_KEY: 'a key has to stand on one line, and a colon after it',
  MISSING_CHAR: 'a comma, colon, bracket or quotation mark is missing',
};

function yamlMistake(code: string): string {
  return `this is not valid YAML: ${YAML_MISTAKES[code] ?? code.toLowerCase().replaceAll('_', ' ')}`;
}

/** Returns the position of the name or value at a path, or of its parent if there is none. Follows aliases and merged maps. */
function offsetOf(document: Document.Parsed, path: FieldPath, at: 'name' | 'value'): number {
  let node: unknown = document.contents;
  let place = startOf(node);
  for (const step of path) {
    const container = resolved(document, node);
    if (isSeq(container) && typeof step === 'number') {
      node = container.items[step];
      place = startOf(node) ?? place;
    } else if (isMap(container)) {
      const pair = findPair(document, container, String(step));
      if (!pair) break;
      node = pair.value;
      const name = startOf(pair.key);
      place = (at === 'name' ? name : (startOf(node) ?? name)) ?? place;
    } else break;
  }
  return place ?? 0;
}

function startOf(node: unknown): number | undefined {
  // The position of an alias is the place of its value.
  return isNode(node) ? node.range?.[0] : undefined;
}

function isNode(value: unknown): value is Node {
  return isAlias(value) || isScalar(value) || isMap(value) || isSeq(value);
}

function resolved(document: Document.Parsed, node: unknown): unknown {
  return isAlias(node) ? node.resolve(document) : node;
}

function findPair(document: Document.Parsed, map: YAMLMap, name: string): Pair | undefined {
  const pairs = map.items.filter((item) => isPair(item));
  const own = pairs.find(({ key }) => isScalar(key) && !isMergeKey(key.value) && String(key.value) === name);
  if (own) return own;
  const merged = pairs
    .filter(({ key }) => isScalar(key) && isMergeKey(key.value))
    .map(({ value }) => resolved(document, value));
  return merged
    .flatMap((value) => (isSeq(value) ? value.items.map((item) => resolved(document, item)) : [value]))
    .flatMap((value) => (isMap(value) ? [findPair(document, value, name)] : []))
    .find((pair) => pair !== undefined);
}

function isMergeKey(key: unknown): boolean {
  return key === '<<' || typeof key === 'symbol';
}

/*
 * `[${KEY}]` is no YAML: a brace starts a map there. As operators write it all the same, the braces of references are others
 * while the file is parsed, of the same length, so that places stay what they are.
 */
const OPEN = '\u{e000}';
const CLOSE = '\u{e001}';

function hideBraces(text: string): string {
  return text.replace(/\$(?:\$|\{(\w+)\})/g, (all, name?: string) =>
    name === undefined ? all : `$${OPEN}${name}${CLOSE}`,
  );
}

function showBraces(text: string): string {
  return text.replaceAll(OPEN, '{').replaceAll(CLOSE, '}');
}

function withBraces(value: unknown): unknown {
  if (typeof value === 'string') return showBraces(value);
  if (Array.isArray(value)) return value.map(withBraces);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [showBraces(name), withBraces(item)]));
}

/** A line for each, in the order of the files and their lines, without those that say the same of the same place. */
export function writeFindings(findings: readonly Finding[]): readonly string[] {
  return sortFindings(findings).map(({ file, line, column, message, severity }) => {
    const place = line === null ? file : `${file}:${line}:${column}`;
    return `${place}: ${severity === 'warning' ? 'warning: ' : ''}${message}`;
  });
}

/** In the order of the files and their lines, without those that say the same of the same place: a merged map is many. */
export function sortFindings(findings: readonly Finding[]): readonly Finding[] {
  const files = [...new Set(findings.map(({ file }) => file))];
  const known = new Set<string>();
  return findings
    .toSorted(
      (one, other) =>
        files.indexOf(one.file) - files.indexOf(other.file) ||
        (one.line ?? 0) - (other.line ?? 0) ||
        (one.column ?? 0) - (other.column ?? 0),
    )
    .filter(({ file, line, column, message }) => {
      const key = JSON.stringify([file, line, column, message.replace(/^"[^"]*"/, '')]);
      return !known.has(key) && known.add(key);
    });
}
