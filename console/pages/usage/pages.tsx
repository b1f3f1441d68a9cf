/** Usage and charges of an account by day, model and key: the same sums as `GET /v1/usage`. */
import type { Child } from 'hono/jsx';
import * as field from '../../../domain/resource/field.ts';
import { nested } from '../../../domain/resource/resource.ts';
import { DAILY_USAGE, USAGE_COUNTS, type UsageCounts } from '../../../services/resources/usage.ts';
import type { ApiServices } from '../../../api/services.ts';
import { findKeyNames, type KeyName } from '../../../db/queries/api-keys.ts';
import { type DailyUsage, sumDailyUsage } from '../../../db/queries/daily-usage.ts';
import { exportFile } from '../../export.ts';
import { DayChart, seriesOf } from '../../html/chart.tsx';
import { Card, Empty, Headline, roundedUsd } from '../../html/components.tsx';
import { DayFilters, Downloads, Filters } from '../../html/filters.tsx';
import { TableCard } from '../../html/resource-table.tsx';
import { existingAccount } from '../../../services/people/existing-account.ts';
import { forMembersAndStaff, showPage, type UserVisit } from '../../page.ts';
import { countDays, daysOf, type NamedPeriod, periodBefore, readPeriod } from './period.ts';
import { requestPages } from './requests.tsx';
import { sortByCost, type NamedSum, sumBy, sumOf } from './sums.ts';
import { usePage, useQuery, useTexts } from '../../html/page-context.ts';

/** The parameters of the query that narrow the usage, each with the value that a row has for it. */
const NARROWED_BY = {
  day: ({ date }: DailyUsage) => date,
  model: ({ model }: DailyUsage) => model,
  key: ({ apiKeyId }: DailyUsage) => apiKeyId,
} as const;
type Narrowing = keyof typeof NARROWED_BY;

const NARROWINGS: readonly Narrowing[] = ['day', 'model', 'key'];

/** A table shows only the rows with the highest charges. The export has all rows. */
const MAX_ROWS = 100;

const usageOfAccount = forMembersAndStaff((place) => [
  place.page('/usage', ['see', 'read'], async (visit, services) => {
    const { usage: messages, titles } = visit.texts;
    const { period, rows } = await askedUsage(visit, services);
    const before = await usageBefore(visit, services, period);
    const keys = await findKeyNames(services.database, accountIn(visit));
    return showPage(
      titles.usage,
      <Filters downloads={<Downloads />}>
        <DayFilters standing={period} />
      </Filters>,
      <Narrowed keys={keys} />,
      rows.length === 0 ? (
        <Card>
          <Empty>{messages.none}</Empty>
        </Card>
      ) : (
        <Usage rows={rows} before={before} days={daysOf(period, services.clock.nowMs())} keys={keys} />
      ),
    );
  }),
  place.page('/usage/export', ['see', 'read'], async (visit, services) => {
    const { period, rows } = await askedUsage(visit, services);
    const keys = await findKeyNames(services.database, accountIn(visit));
    const nameOf = ({ apiKeyId }: DailyUsage) => keys.get(apiKeyId)?.name ?? '';
    const named = nested<DailyUsage>({ ...DAILY_USAGE.fields, api_key_name: field.text(nameOf) });
    return exportFile(`usage-${period.name}`, visit.query, rows, named);
  }),
]);

export const usagePages = [...usageOfAccount, ...requestPages];

function accountIn({ params }: UserVisit): string {
  return params['account_id'] ?? '';
}

async function askedUsage(
  visit: UserVisit,
  { reports, clock }: ApiServices,
): Promise<{ readonly period: NamedPeriod; readonly rows: readonly DailyUsage[] }> {
  const { id: accountId } = await existingAccount(reports, accountIn(visit));
  const period = readPeriod(visit.query, clock.nowMs());
  return { period, rows: narrowed(visit.query, await sumDailyUsage(reports, { accountId, ...period })) };
}

/** Adds up the equally long period directly before. @returns null if the page is narrowed to a day */
async function usageBefore(visit: UserVisit, { reports }: ApiServices, period: NamedPeriod): Promise<Before | null> {
  if (visit.query.get('day')) return null;
  const rows = await sumDailyUsage(reports, { accountId: accountIn(visit), ...periodBefore(period) });
  return { days: countDays(period), sum: sumOf(narrowed(visit.query, rows)) };
}

interface Before {
  readonly days: number;
  readonly sum: UsageCounts;
}

function narrowed(query: URLSearchParams, rows: readonly DailyUsage[]): readonly DailyUsage[] {
  return rows.filter((row) => NARROWINGS.every((name) => isIn(row, name, query.get(name))));
}

function isIn(row: DailyUsage, name: Narrowing, asked: string | null): boolean {
  return asked === null || asked === '' || NARROWED_BY[name](row) === asked;
}

