/** Failures of upstreams by customer, model, upstream and reason: see `db/schema/0010-operations.sql`. */
import type { Database } from '../database.ts';
import { camelCased, type RowOf } from '../row.ts';
import type { CallTarget, FailureSum } from './upstream-calls.ts';

/** The periods of the report: a number of whole minutes or hours, the current one included. */
export const FAILURE_PERIODS = {
  five_minutes: { span: 'minute', count: 5 },
  hour: { span: 'minute', count: 60 },
  day: { span: 'hour', count: 24 },
} as const;
export type FailurePeriod = keyof typeof FAILURE_PERIODS;

/** The calls of an upstream's model in a period, with all keys. */
export interface RouteFailures extends Omit<CallTarget, 'key'> {
  readonly requests: number;
  readonly failures: number;
}

/** A sum of failures, with an example. */
export interface ListedFailureSum extends FailureSum {
  /** The words of the upstream at its latest failure with this reason; null if it sent none. */
  readonly message: string | null;
}

export interface FailureReport {
  /** The routes with failures, most failures first. */
  readonly routes: readonly RouteFailures[];
  /** The sums with the most failures, at most {@link MAX_SUMS}. */
  readonly sums: readonly ListedFailureSum[];
  /** The failures of each minute or hour of the period by upstream, oldest first. */
  readonly bars: readonly { readonly start: Date; readonly failures: ReadonlyMap<string, number> }[];
}

export const MAX_SUMS = 100;

/** Reads the failures of the last minutes or hours. Only the sums of the period are read, however many calls there were. */
export async function readFailures(database: Database, period: FailurePeriod): Promise<FailureReport> {
  const { span, count } = FAILURE_PERIODS[period];
  const values = { span, age: `${count - 1} ${span}s`, limit: MAX_SUMS };
  const since = `span = :span AND start >= date_trunc(:span, now()) - CAST(:age AS interval) AND upstream <> ''`;
  const [routes, sums, bars] = await Promise.all([
    database.raw<{ rows: RouteFailures[] }>(
      /* sql */ `
      SELECT upstream, format, model, sum(requests)::int AS requests, sum(failures)::int AS failures
      FROM upstream_calls WHERE ${since} GROUP BY upstream, format, model HAVING sum(failures) > 0
      ORDER BY failures DESC, upstream, format, model`,
      values,
    ),
    database.raw<{ rows: RowOf<ListedFailureSum>[] }>(
      /* sql */ `
      SELECT sums.*, (SELECT nullif(message, '') FROM upstream_failures AS latest
        WHERE (latest.upstream, latest.format, latest.model, latest.fault) = (sums.upstream, sums.format, sums.model, sums.fault)
        ORDER BY failed_at DESC LIMIT 1) AS message
      FROM (SELECT upstream, format, model, fault, account_id, sum(failures)::int AS failures
        FROM upstream_call_failures WHERE ${since} GROUP BY upstream, format, model, fault, account_id
        ORDER BY sum(failures) DESC, upstream, format, model, fault, account_id LIMIT :limit) AS sums
      ORDER BY failures DESC, upstream, format, model, fault, account_id`,
      values,
    ),
    database.raw<{ rows: { start: Date; upstream: string | null; failures: number }[] }>(
      /* sql */ `
      SELECT bar AS start, upstream, coalesce(sum(failures), 0)::int AS failures
      FROM generate_series(date_trunc(:span, now()) - CAST(:age AS interval), now(), CAST('1 ' || :span AS interval)) AS bar
      LEFT JOIN upstream_calls ON span = :span AND start = bar AND upstream <> '' AND failures > 0
      GROUP BY bar, upstream ORDER BY bar`,
      values,
    ),
  ]);
  const byStart = new Map<number, Map<string, number>>();
  for (const { start, upstream, failures } of bars.rows) {
    const bar = byStart.get(start.getTime()) ?? new Map<string, number>();
    if (upstream !== null) bar.set(upstream, failures);
    byStart.set(start.getTime(), bar);
  }
  return {
    routes: routes.rows,
    sums: sums.rows.map(camelCased),
    bars: Array.from(byStart, ([startMs, failures]) => ({ start: new Date(startMs), failures })),
  };
}
