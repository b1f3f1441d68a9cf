/**
 * The usage of accounts by day, media tasks and text requests together. db/usage-sums.ts stores sums for most of it;
 * the rest is added up from the rows. One statement reads both, so that nothing is missed or counted twice.
 */
import type { PicoUsd } from '../../domain/money.ts';
import {
  readSummedTokens,
  SUMMED_TOKEN_COUNTS,
  type SummedTokens,
  type SummedTokensRow,
} from '../../domain/text-tokens.ts';
import type { Database } from '../database.ts';
import { readRow, type RowOf } from '../row.ts';

/** Usage of one model by one key on one day, in UTC. */
export interface DailyUsage extends SummedTokens<bigint> {
  /** YYYY-MM-DD. */
  readonly date: string;
  readonly kind: 'image' | 'video' | 'text';
  readonly model: string;
  readonly apiKeyId: string;
  /** Requests that did not fail, even if they cost nothing. */
  readonly requests: number;
  readonly failed: number;
  readonly billableSeconds: bigint;
  readonly charged: PicoUsd;
}

type DailyRow = RowOf<Omit<DailyUsage, keyof SummedTokens<bigint>>, 'requests' | 'failed'> & SummedTokensRow;

/** The key columns of `daily_usage`. */
export const USAGE_NAMES = 'account_id, day, kind, model, api_key_id';
const TOKENS = SUMMED_TOKEN_COUNTS.map(({ column }) => column);
const MEASURES = ['requests', 'failed', ...TOKENS, 'billable_seconds', 'charged'];
export const USAGE_MEASURES = MEASURES.join(', ');

/** SQL for conflicts in `daily_usage`: adds the inserted sum to the stored one, or replaces it. */
export const onSummedUsage = (how: 'add' | 'replace'): string =>
  MEASURES.map((name) => `${name} = ${how === 'add' ? `daily_usage.${name} + ` : ''}EXCLUDED.${name}`).join(', ');

/**
 * SQL that sums rows by account, day, model and key, with the columns of `daily_usage`. Tasks count once they are
 * final.
 *
 * @param part a row source with `begins`, `ends` (exclusive) and optionally `account_id`: the periods to sum, which
 *   must not overlap
 */
export function sumUsedIn(part: string, { ofAccount }: { readonly ofAccount: boolean }): string {
  const within = (prefix: string) =>
    `created_at >= part.begins AND created_at < part.ends
      AND id >= part.first_${prefix} AND id < part.last_${prefix}${ofAccount ? ' AND account_id = part.account_id' : ''}`;
  return /* sql */ `
    SELECT used.account_id, (created_at AT TIME ZONE 'UTC')::date AS day, kind, model, api_key_id,
      count(*) FILTER (WHERE NOT is_failed) AS requests, count(*) FILTER (WHERE is_failed) AS failed,
      ${TOKENS.map((column) => `sum(${column})::bigint AS ${column}`).join(', ')},
      sum(billable_seconds)::bigint AS billable_seconds, sum(charged) AS charged
    FROM (
      SELECT *, first_id_at('txt_', begins) AS first_txt, first_id_at('txt_', ends) AS last_txt,
        first_id_at('task_', begins) AS first_task, first_id_at('task_', ends) AS last_task
      FROM (${part}) AS bounded OFFSET 0
    ) AS part, LATERAL (
      SELECT created_at, account_id, 'text' AS kind, model, api_key_id, outcome = 'failed' AS is_failed,
        ${TOKENS.join(', ')}, 0 AS billable_seconds, charge - absorbed AS charged
      FROM text_requests WHERE ${within('txt')}
      UNION ALL
      SELECT created_at, account_id, kind, model, api_key_id, status = 'failed', ${TOKENS.map(() => '0').join(', ')},
        CASE status WHEN 'succeeded' THEN coalesce(billable_duration_seconds, 0) ELSE 0 END,
        CASE status WHEN 'succeeded' THEN price ELSE 0 END
      FROM tasks WHERE ${within('task')} AND status IN ('succeeded', 'failed')
    ) AS used
    GROUP BY 1, 2, 3, 4, 5`;
}

/**
 * Sums the usage that started in a period by day, model and key, newest day first. Tasks count once they are final.
 *
 * @param from inclusive
 * @param to exclusive
 */
export async function sumDailyUsage(
  database: Database,
  period: { readonly accountId: string; readonly from: Date; readonly to: Date },
): Promise<readonly DailyUsage[]> {
  const { rows } = await database.raw<{ rows: DailyRow[] }>(SUMS, period);
  return rows.map((row) => ({
    ...readRow(row, { counts: ['requests', 'failed'], amounts: ['billable_seconds', 'charged'] }),
    ...readSummedTokens((column) => BigInt(row[column])),
  }));
}

/** Uses a day's sum if the summed part of the day lies within the period, and no late row waits to be added. */
const SUMS = /* sql */ `
  WITH days AS MATERIALIZED (
    SELECT day::date AS day, day AT TIME ZONE 'UTC' AS begins, (day + interval '1 day') AT TIME ZONE 'UTC' AS ends, before,
      day AT TIME ZONE 'UTC' >= :from AND least((day + interval '1 day') AT TIME ZONE 'UTC', before) <= :to
        AND NOT EXISTS (SELECT FROM late_usage AS late WHERE late.account_id = :accountId AND late.day = days.day::date)
        AS is_summed
    FROM daily_usage_summed, generate_series(date_trunc('day', CAST(:from AS timestamptz) AT TIME ZONE 'UTC'),
      CAST(:to AS timestamptz) AT TIME ZONE 'UTC', '1 day') AS days(day)
  ), unsummed AS MATERIALIZED (
    SELECT CAST(:accountId AS text) AS account_id, least(ends, :to) AS ends,
      greatest(begins, CASE WHEN is_summed THEN before ELSE :from END) AS begins
    FROM days
  ), used AS (
    SELECT ${USAGE_NAMES}, ${USAGE_MEASURES} FROM daily_usage
    WHERE account_id = :accountId AND day >= (CAST(:from AS timestamptz) AT TIME ZONE 'UTC')::date
      AND day IN (SELECT day FROM days WHERE is_summed)
    UNION ALL ${sumUsedIn('SELECT * FROM unsummed WHERE begins < ends', { ofAccount: true })}
  )
  SELECT to_char(day, 'YYYY-MM-DD') AS date, kind, model, api_key_id,
    ${MEASURES.map((name) => `sum(${name}) AS ${name}`).join(', ')}
  FROM used GROUP BY 1, 2, 3, 4 ORDER BY 1 DESC, 2, 3, 4`;
