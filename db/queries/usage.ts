/** The usage of single text requests. daily-usage.ts has the usage of accounts by day. */
import type { Knex } from 'knex';
import { createdAtMsOf, firstIdAt } from '../../domain/ids.ts';
import type { PicoUsd } from '../../domain/money.ts';
import { readTokens, type TextTokens, type TokensRow } from '../../domain/text-tokens.ts';
import { attemptedAt, type AttemptFilter } from '../attempt-filter.ts';
import { type Database, onlyRow } from '../database.ts';
import type { IdPage } from '../page.ts';
import type { Measured } from '../text-money/settlement.ts';
import { earliestRequestOf } from './batches.ts';
import { createdIn, type Period, periodOfRequest } from '../period.ts';
import { streamPages } from '../stream-pages.ts';
import { columnsOf, type OptionalFields, readRow, type RowOf } from '../row.ts';

/** A completed text request. */
export interface TextUsage extends TextTokens, Measured {
  readonly id: string;
  readonly createdAt: Date;
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly requestId: string;
  readonly model: string;
  readonly format: string;
  readonly streamed: boolean;
  /** The provider and wire format that answered; null if the request was not sent to an upstream. */
  readonly upstream: string | null;
  readonly upstreamFormat: string | null;
  readonly upstreamModel: string | null;
  readonly outcome: TextOutcome;
  readonly errorCode: string | null;
  /** The catalogue version that set the price. */
  readonly catalogueVersion: string;
  /** The version of the account's price list that changed the price; null for none. */
  readonly priceList: string | null;
  /** The end user whom the request named; null if it named none, or after the name was erased. */
  readonly endUser: string | null;
  /** The batch that the request belongs to; null for a direct request. */
  readonly batchId: string | null;
  readonly modifiers: readonly { readonly kind: string; readonly factor: string }[];
  /** Whether the gateway counted any of the tokens itself. */
  readonly estimated: boolean;
  readonly held: PicoUsd;
  /** The amount that the account paid. */
  readonly charged: PicoUsd;
  /** The amount that the account could not pay. */
  readonly absorbed: PicoUsd;
}

type TextRow = RowOf<Omit<TextUsage, keyof TextTokens | 'charged' | 'modifiers'>> &
  TokensRow & { readonly charge: string; readonly modifiers: TextUsage['modifiers'] | null };

/** Only operators may omit the account. */
export type TextUsageFilter = Period &
  AttemptFilter &
  OptionalFields<TextUsage, 'accountId' | 'apiKeyId' | 'model' | 'outcome'> & {
    readonly errorCode?: string | undefined;
    /** An id of a batch. */
    readonly batchId?: string | undefined;
  };

export const TEXT_OUTCOMES = ['succeeded', 'disconnected', 'failed'] as const;
export type TextOutcome = (typeof TEXT_OUTCOMES)[number];

/** Streams all text requests, newest first. */
export function streamTextUsage(database: Database, filter: TextUsageFilter): AsyncIterable<TextUsage> {
  return streamPages((after, limit) => listTextUsage(database, { ...filter, before: after?.id, limit }));
}

const ATTEMPTS_WITH_FAULT = /* sql */ `
  SELECT FROM text_attempts AS attempt WHERE attempt.request_id = text_requests.request_id
    AND attempt.fault = :fault AND attempt.upstream = coalesce(:upstream, attempt.upstream)`;

/** Lists a page of text requests, newest first. @param before the id of the last request on the previous page */
export async function listTextUsage(
  database: Database,
  asked: TextUsageFilter & IdPage,
): Promise<readonly TextUsage[]> {
  const { accountId, apiKeyId, model, outcome, errorCode, batchId, upstream, fault, before, limit, ...period } = asked;
  const query = database<TextRow>('text_requests').where(
    columnsOf({ accountId, apiKeyId, model, outcome, errorCode, batchId }),
  );
  attemptedAt(query, { upstream, fault }, { upstreamColumn: 'upstream', attemptsWithFault: ATTEMPTS_WITH_FAULT });
  createdIn(query, period);
  if (batchId !== undefined) createdIn(query, { from: earliestRequestOf(batchId) });
  if (model !== undefined) withIdsIn(query, await findUseOfModel(database, { accountId, model }));
  if (before !== undefined) {
    const createdAt = new Date(createdAtMsOf('textRequest', before));
    // Repeats part of the pair's condition to exclude newer partitions.
    void query
      .where('created_at', '<=', createdAt)
      .whereRaw('(created_at, id) < (:createdAt, :before)', { createdAt, before });
  }
  // Ids start with the time, so both orders are the same. Each matches the index that finds the rows.
  if (accountId !== undefined) void query.orderBy('created_at', 'desc');
  else if (before !== undefined) void query.where('id', '<', before);
  return (await query.orderBy('id', 'desc').limit(limit)).map(toTextUsage);
}

/**
 * Finds when a model was used, from the sums of usage, to restrict a list that no index serves.
 *
 * @returns a period that contains all uses; without an end if the model was used since the last sum
 */
async function findUseOfModel(
  database: Database,
  { accountId, model }: { readonly accountId: string | undefined; readonly model: string },
): Promise<Period> {
  const { rows } = await database.raw<{ rows: { from: Date; to: Date | null }[] }>(
    /* sql */ `
    WITH days AS (
      SELECT day FROM daily_usage WHERE kind = 'text' AND model = :model AND account_id = coalesce(:account, account_id)
      UNION ALL SELECT day FROM late_usage WHERE account_id = coalesce(:account, account_id)
    )
    SELECT least(min(day) AT TIME ZONE 'UTC', before) AS "from",
      CASE WHEN NOT EXISTS (SELECT FROM text_requests
          WHERE created_at >= before AND id >= first_id_at('txt_', before) AND model = :model)
        THEN coalesce((max(day) + 1) AT TIME ZONE 'UTC', before) END AS "to"
    FROM daily_usage_summed LEFT JOIN days ON true GROUP BY before`,
    { account: accountId ?? null, model },
  );
  const { from, to } = onlyRow(rows);
  return { from, to: to ?? undefined };
}

/** Also restricts the ids, since an id contains the time of its request. */
function withIdsIn(query: Knex.QueryBuilder, { from, to }: Period): void {
  createdIn(query, { from, to });
  if (from) void query.where('id', '>=', firstIdAt('textRequest', from.getTime()));
  if (to) void query.where('id', '<', firstIdAt('textRequest', to.getTime()));
}

/** Finds a completed text request of any account by its id, for operators. */
export async function findTextUsage(database: Database, id: string): Promise<TextUsage | null> {
  const createdAt = new Date(createdAtMsOf('textRequest', id));
  const row = await database<TextRow>('text_requests').where({ id, created_at: createdAt }).first();
  return row ? toTextUsage(row) : null;
}

/** Finds the usage of a completed request of the account. @param requestId `req_…` */
export async function findTextUsageOfRequest(
  database: Database,
  accountId: string,
  requestId: string,
): Promise<TextUsage | null> {
  const query = database<TextRow>('text_requests').where({ account_id: accountId, request_id: requestId });
  createdIn(query, periodOfRequest(requestId));
  const row = await query.first();
  return row ? toTextUsage(row) : null;
}

function toTextUsage(row: TextRow): TextUsage {
  const { charge, ...usage } = readRow(row, { amounts: ['held', 'charge', 'absorbed'] });
  return { ...usage, ...readTokens(row), modifiers: row.modifiers ?? [], charged: charge - usage.absorbed };
}
