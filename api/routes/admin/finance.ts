/** Finance: the ledger of an account, its daily statements and usage, and all refunds. */
import { DOCUMENTS } from '../balance/documents.ts';
import { BILLING_DOCUMENT, LISTED_DOCUMENT } from '../../../services/resources/billing-documents.ts';
import { listBalanceEntries, streamBalanceEntries } from '../../../db/queries/balance-entries.ts';
import { listRefunds as findRefunds, type Refund } from '../../../db/queries/statements.ts';
import { listTransfers as findTransfers, streamTransfers } from '../../../db/queries/transfers.ts';
import { sumDailyUsage } from '../../../db/queries/daily-usage.ts';
import { sumEndUserUsage } from '../../../db/queries/end-user-usage.ts';
import { listTextUsage, streamTextUsage, TEXT_OUTCOMES } from '../../../db/queries/usage.ts';
import { daysAfter } from '../../../domain/day.ts';
import { badRequest } from '../../../domain/errors.ts';
import type { Month } from '../../../domain/month.ts';
import { findDocument, listDocuments } from '../../../db/queries/billing-documents.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import {
  ATTEMPTS,
  choiceParameter,
  dayParameter,
  monthParameter,
  idParameter,
  PERIOD,
  textParameter,
} from '../../endpoint/query.ts';
import { EXPORTS, withExports, sendAll } from '../../exports.ts';
import { BALANCE_ENTRIES, EXPORTED_ENTRIES, LEDGER_PAGE, ledgerPositionOf } from '../balance/routes.ts';
import { usagePeriod } from '../../../services/input/usage-period.ts';
import { DAILY_USAGE, END_USER_USAGE } from '../../../services/resources/usage.ts';
import { DAILY_USAGE_ANSWER, END_USERS_ANSWER, TEXT_REQUESTS, USAGE_DAYS } from '../usage/routes.ts';
import { notFoundError } from '../../../domain/not-found.ts';
import { existingAccount } from '../../../services/people/existing-account.ts';
import {
  ADMIN_BALANCE_ENTRY,
  ADMIN_TEXT_REQUEST,
  linesOf,
  REFUND,
  STATEMENT,
  STATEMENT_LINE,
  streamShownRefunds,
} from '../../../services/resources/finance.ts';
import { TRANSFER } from '../../../services/resources/admin.ts';

