/** Sums of an account's transfers by day and kind. db/usage-sums.ts writes the sums. */
import { CHANGE } from '../ledger-sql.ts';

/** SQL that adds up transfers by account, day (UTC) and kind, with the columns of `daily_transfers`. @param where which ones */
export const sumTransfersWhere = (where: string): string => /* sql */ `
  SELECT account_id, (created_at AT TIME ZONE 'UTC')::date AS day, kind, count(*) AS transfers,
    sum(${CHANGE.available}) AS available, sum(${CHANGE.reserved}) AS reserved
  FROM transfers WHERE ${where} GROUP BY 1, 2, 3`;
