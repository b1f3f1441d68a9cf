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
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import * as field from '../../../domain/resource/field.ts';
import { nested, resource } from '../../../domain/resource/resource.ts';
import { orAllRows, sendAll, sendLines } from '../../exports.ts';
import { arrayOf, object } from '../../../domain/json-schema.ts';
import { authorOf } from '../../../services/people/administrator.ts';
import { closeMonth as close } from '../../../services/money/close-month.ts';
import { MONTH_LINE, sumRevenue, streamMonthLines } from '../../../services/money/month-rows.ts';
import { closeMonthSchema } from '../../../services/input/admin.ts';

export const ACKNOWLEDGED_FINDING = nested<AcknowledgedFinding>({
  id: field.id('acknowledgement')('id'),
  check: field.text('check', 'The name of the check'),
  subject: field.text('subject', 'The id of the row'),
  detail: field.text('detail', 'The fault, with amounts in pico-USD'),
  reason: field.text('reason', 'Why the finding stays'),
  author: field.text('author', 'Who acknowledged the finding'),
  confirmed_by: field.text('confirmedBy', 'The second person, or the author if one person suffices'),
  acknowledged_at: field.textWith({ format: 'date-time' })('acknowledgedAt', 'When the finding was acknowledged'),
});

const CLOSED_MONTH = resource<ClosedMonth>(
  'ClosedMonth',
  {
    object: field.constant('closed_month'),
    month: field.text('month', 'The month in UTC, such as 2026-10'),
    closed_at: field.isoTime('closedAt', 'When the month was closed'),
    author: field.text('author', 'Who closed the month'),
    transfers: field.count('transfers', 'The number of transfers'),
    revenue_usd: field.exactUsd(sumRevenue, 'The amount charged'),
    amounts_usd: field.json(object({}, 'The sums of the transfers by kind, in USD, exact'))(({ amounts }) =>
      Object.fromEntries([...amounts].map(([kind, amount]) => [kind, formatUsd(amount)])),
    ),
    checksum: field.text('checksum', 'The checksum over all transfers, which reconciliation compares'),
    acknowledged_findings: field.list(ACKNOWLEDGED_FINDING)('acknowledged', 'The findings acknowledged until then'),
  },
  'A month whose ledger can no longer change.',
);

export const monthEndpoints = endpoints('Administration', {
  exportMonth: endpoint({
    request: 'GET /admin/v1/months/{month}/export',
    access: 'admin-read',
    summary: 'Export the transfers of a month',
    description:
      'Lists each transfer of each account with its purpose: usage, revenue, cost, margin, and the reasons of refunds. Streams JSON ' +
      'lines, or CSV with `Accept: text/csv`. A closed month always has the same rows. The last rows are the acknowledged findings ' +
      'of reconciliation, of the kind `acknowledged_finding`.',
    answers: { 200: orAllRows({ description: 'The transfers of the month' }) },
    refusals: ['bad_request'],
    handle: ({ params, context }, { reports }) => {
      const month = existingMonth(params.month);
      const lines = () => streamMonthLines(reports, month);
      if (!sendAll(context, lines, MONTH_LINE)) sendLines(context, lines, MONTH_LINE.present);
    },
  }),
  closeMonth: endpoint({
    request: 'POST /admin/v1/months/{month}/close',
    access: 'admin-finance',
    summary: 'Close a month',
    description:
      'A month can be closed a day after its end, after all earlier months, and not while the latest reconciliation has unacknowledged ' +
      'findings. The ledger then accepts no transfers dated in the month or before: corrections are new transfers in the open month.',
    body: optionalJsonBody('CloseMonth', closeMonthSchema),
    answers: {
      200: dataOf(CLOSED_MONTH.schema, 'The month, closed earlier'),
      201: dataOf(CLOSED_MONTH.schema, 'The closed month'),
    },
    refusals: ['bad_request'],
    handle: async ({ params, caller, body, context }, { closing }) => {
      const month = existingMonth(params.month);
      const { closed, isNew } = await close(closing, month, authorOf(caller, body.author));
      if (isNew) context.status = 201;
      return { data: CLOSED_MONTH.present(closed) };
    },
  }),
  listClosedMonths: endpoint({
    request: 'GET /admin/v1/months',
    access: 'admin-read',
    summary: 'List the closed months, latest first',
    answers: { 200: dataOf(arrayOf(CLOSED_MONTH.schema), 'The closed months') },
    handle: async (_call, { reports }) => ({ data: (await findClosed(reports)).map(CLOSED_MONTH.present) }),
  }),
});

/** @throws ServiceError `bad_request` */
export function existingMonth(name: string): Month {
  const month = parseMonth(name);
  if (!month) throw badRequest('Name the month as in 2026-10');
  return month;
}
