/** Months: everything that is booked in one, and closing it. */
import {
  type ClosedMonth,
  closeMonth as close,
  listClosedMonths as findClosed,
} from '../../../db/queries/closed-months.ts';
import { type BookedTransfer, streamMonth } from '../../../db/queries/month-export.ts';
import { badRequest } from '../../../domain/errors.ts';
import { isCharge, TRANSFERS } from '../../../domain/ledger.ts';
import { formatUsd, type PicoUsd } from '../../../domain/money.ts';
import { type Month, parseMonth } from '../../../domain/month.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { optionalJsonBody } from '../../endpoint/body.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { type Column, orAllRows, sendAll, sendLines } from '../../exports.ts';
import {
  arrayOf,
  component,
  count,
  exactly,
  exactUsd,
  fieldsOf,
  isoTime,
  object,
  text,
} from '../../openapi/json-schema.ts';
import { authorOf } from '../../services/administrator.ts';
import { closeMonthSchema } from './schema.ts';

const ClosedMonthSchema = component(
  'ClosedMonth',
  object(
    fieldsOf<ReturnType<typeof presentClosedMonth>>({
      object: exactly('closed_month'),
      month: text('In UTC, such as 2026-10'),
      closed_at: isoTime('When it was closed'),
      author: text('Who closed it'),
      transfers: count('Number of transfers'),
      revenue_usd: exactUsd('What was charged'),
      amounts_usd: object({}, 'What the transfers of each kind add up to; USD, exact'),
      checksum: text('Over every transfer; reconciliation compares it'),
    }),
    'A month whose books do not change any more.',
  ),
);

export const listClosedMonths = endpoint({
  id: 'listClosedMonths',
  tag: 'Administration',
  method: 'get',
  path: '/admin/v1/months',
  access: 'admin-read',
  summary: 'List the months that are closed, latest first',
  answers: { 200: dataOf(arrayOf(ClosedMonthSchema), 'The closed months') },
  handle: async (_call, { reports }) => ({ data: (await findClosed(reports)).map(presentClosedMonth) }),
});

export const closeMonth = endpoint({
  id: 'closeMonth',
  tag: 'Administration',
  method: 'post',
  path: '/admin/v1/months/{month}/close',
  access: 'admin-finance',
  summary: 'Close a month',
  description:
    'A day after its end at the earliest, and one month after the other. Nothing can be booked in it or before it any more: ' +
    'corrections are new transfers in the open month.',
  body: optionalJsonBody('CloseMonth', closeMonthSchema),
  answers: { 200: dataOf(ClosedMonthSchema, 'Closed before'), 201: dataOf(ClosedMonthSchema, 'Closed') },
  refusals: ['bad_request'],
  handle: async ({ params, caller, body, context }, { reports }) => {
    const month = existingMonth(params.month);
    const outcome = await close(reports, month, authorOf(caller, body.author));
    if ('refusal' in outcome) {
      throw badRequest(
        outcome.refusal.reason === 'not over'
          ? `${month.name} can be closed from ${new Date(month.to.getTime() + MS_PER_DAY).toISOString()} on: what began in it may still be booked.`
          : `Months are closed one after the other: the next one is ${outcome.refusal.next}.`,
      );
    }
    if (outcome.isNew) context.status = 201;
    return { data: presentClosedMonth(outcome.closed) };
  },
});

const MS_PER_DAY = 24 * 60 * 60 * 1000;

export const exportMonth = endpoint({
  id: 'exportMonth',
  tag: 'Administration',
  method: 'get',
  path: '/admin/v1/months/{month}/export',
  access: 'admin-read',
  summary: 'Export everything that is booked in a month',
  description:
    'Every transfer of every account with what it was for: usage, revenue, cost, margin, and why refunds were given. JSON ' +
    'lines, or CSV with `Accept: text/csv`; streamed. A closed month always gives the same rows.',
  answers: { 200: orAllRows({ description: 'The transfers of the month' }) },
  refusals: ['bad_request'],
  handle: ({ params, context }, { reports }) => {
    const month = existingMonth(params.month);
    const transfers = { rows: () => streamMonth(reports, month), columns: BOOKED_COLUMNS, present: presentBooked };
    if (!sendAll(context, transfers)) sendLines(context, transfers);
  },
});

/** @throws ServiceError `bad_request` */
function existingMonth(name: string): Month {
  const month = parseMonth(name);
  if (!month) throw badRequest('The month must be named as in 2026-10');
  return month;
}

function presentClosedMonth({ month, closedAt, author, transfers, amounts, checksum }: ClosedMonth) {
  const revenue = [...amounts].reduce((total, [kind, amount]) => total + (CHARGES.has(kind) ? amount : 0n), 0n);
  return {
    object: 'closed_month',
    month,
    closed_at: closedAt.toISOString(),
    author,
    transfers,
    revenue_usd: formatUsd(revenue),
    amounts_usd: Object.fromEntries([...amounts].map(([kind, amount]) => [kind, formatUsd(amount)])),
    checksum,
  };
}

/** The kinds of transfers that charge accounts. */
const CHARGES: ReadonlySet<string> = new Set(
  Object.entries(TRANSFERS).flatMap(([kind, move]) => (isCharge(move) ? [kind] : [])),
);

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

/** The same fields for programs; amounts are exact decimals there, too. */
function presentBooked(transfer: BookedTransfer): object {
  return Object.fromEntries(BOOKED_COLUMNS.map(([name, value]) => [name, value(transfer)]));
}
