import type { Knex } from 'knex';

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
