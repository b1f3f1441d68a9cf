/** One month: revenue, cost and margin by model, vendor and customer. */
import type { Child } from 'hono/jsx';
import { linesOf } from '../../../../api/routes/admin/present-finance.ts';
import { closableFrom } from '../../../../api/services/finance/close-month.ts';
import type { Earnings, MonthSums } from '../../../../db/queries/month-sums.ts';
import type { VendorBill } from '../../../../db/queries/vendor-bills.ts';
import type { Month } from '../../../../domain/month.ts';
import { DayChart } from '../../../html/chart.tsx';
import { Card, Empty, Headline, Time } from '../../../html/components.tsx';
import { Downloads } from '../../../html/filters.tsx';
import { StatementTable } from '../../../html/statement-table.tsx';
import { Chosen, TableCard } from '../../../html/resource-table.tsx';
import { may, type UserVisit } from '../../../page.ts';
import { daysOf } from '../../usage/period.ts';
import { Bills } from './bills.tsx';
import { AcknowledgedFindings } from './acknowledged.tsx';
import {
  EARNING_NAMES,
  earningColumns,
  type EarningName,
  EARNINGS,
  owedAfter,
  percentOfMargin,
  receivedIn,
} from './list.tsx';
import type { MonthOverview } from './months.ts';
import { usePage, useTexts } from '../../../html/page-context.ts';

interface Props {
  readonly overview: MonthOverview;
  readonly bills: readonly VendorBill[];
  readonly nowMs: number;
  readonly visit: UserVisit;
}

export function MonthContent(props: Props) {
  const { overview, bills, nowMs, visit } = props;
  const { sums, month, state } = overview;
  const { months: words, common } = visit.texts;
  const billsCard = <Bills bills={bills} month={month} canImport={state !== 'closed' && may(visit, 'moveMoney')} />;
  return (
    <>
      <Actions {...props} />
      <AcknowledgedFindings findings={overview.closed?.acknowledged ?? []} />
      {sums === null ? (
        <>
          <Card>
            <Empty>{words.detached}</Empty>
          </Card>
          {billsCard}
        </>
      ) : (
        <>
          <Totals overview={overview} sums={sums} />
          <Card title={words.byDay}>
            <DayChart
              days={daysOf(month, nowMs)}
              series={[{ name: words.byDay, amounts: sums.revenueByDay }]}
              label={words.byDay}
              describe={common.perDay}
            />
          </Card>
          {billsCard}
          <EarningTables sums={sums} month={month} visit={visit} />
          <Card title={words.customersMoney}>
            <StatementTable lines={linesOf(sums.customersMoney)} label={words.customersMoney} names={words.lines} />
          </Card>
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

function Totals({ overview, sums }: { readonly overview: MonthOverview; readonly sums: MonthSums }) {
  const { total } = sums;
  const { months: words, fields } = useTexts();
  const percent = percentOfMargin(total);
  const marginHints = [
    ...(percent === null ? [] : [words.percentOfRevenue(percent)]),
    ...(total.uncosted > 0n ? [words.withoutUncosted] : []),
  ];
  const cards = [
    [fields.revenue_usd, overview.revenue, words.chargesAndRefunds(total.charges, total.refunds)],
    [fields.cost_usd, total.cost, null],
    [fields.margin_usd, total.margin, marginHints.join('; ') || null],
    [fields.received_usd, receivedIn(sums), words.receivedHint],
    [fields.owed_usd, owedAfter(sums), words.owedHint],
  ] as const;
  return (
    <div class="grid">
      {cards.map(([title, amount, hint]) => (
        <Card title={title}>
          {amount === null ? <p class="big">{words.unknown}</p> : <Headline amount={amount} />}
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
  const { months: words, fields, common } = visit.texts;
  const { total, models, vendors, customers, otherCustomers } = sums;
  return (
    <>
      <EarningTable
        total={total}
        title={common.byModel}
        head={fields.model}
        rows={models.map((sum) => ({ ...sum, name: `${sum.model} (${words.kinds[sum.kind]})` }))}
      />
      <EarningTable
        total={total}
        title={words.byVendor}
        head={fields.vendor}
        rows={vendors.map((sum) => ({ ...sum, name: sum.vendor ?? words.noVendor }))}
      />
      <EarningTable
        total={total}
        title={words.byCustomer}
        head={common.customer}
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

/** The title of a column that sorts the tables. */
function SortLink({ name }: { readonly name: EarningName }) {
  const { path, query, texts } = usePage();
  const isSorted = sortOf(query) === name;
  const arrow = name === 'revenue_usd' || name === 'cost_usd' ? '↓' : '↑';
  return (
    <a href={`${path}?sort=${name}`} title={texts.months.sort} {...(isSorted && { 'aria-current': 'true' })}>
      {texts.fields[name]}
      {isSorted ? ` ${arrow}` : ''}
    </a>
  );
}

function sortOf(query: URLSearchParams): EarningName {
  return EARNING_NAMES.find((known) => known === query.get('sort')) ?? 'revenue_usd';
}

/** Sorts revenue and cost from the highest, margins from the greatest loss; what is unknown stands last. */
function sortedBy(name: EarningName, rows: readonly EarningRow[]): readonly EarningRow[] {
  const keyOf = (row: EarningRow): number => {
    switch (name) {
      case 'revenue_usd':
        return -Number(row.revenue);
      case 'cost_usd':
        return row.cost === null ? Infinity : -Number(row.cost);
      case 'margin_usd':
        return row.margin === null ? Infinity : Number(row.margin);
      case 'margin_percent':
        return percentOfMargin(row) ?? Infinity;
    }
    return name satisfies never;
  };
  return rows.toSorted((one, other) => compare(keyOf(one), keyOf(other)));
}

function compare(one: number, other: number): number {
  return one === other ? 0 : one < other ? -1 : 1;
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
  const texts = useTexts();
  const { months: words, common } = texts;
  const { query } = usePage();
  return (
    <TableCard<EarningRow>
      title={title}
      of={EARNINGS}
      rows={sortedBy(sortOf(query), rows)}
      none={words.nothingBooked}
      total={{ ...total, name: common.total }}
      columns={[
        [head, ({ name }) => name],
        ...earningColumns(texts, (name) => <SortLink name={name} />),
        'charges',
        'refunds',
      ]}
    />
  );
}
