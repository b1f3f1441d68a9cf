/** Failures of upstreams by customer, model, upstream and reason, with a graph. */
import type { Child } from 'hono/jsx';
import type { ApiServices } from '../../../../api/services.ts';
import {
  FAILURE_PERIODS,
  type FailurePeriod,
  type FailureReport,
  type ListedFailureSum,
  MAX_SUMS,
  readFailures,
  type RouteFailures,
} from '../../../../db/queries/call-failures.ts';
import type { FailureSum } from '../../../../db/queries/upstream-calls.ts';
import { dayOf } from '../../../../domain/day.ts';
import { isTaskErrorCode } from '../../../../domain/errors.ts';
import * as field from '../../../../domain/resource/field.ts';
import { nested } from '../../../../domain/resource/resource.ts';
import { withAccountNames } from '../../../account-names.ts';
import { Card, Empty, Polled, WithNote } from '../../../html/components.tsx';
import { DayChart, MAX_SERIES, type Series } from '../../../html/chart.tsx';
import { ChoiceLinks } from '../../../html/filters.tsx';
import { AnyId } from '../../../html/linked-ids.tsx';
import { useTexts } from '../../../html/page-context.ts';
import { TableCard } from '../../../html/resource-table.tsx';
import { type DrawnResult, type PageResult, showPage, showPart, staff, type UserVisit } from '../../../page.ts';
import { faultWords, type Texts, wordFor } from '../../../texts/texts.ts';

const PATH = '/staff/failures';
const OTHER_PERIODS = Object.keys(FAILURE_PERIODS).filter((name) => name !== 'hour');

export const staffFailurePages = [
  staff.page(PATH, 'read', async (visit, services) => {
    const { titles, failures: messages } = visit.texts;
    return showReport(visit, services, (report) =>
      showPage(
        titles.failures,
        <p class="soft">{messages.about}</p>,
        <ChoiceLinks
          name="period"
          label={messages.period}
          all={wordFor('period', 'hour', visit.texts)}
          values={OTHER_PERIODS}
        />,
        report,
      ),
    );
  }),
  staff.page(`${PATH}/report`, 'read', (visit, services) => showReport(visit, services, showPart)),
];

/** @param show puts the report into a page, or makes it a part of one */
async function showReport(
  { query }: UserVisit,
  { database }: ApiServices,
  show: (report: Child) => DrawnResult,
): Promise<PageResult> {
  const period = periodIn(query);
  const report = await readFailures(database, period);
  const ids = report.sums.map(({ accountId }) => accountId);
  return withAccountNames(database, ids, show(<Report period={period} report={report} />));
}

function periodIn(query: URLSearchParams): FailurePeriod {
  const chosen = query.get('period');
  return (['five_minutes', 'hour', 'day'] as const).find((period) => period === chosen) ?? 'hour';
}

const ROUTE = nested<RouteFailures>({
  upstream: field.text('upstream'),
  model: field.text('model'),
  requests: field.count('requests'),
  failures: field.count('failures'),
});

const SUM = nested<ListedFailureSum>({
  upstream: field.text('upstream'),
  model: field.text('model'),
  failures: field.count('failures'),
  message: field.text.orNull('message'),
});

/** The list of the tasks or text requests that a sum counts, since a day. */
function listOf({ upstream, format, fault, accountId }: FailureSum, from: string): string {
  const filter = isTaskErrorCode(fault) && format === '' ? { status: 'failed', error_code: fault } : { fault };
  const query = new URLSearchParams({ account: accountId, upstream, ...filter, from });
  return `/console/staff/${format === '' ? 'tasks' : 'text-requests'}?${query.toString()}`;
}

/** The report, which the browser polls while the page is open. */
function Report({ period, report: { routes, sums, bars } }: { period: FailurePeriod; report: FailureReport }) {
  const texts = useTexts();
  const { failures: messages, fields } = texts;
  const { language } = texts;
  const since = dayOf(bars[0]?.start ?? new Date());
  return (
    <Polled path={`/console${PATH}/report?period=${period}`} seconds={10}>
      <Card title={messages.graph(wordFor('period', period, texts))}>
        {routes.length === 0 ? (
          <Empty>{messages.none}</Empty>
        ) : (
          <DayChart
            days={bars.map(({ start }) => `${start.toISOString().slice(11, 16)} UTC`)}
            series={seriesOf(bars, texts)}
            label={messages.graph(wordFor('period', period, texts))}
            format={(count) => count.toLocaleString(language)}
          />
        )}
      </Card>
      {routes.length === 0 ? null : (
        <>
          <TableCard
            title={messages.byRoute}
            of={ROUTE}
            rows={routes}
            columns={[
              [fields.upstream, ({ upstream, format }) => <WithNote note={format || null}>{upstream}</WithNote>],
              'model',
              'requests',
              'failures',
              [messages.share, ({ requests, failures }) => percent(failures / requests, language), 'number'],
            ]}
          />
          <TableCard
            title={messages.byCustomer}
            of={SUM}
            rows={sums}
            columns={[
              [fields.account_id, ({ accountId }) => (accountId === '' ? messages.others : <AnyId id={accountId} />)],
              'model',
              [fields.upstream, ({ upstream, format }) => <WithNote note={format || null}>{upstream}</WithNote>],
              [fields.cause, ({ fault }) => faultWords(fault, texts)],
              [messages.message, ({ message }) => message, 'words'],
              [
                fields.failures,
                (sum) => (sum.accountId === '' ? sum.failures : <a href={listOf(sum, since)}>{sum.failures}</a>),
                'number',
              ],
            ]}
          >
            {sums.length < MAX_SUMS ? null : <p class="soft">{messages.most(MAX_SUMS)}</p>}
          </TableCard>
        </>
      )}
    </Polled>
  );
}

function percent(share: number, language: string): string {
  return share.toLocaleString(language, { style: 'percent', maximumFractionDigits: 1 });
}

/** One series for each upstream, most failures first; the upstreams beyond the colors are one series. */
function seriesOf(bars: FailureReport['bars'], { usage }: Texts): readonly Series[] {
  const totals = new Map<string, number>();
  for (const { failures } of bars) {
    for (const [upstream, count] of failures) totals.set(upstream, (totals.get(upstream) ?? 0) + count);
  }
  const names = [...totals].toSorted(([, one], [, other]) => other - one).map(([name]) => name);
  const shown = names.slice(0, names.length > MAX_SERIES ? MAX_SERIES - 1 : MAX_SERIES);
  const rest = names.slice(shown.length);
  const amountsOf = (upstreams: readonly string[]) =>
    new Map(
      bars.map(({ start, failures }) => [
        `${start.toISOString().slice(11, 16)} UTC`,
        BigInt(upstreams.reduce((sum, upstream) => sum + (failures.get(upstream) ?? 0), 0)),
      ]),
    );
  const series = shown.map((name) => ({ name, amounts: amountsOf([name]) }));
  return rest.length === 0
    ? series
    : [...series, { name: usage.others(rest.length), isSum: true, amounts: amountsOf(rest) }];
}
