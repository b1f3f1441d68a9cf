/** Revenue and cost: by model and upstream, and by render. */
import type { VendorCost } from '../../domain/media-route.ts';
import type { PicoUsd } from '../../domain/money.ts';
import { createdAtMsOf } from '../../domain/ids.ts';
import type { Task, TaskKind } from '../../domain/task.ts';
import type { Database } from '../database.ts';
import type { IdPage } from '../page.ts';
import { FAILED_ATTEMPTS_WITH_RATES, joinRates } from './text-rates.ts';
import { createdIn, type Period } from '../period.ts';
import { streamPages } from '../stream-pages.ts';
import { readRow, type RowOf } from '../row.ts';

/** The sums of one model at one upstream. */
export interface Margin {
  readonly kind: TaskKind | 'text';
  readonly model: string;
  /** Null for text requests that were not sent to an upstream. */
  readonly upstream: string | null;
  /** The upstream's name for the model; null where nothing was submitted. */
  readonly upstreamModel: string | null;
  readonly succeeded: number;
  readonly failed: number;
  /** Requests that succeeded and whose cost is unknown. */
  readonly withoutCost: number;
  readonly revenue: PicoUsd;
  /** The known cost of requests that succeeded; null if no cost is known. */
  readonly cost: PicoUsd | null;
  /** The cost of failed requests and attempts, which the upstream charged and no client paid. */
  readonly failedCost: PicoUsd;
  /** The list price of renders and texts that may have been generated without a customer. */
  readonly possibleLoss: PicoUsd;
  /** Revenue with a known cost, minus all known cost; null if there is revenue and none of it has a known cost. */
  readonly margin: PicoUsd | null;
}

type MarginRow = RowOf<Margin, 'succeeded' | 'failed' | 'withoutCost'>;

/**
 * Sums completed tasks and requests that were created in a period by model and upstream.
 *
 * @param from inclusive
 * @param to exclusive
 */
export async function sumMargins(
  database: Database,
  { from, to }: { from: Date; to: Date },
): Promise<readonly Margin[]> {
  const { rows } = await database.raw<{ rows: MarginRow[] }>(
    /* sql */ `
    WITH last_submissions AS (
      SELECT DISTINCT ON (task_id) task_id, provider, model, cost FROM submissions
      WHERE task_created_at >= :from AND task_created_at < :to ORDER BY task_id, attempt DESC),
    ended AS (
      SELECT task.kind, task.model, coalesce(sent.provider, task.provider) AS upstream, sent.model AS upstream_model,
        task.status = 'succeeded' AS succeeded, task.price AS revenue, sent.cost, NULL::numeric AS possible_loss
      FROM tasks AS task LEFT JOIN last_submissions AS sent ON sent.task_id = task.id
      WHERE task.created_at >= :from AND task.created_at < :to AND task.status IN ('succeeded', 'failed')
      UNION ALL
      SELECT task.kind, task.model, sent.provider, sent.model, NULL, 0, NULL, sent.possible_loss
      FROM submissions AS sent JOIN tasks AS task ON task.id = sent.task_id AND task.created_at = sent.task_created_at
      WHERE sent.task_created_at >= :from AND sent.task_created_at < :to AND sent.possible_loss IS NOT NULL
        AND task.created_at >= :from AND task.created_at < :to
      UNION ALL
      SELECT 'text', request.model, request.upstream, request.upstream_model, outcome IN ('succeeded', 'disconnected'), charge - absorbed,
        cost_of_text(request.*, rates.*),
        CASE WHEN error_code = 'processing_timeout' AND request.upstream IS NOT NULL THEN request.held END
      FROM text_requests AS request ${joinRates('request')}
      WHERE request.created_at >= :from AND request.created_at < :to
      UNION ALL
      SELECT 'text', attempt.model, attempt.upstream, attempt.upstream_model, NULL, 0, cost_of_failed_attempt(attempt.*, rates.*), NULL
      FROM ${FAILED_ATTEMPTS_WITH_RATES} WHERE attempt.created_at >= :from AND attempt.created_at < :to)
    SELECT kind, model, upstream, upstream_model,
      count(*) FILTER (WHERE succeeded) AS succeeded, count(*) FILTER (WHERE NOT succeeded) AS failed,
      count(*) FILTER (WHERE succeeded AND cost IS NULL) AS without_cost,
      coalesce(sum(revenue) FILTER (WHERE succeeded), 0) AS revenue,
      CASE WHEN bool_or(succeeded) THEN sum(cost) FILTER (WHERE succeeded) ELSE 0 END AS cost,
      coalesce(sum(cost) FILTER (WHERE succeeded IS NOT TRUE), 0) AS failed_cost,
      coalesce(sum(possible_loss), 0) AS possible_loss,
      CASE WHEN bool_or(succeeded) AND NOT bool_or(succeeded AND cost IS NOT NULL) THEN NULL
        ELSE sum(CASE WHEN succeeded THEN revenue ELSE 0 END - cost) END AS margin
    FROM ended GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`,
    { from, to },
  );
  return rows.map((row) =>
    readRow(row, {
      counts: ['succeeded', 'failed', 'without_cost'],
      amounts: ['revenue', 'cost', 'failed_cost', 'possible_loss', 'margin'],
    }),
  );
}

