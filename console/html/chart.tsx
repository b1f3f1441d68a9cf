/** Bars for amounts by day, drawn on the server. */
import type { PicoUsd } from '../../domain/money.ts';
import { usd } from './components.tsx';

export interface Bar {
  /** A day, such as `2026-11-22`. */
  readonly label: string;
  readonly amount: PicoUsd;
}

const HEIGHT = 120;
const STEP = 20;
const GAP = 4;

export function BarChart({
  bars,
  label,
  describe,
}: {
  readonly bars: readonly Bar[];
  readonly label: string;
  readonly describe: (label: string, usd: string) => string;
}) {
  const most = bars.reduce((highest, { amount }) => (amount > highest ? amount : highest), 1n);
  const width = bars.length * STEP;
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${width} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {bars.map(({ label: day, amount }, index) => {
          const height = Number((amount * BigInt(HEIGHT - 2)) / most);
          return (
            <rect
              x={index * STEP + GAP / 2}
              y={HEIGHT - Math.max(height, 1)}
              width={STEP - GAP}
              height={Math.max(height, 1)}
              rx="2"
              class={amount > 0n ? 'bar' : 'bar bar-none'}
            >
              <title>{describe(day, usd(amount))}</title>
            </rect>
          );
        })}
      </svg>
      <figcaption>
        <span>{bars[0]?.label}</span>
        <span>{bars.at(-1)?.label}</span>
      </figcaption>
    </figure>
  );
}
