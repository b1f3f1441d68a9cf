/** One month: revenue, cost and margin by model, vendor and customer. */
import type { Child } from 'hono/jsx';
import { linesOf } from '../../../../services/resources/finance.ts';
import type { ApiServices } from '../../../../api/services.ts';
import { findClosedMonth } from '../../../../db/queries/closed-months.ts';
import type { Earnings, MonthSums } from '../../../../db/queries/month-sums.ts';
import { listVendorBills } from '../../../../db/queries/vendor-bills.ts';
import type { PicoUsd } from '../../../../domain/money.ts';
import { closableFrom, type Month } from '../../../../domain/month.ts';
import { withAccountNames } from '../../../account-names.ts';
import { DayChart } from '../../../html/chart.tsx';
import { ButtonLink, Card, Empty, ExactMoney, Headline, Time } from '../../../html/components.tsx';
import { Downloads } from '../../../html/filters.tsx';
import { monthName } from '../../../html/months.ts';
import { usePage, useTexts } from '../../../html/page-context.ts';
import { Chosen, TableCard } from '../../../html/resource-table.tsx';
import { StatementTable } from '../../../html/statement-table.tsx';
import { hasPermission, type PageResult, showPage, type UserVisit } from '../../../page.ts';
import { daysOf, monthIn } from '../../usage/period.ts';
import { Bills } from './bills.tsx';
import { AcknowledgedFindings } from './closing.tsx';
import {
  EARNING_NAMES,
  earningColumns,
  type EarningName,
  EARNINGS,
  customerLiability,
  percentOfMargin,
  receivedIn,
  textOfNoMargin,
} from './list.tsx';
import { type MonthOverview, readMonthOverview } from './months.ts';

export async function showMonth(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const month = monthIn(visit);
  const closed = await findClosedMonth(services.reports, month.name);
  const [overview, bills] = await Promise.all([
    readMonthOverview(month, closed ? [closed] : [], services),
    listVendorBills(services.reports, month),
  ]);
  const { sums, state } = overview;
  const { months: messages, language } = visit.texts;
  const canImport = state !== 'closed' && hasPermission(visit, 'moveMoney');
  return withAccountNames(
    services.reports,
    (closed?.acknowledged ?? []).map(({ subject }) => subject),
    showPage(
      monthName(month.name, language),
      <Actions overview={overview} visit={visit} />,
      <AcknowledgedFindings findings={closed?.acknowledged ?? []} />,
      sums === null ? (
        <Card>
          <Empty>{messages.detached}</Empty>
        </Card>
      ) : (
        <>
          <Totals overview={overview} sums={sums} />
          <Card title={messages.byDay}>
            <DayChart
              days={daysOf(month, services.clock.nowMs())}
              series={[{ name: messages.byDay, amounts: sums.revenueByDay }]}
              label={messages.byDay}
            />
          </Card>
        </>
      ),
      <Bills bills={bills} month={month} canImport={canImport} />,
      sums === null ? null : (
        <>
          <EarningTables sums={sums} month={month} visit={visit} />
          <Card title={messages.customersMoney}>
            <StatementTable
              lines={linesOf(sums.customersMoney)}
              label={messages.customersMoney}
              names={messages.lines}
            />
          </Card>
          <p class="hint">
            {messages.explained} {messages.counted} <Time at={sums.countedAt} />.
          </p>
        </>
      ),
    ),
  );
}

function Actions({ overview: { month, state, closed }, visit }: { overview: MonthOverview; visit: UserVisit }) {
  const { texts } = visit;
  const { months: messages } = texts;
  const path = `/console/staff/months/${month.name}`;
  return (
    <>
      <p>
        <Chosen name="state" value={state} />{' '}
        {closed ? (
          <>
            {messages.closedBy(closed.author)} <Time at={closed.closedAt} />
          </>
        ) : state === 'to close' ? null : (
          <>
            {messages.closableFrom} <Time at={closableFrom(month)} />
          </>
        )}
      </p>
      <div class="row actions">
        {state === 'to close' && hasPermission(visit, 'moveMoney') ? (
          <ButtonLink href={`${path}/close`} label={messages.close} />
        ) : null}
        <Downloads />
        <ButtonLink href={`${path}/statements`} label={messages.statements} look="quiet" />
      </div>
    </>
  );
}

