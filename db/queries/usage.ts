/** The usage of text requests, one by one. What accounts used a day is in daily-usage.ts. */
import type { Knex } from 'knex';
import { createdAtMsOf, firstIdAt } from '../../domain/ids.ts';
import type { PicoUsd } from '../../domain/money.ts';
import { readTokens, type TextTokens, type TokensRow } from '../../domain/text-tokens.ts';
import { type Database, onlyRow } from '../database.ts';
import type { IdPage } from '../page.ts';
import type { Measured } from '../text-money/settlement.ts';
import { createdIn, type Period, periodOfRequest } from '../period.ts';
import { streamPages } from '../stream-pages.ts';
import { columnsOf, type Given, readRow, type RowOf } from '../row.ts';

/** A finished text request. */
export interface TextUsage extends TextTokens, Measured {
  readonly id: string;
  readonly createdAt: Date;
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly requestId: string;
  readonly model: string;
  readonly format: string;
  readonly streamed: boolean;
  /** The provider and wire format that answered; null if the request was sent nowhere. */
  readonly upstream: string | null;
  readonly upstreamFormat: string | null;
  readonly upstreamModel: string | null;
  readonly outcome: TextOutcome;
  readonly errorCode: string | null;
  /** The catalogue version that set the price. */
  readonly catalogueVersion: string;
  /** The version of the account's price list that changed it; null for none. */
  readonly priceList: string | null;
  /** The end user whom the request named; null for none, and once the name is erased. */
  readonly endUser: string | null;
  readonly modifiers: readonly { readonly kind: string; readonly factor: string }[];
  /** Whether any of the counts is the gateway's own. */
  readonly estimated: boolean;
  readonly held: PicoUsd;
  /** The amount that the account paid. */
  readonly charged: PicoUsd;
  /** The amount that the account could not pay. */
  readonly absorbed: PicoUsd;
}

type TextRow = RowOf<Omit<TextUsage, keyof TextTokens | 'charged' | 'modifiers'>> &
  TokensRow & { readonly charge: string; readonly modifiers: TextUsage['modifiers'] | null };

/** The account is absent only for operators. */
export type TextUsageFilter = Period & Given<TextUsage, 'accountId' | 'apiKeyId' | 'model' | 'outcome'>;

export const TEXT_OUTCOMES = ['succeeded', 'disconnected', 'failed'] as const;
export type TextOutcome = (typeof TEXT_OUTCOMES)[number];

/** All text requests, newest first, read on demand. */
export function streamTextUsage(database: Database, filter: TextUsageFilter): AsyncIterable<TextUsage> {
  return streamPages((after, limit) => listTextUsage(database, { ...filter, before: after?.id, limit }));
}

/** A page of text requests, newest first. @param before the id of the last request on the previous page */
export async function listTextUsage(
  database: Database,
  asked: TextUsageFilter & IdPage,
): Promise<readonly TextUsage[]> {
  const { accountId, apiKeyId, model, outcome, before, limit, ...period } = asked;
  const query = database<TextRow>('text_requests').where(columnsOf({ accountId, apiKeyId, model, outcome }));
  createdIn(query, period);
  if (model !== undefined) withIdsIn(query, await findUseOfModel(database, { accountId, model }));
  if (before !== undefined) {
    const createdAt = new Date(createdAtMsOf('textRequest', before));
    // Repeats part of the pair's condition to exclude newer partitions.
    void query.where('created_at', '<=', createdAt).whereRaw('(created_at, id) < (?, ?)', [createdAt, before]);
  }
  // Ids start with the time: both orders are one. Each is that of the index that finds the rows.
  if (accountId !== undefined) void query.orderBy('created_at', 'desc');
  else if (before !== undefined) void query.where('id', '<', before);
  return (await query.orderBy('id', 'desc').limit(limit)).map(toTextUsage);
}

/**
 * Finds when a model was used, from the sums of usage. A list that no index serves need not look outside this period.
 *
 * @returns a period, perhaps longer than the use; without an end if the model was used lately
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

/** Limits the ids as well, since an id contains the time of its request. */
function withIdsIn(query: Knex.QueryBuilder, { from, to }: Period): void {
  createdIn(query, { from, to });
  if (from) void query.where('id', '>=', firstIdAt('textRequest', from.getTime()));
  if (to) void query.where('id', '<', firstIdAt('textRequest', to.getTime()));
}

/** The text request with the id, once it has ended, of any account: for operators. */
export async function findTextUsage(database: Database, id: string): Promise<TextUsage | null> {
  const createdAt = new Date(createdAtMsOf('textRequest', id));
  const row = await database<TextRow>('text_requests').where({ id, created_at: createdAt }).first();
  return row ? toTextUsage(row) : null;
}

/** The usage of a request of the account, once it has ended. @param requestId `req_…` */
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
