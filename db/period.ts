import type { Knex } from 'knex';
import { createdAtMsOf } from '../domain/ids.ts';

/** A period of creation times. */
export interface Period {
  /** Inclusive. */
  readonly from?: Date | undefined;
  /** Exclusive. */
  readonly to?: Date | undefined;
}

/** A request creates the row of its task or text request within so long. */
const ROW_WITHIN_MS = 10 * 60_000;
/** The largest difference between the clocks of two processes. */
const MAX_CLOCK_SKEW_MS = 60_000;

/** The period in which a request can have created its row, by the time in the request's id. @param requestId `req_…` */
export function periodOfRequest(requestId: string): { readonly from: Date; readonly to: Date } {
  const atMs = createdAtMsOf('request', requestId);
  return { from: new Date(atMs - MAX_CLOCK_SKEW_MS), to: new Date(atMs + ROW_WITHIN_MS) };
}

/** Restricts a query to rows that were created in a period. */
export function createdIn(
  query: Pick<Knex.QueryInterface, 'where'>,
  { from, to }: Period,
  column = 'created_at',
): void {
  if (from) void query.where(column, '>=', from);
  if (to) void query.where(column, '<', to);
}