export const financeEndpoints = endpoints('Administration', {
  listTransfers: endpoint({
    request: 'GET /admin/v1/accounts/{account_id}/ledger',
    access: 'admin-read',
    summary: 'List the transfers of an account',
    description: `JSON pages start with the newest transfer, exports with the oldest. ${EXPORTS}`,
    query: { ...PERIOD, ...LEDGER_PAGE },
    answers: { 200: withExports(pageOf(TRANSFER.schema, 'A page of transfers')) },
    handle: async ({ params, query, context }, { reports }) => {
      const { id: accountId } = await existingAccount(reports, params.account_id);
      const filter = { from: query.from, to: query.to, accountId };
      if (sendAll(context, () => streamTransfers(reports, filter), TRANSFER)) return undefined;
      return listPage(
        query,
        (slice) => findTransfers(reports, { ...filter, ...slice }),
        TRANSFER.present,
        ledgerPositionOf,
      );
    },
  }),
  listBalanceEntriesOfAccount: endpoint({
    request: 'GET /admin/v1/accounts/{account_id}/balance/entries',
    access: 'admin-read',
    summary: 'List the changes of an account’s balance, with the balance after each',
    description: EXPORTED_ENTRIES,
    query: BALANCE_ENTRIES,
    answers: { 200: withExports(pageOf(ADMIN_BALANCE_ENTRY.schema, 'A page of entries')) },
    handle: async ({ params, query, context }, { reports }) => {
      const { id: accountId } = await existingAccount(reports, params.account_id);
      const filter = { type: query.type, from: query.from, to: query.to, apiKeyId: query.api_key_id, accountId };
      if (sendAll(context, () => streamBalanceEntries(reports, filter), ADMIN_BALANCE_ENTRY)) return undefined;
      return listPage(
        query,
        (slice) => listBalanceEntries(reports, { ...filter, ...slice }),
        ADMIN_BALANCE_ENTRY.present,
        ledgerPositionOf,
      );
    },
  }),
  listBillingDocumentsOfAccount: endpoint({
    request: 'GET /admin/v1/accounts/{account_id}/documents',
    access: 'admin-read',
    summary: 'List the receipts, credit notes and invoices of an account, newest first',
    query: DOCUMENTS,
    answers: { 200: pageOf(LISTED_DOCUMENT.schema, 'A page of documents') },
    handle: async ({ params, query }, { database }) => {
      const { id: accountId } = await existingAccount(database, params.account_id);
      const filter = { accountId, kind: query.kind };
      return listPage(query, (slice) => listDocuments(database, { ...filter, ...slice }), LISTED_DOCUMENT.present);
    },
  }),
  getAnyBillingDocument: endpoint({
    request: 'GET /admin/v1/documents/{document_id}',
    access: 'admin-read',
    summary: 'Get a receipt, a credit note or an invoice of any account',
    answers: { 200: dataOf(BILLING_DOCUMENT.schema, 'The document') },
    handle: async ({ params: { document_id: id } }, { database }) => {
      const document = await findDocument(database, { id });
      if (!document) throw notFoundError('billingDocument');
      return { data: BILLING_DOCUMENT.present(document) };
    },
  }),
  getStatement: endpoint({
    request: 'GET /admin/v1/accounts/{account_id}/statements',
    access: 'admin-read',
    summary: 'Get the statement of a day or month',
    description: EXPORTS,
    query: { date: dayParameter('The day, in UTC'), month: monthParameter('The month, in UTC, instead of a day') },
    answers: { 200: withExports(dataOf(STATEMENT.schema, 'The statement')) },
    handle: async ({ params, query: { date, month }, context }, { reports, money: { readStatement } }) => {
      const { id: accountId } = await existingAccount(reports, params.account_id);
      const { from, to } = statementPeriod(date, month);
      const statement = await readStatement({ accountId, from, to });
      if (sendAll(context, () => linesOf(statement), STATEMENT_LINE)) return undefined;
      return { data: STATEMENT.present({ ...statement, accountId, date, month: month?.name }) };
    },
  }),
  sumUsageOfAccount: endpoint({
    request: 'GET /admin/v1/accounts/{account_id}/usage',
    access: 'admin-read',
    summary: 'Sum up an account’s usage by day, model and key',
    description: `${USAGE_DAYS} ${EXPORTS}`,
    query: PERIOD,
    answers: { 200: withExports(DAILY_USAGE_ANSWER) },
    handle: async ({ params, query, context }, { reports }) => {
      const { id: accountId } = await existingAccount(reports, params.account_id);
      const days = await sumDailyUsage(reports, { accountId, ...usagePeriod(query) });
      if (sendAll(context, () => days, DAILY_USAGE)) return undefined;
      return { data: days.map(DAILY_USAGE.present) };
    },
  }),
  sumUsageOfAccountByEndUser: endpoint({
    request: 'GET /admin/v1/accounts/{account_id}/usage/end-users',
    access: 'admin-read',
    summary: 'Sum up an account’s text usage by end user',
    description: `${USAGE_DAYS} ${EXPORTS}`,
    query: PERIOD,
    answers: { 200: withExports(END_USERS_ANSWER) },
    handle: async ({ params, query, context }, { reports, money: { queueReport } }) => {
      const { id: accountId } = await existingAccount(reports, params.account_id);
      const period = usagePeriod(query);
      const users = await queueReport(accountId, () => sumEndUserUsage(reports, { accountId, ...period }));
      if (sendAll(context, () => users, END_USER_USAGE)) return undefined;
      return { data: users.map(END_USER_USAGE.present) };
    },
  }),
  listTextRequestsOfAccount: endpoint({
    request: 'GET /admin/v1/accounts/{account_id}/usage/requests',
    access: 'admin-read',
    summary: 'List an account’s text requests with routes, tokens and charges, newest first',
    description: EXPORTS,
    query: {
      outcome: choiceParameter(TEXT_OUTCOMES, 'Filters by outcome'),
      error_code: textParameter('Filters by error code'),
      ...ATTEMPTS,
      ...TEXT_REQUESTS,
    },
    answers: { 200: withExports(pageOf(ADMIN_TEXT_REQUEST.schema, 'A page of text requests')) },
    handle: async ({ params, query, context }, { reports }) => {
      const { id: accountId } = await existingAccount(reports, params.account_id);
      const { api_key_id: apiKeyId, batch_id: batchId, error_code: errorCode, ...others } = query;
      const { cursor: _cursor, limit: _limit, ...shared } = others;
      const filter = { ...shared, accountId, apiKeyId, batchId, errorCode };
      if (sendAll(context, () => streamTextUsage(reports, filter), ADMIN_TEXT_REQUEST)) return undefined;
      return listPage(query, (slice) => listTextUsage(reports, { ...filter, ...slice }), ADMIN_TEXT_REQUEST.present);
    },
  }),
  listRefunds: endpoint({
    request: 'GET /admin/v1/refunds',
    access: 'admin-read',
    summary: 'List refunds with their tasks and reasons, newest first',
    description: EXPORTS,
    query: { account_id: idParameter('account', 'Filters by account'), ...PERIOD, ...pageById('transfer') },
    answers: { 200: withExports(pageOf(REFUND.schema, 'A page of refunds')) },
    handle: ({ query, context }, { reports, operations: { temporal } }) => {
      const filter = { from: query.from, to: query.to, accountId: query.account_id };
      if (sendAll(context, () => streamShownRefunds(reports, filter, temporal), REFUND)) return undefined;
      const present = (refund: Refund) => REFUND.present({ ...refund, temporal });
      return listPage(query, (slice) => findRefunds(reports, { ...filter, ...slice }), present);
    },
  }),
});

/** @throws ServiceError `bad_request` unless exactly one of the two is given */
function statementPeriod(
  date: string | undefined,
  month: Month | undefined,
): { readonly from: Date; readonly to: Date } {
  if ((date === undefined) === (month === undefined)) throw badRequest('Give either "date" or "month"');
  if (month) return month;
  const from = new Date(date ?? '');
  return { from, to: daysAfter(from, 1) };
}
