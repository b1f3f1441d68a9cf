/** The days of a filter, in UTC. */
import type { Period } from '../db/period.ts';

const DAY = /^[12]\d{3}-\d{2}-\d{2}$/;
const DAY_MS = 86_400_000;

/** Reads the period from the start of `from` to the end of `to`. An invalid day sets no bound. */
export function periodOf(query: URLSearchParams): Period {
  const [from, to] = [startOf(query.get('from')), startOf(query.get('to'))];
  return { from, to: to && new Date(to.getTime() + DAY_MS) };
}

function startOf(day: string | null): Date | undefined {
  if (day === null || !DAY.test(day)) return undefined;
  const start = new Date(`${day}T00:00:00Z`);
  // `Date` reads February 31 as a day of March.
  return !Number.isNaN(start.getTime()) && start.toISOString().startsWith(day) ? start : undefined;
}
