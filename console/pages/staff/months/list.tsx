import { Badge, Card, Pages, Time, type Tone } from '../../../html/components.tsx';
import { DataTable } from '../../../html/data-table.tsx';
import { monthName } from '../../../html/months.ts';
import type { UserVisit } from '../../../page.ts';
import type { Texts } from '../../../texts/texts.ts';
import type { MonthOverview, MonthState } from './months.ts';

const TONES: Readonly<Record<MonthState, Tone>> = {
  running: 'busy',
  over: 'calm',
  'to close': 'bad',
  closed: 'good',
};

export function MonthBadge({ state, texts }: { readonly state: MonthState; readonly texts: Texts }) {
  return <Badge tone={TONES[state]}>{texts.months.states[state]}</Badge>;
}

export function MonthList({
  months,
  next,
  visit: { texts, path, query },
}: {
  readonly months: readonly MonthOverview[];
  readonly next: string | null;
  readonly visit: UserVisit;
}) {
  const { months: words } = texts;
  return (
    <Card>
      <DataTable
        label={words.title}
        rows={months.map((overview) => ({ ...overview.sums?.total, ...overview }))}
        columns={[
          [
            words.month,
            ({ month }) => <a href={`/console/staff/months/${month.name}`}>{monthName(month.name, texts.language)}</a>,
            'name',
          ],
          [
            words.state,
            ({ state, closed }) => (
              <>
                <MonthBadge state={state} texts={texts} />{' '}
                {closed === null ? null : (
                  <span class="soft">
                    {closed.author}, <Time at={closed.closedAt} />
                  </span>
                )}
              </>
            ),
          ],
          [words.revenue, 'revenue', 'money'],
          [words.cost, 'cost', 'money'],
          [words.margin, 'margin', 'money'],
          [words.uncosted, 'uncosted', 'money'],
        ]}
      />
      <p class="hint">{words.explained}</p>
      <Pages path={path} query={query} next={next} texts={texts} />
    </Card>
  );
}
