/** Statements, text requests and refunds as finance sees them. */
import type { Database } from '../../db/database.ts';
import {
  type Activity,
  type AccountBalances,
  type Refund,
  type RefundFilter,
  type Statement,
  streamRefunds,
} from '../../db/queries/statements.ts';
import type { BalanceEntry } from '../../db/queries/balance-entries.ts';
import type { TextUsage } from '../../db/queries/usage.ts';
import * as field from '../../domain/resource/field.ts';
import { nested, resource } from '../../domain/resource/resource.ts';
import { historyUrl, type HistoryLinks } from '../operations/history-link.ts';
import { BALANCE_ENTRY } from './balance.ts';
import { TEXT_REQUEST } from './usage.ts';

const BOOKS = nested<AccountBalances>({
  available_usd: field.exactUsd('available', 'The amount available to spend'),
  reserved_usd: field.exactUsd('reserved', 'The amount held for running tasks and requests'),
  total_usd: field.exactUsd(({ available, reserved }) => available + reserved, 'The sum of available and reserved'),
});

const ACTIVITY = nested<Activity>({
  kind: field.text('kind', '`topup`, `reservation`, `settlement`, …'),
  transfers: field.count('transfers', 'The number of transfers'),
  ...BOOKS.fields,
});

/** A statement and its account. */
interface StatementOfPeriod extends Statement {
  readonly accountId: string;
  readonly date: string | undefined;
  readonly month: string | undefined;
}

/** Amounts are decimal strings, so that opening plus activity equals closing exactly. */
export const STATEMENT = resource<StatementOfPeriod>(
  'Statement',
  {
    object: field.constant('statement'),
    account_id: field.id('account')('accountId'),
    date: field.day.orAbsent('date', 'The day, in UTC'),
    month: field.text.orAbsent('month', 'The month, in UTC, such as 2026-11'),
    opening: field.object(BOOKS)('opening'),
    activity: field.list(ACTIVITY)('activity', 'The changes by kind of transfer'),
    closing: field.object(BOOKS)('closing'),
  },
  'In each ledger account, opening plus activity equals closing.',
);

/** A line of a statement: the opening balance, the changes by one kind of transfer, or the closing balance. */
export interface StatementLine extends AccountBalances {
  readonly line: string;
  readonly transfers: number | null;
}

export const STATEMENT_LINE = nested<StatementLine>({
  line: field.text('line'),
  transfers: field.count.orNull('transfers'),
  ...BOOKS.fields,
});

export function linesOf({ opening, activity, closing }: Statement): readonly StatementLine[] {
  return [
    { line: 'opening', transfers: null, ...opening },
    ...activity.map(({ kind, ...change }) => ({ line: kind, ...change })),
    { line: 'closing', transfers: null, ...closing },
  ];
}

export const LISTED_REFUND = nested<Refund>({
  created_at: field.isoTime('createdAt', 'When the amount was refunded'),
  id: field.id('transfer')('id'),
  object: field.constant('refund'),
  account_id: field.id('account')('accountId'),
  api_key_id: field.id('apiKey').orNull('apiKeyId'),
  amount_usd: field.usd('amount', 'The amount refunded'),
  reservation_id: field.id('transfer').orNull('reservationId', 'The reservation that the refund resolves'),
  task_id: field.id('task').orNull('taskId'),
  model: field.text.orNull('model', 'The model'),
  cause: field.text.orNull('cause', 'The error code'),
  message: field.text.orNull('message', 'The error message that the client received'),
  request_id: field.text.orNull('requestId', 'The request id in the logs'),
});

/** A refund, with the links to its task's history. */
interface ShownRefund extends Refund {
  readonly temporal: HistoryLinks;
}

export const REFUND = resource<ShownRefund>('Refund', {
  ...LISTED_REFUND.fields,
  history_url: field.url.orNull(
    ({ taskId, temporal }) => taskId && historyUrl(temporal, taskId),
    'The task’s history in Temporal',
  ),
});

/** Streams all refunds that match the filter, for an export. */
export async function* streamShownRefunds(
  database: Database,
  filter: RefundFilter,
  temporal: HistoryLinks,
): AsyncIterable<ShownRefund> {
  for await (const refund of streamRefunds(database, filter)) yield { ...refund, temporal };
}

/** A text request as its account sees it, with its route, its hold, and the cost that the operator bore. */
export const ADMIN_TEXT_REQUEST = resource<TextUsage>(
  'AdminTextRequest',
  {
    ...TEXT_REQUEST.fields,
    account_id: field.id('account')('accountId'),
    upstream: field.text.orNull('upstream', 'The provider that answered'),
    upstream_format: field.text.orNull('upstreamFormat', 'The provider’s wire format'),
    upstream_model: field.text.orNull('upstreamModel', 'The provider’s name for the model'),
    held_usd: field.usd('held', 'The amount held before the model was called'),
    absorbed_usd: field.usd('absorbed', 'The part of the cost that the account could not cover'),
  },
  'A finished text request, with the fields for operators.',
);

/** An entry as its account sees it, with the author and the reason of a correction. */
export const ADMIN_BALANCE_ENTRY = resource<BalanceEntry>(
  'AdminBalanceEntry',
  {
    ...BALANCE_ENTRY.fields,
    author: field.text.orNull('author', 'The author of a correction. Null for other changes'),
    reason: field.text.orNull('reason', 'The reason of a correction. Null for other changes'),
  },
  'A change of the balance, with the fields for operators.',
);
