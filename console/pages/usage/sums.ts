/** Adds daily usage up, by whatever a table shows a row for. */
import type { DailyUsage } from '../../../db/queries/daily-usage.ts';

/** What is added up. */
export type UsageSum = Pick<
  DailyUsage,
  'requests' | 'failed' | 'inputTokens' | 'outputTokens' | 'billableSeconds' | 'charged'
>;

export interface NamedSum extends UsageSum {
  /** A day, a model, or the id of a key. */
  readonly name: string;
}

const NOTHING: UsageSum = {
  requests: 0,
  failed: 0,
  inputTokens: 0n,
  outputTokens: 0n,
  billableSeconds: 0n,
  charged: 0n,
};

/** The sums for each name, in the order in which the names come first. */
export function sumBy(rows: readonly DailyUsage[], nameOf: (row: DailyUsage) => string): readonly NamedSum[] {
  const sums = new Map<string, UsageSum>();
  for (const row of rows) sums.set(nameOf(row), plus(sums.get(nameOf(row)) ?? NOTHING, row));
  return [...sums].map(([name, sum]) => ({ name, ...sum }));
}

export function sumOf(rows: readonly UsageSum[]): UsageSum {
  return rows.reduce(plus, NOTHING);
}

/** Those that cost most first. */
export function dearestFirst(sums: readonly NamedSum[]): readonly NamedSum[] {
  return sums.toSorted((one, other) => Number(other.charged > one.charged) - Number(other.charged < one.charged));
}

function plus(one: UsageSum, other: UsageSum): UsageSum {
  return {
    requests: one.requests + other.requests,
    failed: one.failed + other.failed,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    billableSeconds: one.billableSeconds + other.billableSeconds,
    charged: one.charged + other.charged,
  };
}
