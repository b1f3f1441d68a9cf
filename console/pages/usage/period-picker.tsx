/** Chooses the period of a page about usage, and downloads what it shows. */
import { Choice } from '../../html/components.tsx';
import { Downloads } from '../../html/filters.tsx';
import { monthName } from '../../html/months.ts';
import { useTexts } from '../../html/page-context.ts';
import { LAST_DAYS, type NamedPeriod } from './period.ts';

/** @param months the months since the account was created, latest first */
export function PeriodPicker({ period, months }: { readonly period: NamedPeriod; readonly months: readonly string[] }) {
  const texts = useTexts();
  const { usage: words, common } = texts;
  const known = period.name === LAST_DAYS || months.includes(period.name) ? months : [period.name, ...months];
  const options = known.map((month) => [month, monthName(month, texts.language)] as const);
  return (
    <form method="get" class="filters">
      <Choice
        name="period"
        label={common.period}
        value={period.name}
        options={[...options.slice(0, 1), [LAST_DAYS, words.lastDays], ...options.slice(1)]}
      />
      <button type="submit" class="quiet">
        {common.show}
      </button>
      <Downloads />
    </form>
  );
}
