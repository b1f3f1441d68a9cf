/** A month's transfers as rows of its export, with usage, revenue, cost and margin. */
import type { Database } from '../../db/database.ts';
import { type AcknowledgedFinding, type MonthTotals, findClosedMonth } from '../../db/queries/closed-months.ts';
import { type FailedTextAttempt, streamFailedAttempts } from '../../db/queries/failed-text-attempts.ts';
import { type ExportedTransfer, streamMonth } from '../../db/queries/month-export.ts';
import { totalChange, isCharge, signedAmount, TRANSFERS } from '../../domain/ledger.ts';
import type { PicoUsd } from '../../domain/money.ts';
import type { Month } from '../../domain/month.ts';
import { SUMMED_TOKEN_COUNTS } from '../../domain/text-tokens.ts';
import * as field from '../../domain/resource/field.ts';
import { BATCH_ID } from '../resources/usage.ts';
import { type Column, nested, type Presentation } from '../../domain/resource/resource.ts';

/** The kinds of transfers that charge accounts. */
const CHARGES: ReadonlySet<string> = new Set(
  Object.entries(TRANSFERS).flatMap(([kind, move]) => (isCharge(move) ? [kind] : [])),
);

/** The amount that accounts were charged in a month. */
export function sumRevenue({ amounts }: MonthTotals): PicoUsd {
  return [...amounts].reduce((total, [kind, amount]) => total + (CHARGES.has(kind) ? amount : 0n), 0n);
}

/** The amount that a transfer charges; null for a transfer that is not a charge. */
function revenueOf({ kind, amount }: ExportedTransfer): PicoUsd | null {
  return CHARGES.has(kind) ? amount : null;
}

/** Revenue less cost; null if the cost is unknown. */
function marginOf(transfer: ExportedTransfer): PicoUsd | null {
  return transfer.cost === null ? null : (revenueOf(transfer) ?? 0n) - transfer.cost;
}

const BOOKED = nested<ExportedTransfer>({
  created_at: field.isoTime('createdAt'),
  id: field.id('transfer')('id'),
  kind: field.text('kind'),
  debit: field.text('debit'),
  credit: field.text('credit'),
  account_id: field.id('account')('accountId'),
  account_name: field.text('accountName'),
  external_id: field.text.orNull('externalId'),
  api_key_id: field.id('apiKey').orNull('apiKeyId'),
  amount_usd: field.exactUsd(signedAmount),
  change_usd: field.exactUsd(totalChange),
  signup_usd: field.exactUsd('signupAmount'),
  revenue_usd: field.exactUsd.orNull(revenueOf),
  cost_usd: field.exactUsd.orNull('cost'),
  margin_usd: field.exactUsd.orNull(marginOf),
  pending_id: field.id('transfer').orNull('pendingId'),
  task_id: field.id('task').orNull('taskId'),
  text_request_id: field.text.orNull('textRequestId'),
  allowance_id: field.text.orNull('allowanceId'),
  request_kind: field.text.orNull('requestKind'),
  model: field.text.orNull('model'),
  upstream: field.text.orNull('upstream'),
  upstream_model: field.text.orNull('upstreamModel'),
  billable_duration_seconds: field.integer.orNull('billableSeconds'),
  ...Object.fromEntries(SUMMED_TOKEN_COUNTS.map(({ name, column }) => [column, field.text.orNull(name)])),
  rates_version: field.text.orNull('catalogueVersion'),
  price_list: field.text.orNull('priceList'),
  batch_id: BATCH_ID,
  cause: field.text.orNull('cause'),
  message: field.text.orNull('message'),
  reference: field.text.orNull('reference'),
  author: field.text.orNull('author'),
  reason: field.text.orNull('reason'),
});

/**
 * A line of a month's export: a transfer; after them, an attempt of a text request that failed at the operator's cost;
 * and a finding that was acknowledged when the month was closed.
 */
export type MonthLine = ExportedTransfer | FailedTextAttempt | AcknowledgedFinding;

const ACKNOWLEDGED_FIELDS: Readonly<Record<string, (finding: AcknowledgedFinding) => string | Date>> = {
  created_at: ({ acknowledgedAt }) => new Date(acknowledgedAt),
  id: ({ id }) => id,
  kind: () => 'acknowledged_finding',
  cause: ({ check }) => check,
  message: ({ subject, detail }) => `${subject}: ${detail}`,
  author: ({ author, confirmedBy }) => (author === confirmedBy ? author : `${author}, confirmed by ${confirmedBy}`),
  reason: ({ reason }) => reason,
};

/** A failed attempt moves no money of the account. */
const ATTEMPT = nested<FailedTextAttempt>({
  created_at: field.isoTime('createdAt'),
  id: field.text(({ textRequestId, number }) => `${textRequestId}.${number}`),
  kind: field.text(() => 'failed_attempt'),
  account_id: field.id('account')('accountId'),
  account_name: field.text('accountName'),
  external_id: field.text.orNull('externalId'),
  api_key_id: field.id('apiKey')('apiKeyId'),
  cost_usd: field.exactUsd.orNull('cost'),
  margin_usd: field.exactUsd.orNull(({ cost }) => cost && -cost),
  text_request_id: field.text('textRequestId'),
  request_kind: field.text(() => 'text'),
  model: field.text('model'),
  upstream: field.text('upstream'),
  upstream_model: field.text('upstreamModel'),
  ...Object.fromEntries(SUMMED_TOKEN_COUNTS.map(({ name, column }) => [column, field.text(name)])),
  rates_version: field.text('catalogueVersion'),
});

const ATTEMPT_FIELDS = new Map(ATTEMPT.columns);

const columns = BOOKED.columns.map(([name, value]): Column<MonthLine> => [
  name,
  (line) => {
    if ('confirmedBy' in line) return ACKNOWLEDGED_FIELDS[name]?.(line) ?? null;
    if ('number' in line) return ATTEMPT_FIELDS.get(name)?.(line) ?? null;
    return value(line);
  },
]);

/** A line of an export, with the same fields in JSON and CSV. A finding has no amounts. */
export const MONTH_LINE: Presentation<MonthLine> = {
  columns,
  present: (line) => {
    if ('confirmedBy' in line) return Object.fromEntries(columns.map(([name, value]) => [name, value(line)]));
    if (!('number' in line)) return BOOKED.present(line);
    return { ...Object.fromEntries(columns.map(([name]) => [name, null])), ...ATTEMPT.present(line) };
  },
};

/** Streams a month's transfers, failed attempts at the operator's cost, and findings acknowledged at its closing. */
export async function* streamMonthLines(database: Database, month: Month): AsyncGenerator<MonthLine> {
  yield* streamMonth(database, month);
  yield* streamFailedAttempts(database, month);
  yield* (await findClosedMonth(database, month.name))?.acknowledged ?? [];
}
