/** Calendar months in UTC, as finance names them: `2026-10`. */
import { daysAfter } from './day.ts';

/** A month, from its first moment to the first moment of the next month. */
export interface Month {
  readonly name: string;
  readonly from: Date;
  /** Exclusive. */
  readonly to: Date;
}

/** @returns null if the name is not a month of the years 2000 to 9998 */
export function parseMonth(name: string): Month | null {
  const [, year = '', month = ''] = /^([2-9]\d{3})-(0[1-9]|1[0-2])$/.exec(name) ?? [];
  if (year === '' || year === '9999') return null;
  return {
    name,
    from: new Date(Date.UTC(Number(year), Number(month) - 1, 1)),
    to: new Date(Date.UTC(Number(year), Number(month), 1)),
  };
}

/** The name of the next month. */
export function nextMonth({ to }: Month): string {
  return to.toISOString().slice(0, 7);
}

/** When a month can be closed: a day after its end, since requests that started in it may still be booked. */
export function closableFrom({ to }: Month): Date {
  return daysAfter(to, 1);
}
