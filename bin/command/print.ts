/** Formats answers for people to read in a terminal. */
import { toOneLine } from '../parts/terminal-text.ts';
import { isObject } from '../../domain/json.ts';
import { type Json, type Fields } from './json.ts';

/** Formats one object: a line for each field, nested fields under dotted names. */
export function describe(thing: Fields): string {
  const lines = flatten(thing, '');
  const width = Math.max(0, ...lines.map(([name]) => name.length));
  return lines.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n');
}

/** Formats a list: a column for each named field that any row has, with numbers aligned right. */
export function table(rows: readonly Fields[], names: readonly string[]): string {
  const columns = names.filter((name) => rows.length === 0 || rows.some((row) => at(row, name) !== undefined));
  const cells = [columns, ...rows.map((row) => columns.map((column) => shown(column, at(row, column))))];
  const widths = columns.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  const areNumbers = columns.map((_, column) => areNumeric(cells.slice(1).map((line) => line[column] ?? '')));
  return cells
    .map((line) =>
      line
        .map((cell, column) =>
          areNumbers[column] ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function areNumeric(cells: readonly string[]): boolean {
  const given = cells.filter((cell) => cell !== NOTHING);
  return given.length > 0 && given.every((cell) => /^-?\d+(\.\d+)?$/.test(cell));
}

/** The objects in a list answer. */
export function rowsOf(list: Fields): readonly Fields[] {
  const { data } = list;
  return Array.isArray(data) ? data.filter((row): row is Fields => isObject(row)) : [];
}

/** The object in an answer with a single object. */
export function dataOf(answer: Fields): Fields {
  const { data } = answer;
  return isObject(data) ? data : answer;
}

function flatten(thing: Fields, prefix: string): [string, string][] {
  return Object.entries(thing).flatMap(([name, value]): [string, string][] =>
    isObject(value) ? flatten(value, `${prefix}${name}.`) : [[prefix + name, shown(name, value)]],
  );
}

function at(row: Fields, path: string): Json | undefined {
  return path.split('.').reduce<Json | undefined>((value, name) => (isObject(value) ? value[name] : undefined), row);
}

/** Formats a field: a moment, which answers give in seconds since 1970, as a time. */
function shown(name: string, value: Json | undefined): string {
  const isMoment = /_(at|since)$/.test(name) && typeof value === 'number';
  return isMoment ? new Date(value * 1000).toISOString().replace('.000Z', 'Z') : textOf(value);
}

const NOTHING = '-';

/** Formats one value as a line of text; `-` if there is none. */
export function textOf(value: Json | undefined): string {
  if (value === null || value === undefined) return NOTHING;
  if (typeof value === 'number') return DECIMAL.format(value);
  return toOneLine(typeof value === 'string' ? value : JSON.stringify(value));
}

/** Writes small amounts as decimals: 0.000000001, not 1e-9. */
const DECIMAL = new Intl.NumberFormat('en-US', { useGrouping: false, maximumFractionDigits: 12 });
