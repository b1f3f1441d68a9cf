/**
 * Keeps `daily_usage` and `daily_transfers` up to date, a little behind the present. Every step is one transaction that moves the sums together with
 * what says how far they go, so that a crash between any two loses and doubles nothing. Several processes may do it at once.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from './database.ts';
import { sumTransfersWhere } from './queries/daily-transfers.ts';
import { onSummedUsage, sumUsedIn, USAGE_MEASURES, USAGE_NAMES } from './queries/daily-usage.ts';

/**
 * Later than this nothing is recorded without a mark (`late_usage`), with five minutes for a clock that was set back.
 */
const SETTLED_AFTER_MINUTES = 65;
/** The period that one step sums: short enough for any limit on statements. */
const STEP = '1 hour';
/** Days of accounts that are summed again in one step. */
const LATE_DAYS = 100;
/** Transactions that write take a few seconds at most. */
const PATIENCE_MS = 10_000;
const PAUSE_MS = 200;

/**
 * Brings the sums up to date.
 *
 * @param onStep called after each step
 * @param patienceMs for how long it waits for transactions that may write about the time to be summed; then the next call sums it
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
 * Finds a time before which every row is committed or will come with a mark: an hour has passed, and every transaction that
 * wrote without a mark then has ended.
 *
 * @returns null when a transaction from before does not end
 */
async function findSettled(database: Database, patienceMs: number): Promise<Date | null> {
  // An id of its own is later than that of everybody who has written anything by now.
  const { rows } = await database.raw<{ rows: { before: Date; last: string }[] }>(/* sql */ `
    SELECT clock_timestamp() - interval '${SETTLED_AFTER_MINUTES} minutes' AS before,
      pg_current_xact_id()::text AS last`);
  const [found] = rows;
  if (!found) throw new Error('a SELECT without FROM always has a row');
  const untilMs = performance.now() + patienceMs;
  for (;;) {
    const ended = await database.raw<{ rows: unknown[] }>(
      'SELECT 1 WHERE pg_snapshot_xmin(pg_current_snapshot()) > CAST(? AS xid8)',
      [found.last],
    );
    if (ended.rows.length > 0) return found.before;
    if (performance.now() >= untilMs) return null;
    await sleep(PAUSE_MS);
  }
}

/** Adds what started, and was transferred, in the next hour. @returns whether there was anything left to sum before `settled` */
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
    await transaction.raw('UPDATE daily_usage_summed SET before = ?', [part.ends]);
    return true;
  });
}

/** Keeps others from summing until the transaction ends. @returns the next hour, or as much of it as is settled */
async function lockSummed(
  transaction: Database,
  settled: Date,
): Promise<{ readonly begins: Date; readonly ends: Date } | null> {
  const { rows } = await transaction.raw<{ rows: { begins: Date; ends: Date }[] }>(
    `SELECT before AS begins, least(before + interval '${STEP}', ?) AS ends FROM daily_usage_summed FOR UPDATE`,
    [settled],
  );
  const [part] = rows;
  return part && part.begins < part.ends ? part : null;
}

/**
 * Sums marked days of accounts again, as far as they are summed at all, and removes their marks. One statement sees a mark and
 * the row that it came with together; whatever comes meanwhile has a mark that stays.
 *
 * @returns how many marks it removed, at most {@link LATE_DAYS}
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
