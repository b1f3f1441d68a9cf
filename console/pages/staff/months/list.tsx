import type { Child } from 'hono/jsx';
import type { ApiServices } from '../../../../api/services/services.ts';
import { listClosedMonths } from '../../../../db/queries/closed-months.ts';
import type { Earnings, MonthSums } from '../../../../db/queries/month-sums.ts';
import { percentOf, type PicoUsd } from '../../../../domain/money.ts';
import * as field from '../../../../domain/resource/field.ts';
import { nested } from '../../../../domain/resource/resource.ts';
import { Badge, ExactMoney, RoundedMoney, Time } from '../../../html/components.tsx';
import { monthName } from '../../../html/months.ts';
import { Chosen, TableCard } from '../../../html/resource-table.tsx';
import { type PageResult, showPage, type UserVisit } from '../../../page.ts';
import type { Texts } from '../../../texts/texts.ts';
import { listMonths, readMonthOverview } from './months.ts';

/** The number of months on a page. */
const MONTHS_SHOWN = 12;

/** The earnings of a month; null for unknown amounts. */
type ShownEarnings = { readonly [Name in keyof Earnings]: Earnings[Name] | null };

/** The margin in percent of the revenue whose cost is known. */
export function percentOfMargin({ margin, revenue, uncosted }: ShownEarnings): number | null {
  return margin === null ? null : percentOf(margin, (revenue ?? 0n) - (uncosted ?? 0n));
}

export const EARNINGS = nested<ShownEarnings>({
  revenue_usd: field.usd.orNull('revenue'),
  cost_usd: field.usd.orNull('cost'),
  margin_usd: field.usd.orNull('margin'),
  margin_percent: field.number.orNull(percentOfMargin),
  uncosted_usd: field.usd.orNull('uncosted'),
  charges: field.count.orNull('charges'),
  refunds: field.count.orNull('refunds'),
});

export const EARNING_NAMES = ['revenue_usd', 'cost_usd', 'margin_usd', 'margin_percent'] as const;
export type EarningName = (typeof EARNING_NAMES)[number];

/** The columns of earnings, which mark unknown costs and losses. */
export function earningColumns({ months: words }: Texts, titleOf: (name: EarningName) => Child) {
  const unknown = <span class="soft">{words.unknown}</span>;
  return [
    [titleOf('revenue_usd'), 'revenue_usd'],
    [
      titleOf('cost_usd'),
      ({ cost }: ShownEarnings) => (cost === null ? unknown : <ExactMoney amount={cost} />),
      'number',
    ],
    [
      titleOf('margin_usd'),
      ({ margin }: ShownEarnings) =>
        margin === null ? (
          unknown
        ) : (
          <>
            {margin < 0n ? <Badge tone="bad">{words.loss}</Badge> : null} <ExactMoney amount={margin} />
          </>
        ),
      'number',
    ],
    [titleOf('margin_percent'), (earnings: ShownEarnings) => inPercent(percentOfMargin(earnings)), 'number'],
    'uncosted_usd',
  ] as const;
}

function inPercent(percent: number | null): string {
  return percent === null ? '–' : `${percent.toFixed(1)} %`;
}

const UNKNOWN: ShownEarnings = {
  revenue: null,
  cost: null,
  margin: null,
  uncosted: null,
  charges: null,
  refunds: null,
};

/** The payments of customers in a month. */
export function receivedIn({ customersMoney }: MonthSums): PicoUsd {
  return customersMoney.activity.find(({ kind }) => kind === 'topup')?.available ?? 0n;
}

/** The credit of customers at the end of a month, or now, which the operator owes them. */
export function customerLiability({ customersMoney: { closing } }: MonthSums): PicoUsd {
  return closing.available + closing.reserved;
}

function KnownMoney({ amount }: { amount: PicoUsd | null }) {
  return amount === null ? <>–</> : <RoundedMoney amount={amount} />;
}

export async function showMonths(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const { query, texts } = visit;
  const before = query.get('cursor') ?? '~';
  const [all, closed] = await Promise.all([listMonths(services), listClosedMonths(services.reports)]);
  const found = all.filter(({ name }) => name < before);
  const months = await Promise.all(
    found.slice(0, MONTHS_SHOWN).map((month) => readMonthOverview(month, closed, services)),
  );
  const next = found.length > MONTHS_SHOWN ? (months.at(-1)?.month.name ?? null) : null;
  const { months: words, fields, titles, common } = texts;
  return showPage(
    titles.months,
    <TableCard
      next={next}
      of={EARNINGS}
      rows={months.map((overview) => ({ ...UNKNOWN, ...overview.sums?.total, ...overview }))}
      pageOf={({ month }) => `/console/staff/months/${month.name}`}
      columns={[
        [common.month, ({ month }) => monthName(month.name, texts.language)],
        [
          words.state,
          ({ state, closed }) => (
            <>
              <Chosen name="state" value={state} />{' '}
              {closed === null ? null : (
                <span class="soft">
                  {closed.author}, <Time at={closed.closedAt} />
                </span>
              )}
            </>
          ),
        ],
        ...earningColumns(texts, (name) => fields[name]),
        [fields.received_usd, ({ sums }) => <KnownMoney amount={sums && receivedIn(sums)} />, 'number'],
        [fields.owed_usd, ({ sums }) => <KnownMoney amount={sums && customerLiability(sums)} />, 'number'],
      ]}
    >
      <p class="hint">{words.explained}</p>
    </TableCard>,
  );
}
