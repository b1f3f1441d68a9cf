/** Months whose books are closed: see migration 0023. */
import type { PicoUsd } from '../../domain/money.ts';
import { type Month, nextMonth, parseMonth } from '../../domain/month.ts';
import { type Database, picoUsd } from '../database.ts';

export interface ClosedMonth {
  /** As `2026-10`. */
  readonly month: string;
  readonly closedAt: Date;
  /** Who closed it. */
  readonly author: string;
  /** How many transfers it has. */
  readonly transfers: number;
  /** What the transfers of each kind add up to. */
  readonly amounts: ReadonlyMap<string, PicoUsd>;
  /** Over every row of the month. */
  readonly checksum: string;
}

/** Why a month cannot be closed. */
export type MonthRefusal =
  /** It ended less than a day ago: what began in it may still be written. */
  | { readonly reason: 'not over' }
  /** Months are closed one after the other. */
  | { readonly reason: 'out of turn'; readonly next: string };

interface ClosedMonthRow {
  month: string;
  closed_at: Date;
  author: string;
  transfers: string;
  amounts: Readonly<Record<string, string>>;
  checksum: string;
}

const COLUMNS = `to_char(month, 'YYYY-MM') AS month, closed_at, author, transfers, amounts, checksum`;
/** Any number that no other advisory lock uses. */
const CLOSING_LOCK = 5_410_301;

/**
 * Closes a month: nothing can be dated in it or before it any more. A month that is closed stays as it was closed.
 *
 * @returns the month with what its books were, or why it cannot be closed; `isNew` is false if it was closed before
 */
export async function closeMonth(
  database: Database,
  month: Month,
  author: string,
): Promise<{ readonly closed: ClosedMonth; readonly isNew: boolean } | { readonly refusal: MonthRefusal }> {
  return database.transaction(async (transaction) => {
    await transaction.raw('SELECT pg_advisory_xact_lock(?)', [CLOSING_LOCK]);
    const [earlier, last] = await Promise.all([findClosedMonth(transaction, month.name), lastClosed(transaction)]);
    if (earlier) return { closed: earlier, isNew: false };
    const next = last && nextMonth(last);
    if (next !== null && next !== month.name) return { refusal: { reason: 'out of turn', next } };
    const { rows } = await transaction.raw<{ rows: ClosedMonthRow[] }>(
      /* sql */ `
      INSERT INTO closed_months (month, author, transfers, amounts, checksum)
      SELECT :month::date, :author, books.transfers, books.amounts, books.checksum
      FROM books_of_month(:month::date) AS books
      WHERE :to::timestamptz + interval '1 day' <= now()
      RETURNING ${COLUMNS}`,
      { month: `${month.name}-01`, author, to: month.to },
    );
    return rows[0] ? { closed: toClosedMonth(rows[0]), isNew: true } : { refusal: { reason: 'not over' } };
  });
}

/** The closed months, latest first. */
export async function listClosedMonths(database: Database): Promise<readonly ClosedMonth[]> {
  const { rows } = await database.raw<{ rows: ClosedMonthRow[] }>(
    `SELECT ${COLUMNS} FROM closed_months ORDER BY closed_months.month DESC`,
  );
  return rows.map(toClosedMonth);
}

async function findClosedMonth(database: Database, month: string): Promise<ClosedMonth | null> {
  const { rows } = await database.raw<{ rows: ClosedMonthRow[] }>(
    `SELECT ${COLUMNS} FROM closed_months WHERE closed_months.month = ?::date`,
    [`${month}-01`],
  );
  return rows[0] ? toClosedMonth(rows[0]) : null;
}

async function lastClosed(database: Database): Promise<Month | null> {
  const { rows } = await database.raw<{ rows: { month: string | null }[] }>(
    `SELECT to_char(max(month), 'YYYY-MM') AS month FROM closed_months`,
  );
  return parseMonth(rows[0]?.month ?? '');
}

function toClosedMonth(row: ClosedMonthRow): ClosedMonth {
  return {
    month: row.month,
    closedAt: row.closed_at,
    author: row.author,
    transfers: Number(row.transfers),
    amounts: new Map(Object.entries(row.amounts).map(([kind, amount]) => [kind, picoUsd(amount)])),
    checksum: row.checksum,
  };
}
