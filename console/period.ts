/** The days of a filter, in UTC. */
import type { Period } from '../db/period.ts';
import { dayOf, daysAfter, hasExistingDay } from '../domain/day.ts';

const DAY = /^[12]\d{3}-\d{2}-\d{2}$/;

/** Reads the period from the start of `from` to the end of `to`. An invalid day sets no bound. */
export function periodOf(query: URLSearchParams): Period {
  const [from, to] = [startOf(query.get('from')), startOf(query.get('to'))];
  return { from, to: to && daysAfter(to, 1) };
}

/** Reads the period like {@link periodOf}. Without days, the period is the current month. */
export function periodOrMonth(query: URLSearchParams, nowMs: number): Period {
  const asked = periodOf(query);
  const [from, to] = usualPeriods(nowMs).thisMonth;
  return asked.from || asked.to ? asked : periodOf(new URLSearchParams({ from, to }));
}

/** The usual periods, by their names in the texts. */
export const USUAL_PERIODS = ['today', 'yesterday', 'sevenDays', 'thirtyDays', 'thisMonth', 'lastMonth'] as const;

/** The first and the last day of each of the {@link USUAL_PERIODS}, such as `2026-11-30`. */
export function usualPeriods(
  nowMs: number,
): Readonly<Record<(typeof USUAL_PERIODS)[number], readonly [string, string]>> {
  const now = new Date(nowMs);
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
  const daysAgo = (days: number): string => dayOf(daysAfter(now, -days));
  const dayOfMonth = (months: number, day: number): string => dayOf(new Date(Date.UTC(year, month + months, day)));
  const today = daysAgo(0);
  return {
    today: [today, today],
    yesterday: [daysAgo(1), daysAgo(1)],
    sevenDays: [daysAgo(6), today],
    thirtyDays: [daysAgo(29), today],
    thisMonth: [dayOfMonth(0, 1), today],
    lastMonth: [dayOfMonth(-1, 1), dayOfMonth(0, 0)],
  };
}

function startOf(day: string | null): Date | undefined {
  return day !== null && DAY.test(day) && hasExistingDay(day) ? new Date(day) : undefined;
}
