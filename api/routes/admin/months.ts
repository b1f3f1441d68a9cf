/** Months: exporting everything that is booked in a month, and closing it. */
import { listClosedMonths as findClosed } from '../../../db/queries/closed-months.ts';
import { badRequest } from '../../../domain/errors.ts';
import { type Month, parseMonth } from '../../../domain/month.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { optionalJsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { withExports, sendAll, sendLines } from '../../exports.ts';
import { arrayOf } from '../../../domain/json-schema.ts';
import { authorOf } from '../../../services/people/administrator.ts';
import { closeMonth as close } from '../../../services/money/close-month.ts';
import { MONTH_LINE, streamMonthLines } from '../../../services/money/month-rows.ts';
import { closeMonthSchema } from '../../../services/input/admin.ts';
import { CLOSED_MONTH } from '../../../services/resources/months.ts';

export const monthEndpoints = endpoints('Administration', {
  exportMonth: endpoint({
    request: 'GET /admin/v1/months/{month}/export',
    access: 'admin-read',
    summary: 'Export the transfers of a month',
    description:
      'Lists each transfer of each account with its purpose: usage, revenue, cost, margin, and the reasons of refunds. Streams JSON ' +
      'lines, or CSV with `Accept: text/csv`. A closed month always has the same rows. The last rows are the acknowledged findings ' +
      'of reconciliation, of the kind `acknowledged_finding`.',
    answers: { 200: withExports({ description: 'The transfers of the month' }) },
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
      'A month can be closed a day after its end, after all earlier months and a reconciliation since then, and not while the latest ' +
      'reconciliation has unacknowledged findings. The ledger then accepts no transfers dated in the month or before: corrections are new transfers in the open month.',
    body: optionalJsonBody('CloseMonth', closeMonthSchema),
    answers: {
      200: dataOf(CLOSED_MONTH.schema, 'The month, closed earlier'),
      201: dataOf(CLOSED_MONTH.schema, 'The closed month'),
    },
    refusals: ['bad_request'],
    handle: async ({ params, caller, body, context }, { money: { closing } }) => {
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
