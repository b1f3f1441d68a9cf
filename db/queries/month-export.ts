/** The transfers of all accounts in a month, each with its task or text request, for finance. */
import { DAY_MS, daysAfter } from '../../domain/day.ts';
import { firstIdAt } from '../../domain/ids.ts';
import type { PicoUsd } from '../../domain/money.ts';
import type { Month } from '../../domain/month.ts';
import { SUMMED_TOKEN_COUNTS, type SummedTokens } from '../../domain/text-tokens.ts';
import type { Database } from '../database.ts';
import { joinRates } from './text-rates.ts';
import { isFirstCharge } from '../ledger-sql.ts';
import { readRow } from '../row.ts';
import { streamPages } from '../stream-pages.ts';
import type { Transfer } from './transfers.ts';
import { reasonSql } from '../reason-sql.ts';

/** A transfer, with its account and its task or text request. */
export interface ExportedTransfer extends Omit<Transfer, 'openedAt'>, SummedTokens<string | null> {
  readonly accountName: string;
  readonly externalId: string | null;
  /** `image`, `video` or `text`; null if the transfer is for no request. */
  readonly requestKind: string | null;
  readonly model: string | null;
  readonly upstream: string | null;
  readonly upstreamModel: string | null;
  readonly billableSeconds: number | null;
  readonly catalogueVersion: string | null;
  /** The version of the account's price list that set the price; null for the catalogue's prices. */
  readonly priceList: string | null;
  /** The batch of the task or text request; null for none. */
  readonly batchId: string | null;
  /** The vendor's known charge, for settlements, refunds and first charges of text. Zero for further charges. */
  readonly cost: PicoUsd | null;
  /** The error code of a refunded task. */
  readonly cause: string | null;
  readonly message: string | null;
}

type Row = Omit<ExportedTransfer, 'amount' | 'signupAmount' | 'cost'> & {
  readonly amount: string;
  readonly signupAmount: string;
  readonly cost: string | null;
};

/** Longer than any task or text request, and so than any chain of transfers. */
export const MAX_CHAIN_MS = 31 * DAY_MS;

/**
 * The period in which the text requests that were charged in a month can have started. It ends later than the month,
 * because processes have clocks of their own.
 */
export function startPeriodOf({ from, to }: Month): { readonly opened: Date; readonly startedBefore: Date } {
  return { opened: new Date(from.getTime() - MAX_CHAIN_MS), startedBefore: daysAfter(to, 1) };
}

/** Sorts before the ids of all transfers since a moment. An id is at most a day older than its row. */
export function firstTransferIdOf(moment: Date): string {
  return firstIdAt('transfer', moment.getTime() - DAY_MS);
}

/** Streams the transfers of a month, ordered by id. */
export function streamMonth(database: Database, month: Month): AsyncIterable<ExportedTransfer> {
  return streamPages(async (after: ExportedTransfer | undefined, limit) => {
    const { rows } = await database.raw<{ rows: Row[] }>(PAGE, {
      from: month.from,
      to: month.to,
      opened: new Date(month.from.getTime() - MAX_CHAIN_MS),
      after: after?.id ?? firstTransferIdOf(month.from),
      limit,
    });
    return rows.map((row) => readRow(row, { amounts: ['amount', 'signupAmount', 'cost'] }));
  });
}

const PAGE = /* sql */ `
  WITH page AS MATERIALIZED (
    SELECT * FROM transfers
    WHERE id > :after AND created_at >= :from AND created_at < :to AND opened_at >= :opened AND opened_at < :to
    ORDER BY id LIMIT :limit
  )
  SELECT page.id, page.created_at AS "createdAt", page.kind, page.debit, page.credit, page.account_id AS "accountId",
    account.name AS "accountName", account.external_id AS "externalId", page.api_key_id AS "apiKeyId", page.amount,
    page.signup_amount AS "signupAmount", page.pending_id AS "pendingId", page.task_id AS "taskId",
    page.text_request_id AS "textRequestId", page.allowance_id AS "allowanceId",
    coalesce(task.kind, CASE WHEN page.text_request_id IS NOT NULL THEN 'text' END) AS "requestKind",
    coalesce(task.model, request.model) AS model, coalesce(task.provider, request.upstream) AS upstream,
    coalesce(spent.model, request.upstream_model) AS "upstreamModel",
    CASE page.kind WHEN 'settlement' THEN task.billable_duration_seconds END AS "billableSeconds",
    ${SUMMED_TOKEN_COUNTS.map(({ name, column }) => `request.${column} AS "${name}"`).join(', ')},
    request.catalogue_version AS "catalogueVersion", coalesce(task.price_list, request.price_list) AS "priceList",
    coalesce(task.batch_id, charged.batch_id) AS "batchId",
    CASE WHEN page.text_request_id IS NULL THEN spent.cost
      -- Counted once, though a charge may take several transfers, each of which adds to the margin.
      WHEN request.id IS NOT NULL THEN cost_of_text(request.*, rates.*)
      WHEN charged.has_cost THEN 0 END AS cost,
    CASE page.kind WHEN 'refund' THEN ${reasonSql('task')} END AS cause,
    CASE page.kind WHEN 'refund' THEN task.error_message END AS message,
    page.reference, page.author, page.reason
  FROM page
  JOIN accounts AS account ON account.id = page.account_id
  LEFT JOIN tasks AS task ON task.id = page.task_id AND task.created_at = page.opened_at
  -- The usage of a request stands beside its first charge, so that sums count it once.
  LEFT JOIN text_requests AS request ON request.id = page.text_request_id AND ${isFirstCharge('page', 'request')}
  LEFT JOIN LATERAL (
    SELECT sum(cost) AS cost, max(model) FILTER (WHERE outcome = 'accepted') AS model FROM submissions
    WHERE task_id = page.task_id AND task_created_at = page.opened_at
  ) AS spent ON page.kind IN ('settlement', 'refund') AND page.task_id IS NOT NULL
  ${joinRates('request')}
  LEFT JOIN LATERAL (
    SELECT used.batch_id, known.version IS NOT NULL AS has_cost FROM text_requests AS used LEFT JOIN text_costs AS known ON known.version = used.catalogue_version
      AND known.model = used.model AND known.upstream = used.upstream AND known.upstream_model = used.upstream_model
    WHERE used.id = page.text_request_id
  ) AS charged ON page.text_request_id IS NOT NULL
  ORDER BY page.id`;
