/** Sums of daily usage: by day, by model or by key. */
import type { UsageCounts } from '../../../services/resources/usage.ts';
import type { DailyUsage } from '../../../db/queries/daily-usage.ts';
import { readSummedTokens } from '../../../domain/text-tokens.ts';

export interface NamedSum extends UsageCounts {
  /** A day, a model, or the id of a key. */
  readonly name: string;
}

const NOTHING: UsageCounts = {
  requests: 0,
  failed: 0,
  ...readSummedTokens(() => 0n),
  billableSeconds: 0n,
  charged: 0n,
};

/** Returns the sum for each name, in the order of first appearance. */
export function sumBy(rows: readonly DailyUsage[], nameOf: (row: DailyUsage) => string): readonly NamedSum[] {
  const sums = new Map<string, UsageCounts>();
  for (const row of rows) sums.set(nameOf(row), plus(sums.get(nameOf(row)) ?? NOTHING, row));
  return [...sums].map(([name, sum]) => ({ name, ...sum }));
}

export function sumOf(rows: readonly UsageCounts[]): UsageCounts {
  return rows.reduce(plus, NOTHING);
}

/** Sorts sums by cost, highest first. */
export function sortByCost(sums: readonly NamedSum[]): readonly NamedSum[] {
  return sums.toSorted((one, other) => Number(other.charged > one.charged) - Number(other.charged < one.charged));
}

function plus(one: UsageCounts, other: UsageCounts): UsageCounts {
  return {
    requests: one.requests + other.requests,
    failed: one.failed + other.failed,
    ...readSummedTokens((_column, name) => one[name] + other[name]),
    billableSeconds: one.billableSeconds + other.billableSeconds,
    charged: one.charged + other.charged,
  };
}
