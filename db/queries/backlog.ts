import { toUsdNumber } from '../../domain/money.ts';
import { type Database, onlyRow } from '../database.ts';
import { readRow, type RowOf } from '../row.ts';

/** Unfinished work. */
export interface Backlog {
  /** Media tasks that are not final. */
  readonly running: number;
  /** Tasks without a confirmed start of their workflow. */
  readonly unstarted: number;
  readonly oldestUnstartedSeconds: number;
  /** Tasks past their deadline. */
  readonly overdue: number;
  /** The amount that running tasks hold. */
  readonly reservedUsd: number;
  /** Due deliveries without a confirmed start of their workflow. */
  readonly unstartedDeliveries: number;
  /** The age of the oldest unstarted delivery whose endpoint answers; 0 if there is none. */
  readonly oldestUnstartedDeliverySeconds: number;
  /** Deliveries that are not final. */
  readonly pendingDeliveries: number;
}

/** Reads the backlog from partial indexes on unfinished work. */
export async function readBacklog(database: Database): Promise<Backlog> {
  const { rows } = await database.raw<{ rows: BacklogRow[] }>(/* sql */ `
    SELECT count(*)::int AS running,
      count(*) FILTER (WHERE workflow_started_at IS NULL)::int AS unstarted,
      coalesce(extract(epoch FROM now() - min(created_at) FILTER (WHERE workflow_started_at IS NULL)), 0)::float8
        AS oldest_unstarted_seconds,
      count(*) FILTER (WHERE deadline_at < now())::int AS overdue,
      coalesce(sum(price), 0) AS reserved,
      (SELECT count(*)::int FROM deliveries
        WHERE workflow_started_at IS NULL AND status = 'pending' AND next_start_at <= now()) AS unstarted_deliveries,
      (SELECT coalesce(extract(epoch FROM now() - min(next_start_at)), 0)::float8
        FROM deliveries JOIN webhook_endpoints AS endpoint ON endpoint.id = endpoint_id
        WHERE workflow_started_at IS NULL AND status = 'pending' AND next_start_at <= now() AND timeouts = 0)
        AS oldest_unstarted_delivery_seconds,
      -- As the indexes have them.
      (SELECT count(*)::int FROM deliveries WHERE status = 'pending' AND workflow_started_at IS NULL)
        + (SELECT count(*)::int FROM deliveries WHERE status = 'pending' AND workflow_started_at IS NOT NULL)
        AS pending_deliveries
    FROM tasks WHERE status IN ('queued', 'processing')`);
  const { reserved, ...backlog } = readRow(onlyRow(rows), { amounts: ['reserved'] });
  return { ...backlog, reservedUsd: toUsdNumber(reserved) };
}

type BacklogRow = Omit<RowOf<Backlog>, 'reserved_usd'> & { readonly reserved: string };

/** Batches that are not final. */
export interface BatchBacklog {
  /** Batches whose requests may start. */
  readonly inProgress: number;
  /** The batches among these that wait for money, a key or an operator. */
  readonly paused: number;
  /** Batches whose input is read, whose files are written, or that are being cancelled. */
  readonly changing: number;
  /** The requests of all these batches. */
  readonly requests: number;
}

/** Reads a partial index. The requests of a batch are not counted one by one. */
export async function readBatchBacklog(database: Database): Promise<BatchBacklog> {
  const { rows } = await database.raw<{ rows: RowOf<BatchBacklog>[] }>(/* sql */ `
    SELECT count(*) FILTER (WHERE status = 'in_progress')::int AS in_progress,
      count(*) FILTER (WHERE status = 'in_progress' AND (paused_at IS NOT NULL OR operator_paused_at IS NOT NULL))::int
        AS paused,
      count(*) FILTER (WHERE status <> 'in_progress')::int AS changing, coalesce(sum(total), 0)::int AS requests
    FROM batches WHERE ended_at IS NULL`);
  return readRow(onlyRow(rows), {});
}
