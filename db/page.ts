import type { Knex } from 'knex';

/** A page of a list, newest first, ordered by ids that start with the time. */
export interface IdPage {
  /** The id of the last row of the previous page. */
  readonly before?: string | undefined;
  readonly limit: number;
}

/** A filter of tasks and text requests by what upstreams did with them. */
export interface AttemptFilter {
  /** The upstream that has the task or answered the request; with a fault, the upstream that had the fault. */
  readonly upstream?: string | undefined;
  /** The fault of one of the attempts. */
  readonly fault?: string | undefined;
}

/**
 * Restricts a list by what upstreams did.
 *
 * @param upstreamColumn the upstream that has the task or answered the request
 * @param attemptsWithFault selects the attempts of a row with the `:fault`, at the `:upstream` unless it is null
 */
export function attemptedAt(
  query: Knex.QueryBuilder,
  { upstream, fault }: AttemptFilter,
  { upstreamColumn, attemptsWithFault }: { readonly upstreamColumn: string; readonly attemptsWithFault: string },
): void {
  if (fault !== undefined) void query.whereRaw(`EXISTS (${attemptsWithFault})`, { fault, upstream: upstream ?? null });
  else if (upstream !== undefined) void query.where(upstreamColumn, upstream);
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
