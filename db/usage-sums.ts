/**
 * Updates `daily_usage` and `daily_transfers`, about an hour behind the present. Every step is one transaction that
 * moves the sums together with the end of the summed time, so that a crash between two steps loses and doubles nothing.
 * Several processes can run this at once.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from './database.ts';
import { sumTransfersWhere } from './queries/daily-transfers.ts';
import { onSummedUsage, sumUsedIn, USAGE_MEASURES, USAGE_NAMES } from './queries/daily-usage.ts';

/**
 * Rows that are recorded later than this have a mark (`late_usage`). Includes five minutes for a clock that was set
 * back.
 */
const SETTLED_AFTER_MINUTES = 65;
/** The period of one step: short enough for the limits on statements. */
const STEP = '1 hour';
/** The number of marked days that one step sums again. */
const LATE_DAYS = 100;
/** Longer than any transaction that writes. */
const PATIENCE_MS = 10_000;
const PAUSE_MS = 200;

/**
 * Brings the sums up to date.
 *
 * @param onStep called after each step
 * @param patienceMs how long to wait for open transactions that may still write rows to sum; then the next call sums
 *   them
 */
export async function sumUsage(
  database: Database,
  { onStep = () => {}, patienceMs = PATIENCE_MS }: { readonly onStep?: () => void; readonly patienceMs?: number } = {},
): Promise<void> {
  const settled = await findSettled(database, patienceMs);
  if (settled !== null) while (await sumNextHour(database, settled)) onStep();
  while ((await sumLateDays(database)) === LATE_DAYS) onStep();
}

/**
 * Finds a time before which every row is committed or will have a mark: an hour has passed, and every transaction that
 * wrote without a mark has ended.
 *
 * @returns null if an older transaction does not end
 */
async function findSettled(database: Database, patienceMs: number): Promise<Date | null> {
  // The id of this transaction is later than the ids of all transactions that have written so far.
  const { rows } = await database.raw<{ rows: { before: Date; last: string }[] }>(/* sql */ `
    SELECT clock_timestamp() - interval '${SETTLED_AFTER_MINUTES} minutes' AS before,
      pg_current_xact_id()::text AS last`);
  const [found] = rows;
  if (!found) throw new Error('a SELECT without FROM always has a row');
  const untilMs = performance.now() + patienceMs;
  for (;;) {
    const ended = await database.raw<{ rows: unknown[] }>(
      'SELECT 1 WHERE pg_snapshot_xmin(pg_current_snapshot()) > CAST(:last AS xid8)',
      { last: found.last },
    );
    if (ended.rows.length > 0) return found.before;
    if (performance.now() >= untilMs) return null;
    await sleep(PAUSE_MS);
  }
}

/** Adds the usage and transfers of the next hour. @returns whether there was time left to sum before `settled` */
async function sumNextHour(database: Database, settled: Date): Promise<boolean> {
  return database.transaction(async (transaction) => {
    const part = await lockSummed(transaction, settled);
    if (!part) return false;
    await transaction.raw(
      /* sql */ `
      INSERT INTO daily_usage (${USAGE_NAMES}, ${USAGE_MEASURES})
      ${sumUsedIn('SELECT CAST(:begins AS timestamptz) AS begins, CAST(:ends AS timestamptz) AS ends', { ofAccount: false })}
      ON CONFLICT (${USAGE_NAMES}) DO UPDATE SET ${onSummedUsage('add')}`,
      part,
    );
    await transaction.raw(
      /* sql */ `
      INSERT INTO daily_transfers AS summed
      ${sumTransfersWhere('created_at >= :begins AND created_at < :ends')}
      ON CONFLICT (account_id, day, kind) DO UPDATE SET transfers = summed.transfers + EXCLUDED.transfers,
        available = summed.available + EXCLUDED.available, reserved = summed.reserved + EXCLUDED.reserved`,
      part,
    );
    await transaction('daily_usage_summed').update({ before: part.ends });
    return true;
  });
}

/** Blocks other processes from summing until the transaction ends. @returns the settled part of the next hour */
async function lockSummed(
  transaction: Database,
  settled: Date,
): Promise<{ readonly begins: Date; readonly ends: Date } | null> {
  const { rows } = await transaction.raw<{ rows: { begins: Date; ends: Date }[] }>(
    `SELECT before AS begins, least(before + interval '${STEP}', :settled) AS ends FROM daily_usage_summed FOR UPDATE`,
    { settled },
  );
  const [part] = rows;
  return part && part.begins < part.ends ? part : null;
}

/**
 * Sums the marked days of accounts again up to the end of the summed time, and removes their marks. One statement sees
 * a mark together with its row. Rows that arrive meanwhile have a mark that stays.
 *
 * @returns the number of removed marks, at most {@link LATE_DAYS}
 */
async function sumLateDays(database: Database): Promise<number> {
  return database.transaction(async (transaction) => {
    await transaction.raw('SELECT 1 FROM daily_usage_summed FOR UPDATE');
    const { rows } = await transaction.raw<{ rows: { marks: number }[] }>(/* sql */ `
      WITH marks AS (
        DELETE FROM late_usage WHERE ctid = ANY (ARRAY(SELECT ctid FROM late_usage LIMIT ${LATE_DAYS})) RETURNING account_id, day
      ), late AS (
        SELECT DISTINCT account_id, day AT TIME ZONE 'UTC' AS begins, least((day + 1) AT TIME ZONE 'UTC', before) AS ends
        FROM marks, daily_usage_summed
      ), summed AS (
        INSERT INTO daily_usage (${USAGE_NAMES}, ${USAGE_MEASURES})
        ${sumUsedIn('SELECT * FROM late WHERE begins < ends', { ofAccount: true })}
        ON CONFLICT (${USAGE_NAMES}) DO UPDATE SET ${onSummedUsage('replace')}
      )
      SELECT count(*)::int AS marks FROM marks`);
    return rows[0]?.marks ?? 0;
  });
}
