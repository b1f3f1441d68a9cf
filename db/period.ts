import type { Knex } from 'knex';

/** A period of creation times. */
export interface Period {
  /** Inclusive. */
  readonly from?: Date | undefined;
  /** Exclusive. */
  readonly to?: Date | undefined;
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