/** A final media task, with its revenue and cost. */
export interface Render extends Pick<Task, 'id' | 'createdAt' | 'accountId' | 'kind' | 'model'> {
  readonly status: string;
  readonly errorCode: string | null;
  readonly upstream: string;
  readonly upstreamModel: string | null;
  readonly jobId: string | null;
  /** The amount that the account paid: nothing if the task failed. */
  readonly revenue: PicoUsd;
  readonly cost: PicoUsd | null;
  readonly vendorCost: VendorCost | null;
  readonly possibleLoss: PicoUsd;
  /** The upstream's last words about a render that failed; null if there were none. */
  readonly vendorMessage: string | null;
}

type RenderRow = Omit<RowOf<Render>, 'revenue'> & { readonly price: string };

export interface RenderFilter extends Period {
  readonly model?: string | undefined;
  readonly upstream?: string | undefined;
  readonly status?: 'succeeded' | 'failed' | undefined;
}

/** Streams all renders that have ended, newest first. */
export function streamRenders(database: Database, filter: RenderFilter): AsyncIterable<Render> {
  return streamPages((after, limit) => listRenders(database, { ...filter, before: after?.id, limit }));
}

/**
 * Lists a page of renders that have ended, newest first.
 *
 * @param before the task id of the last render on the previous page
 */
export async function listRenders(
  database: Database,
  { before, limit, ...filter }: RenderFilter & IdPage,
): Promise<readonly Render[]> {
  const { model, upstream, status, ...period } = filter;
  const query = database
    .from({ task: 'tasks' })
    .joinRaw(
      // The last submission: no other follows an accepted one.
      `LEFT JOIN LATERAL (SELECT provider, model, job_id, cost, vendor_cost, detail FROM submissions
        WHERE task_id = task.id AND task_created_at = task.created_at ORDER BY attempt DESC LIMIT 1) AS sent ON true`,
    )
    .whereIn('task.status', status === undefined ? ['succeeded', 'failed'] : [status]);
  if (model !== undefined) void query.where('task.model', model);
  if (upstream !== undefined) void query.whereRaw('coalesce(sent.provider, task.provider) = :upstream', { upstream });
  createdIn(query, period, 'task.created_at');
  if (before !== undefined) {
    const createdAt = new Date(createdAtMsOf('task', before));
    void query
      .where('task.created_at', '<=', createdAt)
      .whereRaw('(task.created_at, task.id) < (:createdAt, :before)', { createdAt, before });
  }
  const rows: RenderRow[] = await query
    .select('task.id', 'task.created_at', 'task.account_id', 'task.kind', 'task.model', 'task.status')
    .select('task.error_code', 'task.price', 'sent.job_id', 'sent.cost', 'sent.vendor_cost')
    .select({
      upstream: database.raw('coalesce(sent.provider, task.provider)'),
      upstream_model: 'sent.model',
      vendor_message: 'sent.detail',
    })
    .select({
      possible_loss: database.raw(
        `(SELECT coalesce(sum(lost.possible_loss), 0) FROM submissions AS lost
          WHERE lost.task_id = task.id AND lost.task_created_at = task.created_at)`,
      ),
    })
    .orderBy([
      { column: 'task.created_at', order: 'desc' },
      { column: 'task.id', order: 'desc' },
    ])
    .limit(limit);
  return rows.map(toRender);
}

function toRender(row: RenderRow): Render {
  const { price, ...render } = readRow(row, { amounts: ['price', 'cost', 'possible_loss'] });
  return { ...render, revenue: row.status === 'succeeded' ? price : 0n };
}
