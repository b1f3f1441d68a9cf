/** Months: earnings, exports, customers' statements, and closing. */
import { DIFFERENCE } from '../../../../api/routes/admin/bills.ts';
import { linesOf, STATEMENT_LINE } from '../../../../api/routes/admin/present-finance.ts';
import { existingAccount } from '../../../../api/services/existing-account.ts';
import { compareBill, type ComparedBill, existingBill, forgetBill } from '../../../../api/services/finance/bills.ts';
import { closeMonth, whyNotToClose } from '../../../../api/services/finance/close-month.ts';
import { MONTH_LINE, streamMonthLines } from '../../../../api/services/finance/month-rows.ts';
import type { ApiServices } from '../../../../api/services/services.ts';
import { listAccounts } from '../../../../db/queries/accounts.ts';
import {
  findClosedMonth,
  listAcknowledged,
  listClosedMonths,
  readBooks,
} from '../../../../db/queries/closed-months.ts';
import { listVendorBills } from '../../../../db/queries/vendor-bills.ts';
import { ServiceError } from '../../../../domain/errors.ts';
import { exportFile } from '../../../export.ts';
import { problemOf } from '../../../form-problem.ts';
import { readListPage } from '../../../list-page.ts';
import { monthName } from '../../../html/months.ts';
import { may, type PageResult, showPage, staff, type UserVisit } from '../../../page.ts';
import { BillContent } from './bills.tsx';
import { ClosingContent } from './closing.tsx';
import { MAX_BILL_BYTES, receiveBill, showImport } from './import-bill.tsx';
import { MonthList } from './list.tsx';
import { listMonths, monthOf, overviewOf } from './months.ts';
import { MonthContent } from './month.tsx';
import { CustomerList, StatementContent } from './statements.tsx';

/** The number of months on a page. */
const MONTHS_SHOWN = 12;
const CUSTOMER_LIST = { kind: 'account', size: 50 } as const;

export const staffMonthPages = [
  staff.page('/staff/months', 'read', showMonths),
  staff.page('/staff/months/{month}', 'read', showMonth),
  staff.page('/staff/months/{month}/export', 'read', async (visit, { reports }) => {
    const month = monthOf(visit);
    return exportFile(`transfers-${month.name}`, visit.query, streamMonthLines(reports, month), MONTH_LINE);
  }),
  staff.page('/staff/months/{month}/statements', 'read', showCustomers),
  staff.page('/staff/months/{month}/statements/{account_id}', 'read', showStatement),
  staff.page('/staff/months/{month}/statements/{account_id}/export', 'read', async (visit, services) => {
    const { month, account, statement } = await askedStatement(visit, services);
    return exportFile(`statement-${month.name}-${account.id}`, visit.query, linesOf(statement), STATEMENT_LINE);
  }),
  staff.page('/staff/months/{month}/bills/{vendor}', 'read', async (visit, services) => {
    const bill = await askedBill(visit, services);
    const canForget = may(visit, 'moveMoney') && !(await findClosedMonth(services.reports, bill.month));
    const title = visit.texts.months.billTitle(bill.vendor, monthName(bill.month, visit.texts.language));
    return showPage('months', title, <BillContent bill={bill} canForget={canForget} />);
  }),
  staff.page('/staff/months/{month}/bills/{vendor}/export', 'read', async (visit, services) => {
    const bill = await askedBill(visit, services);
    return exportFile(`bill-${bill.vendor}-${bill.month}`, visit.query, bill.differences, DIFFERENCE);
  }),
  staff.form('/staff/months/{month}/bills/{vendor}/forget', 'moveMoney', async (visit, services) => {
    const month = monthOf(visit);
    await forgetBill(services.database, visit.params['vendor'] ?? '', month);
    return { kind: 'redirect', path: `/staff/months/${month.name}` };
  }),
  staff.page('/staff/months/{month}/import-bill', 'moveMoney', (visit, services) => showImport(visit, services)),
  staff.form('/staff/months/{month}/import-bill', 'moveMoney', receiveBill, { maxFileBytes: MAX_BILL_BYTES }),
  staff.page('/staff/months/{month}/close', 'moveMoney', (visit, services) => confirmClosing(visit, services, null)),
  staff.form('/staff/months/{month}/close', 'moveMoney', async (visit, services) => {
    const month = monthOf(visit);
    const problem = await problemOf(() => closeMonth(services.closing, month, visit.user.email));
    if (problem) return confirmClosing(visit, services, problem);
    return { kind: 'redirect', path: `/staff/months/${month.name}` };
  }),
];

