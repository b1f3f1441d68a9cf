/** What finance reads: the ledger of an account, its daily statements, and every refund. */
import { Readable } from 'node:stream';
import type Router from '@koa/router';
import type { Database } from '../../../db/database.ts';
import { findAccount } from '../../../db/queries/accounts.ts';
import { listRefunds, readStatement } from '../../../db/queries/statements.ts';
import { listTransfers, streamTransfers, type Transfer } from '../../../db/queries/transfers.ts';
import { badRequest, ServiceError } from '../../../domain/errors.ts';
import { isId } from '../../../domain/ids.ts';
import { pageOf, presentPage, queryTime, queryValue } from '../../pagination.ts';
import type { ApiServices } from '../../services/services.ts';
import type { Context, RequestState } from '../../state.ts';
import { idCursor, queryId } from '../webhooks/query.ts';
import { presentRefund, presentStatement, presentTransfer, TRANSFER_COLUMNS } from './present-finance.ts';

const MS_PER_DAY = 24 * 60 * 60 * 1000;

export function adminFinanceRoutes(
  router: Router<RequestState>,
  { database, requireAdmin, temporal }: ApiServices,
): void {
  router.get('/admin/v1/accounts/:accountId/ledger', requireAdmin, async (context) => {
    const accountId = await existingAccount(database, context);
    const period = { accountId, from: queryTime(context, 'from'), to: queryTime(context, 'to') };
    if (context.accepts('json', 'csv') === 'csv') {
      context.type = 'text/csv; charset=utf-8; header=present';
      context.body = Readable.from(toCsv(streamTransfers(database, period)));
      return;
    }
    const { limit, after } = pageOf(context, 2);
    const before = ledgerCursor(after);
    const rows = await listTransfers(database, { ...period, before, limit: limit + 1 });
    context.body = presentPage(rows, limit, presentTransfer, (row) => [row.createdAt.toISOString(), row.id]);
  });

  router.get('/admin/v1/accounts/:accountId/statements', requireAdmin, async (context) => {
    const accountId = await existingAccount(database, context);
    const date = queryDate(context);
    const from = new Date(date);
    const statement = await readStatement(database, { accountId, from, to: new Date(from.getTime() + MS_PER_DAY) });
    context.body = { data: presentStatement(statement, { accountId, date }) };
  });

  router.get('/admin/v1/refunds', requireAdmin, async (context) => {
    const { limit, after } = pageOf(context, 1);
    const refunds = await listRefunds(database, {
      accountId: queryId(context, 'account_id', 'account'),
      from: queryTime(context, 'from'),
      to: queryTime(context, 'to'),
      before: idCursor('transfer', after),
      limit: limit + 1,
    });
    context.body = presentPage(
      refunds,
      limit,
      (refund) => presentRefund(refund, temporal),
      ({ id }) => [id],
    );
  });
}

async function existingAccount(database: Database, context: Context): Promise<string> {
  const accountId = context.params['accountId'] ?? '';
  if (!isId('account', accountId) || !(await findAccount(database, accountId))) {
    throw new ServiceError('not_found', 'There is no such account. Check the id.');
  }
  return accountId;
}

/** The position of the last transfer of the previous page. @throws ServiceError `bad_request` */
function ledgerCursor(after: readonly string[] | undefined): { createdAt: Date; id: string } | undefined {
  if (!after) return undefined;
  const [time = '', id = ''] = after;
  const createdAt = new Date(time);
  if (Number.isNaN(createdAt.getTime()) || !isId('transfer', id)) {
    throw badRequest('"cursor" must be the "next_cursor" of an earlier page');
  }
  return { createdAt, id };
}

/** A day in UTC, as YYYY-MM-DD. @throws ServiceError `bad_request` */
function queryDate(context: Context): string {
  const date = queryValue(context, 'date') ?? '';
  const moment = new Date(date);
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(date) && !Number.isNaN(moment.getTime());
  // A day that no month has is read as one of the next month.
  if (!isDay || moment.toISOString().slice(0, 10) !== date) throw badRequest('"date" must be a day such as 2026-11-30');
  return date;
}

/** RFC 4180, line by line: https://www.rfc-editor.org/rfc/rfc4180 */
async function* toCsv(transfers: AsyncIterable<Transfer>): AsyncIterable<string> {
  yield toLine(TRANSFER_COLUMNS.map(([name]) => name));
  for await (const transfer of transfers) yield toLine(TRANSFER_COLUMNS.map(([, column]) => column(transfer)));
}

function toLine(values: readonly (string | null)[]): string {
  return `${values.map((value) => quoted(value ?? '')).join(',')}\r\n`;
}

/** What a spreadsheet would take for a formula is made text. */
function quoted(value: string): string {
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
