/** Usage and charges of an account by day, model and key: the same sums as `GET /v1/usage`. */
import type { Child } from 'hono/jsx';
import * as field from '../../../domain/resource/field.ts';
import { nested } from '../../../domain/resource/resource.ts';
import { DAILY_USAGE, USAGE_COUNTS, type UsageCounts } from '../../../api/routes/usage/present.ts';
import type { ApiServices } from '../../../api/services/services.ts';
import { findKeyNames, type KeyName } from '../../../db/queries/api-keys.ts';
import { type DailyUsage, sumDailyUsage } from '../../../db/queries/daily-usage.ts';
import { exportFile } from '../../export.ts';
import { BarChart } from '../../html/chart.tsx';
import { Card, Empty, Headline } from '../../html/components.tsx';
import { TableCard } from '../../html/resource-table.tsx';
import { member, type MemberVisit, showPage } from '../../page.ts';
import { monthsOf } from '../own-account.ts';
import { daysOf, type NamedPeriod, readPeriod } from './period.ts';
import { PeriodPicker } from './period-picker.tsx';
import { requestPage } from './request.tsx';
import { dearestFirst, type NamedSum, sumBy, sumOf } from './sums.ts';
import { useTexts } from '../../html/page-context.ts';

/** A table shows the rows that cost most. The export has all rows. */
const MAX_ROWS = 100;

export const usagePages = [
  member.page('/accounts/{account_id}/usage', 'see', async (visit, services) => {
    const { usage: words } = visit.texts;
    const { period, rows } = await askedUsage(visit, services);
    return showPage(
      'usage',
      words.title,
      <>
        <PeriodPicker period={period} months={await monthsOf(visit, services)} />
        {rows.length === 0 ? (
          <Card>
            <Empty>{words.none}</Empty>
          </Card>
        ) : (
          <Usage
            rows={rows}
            days={daysOf(period, services.clock.nowMs())}
            keys={await findKeyNames(services.database, visit.account.accountId)}
          />
        )}
      </>,
    );
  }),
  member.page('/accounts/{account_id}/usage/export', 'see', async (visit, services) => {
    const { period, rows } = await askedUsage(visit, services);
    const keys = await findKeyNames(services.database, visit.account.accountId);
    const nameOf = ({ apiKeyId }: DailyUsage) => keys.get(apiKeyId)?.name ?? '';
    const named = nested<DailyUsage>({ ...DAILY_USAGE.fields, api_key_name: field.text(nameOf) });
    return exportFile(`usage-${period.name}`, visit.query.get('format') ?? '', rows, named);
  }),
  requestPage,
];

async function askedUsage(
  { account: { accountId }, query }: MemberVisit,
  { reports, clock }: ApiServices,
): Promise<{ readonly period: NamedPeriod; readonly rows: readonly DailyUsage[] }> {
  const period = readPeriod(query.get('period'), clock.nowMs());
  return { period, rows: await sumDailyUsage(reports, { accountId, from: period.from, to: period.to }) };
}

function Usage({
  rows,
  days,
  keys,
}: {
  readonly rows: readonly DailyUsage[];
  readonly days: readonly string[];
  readonly keys: ReadonlyMap<string, KeyName>;
}) {
  const texts = useTexts();
  const { usage: words } = texts;
  const total = sumOf(rows);
  const byDay = sumBy(rows, ({ date }) => date);
  const charged = new Map(byDay.map((sum) => [sum.name, sum.charged]));
  const nameOfKey = (id: string) => <NameOfKey apiKey={keys.get(id)} id={id} unnamed={texts.keys.unnamed} />;
  return (
    <>
      <div class="grid">
        <Card title={texts.fields.charged_usd}>
          <Headline amount={total.charged} />
        </Card>
        <Card title={texts.fields.requests}>
          <p class="big number">{total.requests.toLocaleString(texts.language)}</p>
          <p class="soft">{words.failed(total.failed)}</p>
        </Card>
        <Card title={words.byDay} wide>
          <BarChart
            bars={days.map((label) => ({ label, amount: charged.get(label) ?? 0n }))}
            label={words.byDay}
            describe={words.perDay}
          />
        </Card>
      </div>
      <SumTable
        total={total}
        title={words.byModel}
        head={texts.fields.model}
        sums={dearestFirst(sumBy(rows, ({ model }) => model))}
        nameOf={(name) => name}
      />
      <SumTable
        total={total}
        title={words.byKey}
        head={words.key}
        sums={dearestFirst(sumBy(rows, ({ apiKeyId }) => apiKeyId))}
        nameOf={nameOfKey}
      />
      <SumTable
        total={total}
        title={words.byDay}
        head={words.day}
        sums={byDay}
        nameOf={(name) => <time dateTime={name}>{name}</time>}
      />
    </>
  );
}

function NameOfKey({
  apiKey,
  id,
  unnamed,
}: {
  readonly apiKey: KeyName | undefined;
  readonly id: string;
  readonly unnamed: string;
}) {
  return (
    <>
      {apiKey?.name || unnamed} <code title={id}>{apiKey?.hint ?? id}</code>
    </>
  );
}

function SumTable({
  title,
  head,
  sums,
  total,
  nameOf,
}: {
  readonly title: string;
  readonly head: string;
  readonly sums: readonly NamedSum[];
  readonly total: UsageCounts;
  readonly nameOf: (name: string) => Child;
}) {
  const { usage: words, common } = useTexts();
  const rest = sums.slice(MAX_ROWS);
  const shown: readonly TableRow[] = sums.slice(0, MAX_ROWS).map((sum) => ({ ...sum, head: nameOf(sum.name) }));
  return (
    <TableCard<TableRow>
      title={title}
      of={USAGE_COUNTS}
      rows={rest.length === 0 ? shown : [...shown, { ...sumOf(rest), head: words.others(rest.length) }]}
      total={{ ...total, head: common.total }}
      columns={[
        [head, (row) => row.head],
        'charged_usd',
        'requests',
        'failed',
        'input_tokens',
        'output_tokens',
        'billable_duration_seconds',
      ]}
    />
  );
}

/** A sum with the head of its row. */
interface TableRow extends UsageCounts {
  readonly head: Child;
}
