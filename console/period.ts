/** Days that people choose in filters, in UTC. */
import type { Period } from '../db/period.ts';

const DAY = /^[12]\d{3}-\d{2}-\d{2}$/;
const DAY_MS = 86_400_000;

/** From the start of `from` to the end of `to`; an invalid day sets no bound. */
export function periodOf(query: URLSearchParams): Period {
  const [from, to] = [startOf(query.get('from')), startOf(query.get('to'))];
  return { from, to: to && new Date(to.getTime() + DAY_MS) };
}

function startOf(day: string | null): Date | undefined {
  if (day === null || !DAY.test(day)) return undefined;
  const start = new Date(`${day}T00:00:00Z`);
  // The 31st of February is a day of March to `Date`.
  return !Number.isNaN(start.getTime()) && start.toISOString().startsWith(day) ? start : undefined;
}
