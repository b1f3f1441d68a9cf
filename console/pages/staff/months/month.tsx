/** One month: revenue, cost and margin by model, vendor and customer. */
import type { Child } from 'hono/jsx';
import { closableFrom } from '../../../../api/services/finance/close-month.ts';
import type { Earnings, MonthSums } from '../../../../db/queries/month-sums.ts';
import type { Month } from '../../../../domain/month.ts';
import { EXPORT_FORMATS } from '../../../export.ts';
import { BarChart } from '../../../html/chart.tsx';
import { Card, Empty, ExactMoney, Money, Table, Time } from '../../../html/components.tsx';
import { FINANCE, type UserVisit } from '../../../page.ts';
import { daysOf } from '../../usage/period.ts';
import { MoneyOrNothing, MonthBadge } from './list.tsx';
import type { MonthOverview } from './months.ts';

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
      {sums === null ? (
        <Card>
          <Empty>{words.detached}</Empty>
        </Card>
      ) : (
        <>
          <Totals overview={overview} total={sums.total} visit={visit} />
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
  const { texts, user } = visit;
  const { months: words, common } = texts;
  const path = `/console/staff/months/${month.name}`;
  const mayClose = user.staffRole !== null && FINANCE.includes(user.staffRole);
  return (
    <>
      <p>
        <MonthBadge state={state} texts={texts} />{' '}
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
        {state === 'to close' && mayClose ? (
          <a class="button" href={`${path}/close`}>
            {words.close}
          </a>
        ) : null}
        {EXPORT_FORMATS.map((format) => (
          <a class="button quiet" href={`${path}/export?format=${format}`} download>
            {common.download[format]}
          </a>
        ))}
        <a class="button quiet" href={`${path}/statements`}>
          {words.statements}
        </a>
      </div>
    </>
  );
}

function Totals({
  overview,
  total,
  visit: { texts },
}: {
  readonly overview: MonthOverview;
  readonly total: Earnings;
  readonly visit: UserVisit;
}) {
  const { months: words } = texts;
  const cards = [
    [words.revenue, overview.revenue, words.chargesAndRefunds(total.charges, total.refunds)],
    [words.cost, total.cost, null],
    [words.margin, total.margin, total.uncosted > 0n ? words.withoutUncosted : null],
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
  const { months: words, common } = visit.texts;
  const { total, models, vendors, customers, otherCustomers } = sums;
  const table = { total, visit };
  return (
    <>
      <EarningTable
        {...table}
        title={words.byModel}
        head={common.model}
        rows={models.map(({ model, kind, ...earned }) => [`${model} (${words.kinds[kind]})`, earned])}
      />
      <EarningTable
        {...table}
        title={words.byVendor}
        head={words.vendor}
        rows={vendors.map(({ vendor, ...earned }) => [vendor ?? words.noVendor, earned])}
      />
      <EarningTable
        {...table}
        title={words.byCustomer}
        head={words.customer}
        rows={[
          ...customers.map(
            ({ accountId, accountName, ...earned }) =>
              [
                <a href={`/console/staff/months/${month.name}/statements/${accountId}`}>{accountName}</a>,
                earned,
              ] as const,
          ),
          ...(otherCustomers ? [[words.others, otherCustomers] as const] : []),
        ]}
      />
    </>
  );
}

function EarningTable({
  title,
  head,
  rows,
  total,
  visit: { texts },
}: {
  readonly title: string;
  readonly head: string;
  readonly rows: readonly (readonly [name: Child, earned: Earnings])[];
  readonly total: Earnings;
  readonly visit: UserVisit;
}) {
  const { months: words, common } = texts;
  return (
    <Card title={title}>
      {rows.length === 0 ? (
        <Empty>{words.nothingBooked}</Empty>
      ) : (
        <Table
          label={title}
          columns={[
            head,
            ...[words.revenue, words.cost, words.margin, words.uncosted, words.charges, words.refunds].map(
              (number) => ({ number }),
            ),
          ]}
          total={<EarningRow name={common.total} earned={total} language={texts.language} />}
        >
          {rows.map(([name, earned]) => (
            <EarningRow name={name} earned={earned} language={texts.language} />
          ))}
        </Table>
      )}
    </Card>
  );
}

function EarningRow({
  name,
  earned,
  language,
}: {
  readonly name: Child;
  readonly earned: Earnings;
  readonly language: string;
}) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td class="right">
        <ExactMoney amount={earned.revenue} />
      </td>
      <td class="right">
        <ExactMoney amount={earned.cost} />
      </td>
      <td class="right">
        <MoneyOrNothing amount={earned.margin} />
      </td>
      <td class="right">
        <ExactMoney amount={earned.uncosted} />
      </td>
      <td class="right number">{earned.charges.toLocaleString(language)}</td>
      <td class="right number">{earned.refunds.toLocaleString(language)}</td>
    </tr>
  );
}
