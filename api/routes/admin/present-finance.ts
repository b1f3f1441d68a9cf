/** What finance sees. */
import type { Activity, BooksOfAccount, Refund, Statement } from '../../../db/queries/statements.ts';
import type { Transfer } from '../../../db/queries/transfers.ts';
import { formatUsd, toUsdNumber } from '../../../domain/money.ts';

export { presentTransfer } from './present.ts';

/** The columns of the ledger as CSV; amounts are exact decimals. */
export const TRANSFER_COLUMNS: readonly (readonly [name: string, (transfer: Transfer) => string | null])[] = [
  ['created_at', ({ createdAt }) => createdAt.toISOString()],
  ['id', ({ id }) => id],
  ['kind', ({ kind }) => kind],
  ['debit', ({ debit }) => debit],
  ['credit', ({ credit }) => credit],
  ['amount_usd', ({ amount }) => formatUsd(amount)],
  ['signup_usd', ({ signupAmount }) => formatUsd(signupAmount)],
  ['released_usd', ({ released }) => formatUsd(released)],
  ['pending_id', ({ pendingId }) => pendingId],
  ['account_id', ({ accountId }) => accountId],
  ['api_key_id', ({ apiKeyId }) => apiKeyId],
  ['task_id', ({ taskId }) => taskId],
  ['text_request_id', ({ textRequestId }) => textRequestId],
  ['reference', ({ reference }) => reference],
  ['author', ({ author }) => author],
  ['reason', ({ reason }) => reason],
];

/** Amounts are decimals in texts, so that opening and activity add up to closing for whoever adds them. */
export function presentStatement(statement: Statement, { accountId, date }: { accountId: string; date: string }) {
  return {
    object: 'statement',
    account_id: accountId,
    date,
    opening: presentBooks(statement.opening),
    activity: statement.activity.map(presentActivity),
    closing: presentBooks(statement.closing),
  };
}

function presentActivity({ kind, transfers, ...books }: Activity) {
  return { kind, transfers, ...presentBooks(books) };
}

function presentBooks({ available, reserved }: BooksOfAccount) {
  return {
    available_usd: formatUsd(available),
    reserved_usd: formatUsd(reserved),
    total_usd: formatUsd(available + reserved),
  };
}

export function presentRefund(refund: Refund, temporal: { readonly uiUrl: string; readonly namespace: string }) {
  return {
    id: refund.id,
    object: 'refund',
    created_at: refund.createdAt.toISOString(),
    account_id: refund.accountId,
    api_key_id: refund.apiKeyId,
    amount_usd: toUsdNumber(refund.amount),
    reservation_id: refund.reservationId,
    task_id: refund.taskId,
    text_request_id: refund.textRequestId,
    model: refund.model,
    cause: refund.cause,
    message: refund.message,
    request_id: refund.requestId,
    history_url:
      refund.taskId &&
      `${temporal.uiUrl}/namespaces/${encodeURIComponent(temporal.namespace)}/workflows/${refund.taskId}`,
  };
}
