import type { Child } from 'hono/jsx';
import type { ApiServices } from '../../../../api/services.ts';
import { listClosedMonths } from '../../../../db/queries/closed-months.ts';
import type { Earnings, MonthSums } from '../../../../db/queries/month-sums.ts';
import { percentOf, type PicoUsd } from '../../../../domain/money.ts';
import { nested } from '../../../../domain/resource/resource.ts';
import { Badge, RoundedMoney, Time, usd, WithNote } from '../../../html/components.tsx';
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

/** Each column of earnings has a look of its own. */
export const EARNINGS = nested<ShownEarnings>({});

export const EARNING_NAMES = ['revenue_usd', 'cost_usd', 'margin_usd', 'margin_percent'] as const;
export type EarningName = (typeof EARNING_NAMES)[number];

/** The text in place of an unknown margin. Without revenue there is no margin to know. */
export function textOfNoMargin({ revenue }: Pick<ShownEarnings, 'revenue'>, { months: messages }: Texts): string {
  return revenue === 0n ? '–' : messages.unknown;
}

/**
 * The columns of earnings, which mark unknown costs and losses. The notes keep the columns few enough for a screen.
 *
 * @param Amount shows an amount
 */
export function earningColumns(
  texts: Texts,
  Amount: (props: { amount: PicoUsd }) => Child,
  titleOf: (name: 'revenue_usd' | 'cost_usd' | 'margin_usd') => Child,
) {
  const { months: messages } = texts;
  return [
    [
      titleOf('revenue_usd'),
      ({ revenue, charges, refunds }: ShownEarnings) =>
        revenue === null ? (
          '–'
        ) : (
          <WithNote note={charges || refunds ? messages.chargesAndRefunds(charges ?? 0, refunds ?? 0) : null}>
            <Amount amount={revenue} />
          </WithNote>
        ),
      'number',
    ],
    [
      titleOf('cost_usd'),
      ({ cost, uncosted }: ShownEarnings) =>
        cost === null ? (
          <span class="soft">{messages.unknown}</span>
        ) : (
          <WithNote note={uncosted ? messages.unknownFor(usd(uncosted)) : null}>
            <Amount amount={cost} />
          </WithNote>
        ),
      'number',
    ],
    [
      titleOf('margin_usd'),
      (earnings: ShownEarnings) =>
        earnings.margin === null ? (
          <span class="soft">{textOfNoMargin(earnings, texts)}</span>
        ) : (
          <WithNote note={noteOfMargin(earnings, texts)}>
            <Amount amount={earnings.margin} />
          </WithNote>
        ),
      'number',
    ],
  ] as const;
}

/** The margin in percent, and whether it is a loss; null if there is nothing to add. */
function noteOfMargin(earnings: ShownEarnings, { months: messages }: Texts): Child {
  const percent = percentOfMargin(earnings);
  const isLoss = earnings.margin !== null && earnings.margin < 0n;
  if (percent === null && !isLoss) return null;
  return (
    <>
      {isLoss ? <Badge tone="bad">{messages.loss}</Badge> : null} {percent === null ? null : `${percent.toFixed(1)} %`}
    </>
  );
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
  const { months: messages, fields, titles, common } = texts;
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
          messages.state,
          ({ state, closed }) => (
            <>
              <Chosen name="state" value={state} />{' '}
              {closed === null ? null : (
                <span class="soft narrow">
                  {closed.author}, <Time at={closed.closedAt} />
                </span>
              )}
            </>
          ),
        ],
        ...earningColumns(texts, RoundedMoney, (name) => fields[name]),
        [fields.received_usd, ({ sums }) => <KnownMoney amount={sums && receivedIn(sums)} />, 'number'],
        [fields.owed_usd, ({ sums }) => <KnownMoney amount={sums && customerLiability(sums)} />, 'number'],
      ]}
    >
      <p class="hint">{messages.explained}</p>
    </TableCard>,
  );
}
