/** Months with their states and earnings. */
import { sumRevenue } from '../../../../services/money/month-rows.ts';
import type { ApiServices } from '../../../../api/services.ts';
import { findOldestAccount } from '../../../../db/queries/accounts.ts';
import { type ClosedMonth, listClosedMonths } from '../../../../db/queries/closed-months.ts';
import type { MonthSums } from '../../../../db/queries/month-sums.ts';
import type { PicoUsd } from '../../../../domain/money.ts';
import { closableFrom, type Month, parseMonth } from '../../../../domain/month.ts';
import type { UserVisit } from '../../../page.ts';
import { monthIn, monthsBetween } from '../../usage/period.ts';

export type MonthState = 'running' | 'over' | 'to close' | 'closed';

/** A month with its earnings. */
export interface MonthOverview {
  readonly month: Month;
  readonly state: MonthState;
  readonly closed: ClosedMonth | null;
  readonly revenue: PicoUsd;
  /** Null once the rows of the month have been detached from the database. */
  readonly sums: MonthSums | null;
}

/** The path below the console of the page of the visit's month. */
export function pathOfMonth(visit: UserVisit): string {
  return `/staff/months/${monthIn(visit).name}`;
}

/** Returns the months from the first account's creation to now, latest first. */
export async function listMonths({ reports, clock }: ApiServices): Promise<readonly Month[]> {
  const now = new Date(clock.nowMs());
  const [oldest, closed] = await Promise.all([findOldestAccount(reports), listClosedMonths(reports)]);
  const starts = [oldest?.createdAt ?? now, parseMonth(closed.at(-1)?.month ?? '')?.from ?? now];
  const first = starts.reduce((one, other) => (other < one ? other : one));
  return monthsBetween(first, now).flatMap((name) => parseMonth(name) ?? []);
}

export async function readMonthOverview(
  month: Month,
  closedMonths: readonly ClosedMonth[],
  { clock, money: { sumMonth } }: ApiServices,
): Promise<MonthOverview> {
  const closed = closedMonths.find(({ month: name }) => name === month.name) ?? null;
  const sums = await sumMonth(month.name, closed !== null);
  const isDetached = closed !== null && sumRevenue(closed) > 0n && sums.total.revenue === 0n;
  return {
    month,
    state: stateOf(month, closed, clock.nowMs()),
    closed,
    revenue: closed ? sumRevenue(closed) : sums.total.revenue,
    sums: isDetached ? null : sums,
  };
}

function stateOf(month: Month, closed: ClosedMonth | null, nowMs: number): MonthState {
  if (closed) return 'closed';
  if (nowMs < month.to.getTime()) return 'running';
  return nowMs < closableFrom(month).getTime() ? 'over' : 'to close';
}
