/**
 * What keeps tables from growing for ever. Each sweep removes what nobody asks for any more, a bounded number at a time, so
 * that none holds locks for long; each may run at any time, beside itself too.
 */
import { firstIdAt } from '../domain/ids.ts';
import { WEBHOOKS } from '../domain/policy.ts';
import type { Database } from './database.ts';
import { deleteExpiredIdempotencyKeys } from './queries/idempotency.ts';
import { deleteOldRequestWindows } from './queries/request-windows.ts';

/** Removes at most `limit` rows. @returns how many; fewer than `limit` when nothing is left to remove */
export type Sweep = (database: Database, limit: number) => Promise<number>;

const DAY_MS = 86_400_000;
/** How long the report of a reconciliation is kept: more than a year, so that two closings of the books can be compared. */
const RECONCILIATIONS_KEPT_DAYS = 400;

/** By what they bound. */
export const SWEEPS: Readonly<Record<string, Sweep>> = {
  'idempotency keys': deleteExpiredIdempotencyKeys,
  'request windows': deleteOldRequestWindows,
  'slots of free text': (database, limit) =>
    deleteWhere(database, 'text_free_slots', `taken_at < now() - interval '10 minutes'`, limit),
  events: deleteOldEvents,
  'webhook endpoints': (database, limit) =>
    deleteWhere(
      database,
      'webhook_endpoints',
      `deleted_at < now() - interval '1 day'
        AND NOT EXISTS (SELECT 1 FROM deliveries WHERE endpoint_id = webhook_endpoints.id)`,
      limit,
    ),
  reconciliations: (database, limit) =>
    deleteWhere(
      database,
      'reconciliations',
      `finished_at < now() - interval '${RECONCILIATIONS_KEPT_DAYS} days'`,
      limit,
    ),
};

/**
 * Removes events whose deliveries have all ended long ago, with the deliveries and their attempts. An event that is being
 * delivered again is kept.
 */
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

/** @param condition SQL of this file, never of a client */
async function deleteWhere(database: Database, table: string, condition: string, limit: number): Promise<number> {
  const { rowCount } = await database.raw<{ rowCount: number }>(
    `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE ${condition} LIMIT ? FOR UPDATE SKIP LOCKED))`,
    [limit],
  );
  return rowCount;
}
