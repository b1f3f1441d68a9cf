/** Automatic top-ups by a saved card when a balance is low: see `db/schema/0003-ledger.sql`. */
import { randomUUID } from 'node:crypto';
import type { PicoUsd } from '../../domain/money.ts';
import { AUTO_TOP_UP } from '../../domain/policy.ts';
import type { Database } from '../database.ts';
import { BALANCE } from '../ledger-sql.ts';
import { columnsOf, readRow, type RowOf } from '../row.ts';

export interface AutoTopUp {
  readonly accountId: string;
  /** Below this balance, the card pays the amount. */
  readonly threshold: PicoUsd;
  readonly amount: PicoUsd;
  /** The payment provider's names for the customer and the card. */
  readonly customer: string;
  readonly paymentMethod: string;
  /** Why automatic top-ups stopped; null while they are active. */
  readonly stoppedBecause: string | null;
}

/** A payment to make. Its id does not change until its outcome is known. */
export interface TopUpAttempt extends AutoTopUp {
  readonly attemptId: string;
}

const COLUMNS = 'account_id, threshold, amount, customer, payment_method, stopped_because';
const AMOUNTS = { amounts: ['threshold', 'amount'] } as const;

/** Stores the settings that a customer chose on a page of the payment provider, once for each page. */
export async function acceptAutoTopUp(
  database: Database,
  checkoutId: string,
  agreed: Omit<AutoTopUp, 'stoppedBecause'>,
): Promise<void> {
  await database.transaction(async (transaction) => {
    const { rowCount } = await transaction.raw<{ rowCount: number }>(
      'INSERT INTO agreed_checkouts (checkout_id) VALUES (:checkoutId) ON CONFLICT DO NOTHING',
      { checkoutId },
    );
    if (rowCount > 0) await setAutoTopUp(transaction, agreed);
  });
}

/**
 * Sets or replaces the settings of automatic top-ups. The next attempt still waits for the retry delay of a recent
 * attempt, whose payment may be in progress.
 */
export async function setAutoTopUp(
  database: Database,
  { accountId, threshold, amount, customer, paymentMethod }: Omit<AutoTopUp, 'stoppedBecause'>,
): Promise<void> {
  const agreed = columnsOf({ accountId, threshold, amount, customer, paymentMethod });
  await database('auto_top_ups')
    .insert({ ...agreed, stopped_because: null, attempt_id: null })
    .onConflict('account_id')
    .merge();
}

export async function findAutoTopUp(database: Database, accountId: string): Promise<AutoTopUp | null> {
  const { rows } = await database.raw<{ rows: RowOf<AutoTopUp>[] }>(
    `SELECT ${COLUMNS} FROM auto_top_ups WHERE account_id = :accountId`,
    { accountId },
  );
  return rows[0] ? readRow(rows[0], AMOUNTS) : null;
}

export async function deleteAutoTopUp(database: Database, accountId: string): Promise<void> {
  await database('auto_top_ups').where({ account_id: accountId }).delete();
}

/**
 * Claims accounts whose balance is low, each for one process at a time. Stops the automatic top-ups of an account whose
 * provider has not answered for most of a day: by then, the provider would treat a retry as another payment.
 */
export async function claimTopUps(database: Database, limit: number): Promise<readonly TopUpAttempt[]> {
  await database.raw(
    `UPDATE auto_top_ups SET stopped_because = 'The payment provider did not answer.', attempt_id = NULL
    WHERE attempt_id IS NOT NULL AND attempt_began_at < now() - interval '${AUTO_TOP_UP.attemptHours} hours'`,
  );
  const { rows } = await database.raw<{ rows: (RowOf<AutoTopUp> & { readonly attempt_id: string })[] }>(
    /* sql */ `
    UPDATE auto_top_ups SET attempted_at = now(), attempt_id = coalesce(attempt_id, ids.id),
      attempt_began_at = CASE WHEN attempt_id IS NULL THEN now() ELSE attempt_began_at END
    FROM (
      SELECT due.account_id AS owner_id, (:ids::text[])[row_number() OVER ()] AS id FROM (
        SELECT top_up.account_id FROM auto_top_ups AS top_up JOIN accounts ON accounts.id = top_up.account_id
        WHERE stopped_because IS NULL AND suspended_at IS NULL
          AND ${BALANCE} < threshold
          AND (attempted_at IS NULL OR attempted_at < now() - interval '${AUTO_TOP_UP.retrySeconds} seconds')
          AND (paid_on IS DISTINCT FROM (now() AT TIME ZONE 'UTC')::date OR paid_count < ${AUTO_TOP_UP.maxPerDay})
        ORDER BY top_up.account_id LIMIT :limit FOR NO KEY UPDATE OF top_up SKIP LOCKED) AS due) AS ids
    WHERE account_id = owner_id
    RETURNING ${COLUMNS}, attempt_id`,
    { ids: Array.from({ length: limit }, () => randomUUID()), limit },
  );
  return rows.map((row) => readRow(row, AMOUNTS));
}

/** Ends an attempt after its payment was credited or refused. @param stoppedBecause null if it was credited */
export async function endTopUp(
  database: Database,
  { accountId, attemptId }: Pick<TopUpAttempt, 'accountId' | 'attemptId'>,
  stoppedBecause: string | null,
): Promise<void> {
  await database.raw(
    /* sql */ `
    UPDATE auto_top_ups SET attempt_id = NULL, attempted_at = NULL, stopped_because = :stoppedBecause,
      paid_on = (now() AT TIME ZONE 'UTC')::date,
      paid_count = CASE WHEN paid_on = (now() AT TIME ZONE 'UTC')::date THEN paid_count ELSE 0 END
        + CASE WHEN :stoppedBecause::text IS NULL THEN 1 ELSE 0 END
    WHERE account_id = :accountId AND attempt_id = :attemptId`,
    { accountId, attemptId, stoppedBecause },
  );
}
