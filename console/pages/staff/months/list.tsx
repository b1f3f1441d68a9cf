import type { Earnings } from '../../../../db/queries/month-sums.ts';
import * as field from '../../../../domain/resource/field.ts';
import { nested } from '../../../../domain/resource/resource.ts';
import { Pages, Time } from '../../../html/components.tsx';
import { monthName } from '../../../html/months.ts';
import { Chosen, TableCard } from '../../../html/resource-table.tsx';
import type { UserVisit } from '../../../page.ts';
import type { MonthOverview } from './months.ts';

/** The earnings of a month; null for unknown amounts. */
type ShownEarnings = { readonly [Name in keyof Earnings]: Earnings[Name] | null };

export const EARNINGS = nested<ShownEarnings>({
  revenue_usd: field.usd.orNull('revenue'),
  cost_usd: field.usd.orNull('cost'),
  margin_usd: field.usd.orNull('margin'),
  uncosted_usd: field.usd.orNull('uncosted'),
  charges: field.count.orNull('charges'),
  refunds: field.count.orNull('refunds'),
});

export const EARNING_COLUMNS = ['revenue_usd', 'cost_usd', 'margin_usd', 'uncosted_usd'] as const;

const UNKNOWN: ShownEarnings = {
  revenue: null,
  cost: null,
  margin: null,
  uncosted: null,
  charges: null,
  refunds: null,
};

export function MonthList({
  months,
  next,
  visit: { texts },
}: {
  readonly months: readonly MonthOverview[];
  readonly next: string | null;
  readonly visit: UserVisit;
}) {
  const { months: words } = texts;
  return (
    <TableCard
      of={EARNINGS}
      label={words.title}
      rows={months.map((overview) => ({ ...UNKNOWN, ...overview.sums?.total, ...overview }))}
      pageOf={({ month }) => `/console/staff/months/${month.name}`}
      columns={[
        [words.month, ({ month }) => monthName(month.name, texts.language)],
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
        ...EARNING_COLUMNS,
      ]}
    >
      <p class="hint">{words.explained}</p>
      <Pages next={next} />
    </TableCard>
  );
}
