/** The bills of vendors in a month, and where they differ from our records. */
import { BILL, DIFFERENCE } from '../../../../api/routes/admin/bills.ts';
import type { ComparedBill } from '../../../../api/services/finance/bills.ts';
import type { VendorBill } from '../../../../db/queries/vendor-bills.ts';
import type { Month } from '../../../../domain/month.ts';
import { Card, FormButton, Money, Time } from '../../../html/components.tsx';
import { Downloads } from '../../../html/filters.tsx';
import { useTexts } from '../../../html/page-context.ts';
import { TableCard } from '../../../html/resource-table.tsx';

const MOST_SHOWN = 500;

/** Shows nothing if there is no bill and none can be imported. */
export function Bills({
  bills,
  month,
  canImport,
}: {
  readonly bills: readonly VendorBill[];
  readonly month: Month;
  readonly canImport: boolean;
}) {
  const { months: words } = useTexts();
  if (bills.length === 0 && !canImport) return null;
  return (
    <TableCard
      title={words.bills}
      of={BILL}
      rows={bills}
      none={words.noBills}
      pageOf={({ month, vendor }) => `/console/staff/months/${month}/bills/${encodeURIComponent(vendor)}`}
      columns={['vendor', 'lines', 'billed_usd', 'imported_at', 'author']}
    >
      <p class="hint">{words.billsExplained}</p>
      {canImport ? (
        <div class="row actions">
          <a class="button quiet" href={`/console/staff/months/${month.name}/import-bill`}>
            {words.importBill}
          </a>
        </div>
      ) : null}
    </TableCard>
  );
}

export function BillContent({ bill, canForget }: { readonly bill: ComparedBill; readonly canForget: boolean }) {
  const { differences } = bill;
  const { months: words } = useTexts();
  return (
    <>
      <Card>
        <p>
          <Money amount={bill.amount} /> {words.billOf(bill.lines, bill.upstreams.join(', '))}{' '}
          <Time at={bill.importedAt} />, {bill.author}
        </p>
        <div class="row actions">
          <Downloads />
          <a class="button quiet" href={`/console/staff/months/${bill.month}`}>
            {words.backToMonth}
          </a>
          {differences.length === 0 ? null : (
            <a class="button quiet" href="/console/staff/reconciliations">
              {words.toReconciliation}
            </a>
          )}
          {canForget ? (
            <FormButton
              action={`/console/staff/months/${bill.month}/bills/${encodeURIComponent(bill.vendor)}/forget`}
              label={words.forgetBill}
              look="danger"
              question={words.forgetBillQuestion}
            />
          ) : null}
        </div>
      </Card>
      <TableCard
        title={words.differences}
        of={DIFFERENCE}
        rows={differences.slice(0, MOST_SHOWN)}
        none={words.noDifferences}
        columns={['difference', 'model', 'job_id', 'task_id', 'line', 'billed_usd', 'cost_usd']}
      >
        <p class="hint">{words.differencesExplained(differences.length)}</p>
      </TableCard>
    </>
  );
}
