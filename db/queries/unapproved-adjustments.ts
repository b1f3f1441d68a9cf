/** Manual adjustments without a second approval: see `db/schema/0009-finance.sql`. */
import type { PicoUsd } from '../../domain/money.ts';
import { type Database, picoUsd } from '../database.ts';
import { columnsOf } from '../row.ts';

export interface UnapprovedAdjustment {
  /** The id of the transfer, or of the grant of promo credit. */
  readonly id: string;
  readonly accountId: string;
  /** The amount given or taken; positive. */
  readonly amount: PicoUsd;
  /** Who made the adjustment. */
  readonly author: string;
}

/** Sums an account's manual adjustments without a second approval in the last hours. Exact under the account's lock. */
export async function sumUnapprovedAdjustments(
  database: Database,
  { accountId, hours }: { readonly accountId: string; readonly hours: number },
): Promise<PicoUsd> {
  const [row] = await database('unapproved_adjustments')
    .where({ account_id: accountId })
    .whereRaw('created_at > now() - make_interval(hours => :hours)', { hours })
    .select<{ amount: string }[]>(database.raw('coalesce(sum(amount), 0) AS amount'));
  return picoUsd(row?.amount ?? '0');
}

export async function insertUnapprovedAdjustment(
  database: Database,
  { id, accountId, amount, author }: UnapprovedAdjustment,
): Promise<void> {
  await database('unapproved_adjustments').insert(columnsOf({ id, accountId, amount, author }));
}
