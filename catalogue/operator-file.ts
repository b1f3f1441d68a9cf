/**
 * Reads a YAML file that the operator writes. Reports all its faults at once, each with its line and column.
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
import { type FieldPath, substituteVariables, type ReadVariable, writePath } from '../domain/substitute-variables.ts';

/** A fault in a file. */
export interface Finding {
  readonly file: string;
  /** From 1; null if the file cannot be read. */
  readonly line: number | null;
  readonly column: number | null;
  /** Names the field by its path, and the accepted values. */
  readonly message: string;
  /** A file with only warnings works. */
  readonly severity: 'error' | 'warning';
}

export interface OperatorFile {
  /** The operator's name for the file. */
  readonly name: string;
  /** The parsed content with environment variables filled in, not validated yet. Null if the file is not YAML. */
  readonly document: unknown;
  /** The parsed content without the values of environment variables, so that it can be shown. */
  readonly written: unknown;
  /** YAML errors and unset variables. */
  readonly findings: readonly Finding[];
  /** The fields with an unset variable, which need no other finding. */
  readonly unsetPaths: ReadonlySet<string>;
  /** @param at whether the position is that of the field's name or value */
  finding(path: FieldPath, message: string, options?: FindingOptions): Finding;
}

interface FindingOptions {
  readonly severity?: Finding['severity'];
  readonly at?: 'name' | 'value';
}

/** Reads a file. If the file cannot be read, returns a finding about the whole file. */
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
 * @param name the name of the file in findings
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
    // The parser's messages may contain a secret, so only the kind of the error is shown.
    const findings = parsed.errors.map(({ pos: [offset], code }) => findingAt(offset, yamlMistake(code), 'error'));
    return unreadable(name, findings);
  }
  const finding: OperatorFile['finding'] = (path, message, { severity = 'error', at = 'value' } = {}) =>
    findingAt(offsetOf(parsed, path, at), message, severity);
  const written = withBraces(parsed.toJS());
  const { filled, missing } = substituteVariables(written, readVariable);
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

/** The deepest nesting to parse. Far deeper nesting makes the parser run out of memory, which ends the process. */
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

/** Returns the position of the name or value at a path, or else of its parent. Follows aliases and merged maps. */
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
  // The position of an alias is the position of its value.
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
 * `[${KEY}]` is not valid YAML, because the brace starts a map. Operators write it nevertheless, so parsing replaces
 * the braces of references by other characters of the same length, which keeps all positions.
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

/** Writes a line for each finding, sorted as by {@link sortFindings}. */
export function writeFindings(findings: readonly Finding[]): readonly string[] {
  return sortFindings(findings).map(({ file, line, column, message, severity }) => {
    const place = line === null ? file : `${file}:${line}:${column}`;
    return `${place}: ${severity === 'warning' ? 'warning: ' : ''}${message}`;
  });
}

/** Sorts findings by file and line. Drops equal findings at the same place, which occur when a map is merged often. */
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
