/** The usage of end users. No sums are stored, because clients may send a new name with each request. */
import type { PicoUsd } from '../../domain/money.ts';
import {
  readSummedTokens,
  SUMMED_TOKEN_COUNTS,
  type SummedTokens,
  type SummedTokensRow,
} from '../../domain/text-tokens.ts';
import type { Database } from '../database.ts';
import { readRow, type RowOf } from '../row.ts';

/** The usage of one end user in a period. Tasks count once they are final. */
export interface EndUserUsage extends SummedTokens<bigint> {
  readonly endUser: string;
  /** Text requests and final tasks that did not fail, even if they cost nothing. */
  readonly requests: number;
  readonly failed: number;
  readonly charged: PicoUsd;
}

type Row = RowOf<Omit<EndUserUsage, keyof SummedTokens<bigint>>, 'requests' | 'failed'> & SummedTokensRow;

const TOKENS = SUMMED_TOKEN_COUNTS.map(({ column }) => column);
const NAMES_ONE = /* sql */ `
  account_id = :accountId AND created_at >= :from AND created_at < :to AND end_user IS NOT NULL`;

/** Bounds the report. */
export const MAX_END_USERS = 10_000;

/**
 * Sums the usage that started in a period by end user. Returns the end users with the highest charges, at most
 * {@link MAX_END_USERS}.
 *
 * @param from inclusive
 * @param to exclusive
 */
export async function sumEndUserUsage(
  database: Database,
  period: { readonly accountId: string; readonly from: Date; readonly to: Date },
): Promise<readonly EndUserUsage[]> {
  const { rows } = await database.raw<{ rows: Row[] }>(
    /* sql */ `
    SELECT end_user, count(*) FILTER (WHERE NOT is_failed) AS requests, count(*) FILTER (WHERE is_failed) AS failed,
      ${TOKENS.map((column) => `sum(${column})::bigint AS ${column}`).join(', ')}, sum(charged) AS charged
    FROM (
      SELECT end_user, outcome = 'failed' AS is_failed, ${TOKENS.join(', ')}, charge - absorbed AS charged
      FROM text_requests WHERE ${NAMES_ONE}
      UNION ALL
      SELECT end_user, status = 'failed', ${TOKENS.map(() => '0').join(', ')},
        CASE status WHEN 'succeeded' THEN price ELSE 0 END
      FROM tasks WHERE ${NAMES_ONE} AND status IN ('succeeded', 'failed')
    ) AS used
    GROUP BY end_user ORDER BY charged DESC, end_user LIMIT :limit`,
    { ...period, limit: MAX_END_USERS },
  );
  return rows.map((row) => ({
    ...readRow(row, { counts: ['requests', 'failed'], amounts: ['charged'] }),
    ...readSummedTokens((column) => BigInt(row[column])),
  }));
}
