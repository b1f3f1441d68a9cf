/** The periods of pages about money: a month, or the last days. */
import { usagePeriod } from '../../../api/routes/usage/period.ts';
import { badRequest } from '../../../domain/errors.ts';
import { type Month, parseMonth } from '../../../domain/month.ts';
import { USAGE } from '../../../domain/policy.ts';

export const LAST_DAYS = 'last-days';

/** A period with its name in links and files: {@link LAST_DAYS}, or a month such as `2026-11`. */
export type NamedPeriod = Month;

/**
 * Reads the name of a period.
 *
 * @param name the present month when it is absent or empty
 * @throws ServiceError `bad_request` when it names no period
 */
export function readPeriod(name: string | null, nowMs: number): NamedPeriod {
  if (name === LAST_DAYS) return { name, ...usagePeriod({ from: undefined, to: new Date(nowMs) }) };
  const month = parseMonth(name || monthOf(new Date(nowMs)));
  if (!month) throw badRequest('"period" must be a month such as 2026-11');
  return month;
}

/** The months from that of `first` to that of `last`, latest first. */
export function monthsBetween(first: Date, last: Date): readonly string[] {
  const count = monthsSinceYearZero(last) - monthsSinceYearZero(first) + 1;
  return Array.from({ length: Math.max(count, 0) }, (_, back) =>
    monthOf(new Date(Date.UTC(last.getUTCFullYear(), last.getUTCMonth() - back, 1))),
  );
}

/** Returns the days of a period up to now, such as `2026-11-22`, at most as many as the usage endpoint allows. */
export function daysOf({ from, to }: NamedPeriod, nowMs: number): readonly string[] {
  const days: string[] = [];
  const end = Math.min(to.getTime(), Math.max(nowMs, from.getTime() + 1));
  for (let at = from.getTime(); at < end && days.length < USAGE.maxDays; at += DAY_MS) days.push(dayOf(new Date(at)));
  return days;
}

const DAY_MS = 24 * 60 * 60 * 1000;

function dayOf(moment: Date): string {
  return moment.toISOString().slice(0, 10);
}

function monthOf(moment: Date): string {
  return moment.toISOString().slice(0, 7);
}

function monthsSinceYearZero(moment: Date): number {
  return moment.getUTCFullYear() * 12 + moment.getUTCMonth();
}
