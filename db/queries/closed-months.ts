/** Closed months of the ledger: see `db/schema/0009-finance.sql`. */
import type { PicoUsd } from '../../domain/money.ts';
import { closableFrom, type Month, nextMonth, parseMonth } from '../../domain/month.ts';
import { type Database, onlyRow, picoUsd } from '../database.ts';
import { camelCased, type RowOf } from '../row.ts';
import { type Acknowledgement, findLatestReport, listAcknowledgements } from './acknowledgements.ts';

export interface ClosedMonth extends MonthTotals {
  /** Such as `2026-10`. */
  readonly month: string;
  readonly closedAt: Date;
  /** Who closed the month. */
  readonly author: string;
  /** The checksum of every row of the month. */
  readonly checksum: string;
  /** The findings of reconciliation that were acknowledged when the month was closed. */
  readonly acknowledged: readonly AcknowledgedFinding[];
}

/** A finding that cannot be remedied, as stored with a month. */
export interface AcknowledgedFinding extends Pick<Acknowledgement, 'id' | 'subject' | 'detail' | 'reason' | 'author'> {
  readonly check: string;
  /** The second person; the author if none was required. */
  readonly confirmedBy: string;
  /** In ISO 8601. */
  readonly acknowledgedAt: string;
}

/** Why a month cannot be closed. */
export type MonthRefusal =
  /** The month ended less than a day ago: rows that started in it may still be written. */
  | { readonly reason: 'not over' }
  /** Months are closed in order. */
  | { readonly reason: 'out of turn'; readonly next: string }
  /** The latest reconciliation has findings that nobody has acknowledged. */
  | { readonly reason: 'findings'; readonly reconciliationId: string; readonly findings: number }
  /** No reconciliation that started after the last row of the month is complete. */
  | { readonly reason: 'not reconciled' }
  /** A vendor's bill was imported after the latest reconciliation started. */
  | { readonly reason: 'bill not compared'; readonly vendor: string };

/** The transfers of a month, summed. */
export interface MonthTotals {
  /** The number of transfers. */
  readonly transfers: number;
  /** The sum of the transfers of each kind. */
  readonly amounts: ReadonlyMap<string, PicoUsd>;
}

type ClosedMonthRow = Omit<RowOf<ClosedMonth, 'transfers'>, 'amounts'> & {
  readonly amounts: Readonly<Record<string, string>>;
};

const COLUMNS = `to_char(month, 'YYYY-MM') AS month, closed_at, author, transfers, amounts, checksum, acknowledged`;
/** An arbitrary number that no other advisory lock uses. */
const CLOSING_LOCK = 5_410_301;

/**
 * Closes a month: no new row can have a date in it or before it. A closed month does not change.
 *
 * @returns the closed month, or why it cannot be closed; `isNew` is false if it was closed before
 */
export async function closeMonth(
  database: Database,
  month: Month,
  author: string,
): Promise<{ readonly closed: ClosedMonth; readonly isNew: boolean } | { readonly refusal: MonthRefusal }> {
  return database.transaction(async (transaction) => {
    await lockClosing(transaction);
    const earlier = await findClosedMonth(transaction, month.name);
    if (earlier) return { closed: earlier, isNew: false };
    const refusal = await findMonthRefusal(transaction, month);
    if (refusal) return { refusal };
    const { rows } = await transaction.raw<{ rows: ClosedMonthRow[] }>(
      /* sql */ `
      INSERT INTO closed_months (month, author, transfers, amounts, checksum, acknowledged)
      SELECT :month::date, :author, ledger.transfers, ledger.amounts, ledger.checksum, :acknowledged::jsonb
      FROM ledger_of_month(:month::date) AS ledger
      RETURNING ${COLUMNS}`,
      { month: `${month.name}-01`, author, acknowledged: JSON.stringify(await listAcknowledged(transaction, month)) },
    );
    return { closed: toClosedMonth(onlyRow(rows)), isNew: true };
  });
}

