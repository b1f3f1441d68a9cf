/** One month: revenue, cost and margin by model, vendor and customer. */
import type { Child } from 'hono/jsx';
import { closableFrom } from '../../../../api/services/finance/close-month.ts';
import type { Earnings, MonthSums } from '../../../../db/queries/month-sums.ts';
import type { Month } from '../../../../domain/month.ts';
import { BarChart } from '../../../html/chart.tsx';
import { Card, Empty, Money, Time } from '../../../html/components.tsx';
import { Downloads } from '../../../html/filters.tsx';
import { Chosen, TableCard } from '../../../html/resource-table.tsx';
import { may, type UserVisit } from '../../../page.ts';
import { daysOf } from '../../usage/period.ts';
import { AcknowledgedFindings } from './acknowledged.tsx';
import { EARNING_COLUMNS, EARNINGS } from './list.tsx';
import type { MonthOverview } from './months.ts';
import { useTexts } from '../../../html/page-context.ts';

interface Props {
  readonly overview: MonthOverview;
  readonly nowMs: number;
  readonly visit: UserVisit;
}

export function MonthContent(props: Props) {
  const { overview, nowMs, visit } = props;
  const { sums, month } = overview;
  const { months: words } = visit.texts;
  return (
    <>
      <Actions {...props} />
      <AcknowledgedFindings findings={overview.closed?.acknowledged ?? []} />
      {sums === null ? (
        <Card>
          <Empty>{words.detached}</Empty>
        </Card>
      ) : (
        <>
          <Totals overview={overview} total={sums.total} />
          <Card title={words.byDay}>
            <BarChart
              bars={daysOf(month, nowMs).map((label) => ({ label, amount: sums.revenueByDay.get(label) ?? 0n }))}
              label={words.byDay}
              describe={words.perDay}
            />
          </Card>
          <EarningTables sums={sums} month={month} visit={visit} />
          <p class="hint">
            {words.explained} {words.counted} <Time at={sums.countedAt} />.
          </p>
        </>
      )}
    </>
  );
}

function Actions({ overview: { month, state, closed }, visit }: Props) {
  const { texts } = visit;
  const { months: words } = texts;
  const path = `/console/staff/months/${month.name}`;
  return (
    <>
      <p>
        <Chosen name="state" value={state} />{' '}
        {closed ? (
          <>
            {words.closedBy(closed.author)} <Time at={closed.closedAt} />
          </>
        ) : state === 'to close' ? null : (
          <>
            {words.closableFrom} <Time at={closableFrom(month)} />
          </>
        )}
      </p>
      <div class="row actions">
        {state === 'to close' && may(visit, 'moveMoney') ? (
          <a class="button" href={`${path}/close`}>
            {words.close}
          </a>
        ) : null}
        <Downloads />
        <a class="button quiet" href={`${path}/statements`}>
          {words.statements}
        </a>
      </div>
    </>
  );
}

function Totals({ overview, total }: { readonly overview: MonthOverview; readonly total: Earnings }) {
  const { months: words, fields } = useTexts();
  const cards = [
    [fields.revenue_usd, overview.revenue, words.chargesAndRefunds(total.charges, total.refunds)],
    [fields.cost_usd, total.cost, null],
    [fields.margin_usd, total.margin, total.uncosted > 0n ? words.withoutUncosted : null],
  ] as const;
  return (
    <div class="grid">
      {cards.map(([title, amount, hint]) => (
        <Card title={title}>
          <p class="big">{amount === null ? '–' : <Money amount={amount} />}</p>
          {hint === null ? null : <p class="soft">{hint}</p>}
        </Card>
      ))}
    </div>
  );
}

function EarningTables({
  sums,
  month,
  visit,
}: {
  readonly sums: MonthSums;
  readonly month: Month;
  readonly visit: UserVisit;
}) {
  const { months: words, fields } = visit.texts;
  const { total, models, vendors, customers, otherCustomers } = sums;
  return (
    <>
      <EarningTable
        total={total}
        title={words.byModel}
        head={fields.model}
        rows={models.map((sum) => ({ ...sum, name: `${sum.model} (${words.kinds[sum.kind]})` }))}
      />
      <EarningTable
        total={total}
        title={words.byVendor}
        head={words.vendor}
        rows={vendors.map((sum) => ({ ...sum, name: sum.vendor ?? words.noVendor }))}
      />
      <EarningTable
        total={total}
        title={words.byCustomer}
        head={words.customer}
        rows={[
          ...customers.map((sum) => ({
            ...sum,
            name: <a href={`/console/staff/months/${month.name}/statements/${sum.accountId}`}>{sum.accountName}</a>,
          })),
          ...(otherCustomers ? [{ ...otherCustomers, name: words.others }] : []),
        ]}
      />
    </>
  );
}

/** The earnings of a model, a vendor or a customer. */
interface EarningRow extends Earnings {
  readonly name: Child;
}

function EarningTable({
  title,
  head,
  rows,
  total,
}: {
  readonly title: string;
  readonly head: string;
  readonly rows: readonly EarningRow[];
  readonly total: Earnings;
}) {
  const { months: words, common } = useTexts();
  return (
    <TableCard<EarningRow>
      title={title}
      of={EARNINGS}
      rows={rows}
      none={words.nothingBooked}
      total={{ ...total, name: common.total }}
      columns={[[head, ({ name }) => name], ...EARNING_COLUMNS, 'charges', 'refunds']}
    />
  );
}
