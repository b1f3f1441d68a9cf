/** What finance reads: the ledger of an account, its daily statements and its usage, and every refund. */
import type Router from '@koa/router';
import type { Database } from '../../../db/database.ts';
import { findAccount } from '../../../db/queries/accounts.ts';
import { listRefunds, readStatement, streamRefunds } from '../../../db/queries/statements.ts';
import { listTransfers, streamTransfers } from '../../../db/queries/transfers.ts';
import { listTextUsage, streamTextUsage, sumDailyUsage } from '../../../db/queries/usage.ts';
import { badRequest, ServiceError } from '../../../domain/errors.ts';
import { isId } from '../../../domain/ids.ts';
import { sendAll } from '../../exports.ts';
import { pageOf, presentPage, queryTime, queryValue } from '../../pagination.ts';
import type { ApiServices } from '../../services/services.ts';
import type { Context, RequestState } from '../../state.ts';
import { presentDailyUsage } from '../usage/present.ts';
import { usagePeriodOf } from '../usage/routes.ts';
import { idCursor, queryId } from '../webhooks/query.ts';
import {
  DAILY_USAGE_COLUMNS,
  linesOf,
  presentAdminTextUsage,
  presentRefund,
  presentStatement,
  presentStatementLine,
  presentTransfer,
  refundColumns,
  STATEMENT_COLUMNS,
  TEXT_USAGE_COLUMNS,
  TRANSFER_COLUMNS,
} from './present-finance.ts';

const MS_PER_DAY = 24 * 60 * 60 * 1000;

export function adminFinanceRoutes(
  router: Router<RequestState>,
  { reports, requireAdmin, temporal }: ApiServices,
): void {
  router.get('/admin/v1/accounts/:accountId/ledger', requireAdmin, async (context) => {
    const accountId = await existingAccount(reports, context);
    const period = { accountId, from: queryTime(context, 'from'), to: queryTime(context, 'to') };
    const rows = () => streamTransfers(reports, period);
    if (sendAll(context, { rows, columns: TRANSFER_COLUMNS, present: presentTransfer })) return;
    const { limit, after } = pageOf(context, 2);
    const page = await listTransfers(reports, { ...period, before: ledgerCursor(after), limit: limit + 1 });
    context.body = presentPage(page, limit, presentTransfer, (row) => [row.createdAt.toISOString(), row.id]);
  });

  router.get('/admin/v1/accounts/:accountId/statements', requireAdmin, async (context) => {
    const accountId = await existingAccount(reports, context);
    const date = queryDate(context);
    const from = new Date(date);
    const statement = await readStatement(reports, { accountId, from, to: new Date(from.getTime() + MS_PER_DAY) });
    const rows = () => linesOf(statement);
    if (sendAll(context, { rows, columns: STATEMENT_COLUMNS, present: presentStatementLine })) return;
    context.body = { data: presentStatement(statement, { accountId, date }) };
  });

  router.get('/admin/v1/accounts/:accountId/usage', requireAdmin, async (context) => {
    const accountId = await existingAccount(reports, context);
    const days = await sumDailyUsage(reports, { accountId, ...usagePeriodOf(context) });
    if (sendAll(context, { rows: () => days, columns: DAILY_USAGE_COLUMNS, present: presentDailyUsage })) return;
    context.body = { data: days.map(presentDailyUsage) };
  });

  router.get('/admin/v1/accounts/:accountId/usage/requests', requireAdmin, async (context) => {
    const filter = {
      accountId: await existingAccount(reports, context),
      apiKeyId: queryId(context, 'api_key_id', 'apiKey'),
      model: queryValue(context, 'model'),
      from: queryTime(context, 'from'),
      to: queryTime(context, 'to'),
    };
    const rows = () => streamTextUsage(reports, filter);
    if (sendAll(context, { rows, columns: TEXT_USAGE_COLUMNS, present: presentAdminTextUsage })) return;
    const { limit, after } = pageOf(context, 1);
    const page = await listTextUsage(reports, { ...filter, before: idCursor('textRequest', after), limit: limit + 1 });
    context.body = presentPage(page, limit, presentAdminTextUsage, ({ id }) => [id]);
  });

  router.get('/admin/v1/refunds', requireAdmin, async (context) => {
    const filter = {
      accountId: queryId(context, 'account_id', 'account'),
      from: queryTime(context, 'from'),
      to: queryTime(context, 'to'),
    };
    const present = (refund: Parameters<typeof presentRefund>[0]) => presentRefund(refund, temporal);
    const rows = () => streamRefunds(reports, filter);
    if (sendAll(context, { rows, columns: refundColumns(temporal), present })) return;
    const { limit, after } = pageOf(context, 1);
    const page = await listRefunds(reports, { ...filter, before: idCursor('transfer', after), limit: limit + 1 });
    context.body = presentPage(page, limit, present, ({ id }) => [id]);
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