/** Locks the closing of months, and the changes on which closing depends, until the transaction ends. */
export async function lockClosing(transaction: Database): Promise<void> {
  await transaction.raw('SELECT pg_advisory_xact_lock(:lock)', { lock: CLOSING_LOCK });
}

/** Returns why an open month cannot be closed now; null if it can. */
export async function findMonthRefusal(database: Database, month: Month): Promise<MonthRefusal | null> {
  const last = await lastClosed(database);
  const next = last && nextMonth(last);
  if (next !== null && next !== month.name) return { reason: 'out of turn', next };
  const closable = closableFrom(month);
  const { rows } = await database.raw<{ rows: { is_over: boolean }[] }>(
    'SELECT :closable::timestamptz <= now() AS is_over',
    { closable },
  );
  if (!rows[0]?.is_over) return { reason: 'not over' };
  const latest = await findLatestReport(database, month.name);
  if (latest && latest.findings > 0) {
    const { reconciliationId, findings } = latest;
    return { reason: 'findings', reconciliationId, findings };
  }
  const bill = await findUncomparedBill(database, month);
  if (bill) return { reason: 'bill not compared', vendor: bill.vendor };
  return latest === null || latest.startedAt < closable ? { reason: 'not reconciled' } : null;
}

async function findUncomparedBill(database: Database, month: Month): Promise<{ readonly vendor: string } | null> {
  const { rows } = await database.raw<{ rows: { vendor: string }[] }>(
    /* sql */ `
    SELECT vendor FROM vendor_bills WHERE month = :month::date AND imported_at >=
      coalesce((SELECT max(created_at) FROM reconciliations WHERE finished_at IS NOT NULL), '-infinity')
    ORDER BY vendor LIMIT 1`,
    { month: `${month.name}-01` },
  );
  return rows[0] ?? null;
}

/** Lists the acknowledged findings of the latest reconciliation. */
export async function listAcknowledged(database: Database, month: Month): Promise<readonly AcknowledgedFinding[]> {
  const latest = await findLatestReport(database, month.name);
  const found = latest ? await listAcknowledgements(database, latest.reconciliationId) : [];
  return found.flatMap(({ outcome, decidedBy, checkName, createdAt, id, subject, detail, reason, author }) =>
    outcome === 'confirmed' && decidedBy !== null
      ? {
          id,
          check: checkName,
          subject,
          detail,
          reason,
          author,
          confirmedBy: decidedBy,
          acknowledgedAt: createdAt.toISOString(),
        }
      : [],
  );
}

/** Reads the current sums of a month. */
export async function readMonthTotals(database: Database, month: Month): Promise<MonthTotals> {
  const { rows } = await database.raw<{ rows: Pick<ClosedMonthRow, 'transfers' | 'amounts'>[] }>(
    'SELECT transfers, amounts FROM ledger_of_month(:month::date)',
    { month: `${month.name}-01` },
  );
  return toMonthTotals(onlyRow(rows));
}

/** The closed months, latest first. */
export async function listClosedMonths(database: Database): Promise<readonly ClosedMonth[]> {
  const { rows } = await database.raw<{ rows: ClosedMonthRow[] }>(
    `SELECT ${COLUMNS} FROM closed_months ORDER BY closed_months.month DESC`,
  );
  return rows.map(toClosedMonth);
}

/** @param month such as `2026-10` @returns null if the month is open */
export async function findClosedMonth(database: Database, month: string): Promise<ClosedMonth | null> {
  const { rows } = await database.raw<{ rows: ClosedMonthRow[] }>(
    `SELECT ${COLUMNS} FROM closed_months WHERE closed_months.month = :month::date`,
    { month: `${month}-01` },
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
  return { ...camelCased(row), ...toMonthTotals(row) };
}

function toMonthTotals({ transfers, amounts }: Pick<ClosedMonthRow, 'transfers' | 'amounts'>): MonthTotals {
  return {
    transfers: Number(transfers),
    amounts: new Map(Object.entries(amounts).map(([kind, amount]) => [kind, picoUsd(amount)])),
  };
}
