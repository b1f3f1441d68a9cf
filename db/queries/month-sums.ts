/** Revenue and cost of a month by model, vendor, customer and day, from the transfers of the month, like its export. */
import type { PicoUsd } from '../../domain/money.ts';
import type { Month } from '../../domain/month.ts';
import type { TaskKind } from '../../domain/task.ts';
import { type Database, onlyRow, picoUsd } from '../database.ts';
import { CHARGES, isFirstCharge } from '../ledger-sql.ts';
import { FAILED_ATTEMPTS_WITH_RATES, joinRates } from './text-rates.ts';
import type { RowOf } from '../row.ts';
import { startPeriodOf } from './month-export.ts';
import { readStatementOfAll, type Statement } from './statements.ts';

/** Revenue is the sum of margin, cost, and revenue without a known cost. */
export interface Earnings {
  readonly charges: number;
  readonly refunds: number;
  readonly revenue: PicoUsd;
  /** The known cost, including failed tasks and attempts that a vendor charged. Null if no cost is known. */
  readonly cost: PicoUsd | null;
  /** Revenue without a known cost. */
  readonly uncosted: PicoUsd;
  /** `revenue - uncosted - cost`; null if no cost is known. */
  readonly margin: PicoUsd | null;
}

export interface ModelEarnings extends Earnings {
  readonly kind: TaskKind | 'text';
  readonly model: string;
}

export interface VendorEarnings extends Earnings {
  /** Null for text requests that were not sent to an upstream. */
  readonly vendor: string | null;
}

export interface CustomerEarnings extends Earnings {
  readonly accountId: string;
  readonly accountName: string;
}

export interface MonthSums {
  readonly total: Earnings;
  readonly models: readonly ModelEarnings[];
  readonly vendors: readonly VendorEarnings[];
  /** The customers with the highest revenue, and those with the greatest losses. */
  readonly customers: readonly CustomerEarnings[];
  /** The sum of all other customers; null if there are none. */
  readonly otherCustomers: Earnings | null;
  /** By day, such as `2026-11-22`, without days that have no revenue. */
  readonly revenueByDay: ReadonlyMap<string, PicoUsd>;
  /** The credit of all accounts at the start of the month, its changes, and the credit at the end or now. */
  readonly customersMoney: Statement;
  readonly countedAt: Date;
}

/** The group of a row. */
interface Sum {
  readonly part: 'total' | 'model' | 'vendor' | 'customer' | 'others' | 'day';
  readonly day: string | null;
  readonly kind: TaskKind | 'text' | null;
  readonly model: string | null;
  readonly vendor: string | null;
  readonly accountId: string | null;
  readonly accountName: string | null;
  readonly countedAt: Date;
}

type Row = RowOf<Sum & Earnings, 'charges' | 'refunds'>;

/** @param maxCustomers the number of customers to list by revenue, and by losses */
export async function sumMonth(database: Database, month: Month, maxCustomers: number): Promise<MonthSums> {
  const { rows } = await database.raw<{ rows: Row[] }>(SUMS, {
    from: month.from,
    to: month.to,
    ...startPeriodOf(month),
    maxCustomers,
  });
  const customersMoney = await readStatementOfAll(database, { from: month.from, to: month.to });
  const partsOf = (part: Row['part']) => rows.filter((row) => row.part === part);
  const total = onlyRow(partsOf('total'));
  const [others] = partsOf('others');
  return {
    total: toEarnings(total),
    models: partsOf('model').map((row) => ({
      ...toEarnings(row),
      kind: row.kind ?? 'text',
      model: row.model ?? '',
    })),
    vendors: partsOf('vendor').map((row) => ({ ...toEarnings(row), vendor: row.vendor })),
    customers: partsOf('customer').map((row) => ({
      ...toEarnings(row),
      accountId: row.account_id ?? '',
      accountName: row.account_name ?? '',
    })),
    otherCustomers: others ? toEarnings(others) : null,
    revenueByDay: new Map(partsOf('day').map(({ day, revenue }) => [day ?? '', picoUsd(revenue)])),
    customersMoney,
    countedAt: total.counted_at,
  };
}

function toEarnings(row: Row): Earnings {
  return {
    charges: Number(row.charges),
    refunds: Number(row.refunds),
    revenue: picoUsd(row.revenue),
    cost: row.cost === null ? null : picoUsd(row.cost),
    uncosted: picoUsd(row.uncosted),
    margin: row.margin === null ? null : picoUsd(row.margin),
  };
}

