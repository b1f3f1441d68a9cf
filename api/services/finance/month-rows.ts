/** A month's transfers as rows of its export: what was booked, with usage, revenue, cost and margin. */
import type { BookedTransfer } from '../../../db/queries/month-export.ts';
import type { Books } from '../../../db/queries/closed-months.ts';
import { isCharge, TRANSFERS } from '../../../domain/ledger.ts';
import { formatUsd, type PicoUsd } from '../../../domain/money.ts';
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

export const BOOKED_COLUMNS: readonly Column<BookedTransfer>[] = [
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

/** The same fields for programs; amounts are exact decimals there, too. */
export function presentBooked(transfer: BookedTransfer): Readonly<Record<string, unknown>> {
  return Object.fromEntries(BOOKED_COLUMNS.map(([name, value]) => [name, value(transfer)]));
}
