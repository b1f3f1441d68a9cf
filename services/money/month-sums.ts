/** Revenue and cost of months, cached for a while: summing a large month takes seconds. */
import type { Database } from '../../db/database.ts';
import { type MonthSums, sumMonth } from '../../db/queries/month-sums.ts';
import { parseMonth } from '../../domain/month.ts';
import { cached } from '../cached.ts';

/** @param isClosed whether the month is closed: then its sums no longer change */
export type SumMonth = (month: string, isClosed: boolean) => Promise<MonthSums>;

/** How many customers a month lists separately. */
const MAX_CUSTOMERS = 100;
const OPEN = { forMs: 15_000, maxEntries: 24 };
const CLOSED = { forMs: 24 * 3_600_000, maxEntries: 60 };

export function createSumMonth(reports: Database): SumMonth {
  const count = async (name: string): Promise<MonthSums> => {
    const month = parseMonth(name);
    if (!month) throw new RangeError(`not a month: ${name}`);
    return sumMonth(reports, month, MAX_CUSTOMERS);
  };
  const ofOpen = cached(count, OPEN);
  const ofClosed = cached(count, CLOSED);
  return (month, isClosed) => (isClosed ? ofClosed(month) : ofOpen(month));
}
