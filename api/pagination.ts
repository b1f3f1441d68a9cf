/** Lists: newest first, `limit` and an opaque `cursor`. */
import { badRequest } from '../domain/errors.ts';
import { PAGES } from '../domain/policy.ts';
import type { Context } from './state.ts';

export interface Page {
  readonly limit: number;
  /** What the previous page ended with, as given to {@link presentPage}; undefined on the first page. */
  readonly after: readonly string[] | undefined;
}

export interface List<Item> {
  readonly data: readonly Item[];
  /** Null on the last page. */
  readonly next_cursor: string | null;
}

/**
 * Reads `limit` and `cursor`.
 *
 * @param parts how many values a cursor of this list holds
 * @throws ServiceError `bad_request`
 */
export function pageOf(context: Context, parts: number): Page {
  const limitText = queryValue(context, 'limit') ?? String(PAGES.defaultLimit);
  const limit = /^\d{1,4}$/.test(limitText) ? Number(limitText) : 0;
  if (limit < 1 || limit > PAGES.maxLimit)
    throw badRequest(`"limit" must be a whole number from 1 to ${PAGES.maxLimit}`);
  const cursor = queryValue(context, 'cursor');
  const after = cursor === undefined ? undefined : decodeCursor(cursor);
  if (after === null || (after && after.length !== parts)) {
    throw badRequest('"cursor" must be the "next_cursor" of an earlier page');
  }
  return { limit, after };
}

/**
 * Shows a page. The query must have asked for one row more than `limit`, by which the last page is told.
 *
 * @param cursorOf the values by which the next page continues after an item
 */
export function presentPage<Row, Item>(
  rows: readonly Row[],
  limit: number,
  present: (row: Row) => Item,
  cursorOf: (row: Row) => readonly string[],
): List<Item> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    data: shown.map(present),
    next_cursor: rows.length > limit && last !== undefined ? encodeCursor(cursorOf(last)) : null,
  };
}

/** A query parameter that may be given once. @throws ServiceError `bad_request` */
export function queryValue(context: Context, name: string): string | undefined {
  const value = context.query[name];
  if (Array.isArray(value)) throw badRequest(`"${name}" may be given once`);
  // PostgreSQL takes no text with one.
  if (value?.includes('\0')) throw badRequest(`"${name}" must not contain NUL characters`);
  return value === '' ? undefined : value;
}

/** The years 0 to 9999: others, which begin with a sign, may be beyond what the database can compare with. */
const ISO_TIME = /^\d{4}-\d{2}-\d{2}(T|$)/;
const UNIX_SECONDS = /^\d{1,11}$/;

/** A moment given as ISO 8601 or as Unix seconds. @throws ServiceError `bad_request` */
export function queryTime(context: Context, name: string): Date | undefined {
  const value = queryValue(context, name);
  if (value === undefined) return undefined;
  const moment = UNIX_SECONDS.test(value)
    ? new Date(Number(value) * 1000)
    : new Date(ISO_TIME.test(value) ? value : Number.NaN);
  if (Number.isNaN(moment.getTime())) throw badRequest(`"${name}" must be an ISO 8601 time or Unix seconds`);
  return moment;
}

function encodeCursor(values: readonly string[]): string {
  return Buffer.from(JSON.stringify(values)).toString('base64url');
}

/** The values that a cursor was made of; null for one that was not made here. */
export function decodeCursor(cursor: string): readonly string[] | null {
  try {
    const values: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    return Array.isArray(values) && values.every((value) => typeof value === 'string') ? values : null;
  } catch {
    return null;
  }
}