async function showMonths(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const { query, texts } = visit;
  const before = query.get('cursor') ?? '~';
  const [months, closed] = await Promise.all([listMonths(services), listClosedMonths(services.reports)]);
  const found = months.filter(({ name }) => name < before);
  const shown = await Promise.all(found.slice(0, MONTHS_SHOWN).map((month) => overviewOf(month, closed, services)));
  const next = found.length > MONTHS_SHOWN ? (shown.at(-1)?.month.name ?? null) : null;
  return showPage('months', texts.titles.months, <MonthList months={shown} next={next} visit={visit} />);
}

async function showMonth(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const month = monthOf(visit);
  const closed = await findClosedMonth(services.reports, month.name);
  const [overview, bills] = await Promise.all([
    overviewOf(month, closed ? [closed] : [], services),
    listVendorBills(services.reports, month),
  ]);
  return showPage(
    'months',
    monthName(month.name, visit.texts.language),
    <MonthContent overview={overview} bills={bills} nowMs={services.clock.nowMs()} visit={visit} />,
  );
}

async function showCustomers(visit: UserVisit, { reports }: ApiServices): Promise<PageResult> {
  const month = monthOf(visit);
  const { query, texts } = visit;
  const search = (query.get('search') ?? '').trim() || undefined;
  const { entries: accounts, next } = await readListPage(query, CUSTOMER_LIST, (slice) =>
    listAccounts(reports, { search, ...slice }),
  );
  return showPage(
    'months',
    texts.months.statementsOf(monthName(month.name, texts.language)),
    <CustomerList month={month} accounts={accounts} next={next} visit={visit} />,
  );
}

async function showStatement(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const { month, account, statement } = await askedStatement(visit, services);
  return showPage(
    'months',
    visit.texts.months.statementOf(account.name, monthName(month.name, visit.texts.language)),
    <StatementContent month={month} account={account} statement={statement} visit={visit} />,
  );
}

async function askedBill(visit: UserVisit, services: ApiServices): Promise<ComparedBill> {
  const bill = await existingBill(services.reports, visit.params['vendor'] ?? '', monthOf(visit));
  return compareBill(services, visit.user.id, bill);
}

async function askedStatement(visit: UserVisit, { reports, readStatement }: ApiServices) {
  const month = monthOf(visit);
  const account = await existingAccount(reports, visit.params['account_id'] ?? '');
  const statement = await readStatement({ accountId: account.id, from: month.from, to: month.to });
  return { month, account, statement };
}

/** Shows what closing freezes, and why a month cannot be closed yet. */
async function confirmClosing(
  visit: UserVisit,
  { reports }: ApiServices,
  problem: ServiceError | null,
): Promise<PageResult> {
  const month = monthOf(visit);
  const closed = await findClosedMonth(reports, month.name);
  if (closed) return { kind: 'redirect', path: `/staff/months/${month.name}` };
  const [refusal, books, acknowledged] = await Promise.all([
    whyNotToClose(reports, month),
    readBooks(reports, month),
    listAcknowledged(reports),
  ]);
  return showPage(
    'months',
    visit.texts.months.closeTitle(monthName(month.name, visit.texts.language)),
    <ClosingContent
      month={month}
      books={books}
      refusal={problem ?? (refusal === null ? null : new ServiceError('idempotency_conflict', refusal))}
      acknowledged={acknowledged}
    />,
    null,
    problem === null ? 200 : 409,
  );
}