/** An amount with its title. `none` is the text in place of an unknown amount; by default, that it is unknown. */
type Sum = readonly [title: string, amount: PicoUsd | null, hint: string | null, none?: string];

function Totals({ overview, sums }: { overview: MonthOverview; sums: MonthSums }) {
  const { total } = sums;
  const texts = useTexts();
  const { months: messages, fields } = texts;
  const percent = percentOfMargin(total);
  const marginHints = [
    ...(percent === null ? [] : [messages.percentOfRevenue(percent)]),
    ...(total.uncosted > 0n ? [messages.withoutUncosted] : []),
  ];
  const cards: readonly Sum[] = [
    [fields.revenue_usd, overview.revenue, messages.chargesAndRefunds(total.charges, total.refunds)],
    [fields.cost_usd, total.cost, null],
    [fields.margin_usd, total.margin, marginHints.join('. ') || null, textOfNoMargin(total, texts)],
    [fields.received_usd, receivedIn(sums), messages.receivedHint],
    [fields.owed_usd, customerLiability(sums), messages.owedHint],
  ];
  return (
    <div class="grid totals">
      {cards.map(([title, amount, hint, none = messages.unknown]) => (
        <Card title={title}>
          {amount === null ? <p class="big">{none}</p> : <Headline amount={amount} />}
          {hint === null ? null : <p class="soft">{hint}</p>}
        </Card>
      ))}
    </div>
  );
}

function EarningTables({ sums, month, visit }: { sums: MonthSums; month: Month; visit: UserVisit }) {
  const { months: messages, fields, common } = visit.texts;
  const { total, models, vendors, customers, otherCustomers } = sums;
  return (
    <>
      <EarningTable
        total={total}
        title={common.byModel}
        head={fields.model}
        rows={models.map((sum) => ({ ...sum, name: `${sum.model} (${messages.kinds[sum.kind]})` }))}
      />
      <EarningTable
        total={total}
        title={messages.byVendor}
        head={fields.vendor}
        rows={vendors.map((sum) => ({ ...sum, name: sum.vendor ?? messages.noVendor }))}
      />
      <EarningTable
        total={total}
        title={messages.byCustomer}
        head={common.customer}
        rows={[
          ...customers.map((sum) => ({
            ...sum,
            name: <a href={`/console/staff/months/${month.name}/statements/${sum.accountId}`}>{sum.accountName}</a>,
          })),
          ...(otherCustomers ? [{ ...otherCustomers, name: messages.others }] : []),
        ]}
      />
    </>
  );
}

/** The title of a column, as a link that sorts the tables by it. */
function SortLink({ name }: { name: EarningName }) {
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

/** The keys by which rows are sorted: revenue and cost from the highest, margins from the greatest loss. */
const SORT_KEYS: Readonly<Record<EarningName, (row: EarningRow) => number | null>> = {
  revenue_usd: ({ revenue }) => -Number(revenue),
  cost_usd: ({ cost }) => (cost === null ? null : -Number(cost)),
  margin_usd: ({ margin }) => (margin === null ? null : Number(margin)),
  margin_percent: percentOfMargin,
};

/** Sorts rows with unknown amounts last. */
function sortedBy(name: EarningName, rows: readonly EarningRow[]): readonly EarningRow[] {
  const keyOf = (row: EarningRow): number => SORT_KEYS[name](row) ?? Infinity;
  // The difference of two unknown amounts is not a number.
  return rows.toSorted((one, other) => keyOf(one) - keyOf(other) || 0);
}

/** The earnings of a model, a vendor or a customer. */
interface EarningRow extends Earnings {
  readonly name: Child;
}

interface EarningTableProps {
  readonly title: string;
  readonly head: string;
  readonly rows: readonly EarningRow[];
  readonly total: Earnings;
}

function EarningTable({ title, head, rows, total }: EarningTableProps) {
  const texts = useTexts();
  const { months: messages, common } = texts;
  const { query } = usePage();
  return (
    <TableCard<EarningRow>
      title={title}
      of={EARNINGS}
      rows={sortedBy(sortOf(query), rows)}
      none={messages.nothingBooked}
      total={{ ...total, name: common.total }}
      columns={[
        [head, ({ name }) => name],
        ...earningColumns(texts, ExactMoney, (name) => (
          <>
            <SortLink name={name} /> {name === 'margin_usd' ? <SortLink name="margin_percent" /> : null}
          </>
        )),
      ]}
    />
  );
}
