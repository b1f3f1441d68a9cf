/** The availability of the services in the public status. */
import type { Database } from '../database.ts';
import type { CallTarget } from './upstream-calls.ts';

/** The target under which each api process records its check of webhooks every minute. Other targets are upstreams. */
export const WEBHOOK_CHECKS: CallTarget = { upstream: '', format: '', model: 'webhooks', key: '' };

/** A route to a model of a service. */
export interface ServiceRoute extends Pick<CallTarget, 'upstream' | 'format'> {
  readonly service: string;
  readonly model: string;
  /** The upstream's name for the model. */
  readonly upstreamModel: string;
}

export interface DayAvailability {
  readonly service: string;
  /** A day in UTC, such as `2026-11-22`. */
  readonly day: string;
  /** From 0 to 1. */
  readonly availability: number;
}

/**
 * The availability of each service on each day with calls: the mean of the day's hours, so that an outage counts by its
 * length and not by the number of calls. The availability of an hour is the mean of the called models, each computed as
 * by `availabilityOf` in `domain/service-status.ts`.
 *
 * @param from the first day; `to` is the day after the last one
 */
export async function listAvailability(
  database: Database,
  routes: readonly ServiceRoute[],
  { from, to }: { readonly from: string; readonly to: string },
): Promise<readonly DayAvailability[]> {
  const { rows } = await database.raw<{ rows: DayAvailability[] }>(
    /* sql */ `
    WITH called AS (
      SELECT start, upstream, format, model, sum(failures)::float8 / sum(requests) AS failing
      FROM upstream_calls
      WHERE span = 'hour' AND start >= :from::timestamp AT TIME ZONE 'UTC' AND start < :to::timestamp AT TIME ZONE 'UTC'
      GROUP BY start, upstream, format, model),
    by_model AS (
      SELECT route.service, start,
        1 - CASE WHEN bool_or(failing = 0) THEN 0 ELSE exp(sum(ln(failing)) FILTER (WHERE failing > 0)) END AS share
      FROM json_to_recordset(:routes) AS route (service text, model text, upstream text, format text,
        "upstreamModel" text)
      JOIN called ON called.upstream = route.upstream AND called.format = route.format
        AND called.model = route."upstreamModel"
      GROUP BY route.service, route.model, start),
    by_hour AS (SELECT service, start, avg(share) AS share FROM by_model GROUP BY service, start)
    SELECT service, to_char(start AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, avg(share) AS availability
    FROM by_hour GROUP BY service, day`,
    { from, to, routes: JSON.stringify(routes) },
  );
  return rows;
}

/** The relay restarts a delivery with a lost workflow well before this. */
const LATE_SECONDS = 300;

/**
 * Whether a delivery has been due for minutes without an attempt, although its endpoint answers and its account has not
 * reached its limit of concurrent attempts.
 */
export async function areDeliveriesLate(database: Database): Promise<boolean> {
  const { rows } = await database.raw<{ rows: { is_late: boolean }[] }>(
    /* sql */ `
    SELECT EXISTS (
      SELECT FROM deliveries JOIN webhook_endpoints AS endpoint ON endpoint.id = endpoint_id
      WHERE workflow_started_at IS NULL AND status = 'pending' AND timeouts = 0
        AND next_start_at < now() - make_interval(secs => :late)
        AND NOT EXISTS (SELECT FROM deliveries AS busy
          WHERE busy.account_id = deliveries.account_id AND busy.under_way_until > now())
    ) OR EXISTS (
      SELECT FROM deliveries JOIN webhook_endpoints AS endpoint ON endpoint.id = endpoint_id
      WHERE workflow_started_at IS NOT NULL AND status = 'pending' AND timeouts = 0
        AND coalesce(next_attempt_at, workflow_started_at) < now() - make_interval(secs => :late)
    ) AS is_late`,
    { late: LATE_SECONDS },
  );
  return rows[0]?.is_late === true;
}
