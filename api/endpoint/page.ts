/** Lists, page by page: newest first, with `limit` and an opaque `cursor`. Contract 4.10. */
import type Joi from 'joi';
import { type IdKind, isId } from '../../domain/ids.ts';
import { arrayOf, integer, type JsonSchema, nullable, object, text } from '../../domain/json-schema.ts';
import { PAGES } from '../../domain/policy.ts';
import { type Answer, json } from './answers.ts';
import { type Slice, readPage } from '../../services/page.ts';
import { textOf } from '../../services/input/validation.ts';

/** Reads the values of a cursor, which end the previous page; null when they do not belong to this list. */
type ReadPosition<Position> = (values: readonly string[]) => Position | null;

const LIMIT = integer(undefined, { minimum: 1, maximum: PAGES.maxLimit, default: PAGES.defaultLimit });

/** The parameters of a list. */
export function page<Position>(readPosition: ReadPosition<Position>) {
  const limit = textOf(LIMIT, `must be a whole number from 1 to ${PAGES.maxLimit}`, (given) => {
    const items = /^\d{1,4}$/.test(given) ? Number(given) : 0;
    return items >= 1 && items <= PAGES.maxLimit ? items : null;
  });
  const cursor: Joi.AnySchema<Position | undefined> = textOf(
    text(),
    'must be the "next_cursor" of an earlier page',
    (given) => {
      const values = decodeCursor(given);
      return values && readPosition(values);
    },
  );
  return {
    limit: limit.default(PAGES.defaultLimit).description('The number of items per page'),
    cursor: cursor.description('The `next_cursor` of the previous page'),
  };
}

/** Pages of a list ordered by the ids of its items. */
export function pageById(kind: IdKind) {
  return page(([id = '', ...others]) => (others.length === 0 && isId(kind, id) ? id : null));
}

/** The schema of the field with the next `cursor`. */
export const NEXT_CURSOR = nullable(text('The `cursor` of the next page. Null on the last page'));

/** One page of a list, as an answer. */
export function pageOf(items: JsonSchema, description: string): Answer {
  return { description, content: json(object({ data: arrayOf(items), next_cursor: NEXT_CURSOR })) };
}

interface Page<Item> {
  readonly data: readonly Item[];
  /** Null on the last page. */
  readonly next_cursor: string | null;
}

/**
 * Reads the requested page, and presents it.
 *
 * @param positionOf the values after which the next page continues
 */
export async function listPage<Row extends { readonly id: string }, Item, Position>(
  { cursor: before, limit }: { readonly cursor: Position | undefined; readonly limit: number },
  read: (slice: Slice<Position>) => Promise<readonly Row[]>,
  present: (row: Row) => Item,
  positionOf: (row: Row) => readonly string[] = ({ id }) => [id],
): Promise<Page<Item>> {
  const { rows, last } = await readPage({ before, limit }, read);
  return { data: rows.map((row) => present(row)), next_cursor: last ? encodeCursor(positionOf(last)) : null };
}

function encodeCursor(values: readonly string[]): string {
  return Buffer.from(JSON.stringify(values)).toString('base64url');
}

/** Returns the values in a cursor; null if the gateway did not make it. */
function decodeCursor(cursor: string): readonly string[] | null {
  try {
    const values: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    return Array.isArray(values) && values.every((value) => typeof value === 'string') ? values : null;
  } catch {
    return null;
  }
}
