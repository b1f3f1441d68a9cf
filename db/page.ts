import type { Knex } from 'knex';

/** A page of a list, newest first, ordered by ids that start with the time. */
export interface IdPage {
  /** The id of the last row of the previous page. */
  readonly before?: string | undefined;
  readonly limit: number;
}

/** Orders a list newest first, and restricts it to the rows of the page. */
export function newestFirst<Row extends object, Result>(
  query: Knex.QueryBuilder<Row, Result>,
  { before, limit }: IdPage,
  id = 'id',
): Knex.QueryBuilder<Row, Result> {
  if (before !== undefined) void query.where(id, '<', before);
  return query.orderBy(id, 'desc').limit(limit);
}
