/** Lists, creates and detaches the monthly partitions of tasks, submissions, transfers and text requests. */
import type { Knex } from 'knex';
import { DatabaseError } from 'pg';
import { OperatorError } from '../domain/operator-error.ts';

/** The tables that are partitioned by month. */
export const PARTITIONED_TABLES = ['tasks', 'transfers', 'text_requests', 'submissions'] as const;

/** The number of months with partitions, from the previous month on. */
const PARTITION_MONTHS = 5;

export interface Month {
  /** Such as `2026-05`. */
  readonly month: string;
  /** The size on disk of all tables together, with indexes. */
  readonly bytes: number;
}

/** A month does not exist or cannot be detached; the message says why. */
class MonthError extends OperatorError {
  override readonly name = 'MonthError';
}

/** Creates missing partitions from the month before `at` on. @param at defaults to the database's time */
export async function ensurePartitions(database: Knex, at?: Date): Promise<void> {
  const now = at ?? (await databaseTime(database));
  const previousMonth = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1));
  for (const table of PARTITIONED_TABLES) {
    await database.raw('SELECT ensure_month_partitions(:table, :month::date, :months)', {
      table,
      month: previousMonth.toISOString().slice(0, 10),
      months: PARTITION_MONTHS,
    });
  }
}

/** Runs `work`. If a partition is missing, creates the partitions and runs `work` again. */
export async function withPartitions<Result>(database: Knex, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!isPartitionMissing(error)) throw error;
    await ensurePartitions(database);
    return work();
  }
}

/** Whether the current month, by the database's time, lacks a partition. */
export async function isMissingPartitions(database: Knex): Promise<boolean> {
  const { rows } = await database.raw<{ rows: unknown[] }>(
    `SELECT 1 FROM unnest(:tables::text[]) AS parent
    WHERE to_regclass(parent || to_char(now() AT TIME ZONE 'UTC', '_YYYY_MM')) IS NULL`,
    { tables: [...PARTITIONED_TABLES] },
  );
  return rows.length > 0;
}

async function databaseTime(database: Knex): Promise<Date> {
  const { rows } = await database.raw<{ rows: { now: Date }[] }>('SELECT now()');
  if (!rows[0]) throw new Error('a SELECT without FROM always has a row');
  return rows[0].now;
}

/** PostgreSQL has no separate error code for a missing partition. */
function isPartitionMissing(error: unknown): boolean {
  return error instanceof DatabaseError && error.routine === 'ExecFindPartition';
}

/** Lists the attached months, oldest first. */
export async function listMonths(database: Knex): Promise<readonly Month[]> {
  const { rows } = await database.raw<{ rows: { month: string; bytes: string }[] }>(
    /* sql */ `
    SELECT replace(right(inhrelid::regclass::text, 7), '_', '-') AS month,
      sum(pg_total_relation_size(inhrelid)) AS bytes
    FROM pg_inherits WHERE inhparent = ANY (:tables::regclass[]) GROUP BY 1 ORDER BY 1`,
    { tables: [...PARTITIONED_TABLES] },
  );
  return rows.map(({ month, bytes }) => ({ month, bytes: Number(bytes) }));
}

/**
 * Detaches a month from the tables and keeps the sums of its transfers. Its rows remain in separate tables, such as
 * `transfers_2026_05`. Detaches all tables or none, and fails if the locks take more than a few seconds.
 *
 * @param month such as `2026-05`
 * @throws MonthError if the month ended less than two months ago, is not attached, or still holds money
 */
export async function detachMonth(database: Knex, month: string): Promise<void> {
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(month)) throw new MonthError(`${month} is not a month. Write it as 2026-05.`);
  try {
    await database.transaction(async (transaction) => {
      // While this lock waits for a long query, all other statements wait behind the lock.
      await transaction.raw(`SET LOCAL lock_timeout = '5s'`);
      await transaction.raw('SELECT detach_month(:month::date)', { month: `${month}-01` });
    });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === '55000') throw new MonthError(reasonOf(error));
    if (code === '55P03') throw new MonthError('The tables are in use. Try again in a quieter moment.');
    throw error;
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message.replace(/^.* - (?=\S)/s, '') : String(error);
}
