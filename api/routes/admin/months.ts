/** Months: exporting everything that is booked in a month, and closing it. */
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
import * as field from '../../../domain/resource/field.ts';
import { nested, resource } from '../../../domain/resource/resource.ts';
import { orAllRows, sendAll, sendLines } from '../../exports.ts';
import { arrayOf, object } from '../../../domain/json-schema.ts';
import { authorOf } from '../../services/administrator.ts';
import { closeMonth as close } from '../../services/finance/close-month.ts';
import { MONTH_LINE, revenueOfBooks, streamMonthLines } from '../../services/finance/month-rows.ts';
import { closeMonthSchema } from './schema.ts';

export const ACKNOWLEDGED_FINDING = nested<AcknowledgedFinding>({
  id: field.id('acknowledgement')('id'),
  check: field.text('check', 'The check that found it'),
  subject: field.text('subject', 'The id of the row'),
  detail: field.text('detail', 'What is wrong; amounts are in pico-USD'),
  reason: field.text('reason', 'Why it stays as it is'),
  author: field.text('author', 'Who acknowledged it'),
  confirmed_by: field.text('confirmedBy', 'The second person, or the author where it took one'),
  acknowledged_at: field.textWith({ format: 'date-time' })('acknowledgedAt', 'When'),
});

const CLOSED_MONTH = resource<ClosedMonth>(
  'ClosedMonth',
  {
    object: field.constant('closed_month'),
    month: field.text('month', 'In UTC, such as 2026-10'),
    closed_at: field.isoTime('closedAt', 'When it was closed'),
    author: field.text('author', 'Who closed it'),
    transfers: field.count('transfers', 'Number of transfers'),
    revenue_usd: field.exactUsd(revenueOfBooks, 'What was charged'),
    amounts_usd: field.json(object({}, 'What the transfers of each kind add up to; USD, exact'))(({ amounts }) =>
      Object.fromEntries([...amounts].map(([kind, amount]) => [kind, formatUsd(amount)])),
    ),
    checksum: field.text('checksum', 'Over every transfer; reconciliation compares it'),
    acknowledged_findings: field.list(ACKNOWLEDGED_FINDING)(
      'acknowledged',
      'Those of reconciliation that stood when it was closed',
    ),
  },
  'A month whose books do not change any more.',
);

export const listClosedMonths = endpoint({
  id: 'listClosedMonths',
  request: 'GET /admin/v1/months',
  access: 'admin-read',
  summary: 'List the months that are closed, latest first',
  answers: { 200: dataOf(arrayOf(CLOSED_MONTH.schema), 'The closed months') },
  handle: async (_call, { reports }) => ({ data: (await findClosed(reports)).map(CLOSED_MONTH.present) }),
});

export const closeMonth = endpoint({
  id: 'closeMonth',
  request: 'POST /admin/v1/months/{month}/close',
  access: 'admin-finance',
  summary: 'Close a month',
  description:
    'A day after its end at the earliest, one month after the other, and not while the latest reconciliation has findings that ' +
    'nobody has acknowledged. ' +
    'Nothing can be booked in it or before it any more: corrections are new transfers in the open month.',
  body: optionalJsonBody('CloseMonth', closeMonthSchema),
  answers: { 200: dataOf(CLOSED_MONTH.schema, 'Closed before'), 201: dataOf(CLOSED_MONTH.schema, 'Closed') },
  refusals: ['bad_request'],
  handle: async ({ params, caller, body, context }, { closing }) => {
    const month = existingMonth(params.month);
    const { closed, isNew } = await close(closing, month, authorOf(caller, body.author));
    if (isNew) context.status = 201;
    return { data: CLOSED_MONTH.present(closed) };
  },
});

export const exportMonth = endpoint({
  id: 'exportMonth',
  request: 'GET /admin/v1/months/{month}/export',
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
    const lines = () => streamMonthLines(reports, month);
    if (!sendAll(context, lines, MONTH_LINE)) sendLines(context, lines, MONTH_LINE.present);
  },
});

/** @throws ServiceError `bad_request` */
export function existingMonth(name: string): Month {
  const month = parseMonth(name);
  if (!month) throw badRequest('The month must be named as in 2026-10');
  return month;
}
