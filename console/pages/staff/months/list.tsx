import { Badge, Card, ExactMoney, Pages, Table, Time, type Tone } from '../../../html/components.tsx';
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

/** An amount, or that there is none. */
export function MoneyOrNothing({ amount }: { readonly amount: bigint | null | undefined }) {
  return amount === null || amount === undefined ? <>–</> : <ExactMoney amount={amount} />;
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
      <Table
        label={words.title}
        columns={[
          words.month,
          words.state,
          { number: words.revenue },
          { number: words.cost },
          { number: words.margin },
          { number: words.uncosted },
        ]}
      >
        {months.map(({ month, state, closed, revenue, sums }) => (
          <tr>
            <th scope="row">
              <a href={`/console/staff/months/${month.name}`}>{monthName(month.name, texts.language)}</a>
            </th>
            <td>
              <MonthBadge state={state} texts={texts} />{' '}
              {closed === null ? null : (
                <span class="soft">
                  {closed.author}, <Time at={closed.closedAt} />
                </span>
              )}
            </td>
            <td class="right">
              <ExactMoney amount={revenue} />
            </td>
            <td class="right">
              <MoneyOrNothing amount={sums?.total.cost} />
            </td>
            <td class="right">
              <MoneyOrNothing amount={sums?.total.margin} />
            </td>
            <td class="right">
              <MoneyOrNothing amount={sums?.total.uncosted} />
            </td>
          </tr>
        ))}
      </Table>
      <p class="hint">{words.explained}</p>
      <Pages path={path} query={query} next={next} texts={texts} />
    </Card>
  );
}
