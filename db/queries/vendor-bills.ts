/** The monthly bills of vendors: see `db/schema/0009-finance.sql`. */
import type { BilledLine, BillColumns, BillDifference } from '../../domain/vendor-bill.ts';
import type { Month } from '../../domain/month.ts';
import type { PicoUsd } from '../../domain/money.ts';
import type { Database } from '../database.ts';
import { findClosedMonth, lockClosing } from './closed-months.ts';
import { readRow, type RowOf } from '../row.ts';

export interface VendorBill {
  readonly vendor: string;
  /** Such as `2026-10`. */
  readonly month: string;
  /** The configured upstreams that the bill covers. */
  readonly upstreams: readonly string[];
  readonly columns: BillColumns;
  /** The value of one unit of the bill's currency; null for US dollars. */
  readonly usdPerUnit: PicoUsd | null;
  readonly importedAt: Date;
  readonly author: string;
  readonly lines: number;
  readonly amount: PicoUsd;
}

type VendorBillRow = RowOf<VendorBill, 'lines'>;

/** The lines per statement, so that statements stay short. */
const LINES_PER_STATEMENT = 5_000;

const BILL = `vendor, to_char(month, 'YYYY-MM') AS month, upstreams, columns, usd_per_unit, imported_at, author, lines, amount`;

/** The bills of a closed month cannot change. */
export class MonthClosedError extends Error {
  override readonly name = 'MonthClosedError';
}

/** Stores the bill of a vendor for a month. Replaces an earlier import. @throws MonthClosedError */
export async function storeVendorBill(
  database: Database,
  month: Month,
  bill: Pick<VendorBill, 'vendor' | 'upstreams' | 'columns' | 'usdPerUnit' | 'author'> & {
    readonly billed: readonly BilledLine[];
  },
): Promise<VendorBill> {
  const { vendor, upstreams, columns, usdPerUnit, author, billed } = bill;
  const key = { vendor, month: dayOf(month) };
  return whileOpen(database, month, async (transaction) => {
    await transaction('vendor_bills').where(key).delete();
    await transaction('vendor_bills').insert({
      ...key,
      upstreams,
      columns: JSON.stringify(columns),
      usd_per_unit: usdPerUnit?.toString() ?? null,
      author,
      lines: billed.length,
      amount: billed.reduce((sum, { amount }) => sum + amount, 0n).toString(),
    });
    for (let at = 0; at < billed.length; at += LINES_PER_STATEMENT) {
      const lines = billed.slice(at, at + LINES_PER_STATEMENT);
      await transaction.raw(
        /* sql */ `
        INSERT INTO vendor_bill_lines (vendor, month, line, job_id, model, amount)
        SELECT :vendor, :month::date, line, job_id, model, amount
        FROM jsonb_to_recordset(:lines::jsonb) AS billed(line integer, job_id text, model text, amount numeric)`,
        {
          ...key,
          lines: JSON.stringify(
            lines.map(({ line, jobId, model, amount }) => ({ line, job_id: jobId, model, amount: amount.toString() })),
          ),
        },
      );
    }
    const { rows } = await transaction.raw<{ rows: VendorBillRow[] }>(
      `UPDATE vendor_bills SET imported_at = clock_timestamp()
      WHERE vendor = :vendor AND vendor_bills.month = :month::date RETURNING ${BILL}`,
      key,
    );
    const [kept] = rows.map(toBill);
    if (!kept) throw new Error(`the bill of ${vendor} is gone`);
    return kept;
  });
}

/** Lists the bills of a month, ordered by vendor. */
export async function listVendorBills(database: Database, month: Month): Promise<readonly VendorBill[]> {
  const { rows } = await database.raw<{ rows: VendorBillRow[] }>(
    `SELECT ${BILL} FROM vendor_bills WHERE vendor_bills.month = :month::date ORDER BY vendor`,
    { month: dayOf(month) },
  );
  return rows.map(toBill);
}

/** @returns null if no bill of the vendor was imported for the month */
export async function findVendorBill(database: Database, vendor: string, month: Month): Promise<VendorBill | null> {
  return (await listVendorBills(database, month)).find((bill) => bill.vendor === vendor) ?? null;
}

/** Finds the latest bill of a vendor; null if it has none. */
export async function findLatestBill(database: Database, vendor: string): Promise<VendorBill | null> {
  const { rows } = await database.raw<{ rows: VendorBillRow[] }>(
    `SELECT ${BILL} FROM vendor_bills WHERE vendor = :vendor ORDER BY vendor_bills.month DESC LIMIT 1`,
    { vendor },
  );
  return rows[0] ? toBill(rows[0]) : null;
}

/** Lists the latest bill of each vendor, ordered by name. */
export async function listLatestBills(database: Database): Promise<readonly VendorBill[]> {
  const { rows } = await database.raw<{ rows: VendorBillRow[] }>(
    `SELECT DISTINCT ON (vendor) ${BILL} FROM vendor_bills ORDER BY vendor, vendor_bills.month DESC`,
  );
  return rows.map(toBill);
}

/** @returns whether there was a bill @throws MonthClosedError */
export async function deleteVendorBill(database: Database, vendor: string, month: Month): Promise<boolean> {
  return whileOpen(database, month, async (transaction) => {
    const deleted = await transaction('vendor_bills')
      .where({ vendor, month: dayOf(month) })
      .delete();
    return deleted > 0;
  });
}

/** Makes a change while locking out the closing of months and changes of other bills. @throws MonthClosedError */
function whileOpen<Result>(
  database: Database,
  month: Month,
  change: (transaction: Database) => Promise<Result>,
): Promise<Result> {
  return database.transaction(async (transaction) => {
    await lockClosing(transaction);
    if (await findClosedMonth(transaction, month.name)) throw new MonthClosedError(`${month.name} is closed`);
    return change(transaction);
  });
}

/** Lists the differences between a bill and our records. */
export async function listBillDifferences(
  database: Database,
  { vendor, month }: Pick<VendorBill, 'vendor' | 'month'>,
): Promise<readonly BillDifference[]> {
  const { rows } = await database.raw<{ rows: RowOf<BillDifference>[] }>(
    /* sql */ `
    SELECT differences.* FROM vendor_bills AS bill, bill_differences(bill) AS differences
    WHERE bill.vendor = :vendor AND bill.month = :month::date`,
    { vendor, month: dayOf({ name: month }) },
  );
  return rows.map((row) => readRow(row, { amounts: ['billed', 'cost'] }));
}

function dayOf({ name }: Pick<Month, 'name'>): string {
  return `${name}-01`;
}

function toBill(row: VendorBillRow): VendorBill {
  return readRow(row, { counts: ['lines'], amounts: ['amount', 'usd_per_unit'] });
}
