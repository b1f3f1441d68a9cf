/** The bills of vendors in a month, and their differences from our records. */
import { BILL, DIFFERENCE } from '../../../../services/resources/bills.ts';
import { compareBill, type ComparedBill, requireBill, deleteBill } from '../../../../services/money/bills.ts';
import type { ApiServices } from '../../../../api/services.ts';
import { findClosedMonth } from '../../../../db/queries/closed-months.ts';
import type { VendorBill } from '../../../../db/queries/vendor-bills.ts';
import type { Month } from '../../../../domain/month.ts';
import { exportFile } from '../../../export.ts';
import { ButtonLink, Card, ExactMoney, Facts, FormButton, Time } from '../../../html/components.tsx';
import { Downloads } from '../../../html/filters.tsx';
import { monthName } from '../../../html/months.ts';
import { useTexts } from '../../../html/page-context.ts';
import { TableCard } from '../../../html/resource-table.tsx';
import { hasPermission, openPage, type PageResult, showPage, staff, type UserVisit } from '../../../page.ts';
import { monthIn } from '../../usage/period.ts';
import { importForm, importPage } from './import-bill.tsx';
import { pathOfMonth } from './months.ts';

const PATH = '/staff/months/{month}/bills/{vendor}';
const MAX_DIFFERENCES = 500;

const page = staff.page(PATH, 'read', showBill);

export const billPages = [
  page,
  staff.page(`${PATH}/export`, 'read', async (visit, services) => {
    const bill = await askedBill(visit, services);
    return exportFile(`bill-${bill.vendor}-${bill.month}`, visit.query, bill.differences, DIFFERENCE);
  }),
  page.form(
    '/forget',
    'moveMoney',
    (visit, { database }) => deleteBill(database, visit.params['vendor'] ?? '', monthIn(visit)),
    (visit) => openPage(pathOfMonth(visit), 'deleted'),
  ),
  importPage,
  importForm,
];

async function askedBill(visit: UserVisit, services: ApiServices): Promise<ComparedBill> {
  const bill = await requireBill(services.reports, visit.params['vendor'] ?? '', monthIn(visit));
  return compareBill(services, visit.user.id, bill);
}

async function showBill(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const bill = await askedBill(visit, services);
  const canForget = hasPermission(visit, 'moveMoney') && !(await findClosedMonth(services.reports, bill.month));
  const { months: messages, fields, language } = visit.texts;
  const { differences } = bill;
  const difference = differences.reduce((sum, { billed, cost }) => sum + (billed ?? 0n) - (cost ?? 0n), 0n);
  return showPage(
    messages.billTitle(bill.vendor, monthName(bill.month, language)),
    <Card>
      <Facts
        facts={[
          [fields.billed_usd, <ExactMoney amount={bill.amount} />],
          [messages.recorded, <ExactMoney amount={bill.amount - difference} />],
          [fields.difference, <ExactMoney amount={difference} isSigned />],
          [fields.lines, bill.lines.toLocaleString(language)],
          [fields.upstreams, bill.upstreams.join(', ')],
          [fields.imported_at, <Time at={bill.importedAt} />],
          [messages.importedBy, bill.author],
        ]}
      />
      <div class="row actions">
        <Downloads />
        <ButtonLink href={`/console/staff/months/${bill.month}`} label={messages.backToMonth} look="quiet" />
        {differences.length === 0 ? null : (
          <ButtonLink href="/console/staff/reconciliations" label={messages.toReconciliation} look="quiet" />
        )}
        {canForget ? (
          <FormButton
            action={`${visit.path}/forget`}
            label={messages.forgetBill}
            look="danger"
            question={messages.forgetBillQuestion}
          />
        ) : null}
      </div>
    </Card>,
    <TableCard
      title={messages.differences}
      of={DIFFERENCE}
      rows={differences.slice(0, MAX_DIFFERENCES)}
      none={messages.noDifferences}
      columns={['difference', 'model', 'job_id', 'task_id', 'line', 'billed_usd', 'cost_usd']}
    >
      <p class="hint">{messages.differencesExplained(differences.length)}</p>
    </TableCard>,
  );
}

/** Renders nothing if there is no bill and the visitor cannot import one. */
export function Bills({ bills, month, canImport }: { bills: readonly VendorBill[]; month: Month; canImport: boolean }) {
  const { months: messages } = useTexts();
  if (bills.length === 0 && !canImport) return null;
  return (
    <TableCard
      title={messages.bills}
      of={BILL}
      rows={bills}
      none={messages.noBills}
      pageOf={({ month, vendor }) => `/console/staff/months/${month}/bills/${encodeURIComponent(vendor)}`}
      columns={['vendor', 'lines', 'billed_usd', 'imported_at', 'author']}
    >
      <p class="hint">{messages.billsExplained}</p>
      {canImport ? (
        <div class="row actions">
          <ButtonLink
            href={`/console/staff/months/${month.name}/import-bill`}
            label={messages.importBill}
            look="quiet"
          />
        </div>
      ) : null}
    </TableCard>
  );
}
