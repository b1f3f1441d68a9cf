/** A chart of amounts by day, or of counts by hour or minute, as stacked bars, rendered on the server. A script shows the title of a bar below. */
import type { DailyUsage } from '../../db/queries/daily-usage.ts';
import { larger, PICO_PER_USD, type PicoUsd } from '../../domain/money.ts';
import type { Texts } from '../texts/texts.ts';
import { usd } from './components.tsx';
import { useTexts } from './page-context.ts';

/** The amounts of one name, such as a model, keyed by day. */
export interface Series {
  readonly name: string;
  /** Whether the series adds up several names. */
  readonly isSum?: true;
  readonly amounts: ReadonlyMap<string, PicoUsd>;
}

const HEIGHT = 120;
const STEP = 20;
const GAP = 4;
/** The number of colors in the style sheet. If there are more names, the last color is for all others. */
export const MAX_SERIES = 6;

interface Props {
  /** The days from left to right, such as `2026-11-22`, or other names of bars. */
  readonly days: readonly string[];
  /** At most {@link MAX_SERIES}, from the bottom of the bars to the top. */
  readonly series: readonly Series[];
  readonly label: string;
  /** Formats an amount; by default, in USD. */
  readonly format?: (amount: bigint) => string;
  /** The page with more about a day. */
  readonly dayHref?: (day: string) => string;
  /** The page with more about a name in the legend. */
  readonly nameHref?: (name: string) => string;
}

export function DayChart({ days, series, label, format = usd, dayHref, nameHref }: Props) {
  const { common } = useTexts();
  const amountsOf = (day: string) => series.map(({ amounts }) => amounts.get(day) ?? 0n);
  const top = topOf(days.map((day) => sum(amountsOf(day))));
  return (
    <figure class="chart" role="group" aria-label={label}>
      <div class="plot">
        <ol class="axis" aria-hidden="true">
          {[top, top / 2n, 0n].map((amount) => (
            <li>{format(amount)}</li>
          ))}
        </ol>
        <svg viewBox={`0 0 ${days.length * STEP} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          <path class="lines" d={[0, HEIGHT / 2, HEIGHT].map((y) => `M0 ${y}H${days.length * STEP}`).join('')} />
          {days.map((day, index) => {
            const amounts = amountsOf(day);
            const bar = (
              <Bar
                x={index * STEP}
                amounts={amounts}
                top={top}
                messages={wordsOf(day, amounts, series, { common, format })}
              />
            );
            return dayHref && sum(amounts) > 0n ? (
              <a class="day" href={dayHref(day)} tabindex={-1}>
                {bar}
              </a>
            ) : (
              <g class="day">{bar}</g>
            );
          })}
        </svg>
      </div>
      <figcaption>
        <span>{days[0]}</span>
        <span data-reading></span>
        <span>{days.at(-1)}</span>
      </figcaption>
      {series.length < 2 ? null : <Legend series={series} {...(nameHref && { nameHref })} />}
    </figure>
  );
}

/** The title of a bar: the sum of the day and its parts. */
function wordsOf(
  day: string,
  amounts: readonly PicoUsd[],
  series: readonly Series[],
  { common, format }: { readonly common: Texts['common']; readonly format: (amount: bigint) => string },
): string {
  const parts = series.flatMap(({ name }, index) => {
    const amount = amounts[index] ?? 0n;
    return amount === 0n ? [] : [`${name} ${format(amount)}`];
  });
  const whole = common.perDay(day, format(sum(amounts)));
  return parts.length < 2 ? whole : `${whole} (${parts.join(', ')})`;
}

function Bar({
  x,
  amounts,
  top,
  messages,
}: {
  x: number;
  amounts: readonly PicoUsd[];
  top: PicoUsd;
  messages: string;
}) {
  let y = HEIGHT;
  return (
    <>
      <title>{messages}</title>
      <rect class="column" x={x} y={0} width={STEP} height={HEIGHT} />
      {amounts.map((amount, index) => {
        if (amount <= 0n) return null;
        const height = Math.max(Number((amount * BigInt(HEIGHT * 100)) / top) / 100, 1);
        y -= height;
        return <rect class={`series-${index}`} x={x + GAP / 2} y={y} width={STEP - GAP} height={height} />;
      })}
    </>
  );
}

function Legend({ series, nameHref }: Pick<Props, 'series' | 'nameHref'>) {
  return (
    <ul class="legend">
      {series.map(({ name, isSum }, index) => (
        <li>
          <svg viewBox="0 0 8 8" aria-hidden="true">
            <rect class={`series-${index}`} width="8" height="8" rx="2" />
          </svg>{' '}
          {nameHref && !isSum ? <a href={nameHref(name)}>{name}</a> : name}
        </li>
      ))}
    </ul>
  );
}

/** Groups charges by model, greatest sum first, and adds up models beyond the colors. @param others names that sum */
export function seriesOf(rows: readonly DailyUsage[], others: (count: number) => string): readonly Series[] {
  const sums = new Map<string, PicoUsd>();
  for (const { model, charged } of rows) sums.set(model, (sums.get(model) ?? 0n) + charged);
  const ranked = [...sums].filter(([, amount]) => amount > 0n).toSorted(([, one], [, other]) => compare(other, one));
  const names = ranked.map(([name]) => name);
  const shown = names.slice(0, names.length > MAX_SERIES ? MAX_SERIES - 1 : MAX_SERIES);
  const rest = new Set(names.slice(shown.length));
  const series = shown.map((shownName) => ({
    name: shownName,
    amounts: byDay(rows.filter(({ model }) => model === shownName)),
  }));
  if (rest.size === 0) return series;
  return [
    ...series,
    { name: others(rest.size), isSum: true, amounts: byDay(rows.filter(({ model }) => rest.has(model))) },
  ];
}

function byDay(rows: readonly DailyUsage[]): ReadonlyMap<string, PicoUsd> {
  const sums = new Map<string, PicoUsd>();
  for (const { date, charged } of rows) sums.set(date, (sums.get(date) ?? 0n) + charged);
  return sums;
}

/** The top of the axis: 1, 2 or 5 times a power of ten, not less than any amount. */
function topOf(amounts: readonly PicoUsd[]): PicoUsd {
  const max = amounts.reduce(larger, 0n);
  if (max === 0n) return PICO_PER_USD;
  let unit = 1n;
  while (unit * 10n <= max) unit *= 10n;
  return [unit, 2n * unit, 5n * unit].find((top) => top >= max) ?? 10n * unit;
}

function sum(amounts: readonly PicoUsd[]): PicoUsd {
  return amounts.reduce((total, amount) => total + amount, 0n);
}

function compare(one: PicoUsd, other: PicoUsd): number {
  return Number(one > other) - Number(one < other);
}
