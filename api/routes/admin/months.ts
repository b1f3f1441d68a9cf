/** Months: everything that is booked in one, and closing it. */
import {
  type AcknowledgedFinding,
  type ClosedMonth,
  listClosedMonths as findClosed,
} from '../../../db/queries/closed-months.ts';
import { badRequest } from '../../../domain/errors.ts';
import { formatUsd } from '../../../domain/money.ts';
import { type Month, parseMonth } from '../../../domain/month.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { optionalJsonBody } from '../../endpoint/body.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { orAllRows, sendAll, sendLines } from '../../exports.ts';
import {
  arrayOf,
  count,
  exactly,
  exactUsd,
  fieldsOf,
  idOf,
  isoTime,
  namedObject,
  object,
  text,
} from '../../openapi/json-schema.ts';
import { authorOf } from '../../services/administrator.ts';
import { closeMonth as close } from '../../services/finance/close-month.ts';
import {
  MONTH_COLUMNS,
  presentMonthLine,
  revenueOfBooks,
  streamMonthLines,
} from '../../services/finance/month-rows.ts';
import { closeMonthSchema } from './schema.ts';

const AcknowledgedFindingSchema = object(
  fieldsOf<ReturnType<typeof presentAcknowledged>>({
    id: idOf('acknowledgement'),
    check: text('The check that found it'),
    subject: text('The id of the row'),
    detail: text('What is wrong; amounts are in pico-USD'),
    reason: text('Why it stays as it is'),
    author: text('Who acknowledged it'),
    confirmed_by: text('The second person, or the author where it took one'),
    acknowledged_at: isoTime('When'),
  }),
);

const ClosedMonthSchema = namedObject<ReturnType<typeof presentClosedMonth>>(
  'ClosedMonth',
  {
    object: exactly('closed_month'),
    month: text('In UTC, such as 2026-10'),
    closed_at: isoTime('When it was closed'),
    author: text('Who closed it'),
    transfers: count('Number of transfers'),
    revenue_usd: exactUsd('What was charged'),
    amounts_usd: object({}, 'What the transfers of each kind add up to; USD, exact'),
    checksum: text('Over every transfer; reconciliation compares it'),
    acknowledged_findings: arrayOf(AcknowledgedFindingSchema, 'Those of reconciliation that stood when it was closed'),
  },
  'A month whose books do not change any more.',
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
    'A day after its end at the earliest, one month after the other, and not while the latest reconciliation has findings that ' +
    'nobody has acknowledged. ' +
    'Nothing can be booked in it or before it any more: corrections are new transfers in the open month.',
  body: optionalJsonBody('CloseMonth', closeMonthSchema),
  answers: { 200: dataOf(ClosedMonthSchema, 'Closed before'), 201: dataOf(ClosedMonthSchema, 'Closed') },
  refusals: ['bad_request'],
  handle: async ({ params, caller, body, context }, { reports }) => {
    const month = existingMonth(params.month);
    const { closed, isNew } = await close(reports, month, authorOf(caller, body.author));
    if (isNew) context.status = 201;
    return { data: presentClosedMonth(closed) };
  },
});

export const exportMonth = endpoint({
  id: 'exportMonth',
  tag: 'Administration',
  method: 'get',
  path: '/admin/v1/months/{month}/export',
  access: 'admin-read',
  summary: 'Export everything that is booked in a month',
  description:
    'Every transfer of every account with what it was for: usage, revenue, cost, margin, and why refunds were given. JSON ' +
    'lines, or CSV with `Accept: text/csv`; streamed. A closed month always gives the same rows; the last ones are the ' +
    'findings of reconciliation that were acknowledged, of the kind `acknowledged_finding`.',
  answers: { 200: orAllRows({ description: 'The transfers of the month' }) },
  refusals: ['bad_request'],
  handle: ({ params, context }, { reports }) => {
    const month = existingMonth(params.month);
    const transfers = {
      rows: () => streamMonthLines(reports, month),
      columns: MONTH_COLUMNS,
      present: presentMonthLine,
    };
    if (!sendAll(context, transfers)) sendLines(context, transfers);
  },
});

/** @throws ServiceError `bad_request` */
function existingMonth(name: string): Month {
  const month = parseMonth(name);
  if (!month) throw badRequest('The month must be named as in 2026-10');
  return month;
}

function presentClosedMonth(closed: ClosedMonth) {
  const { month, closedAt, author, transfers, amounts, checksum, acknowledged } = closed;
  return {
    object: 'closed_month',
    month,
    closed_at: closedAt.toISOString(),
    author,
    transfers,
    revenue_usd: formatUsd(revenueOfBooks(closed)),
    amounts_usd: Object.fromEntries([...amounts].map(([kind, amount]) => [kind, formatUsd(amount)])),
    checksum,
    acknowledged_findings: acknowledged.map(presentAcknowledged),
  };
}

function presentAcknowledged({ confirmedBy, acknowledgedAt, ...finding }: AcknowledgedFinding) {
  return { ...finding, confirmed_by: confirmedBy, acknowledged_at: acknowledgedAt };
}
