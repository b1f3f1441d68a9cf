/** Months of the calendar, relative to the current month. */
import { type Month, parseMonth } from '../../domain/month.ts';

export function thisMonth(): Month {
  const month = parseMonth(monthBefore(0).name);
  if (!month) throw new Error('every day is in a month');
  return month;
}

/** A month by its name, with a moment in the middle of the month. */
export function monthBefore(months: number): { readonly name: string; readonly moment: Date } {
  const now = new Date();
  const moment = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 15));
  return { name: moment.toISOString().slice(0, 7), moment };
}
