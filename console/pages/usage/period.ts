/** The periods of pages about usage and money. */
import { usagePeriod } from '../../../services/input/usage-period.ts';
import { DAY_MS, dayOf, daysAfter } from '../../../domain/day.ts';
import { type Month, parseMonth } from '../../../domain/month.ts';
import { USAGE } from '../../../domain/policy.ts';
import { requireFound, type Visit } from '../../page.ts';
import { periodOrMonth } from '../../period.ts';

/** The month in the path of a page. @throws ServiceError `not_found` for an invalid month */
export function monthIn({ params }: Pick<Visit, 'params'>): Month {
  return requireFound(parseMonth(params['month'] ?? ''));
}

/** A period with its name in file names: a month such as `2026-11`, or the first and the last day. */
export type NamedPeriod = Month;

/**
 * Reads the days of a page about usage; by default, the current month.
 *
 * @throws ServiceError `bad_request` for more days than `GET /v1/usage` accepts
 */
export function readPeriod(query: URLSearchParams, nowMs: number): NamedPeriod {
  const asked = periodOrMonth(query, nowMs);
  const { from, to } = usagePeriod({ from: asked.from, to: asked.to ?? new Date(nowMs) });
  return { name: `${dayOf(from)}_${dayOf(new Date(to.getTime() - 1))}`, from, to };
}

/** Returns the equally long period directly before. */
export function periodBefore({ from, to }: NamedPeriod): { readonly from: Date; readonly to: Date } {
  return { from: daysAfter(from, -countDays({ from, to })), to: from };
}

/** Returns the number of days of a period. A day that has started counts. */
export function countDays({ from, to }: Pick<NamedPeriod, 'from' | 'to'>): number {
  return Math.ceil((to.getTime() - from.getTime()) / DAY_MS);
}

/** The months from the month of `first` to the month of `last`, latest first. */
export function monthsBetween(first: Date, last: Date): readonly string[] {
  const count = monthsSinceYearZero(last) - monthsSinceYearZero(first) + 1;
  return Array.from({ length: Math.max(count, 0) }, (_, back) =>
    new Date(Date.UTC(last.getUTCFullYear(), last.getUTCMonth() - back, 1)).toISOString().slice(0, 7),
  );
}

/** Returns the days of a period up to now, such as `2026-11-22`, at most as many as the usage endpoint allows. */
export function daysOf({ from, to }: NamedPeriod, nowMs: number): readonly string[] {
  const days: string[] = [];
  const end = Math.min(to.getTime(), Math.max(nowMs, from.getTime() + 1));
  for (let at = from.getTime(); at < end && days.length < USAGE.maxDays; at += DAY_MS) days.push(dayOf(new Date(at)));
  return days;
}

function monthsSinceYearZero(moment: Date): number {
  return moment.getUTCFullYear() * 12 + moment.getUTCMonth();
}
