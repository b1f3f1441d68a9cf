/**
 * Removes old rows, so that tables do not grow forever. Each sweep removes a limited number of rows, so that it never
 * holds locks for long. Sweeps can run at any time, even concurrently.
 */
import { DAY_MS } from '../domain/day.ts';
import { firstIdAt } from '../domain/ids.ts';
import { REFUSED_CALLS, WEBHOOKS } from '../domain/policy.ts';
import type { Database } from './database.ts';
import { expireRegistrations } from './queries/registrations.ts';

/** Removes at most `limit` rows. @returns the number of removed rows; fewer than `limit` if none is left */
export type Sweep = (database: Database, limit: number) => Promise<number>;

/** More than a year, so that two yearly closings can be compared. */
const RECONCILIATIONS_KEPT_DAYS = 400;
/** Longer than the payment provider repeats an announcement. */
const REFUSED_PAYMENTS_KEPT_DAYS = 14;
/** Far longer than vendors list or report a job. */
const VENDOR_JOBS_KEPT_DAYS = 90;
const CALLS_KEPT_DAYS = 91;
const ATTEMPTS_KEPT_DAYS = 30;
const MAILS_KEPT_DAYS = 90;
/** So that operators see where attempts come from, and why they were refused. */
const REGISTRATIONS_KEPT_DAYS = 30;

/** The sweeps by the name of the rows that they remove. */
export const SWEEPS: Readonly<Record<string, Sweep>> = {
  'idempotency keys': rowsWhere('idempotency_keys', `coalesce(expires_at, lease_until) < now() - interval '1 hour'`),
  'request windows': rowsWhere('request_windows', `window_start < now() - interval '10 minutes'`),
  'slots of free text': rowsWhere('text_free_slots', `taken_at < now() - interval '10 minutes'`),
  'stored responses': rowsWhere('stored_responses', `expires_at < now()`),
  'client secrets': rowsWhere('realtime_secrets', `expires_at < now()`),
  'calls over WebRTC': rowsWhere('realtime_calls', `expires_at < now() - interval '1 day'`),
  events: deleteOldEvents,
  'webhook endpoints': rowsWhere(
    'webhook_endpoints',
    `deleted_at < now() - interval '1 day'
      AND NOT EXISTS (SELECT 1 FROM deliveries WHERE endpoint_id = webhook_endpoints.id)`,
  ),
  // A process may be cut off for hours, and come back with a write that was written before.
  processes: rowsWhere(
    'processes',
    `heartbeat_at < now() - interval '1 day' AND NOT EXISTS (SELECT FROM text_allowances WHERE process_id = processes.id)`,
  ),
  sessions: rowsWhere('sessions', `expires_at < now()`),
  'links of users': rowsWhere('user_links', `expires_at < now() - interval '1 day'`),
  invitations: rowsWhere('account_invitations', `expires_at < now() - interval '1 day'`),
  mails: rowsWhere('mails', `created_at < now() - interval '${MAILS_KEPT_DAYS} days'`),
  registrations: sweepRegistrations,
  'changes of addresses': rowsWhere('address_changes', `expires_at < now()`),
  'sent forms': rowsWhere('sent_forms', `sent_at < now() - interval '1 day'`),
  'attempts to sign in': rowsWhere('sign_in_attempts', `started_at < now() - interval '1 day'`),
  'jobs of vendors': rowsWhere('vendor_jobs', `claimed_at < now() - interval '${VENDOR_JOBS_KEPT_DAYS} days'`),
  'calls of upstreams': rowsWhere(
    'upstream_calls',
    `start < now() - CASE span WHEN 'minute' THEN interval '2 hours' ELSE interval '${CALLS_KEPT_DAYS} days' END`,
  ),
  'failures of upstream calls': rowsWhere(
    'upstream_call_failures',
    `start < now() - CASE span WHEN 'minute' THEN interval '2 hours' ELSE interval '2 days' END`,
  ),
  'refused calls': rowsWhere('refused_calls', `refused_at < now() - interval '${REFUSED_CALLS.keptHours} hours'`),
  'refused payments': rowsWhere(
    'refused_payments',
    `refused_at < now() - interval '${REFUSED_PAYMENTS_KEPT_DAYS} days'`,
  ),
  'attempts of text requests': rowsWhere('text_attempts', `ended_at < now() - interval '${ATTEMPTS_KEPT_DAYS} days'`),
  'circuits of processes': rowsWhere('process_circuits', `reported_at < now() - interval '1 hour'`),
  reconciliations: rowsWhere('reconciliations', `finished_at < now() - interval '${RECONCILIATIONS_KEPT_DAYS} days'`),
};

/** Removes events whose deliveries all ended long ago, with deliveries and attempts. A redelivery keeps its event. */
async function deleteOldEvents(database: Database, limit: number): Promise<number> {
  const { rows } = await database.raw<{ rows: { count: number }[] }>(
    /* sql */ `
    WITH old AS MATERIALIZED (
      SELECT id FROM events WHERE id < :before
        AND NOT EXISTS (SELECT 1 FROM deliveries WHERE event_id = events.id
          AND (status = 'pending' OR completed_at > now() - make_interval(days => :days)))
      LIMIT :limit FOR UPDATE SKIP LOCKED),
    done AS MATERIALIZED (
      SELECT deliveries.id FROM deliveries JOIN old ON old.id = deliveries.event_id FOR UPDATE OF deliveries),
    without_attempts AS (DELETE FROM delivery_attempts USING done WHERE delivery_id = done.id),
    without_deliveries AS (DELETE FROM deliveries USING done WHERE deliveries.id = done.id),
    deleted AS (DELETE FROM events USING old WHERE events.id = old.id RETURNING 1)
    SELECT count(*)::int AS count FROM deleted`,
    { days: WEBHOOKS.keptDays, before: firstIdAt('event', Date.now() - WEBHOOKS.keptDays * DAY_MS), limit },
  );
  return rows[0]?.count ?? 0;
}

/** Closes registrations whose links have expired, and removes old ones without an account. */
async function sweepRegistrations(database: Database, limit: number): Promise<number> {
  const expired = await expireRegistrations(database, limit);
  return expired + (await deleteOldRegistrations(database, limit - expired));
}

const deleteOldRegistrations = rowsWhere(
  'registrations',
  `state <> 'done' AND created_at < now() - interval '${REGISTRATIONS_KEPT_DAYS} days'`,
);

/** Makes a sweep of the rows that meet a condition. @param condition SQL from this file, never from a client */
function rowsWhere(table: string, condition: string): Sweep {
  return async (database, limit) => {
    const { rowCount } = await database.raw<{ rowCount: number }>(
      /* sql */ `
      DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${table} WHERE ${condition} LIMIT :limit FOR UPDATE SKIP LOCKED))`,
      { limit },
    );
    return rowCount;
  };
}
