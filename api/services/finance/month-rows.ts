/** A month's transfers as rows of its export: what was booked, with usage, revenue, cost and margin. */
import type { Database } from '../../../db/database.ts';
import { type AcknowledgedFinding, type Books, findClosedMonth } from '../../../db/queries/closed-months.ts';
import { type BookedTransfer, streamMonth } from '../../../db/queries/month-export.ts';
import { isCharge, TRANSFERS } from '../../../domain/ledger.ts';
import { formatUsd, type PicoUsd } from '../../../domain/money.ts';
import type { Month } from '../../../domain/month.ts';
import type { Column } from '../../exports.ts';

/** The kinds of transfers that charge accounts. */
const CHARGES: ReadonlySet<string> = new Set(
  Object.entries(TRANSFERS).flatMap(([kind, move]) => (isCharge(move) ? [kind] : [])),
);

/** What accounts were charged in a month. */
export function revenueOfBooks({ amounts }: Books): PicoUsd {
  return [...amounts].reduce((total, [kind, amount]) => total + (CHARGES.has(kind) ? amount : 0n), 0n);
}

/** What an account was charged by a transfer; null for one that charges nothing. */
function revenueOf({ kind, amount }: BookedTransfer): PicoUsd | null {
  return CHARGES.has(kind) ? amount : null;
}

/** Revenue less cost, where the cost is known. */
function marginOf(transfer: BookedTransfer): PicoUsd | null {
  return transfer.cost === null ? null : (revenueOf(transfer) ?? 0n) - transfer.cost;
}

const exact = (amount: PicoUsd | null): string | null => (amount === null ? null : formatUsd(amount));

const BOOKED_COLUMNS: readonly Column<BookedTransfer>[] = [
  ['created_at', ({ createdAt }) => createdAt.toISOString()],
  ['id', ({ id }) => id],
  ['kind', ({ kind }) => kind],
  ['debit', ({ debit }) => debit],
  ['credit', ({ credit }) => credit],
  ['account_id', ({ accountId }) => accountId],
  ['account_name', ({ accountName }) => accountName],
  ['external_id', ({ externalId }) => externalId],
  ['api_key_id', ({ apiKeyId }) => apiKeyId],
  ['amount_usd', ({ amount }) => formatUsd(amount)],
  ['signup_usd', ({ signupAmount }) => formatUsd(signupAmount)],
  ['released_usd', ({ released }) => formatUsd(released)],
  ['revenue_usd', (transfer) => exact(revenueOf(transfer))],
  ['cost_usd', ({ cost }) => exact(cost)],
  ['margin_usd', (transfer) => exact(marginOf(transfer))],
  ['pending_id', ({ pendingId }) => pendingId],
  ['task_id', ({ taskId }) => taskId],
  ['text_request_id', ({ textRequestId }) => textRequestId],
  ['request_kind', ({ requestKind }) => requestKind],
  ['model', ({ model }) => model],
  ['upstream', ({ upstream }) => upstream],
  ['upstream_model', ({ upstreamModel }) => upstreamModel],
  ['billable_duration_seconds', ({ billableSeconds }) => billableSeconds],
  ['input_tokens', ({ inputTokens }) => inputTokens],
  ['cache_read_tokens', ({ cacheReadTokens }) => cacheReadTokens],
  ['cache_write_tokens', ({ cacheWriteTokens }) => cacheWriteTokens],
  ['output_tokens', ({ outputTokens }) => outputTokens],
  ['rates_version', ({ catalogueVersion }) => catalogueVersion],
  ['cause', ({ cause }) => cause],
  ['message', ({ message }) => message],
  ['reference', ({ reference }) => reference],
  ['author', ({ author }) => author],
  ['reason', ({ reason }) => reason],
];

/** A line of a month's export: a transfer, or after them a finding that was acknowledged when the month was closed. */
export type MonthLine = BookedTransfer | AcknowledgedFinding;

const ACKNOWLEDGED_FIELDS: Readonly<Record<string, (finding: AcknowledgedFinding) => string>> = {
  created_at: ({ acknowledgedAt }) => acknowledgedAt,
  id: ({ id }) => id,
  kind: () => 'acknowledged_finding',
  cause: ({ check }) => check,
  message: ({ subject, detail }) => `${subject}: ${detail}`,
  author: ({ author, confirmedBy }) => (author === confirmedBy ? author : `${author}, confirmed by ${confirmedBy}`),
  reason: ({ reason }) => reason,
};

/** The columns of a month's export. A finding has none of the amounts. */
export const MONTH_COLUMNS: readonly Column<MonthLine>[] = BOOKED_COLUMNS.map(([name, value]) => [
  name,
  (line) => ('confirmedBy' in line ? (ACKNOWLEDGED_FIELDS[name]?.(line) ?? null) : value(line)),
]);

/** Everything that is booked in a month, and which findings were acknowledged when it was closed. */
export async function* streamMonthLines(database: Database, month: Month): AsyncGenerator<MonthLine> {
  yield* streamMonth(database, month);
  yield* (await findClosedMonth(database, month.name))?.acknowledged ?? [];
}

/** The same fields for programs; amounts are exact decimals there, too. */
export function presentMonthLine(line: MonthLine): Readonly<Record<string, unknown>> {
  return Object.fromEntries(MONTH_COLUMNS.map(([name, value]) => [name, value(line)]));
}
