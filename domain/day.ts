/** Days of the calendar, and of 24 hours. */

/** Whether the day with which an ISO 8601 text begins exists. `Date` reads 31 June as 1 July. */
export function hasExistingDay(text: string): boolean {
  const [day] = /^\d{4}-\d{2}-\d{2}/.exec(text) ?? [];
  if (day === undefined) return true;
  const moment = new Date(day);
  return !Number.isNaN(moment.getTime()) && moment.toISOString().startsWith(day);
}

export const DAY_MS = 86_400_000;

/** The moment this many times 24 hours later. */
export function daysAfter(moment: Date, days: number): Date {
  return new Date(moment.getTime() + days * DAY_MS);
}

/** The day of a moment in UTC, such as `2026-11-30`. */
export function dayOf(moment: Date): string {
  return moment.toISOString().slice(0, 10);
}
