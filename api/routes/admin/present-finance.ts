/** The ledger, statements, usage and refunds as finance sees them: as objects, and as export columns. */
import type { Activity, BooksOfAccount, Refund, Statement } from '../../../db/queries/statements.ts';
import type { Transfer } from '../../../db/queries/transfers.ts';
import type { DailyUsage } from '../../../db/queries/daily-usage.ts';
import type { TextUsage } from '../../../db/queries/usage.ts';
import { nullable } from '../../../domain/json-schema.ts';
import { formatUsd, toUsdNumber } from '../../../domain/money.ts';
import type { Column } from '../../exports.ts';
import { historyUrl, type HistoryLinks } from '../../history-link.ts';
import {
  arrayOf,
  component,
  count,
  exactly,
  exactUsd,
  fieldsOf,
  idOf,
  isoTime,
  namedObject,
  object,
  objectOf,
  optional,
  text,
  usd,
} from '../../openapi/json-schema.ts';
import { presentTextUsage, TEXT_REQUEST_FIELDS } from '../usage/present.ts';

export const TRANSFER_COLUMNS: readonly Column<Transfer>[] = [
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

/** A line of a statement: the opening balance, the changes by one kind of transfer, or the closing balance. */
export interface StatementLine extends BooksOfAccount {
  readonly line: string;
  readonly transfers: number | null;
}

export function linesOf({ opening, activity, closing }: Statement): readonly StatementLine[] {
  return [
    { line: 'opening', transfers: null, ...opening },
    ...activity.map(({ kind, ...change }) => ({ line: kind, ...change })),
    { line: 'closing', transfers: null, ...closing },
  ];
}

export const STATEMENT_COLUMNS: readonly Column<StatementLine>[] = [
  ['line', ({ line }) => line],
  ['transfers', ({ transfers }) => transfers],
  ['available_usd', ({ available }) => formatUsd(available)],
  ['reserved_usd', ({ reserved }) => formatUsd(reserved)],
  ['total_usd', ({ available, reserved }) => formatUsd(available + reserved)],
];

type StatementObject = ReturnType<typeof presentStatement>;

const BOOKS = fieldsOf<StatementObject['opening']>({
  available_usd: exactUsd('Available to spend'),
  reserved_usd: exactUsd('Held for running tasks and requests'),
  total_usd: exactUsd('The sum of both'),
});

export const StatementSchema = namedObject<StatementObject>(
  'Statement',
  {
    object: exactly('statement'),
    account_id: idOf('account'),
    date: optional(text('The day, in UTC', { format: 'date' })),
    month: optional(text('The month, in UTC, such as 2026-11')),
    opening: object(BOOKS),
    activity: arrayOf(
      objectOf<StatementObject['activity'][number]>({
        kind: text('`topup`, `reservation`, `settlement`, …'),
        transfers: count('Number of transfers'),
        ...BOOKS,
      }),
      'Changes by kind of transfer',
    ),
    closing: object(BOOKS),
  },
  'In each book, opening plus activity equals closing.',
);

/** Amounts are decimal strings, so that opening plus activity equals closing exactly. */
export function presentStatement(
  statement: Statement,
  period: { readonly accountId: string; readonly date: string | undefined; readonly month: string | undefined },
) {
  const { accountId, date, month } = period;
  return {
    object: 'statement',
    account_id: accountId,
    ...(date !== undefined && { date }),
    ...(month !== undefined && { month }),
    opening: presentBooks(statement.opening),
    activity: statement.activity.map(presentActivity),
    closing: presentBooks(statement.closing),
  };
}

export function presentStatementLine({ line, transfers, ...books }: StatementLine) {
  return { line, transfers, ...presentBooks(books) };
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

export const RefundSchema = namedObject<ReturnType<typeof presentRefund>>('Refund', {
  id: idOf('transfer'),
  object: exactly('refund'),
  created_at: isoTime('When it was refunded'),
  account_id: idOf('account'),
  api_key_id: nullable(idOf('apiKey')),
  amount_usd: usd('The amount refunded'),
  reservation_id: nullable(idOf('transfer', 'The reservation that it resolves')),
  task_id: nullable(idOf('task')),
  text_request_id: nullable(idOf('textRequest')),
  model: nullable(text('The model')),
  cause: nullable(text('The error code')),
  message: nullable(text('The error message that the client got')),
  request_id: nullable(text('The request id in the logs')),
  history_url: nullable(text('The task’s history in Temporal', { format: 'uri' })),
});

export function presentRefund(refund: Refund, temporal: HistoryLinks) {
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
    history_url: historyOf(refund, temporal),
  };
}

/** Text requests have no workflow history. */
function historyOf({ taskId }: Refund, temporal: HistoryLinks): string | null {
  return taskId && historyUrl(temporal, taskId);
}

export const refundColumns = (temporal: HistoryLinks): readonly Column<Refund>[] => [
  ['created_at', ({ createdAt }) => createdAt.toISOString()],
  ['id', ({ id }) => id],
  ['account_id', ({ accountId }) => accountId],
  ['api_key_id', ({ apiKeyId }) => apiKeyId],
  ['amount_usd', ({ amount }) => formatUsd(amount)],
  ['reservation_id', ({ reservationId }) => reservationId],
  ['task_id', ({ taskId }) => taskId],
  ['text_request_id', ({ textRequestId }) => textRequestId],
  ['model', ({ model }) => model],
  ['cause', ({ cause }) => cause],
  ['message', ({ message }) => message],
  ['request_id', ({ requestId }) => requestId],
  ['history_url', (refund) => historyOf(refund, temporal)],
];

export const DAILY_USAGE_COLUMNS: readonly Column<DailyUsage>[] = [
  ['date', ({ date }) => date],
  ['kind', ({ kind }) => kind],
  ['model', ({ model }) => model],
  ['api_key_id', ({ apiKeyId }) => apiKeyId],
  ['requests', ({ requests }) => requests],
  ['failed', ({ failed }) => failed],
  ['input_tokens', ({ inputTokens }) => inputTokens],
  ['cache_read_tokens', ({ cacheReadTokens }) => cacheReadTokens],
  ['cache_write_tokens', ({ cacheWriteTokens }) => cacheWriteTokens],
  ['output_tokens', ({ outputTokens }) => outputTokens],
  ['billable_duration_seconds', ({ billableSeconds }) => billableSeconds],
  ['charged_usd', ({ charged }) => formatUsd(charged)],
];

export const AdminTextRequestSchema = component(
  'AdminTextRequest',
  object(
    {
      ...TEXT_REQUEST_FIELDS,
      ...fieldsOf<Omit<ReturnType<typeof presentAdminTextUsage>, keyof ReturnType<typeof presentTextUsage>>>({
        account_id: idOf('account'),
        upstream: nullable(text('The provider that answered')),
        upstream_format: nullable(text('The provider’s wire format')),
        upstream_model: nullable(text('The provider’s name for the model')),
        held_usd: usd('The amount held before the model was called'),
        absorbed_usd: usd('The part of the cost that the account could not cover'),
      }),
    },
    'A finished text request, as operators see it.',
  ),
);

/** A text request as its account sees it, and the operators' view: route, hold, and the cost that the operator bore. */
export function presentAdminTextUsage(usage: TextUsage) {
  return {
    ...presentTextUsage(usage),
    account_id: usage.accountId,
    upstream: usage.upstream,
    upstream_format: usage.upstreamFormat,
    upstream_model: usage.upstreamModel,
    held_usd: toUsdNumber(usage.held),
    absorbed_usd: toUsdNumber(usage.absorbed),
  };
}

export const TEXT_USAGE_COLUMNS: readonly Column<TextUsage>[] = [
  ['created_at', ({ createdAt }) => createdAt.toISOString()],
  ['id', ({ id }) => id],
  ['request_id', ({ requestId }) => requestId],
  ['api_key_id', ({ apiKeyId }) => apiKeyId],
  ['model', ({ model }) => model],
  ['format', ({ format }) => format],
  ['stream', ({ streamed }) => streamed],
  ['upstream', ({ upstream }) => upstream],
  ['upstream_format', ({ upstreamFormat }) => upstreamFormat],
  ['upstream_model', ({ upstreamModel }) => upstreamModel],
  ['outcome', ({ outcome }) => outcome],
  ['error_code', ({ errorCode }) => errorCode],
  ['rates_version', ({ catalogueVersion }) => catalogueVersion],
  ['price_modifiers', ({ modifiers }) => modifiers.map(({ kind, factor }) => `${kind} ${factor}`).join(' ')],
  ['input_tokens', ({ inputTokens }) => inputTokens],
  ['cache_read_tokens', ({ cacheReadTokens }) => cacheReadTokens],
  ['cache_write_tokens', ({ cacheWriteTokens }) => cacheWriteTokens],
  ['output_tokens', ({ outputTokens }) => outputTokens],
  ['reasoning_tokens', ({ reasoningTokens }) => reasoningTokens],
  ['estimated', ({ estimated }) => estimated],
  ['held_usd', ({ held }) => formatUsd(held)],
  ['charged_usd', ({ charged }) => formatUsd(charged)],
  ['absorbed_usd', ({ absorbed }) => formatUsd(absorbed)],
  ['latency_ms', ({ latencyMs }) => latencyMs],
  ['first_byte_ms', ({ firstByteMs }) => firstByteMs],
];