/** The values to which the page is narrowed, each with a link that removes it. */
function Narrowed({ keys }: { keys: ReadonlyMap<string, KeyName> }) {
  const { texts, query } = usePage();
  const queryWith = useQuery();
  const { usage: messages, fields } = texts;
  const labels = { day: messages.day, model: fields.model, key: fields.key };
  const asked = NARROWINGS.flatMap((name) => {
    const value = query.get(name);
    return value ? [{ name, value: name === 'key' ? keys.get(value)?.name || value : value }] : [];
  });
  if (asked.length === 0) return null;
  return (
    <p class="choices">
      {asked.map(({ name, value }) => (
        <a href={queryWith({ [name]: null })} aria-current="true" title={messages.widen}>
          {`${labels[name]}: ${value} ×`}
        </a>
      ))}
    </p>
  );
}

interface UsageProps {
  readonly rows: readonly DailyUsage[];
  readonly before: Before | null;
  readonly days: readonly string[];
  readonly keys: ReadonlyMap<string, KeyName>;
}

function Usage({ rows, before, days, keys }: UsageProps) {
  const texts = useTexts();
  const { usage: messages, common, fields } = texts;
  const total = sumOf(rows);
  const queryWith = useQuery();
  const nameOfKey = (id: string) => (
    <>
      {keys.get(id)?.name || texts.keys.unnamed} <code title={id}>{keys.get(id)?.hint ?? id}</code>
    </>
  );
  return (
    <>
      <div class="grid">
        <Card title={texts.fields.charged_usd}>
          <Headline amount={total.charged} />
          <Compared before={before} now={total} of={({ charged }) => charged} inWords={roundedUsd} />
        </Card>
        <Card title={texts.values.outcome.succeeded}>
          <p class="big number">{total.requests.toLocaleString(texts.language)}</p>
          <p class="soft">{messages.failed(total.failed)}</p>
          <Compared
            before={before}
            now={total}
            of={({ requests }) => BigInt(requests)}
            inWords={(count) => count.toLocaleString(texts.language)}
          />
        </Card>
        <Card title={messages.byDay} wide>
          <DayChart
            days={days}
            series={seriesOf(rows, messages.others)}
            label={messages.byDay}
            dayHref={(day) => queryWith({ day })}
            nameHref={(model) => queryWith({ model })}
          />
        </Card>
      </div>
      <SumTable
        total={total}
        title={common.byModel}
        by="model"
        head={texts.fields.model}
        sums={sortByCost(sumBy(rows, NARROWED_BY.model))}
        nameOf={(name) => name}
      />
      <SumTable
        total={total}
        title={messages.byKey}
        by="key"
        head={fields.key}
        sums={sortByCost(sumBy(rows, NARROWED_BY.key))}
        nameOf={nameOfKey}
      />
      <SumTable
        total={total}
        title={messages.byDay}
        by="day"
        head={messages.day}
        sums={sumBy(rows, NARROWED_BY.day)}
        nameOf={(name) => <time dateTime={name}>{name}</time>}
      />
    </>
  );
}

interface ComparedProps {
  readonly before: Before | null;
  readonly now: UsageCounts;
  readonly of: (counts: UsageCounts) => bigint;
  readonly inWords: (amount: bigint) => string;
}

/** The change from the equally long period directly before. */
function Compared({ before, now, of, inWords }: ComparedProps) {
  const { usage: messages, language } = useTexts();
  if (before === null) return null;
  const [was, is] = [of(before.sum), of(now)];
  const style = { style: 'percent', maximumFractionDigits: 1, signDisplay: 'exceptZero' } as const;
  const change = was === 0n ? null : (Number(((is - was) * 1000n) / was) / 1000).toLocaleString(language, style);
  return <p class="soft">{messages.before(change, inWords(was), before.days)}</p>;
}

interface SumTableProps {
  readonly by: Narrowing;
  readonly title: string;
  readonly head: string;
  readonly sums: readonly NamedSum[];
  readonly total: UsageCounts;
  readonly nameOf: (name: string) => Child;
}

/** @param by the parameter that a click on the head of a row sets */
function SumTable({ by, title, head, sums, total, nameOf }: SumTableProps) {
  const { usage: messages, common, values } = useTexts();
  const queryWith = useQuery();
  const rest = sums.slice(MAX_ROWS);
  const shown: readonly TableRow[] = sums.slice(0, MAX_ROWS).map((sum) => ({
    ...sum,
    head: <a href={queryWith({ [by]: sum.name })}>{nameOf(sum.name)}</a>,
  }));
  return (
    <TableCard<TableRow>
      title={title}
      of={USAGE_COUNTS}
      rows={rest.length === 0 ? shown : [...shown, { ...sumOf(rest), head: messages.others(rest.length) }]}
      total={{ ...total, head: common.total }}
      columns={[
        [head, (row) => row.head],
        'charged_usd',
        [values.outcome.succeeded, 'requests'],
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