/** The columns of {@link Earnings} over parts of sums. */
const ADDED_UP = /* sql */ `sum(charges) AS charges, sum(refunds) AS refunds, sum(revenue) AS revenue, sum(cost) AS cost,
  sum(uncosted) AS uncosted, sum(margin) AS margin`;

const SUMS = /* sql */ `
  WITH spent AS (
    SELECT task_id, sum(cost) AS cost FROM submissions
    WHERE task_created_at >= :opened AND task_created_at < :to GROUP BY task_id
  ), booked AS (
    SELECT transfer.kind AS transfer, transfer.account_id,
      to_char(transfer.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day,
      coalesce(task.kind, 'text') AS kind, coalesce(task.model, request.model) AS model,
      coalesce(task.provider, request.upstream) AS vendor,
      CASE WHEN transfer.kind IN ${CHARGES} THEN transfer.amount ELSE 0 END AS revenue,
      CASE WHEN transfer.text_request_id IS NULL THEN spent.cost
        -- Counted once, though a charge may take several transfers, each of which adds to the margin.
        WHEN ${isFirstCharge('transfer', 'request')} THEN cost_of_text(request.*, rates.*)
        ELSE cost_of_text(request.*, rates.*) * 0 END AS cost,
      transfer.kind = 'settlement' OR ${isFirstCharge('transfer', 'request')} AS is_charge
    FROM transfers AS transfer
    LEFT JOIN tasks AS task ON task.id = transfer.task_id AND task.created_at = transfer.opened_at
    LEFT JOIN spent ON spent.task_id = transfer.task_id
    LEFT JOIN text_requests AS request ON request.id = transfer.text_request_id
      AND request.created_at >= :opened AND request.created_at < :startedBefore
    ${joinRates('request')}
    WHERE transfer.created_at >= :from AND transfer.created_at < :to
      AND transfer.opened_at >= :opened AND transfer.opened_at < :to
      AND (transfer.kind IN ${CHARGES} OR transfer.kind = 'refund')
    UNION ALL
    SELECT 'failed_attempt', attempt.account_id, to_char(attempt.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD'), 'text',
      attempt.model, attempt.upstream, 0, cost_of_failed_attempt(attempt.*, rates.*), false
    FROM ${FAILED_ATTEMPTS_WITH_RATES} WHERE attempt.created_at >= :from AND attempt.created_at < :to
  ), summed AS (
    SELECT CASE GROUPING(day, model, account_id, vendor)
        WHEN 15 THEN 'total' WHEN 7 THEN 'day' WHEN 11 THEN 'model' WHEN 13 THEN 'customer' ELSE 'vendor' END AS part,
      day, kind, model, account_id, vendor,
      count(*) FILTER (WHERE is_charge) AS charges,
      count(*) FILTER (WHERE transfer = 'refund') AS refunds,
      coalesce(sum(revenue), 0) AS revenue, CASE WHEN count(*) = 0 THEN 0 ELSE sum(cost) END AS cost,
      coalesce(sum(revenue) FILTER (WHERE cost IS NULL), 0) AS uncosted,
      CASE WHEN count(*) = 0 THEN 0 ELSE sum(revenue - cost) END AS margin
    FROM booked GROUP BY GROUPING SETS ((), (day), (kind, model), (account_id), (vendor))
  ), ranked AS (
    SELECT *, row_number() OVER (PARTITION BY part ORDER BY revenue DESC, account_id) <= :maxCustomers
      OR margin < 0 AND row_number() OVER (PARTITION BY part ORDER BY margin, account_id) <= :maxCustomers AS is_listed
    FROM summed
  )
  SELECT part, day, kind, model, vendor, account_id, account.name AS account_name, charges, refunds, revenue, cost,
    uncosted, margin, now() AS counted_at
  FROM ranked LEFT JOIN accounts AS account ON account.id = ranked.account_id
  WHERE part <> 'customer' OR is_listed
  UNION ALL
  SELECT 'others', NULL, NULL, NULL, NULL, NULL, NULL, ${ADDED_UP}, now()
  FROM ranked WHERE part = 'customer' AND NOT is_listed HAVING count(*) > 0
  ORDER BY revenue DESC, kind, model, vendor, account_id`;
