import type { Knex } from 'knex';
import { createdAtMsOf } from '../domain/ids.ts';

/** A period of creation times. */
export interface Period {
  /** Inclusive. */
  readonly from?: Date | undefined;
  /** Exclusive. */
  readonly to?: Date | undefined;
}

/** The row of a task or text request exists within so long after its request was admitted. */
const LEFT_WITHIN_MS = 10 * 60_000;
/** Two processes may read their clocks so differently. */
const CLOCKS_APART_MS = 60_000;

/** When the row that a request left behind was created, by the time in the request's id. @param requestId `req_…` */
export function periodOfRequest(requestId: string): { readonly from: Date; readonly to: Date } {
  const atMs = createdAtMsOf('request', requestId);
  return { from: new Date(atMs - CLOCKS_APART_MS), to: new Date(atMs + LEFT_WITHIN_MS) };
}

/** Keeps only rows that were created in a period. */
export function createdIn(
  query: Pick<Knex.QueryInterface, 'where'>,
  { from, to }: Period,
  column = 'created_at',
): void {
  if (from) void query.where(column, '>=', from);
  if (to) void query.where(column, '<', to);
}
