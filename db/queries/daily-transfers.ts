/** Sums of an account's transfers by day and kind. db/usage-sums.ts writes the sums. */
import { CHANGE } from '../ledger-sql.ts';

/** SQL that sums transfers by account, day (UTC) and kind, as in `daily_transfers`. @param where selects transfers */
export const sumTransfersWhere = (where: string): string => /* sql */ `
  SELECT account_id, (created_at AT TIME ZONE 'UTC')::date AS day, kind, count(*) AS transfers,
    sum(${CHANGE.available}) AS available, sum(${CHANGE.reserved}) AS reserved
  FROM transfers WHERE ${where} GROUP BY 1, 2, 3`;
