/** The budgets of end users. `write_text` and `create_tasks` hold and count the money: db/functions/end-user-budgets.ts. */
import type { EndUserBudget } from '../../domain/end-user.ts';
import { newId } from '../../domain/ids.ts';
import type { PicoUsd } from '../../domain/money.ts';
import { END_USERS } from '../../domain/policy.ts';
import { type Database, onlyRow } from '../database.ts';
import { type IdPage, newestFirst } from '../page.ts';
import { columnsOf, readRow, type RowOf } from '../row.ts';
import { recallAllowances } from './allowances.ts';

/** A budget with what was spent of it. */
export interface KeptBudget extends EndUserBudget {
  readonly accountId: string;
  /** The amount that was charged and is held in this period. */
  readonly usedOfLimit: PicoUsd;
  readonly createdAt: Date;
}

/** The name has at most as many characters as {@link END_USERS} allows. */
export type NewBudget = Pick<KeptBudget, 'accountId' | 'endUser' | 'usageLimit' | 'limitPeriod'>;

type BudgetRow = RowOf<KeptBudget>;

/**
 * Gives an end user of an account a budget, or another one. What the end user spent counts on unless the period is another; then
 * the new one starts now. The limit is in force at once for an end user who had a budget, and otherwise once every process knows
 * it: within about three seconds.
 *
 * @returns null if the account has as many budgets as it may have
 */
export async function setEndUserBudget(database: Database, budget: NewBudget): Promise<KeptBudget | null> {
  const { accountId, endUser, limitPeriod } = budget;
  const id = await database.transaction(async (transaction) => {
    await announceChange(transaction, accountId);
    const budgets = () => transaction<BudgetRow>('end_user_budgets').where({ account_id: accountId });
    const known = await budgets().where({ end_user: endUser }).first('id');
    const { count } = onlyRow(await budgets().count<{ count: string }[]>('*'));
    if (!known && Number(count) >= END_USERS.maxBudgets) return null;
    const ofPeriod = (kept: string, started: string) =>
      transaction.raw(`CASE WHEN end_user_budgets.limit_period = ? THEN end_user_budgets.${kept} ELSE ${started} END`, [
        limitPeriod,
      ]);
    const used = transaction.raw('held_by_tasks(?, ?)', [accountId, endUser]);
    const rows = await transaction('end_user_budgets')
      .insert({ ...columnsOf({ id: newId('endUserBudget'), ...budget }), used })
      .onConflict(['account_id', 'end_user'])
      .merge({
        usage_limit: budget.usageLimit.toString(),
        limit_period: limitPeriod,
        used: ofPeriod('used', 'held_for_budget(end_user_budgets)'),
        period_since: ofPeriod('period_since', 'clock_timestamp()'),
      })
      .returning<{ id: string }[]>('id');
    return onlyRow(rows).id;
  });
  if (id === null) return null;
  await recallAllowances(database, { accountId, endUserBudgetId: id });
  const row = await budgetsNow(database).where({ id }).first();
  return row ? toBudget(row) : null;
}

/** A page of an account's budgets, newest first. @param before the id of the last budget of the previous page */
export async function listEndUserBudgets(
  database: Database,
  { accountId, endUser, ...page }: IdPage & { readonly accountId: string; readonly endUser?: string | undefined },
): Promise<readonly KeptBudget[]> {
  const query = budgetsNow(database).where(columnsOf({ accountId, endUser }));
  return (await newestFirst(query, page)).map(toBudget);
}

/** All budgets of an account, by their end users. */
export async function findBudgetsOf(
  database: Database,
  accountId: string,
): Promise<ReadonlyMap<string, EndUserBudget>> {
  const rows = await database<BudgetRow>('end_user_budgets')
    .where({ account_id: accountId })
    .select('id', 'end_user', 'usage_limit', 'limit_period');
  return new Map(rows.map((row) => [row.end_user, readRow(row, { amounts: ['usage_limit'] })]));
}

/**
 * Deletes a budget: nothing limits what its end user spends, as soon as every process knows it.
 *
 * @param accountId null for a budget of any account
 * @returns false if there is no such budget
 */
export async function deleteEndUserBudget(
  database: Database,
  { id, accountId = null }: { readonly id: string; readonly accountId?: string | null },
): Promise<boolean> {
  const budget = await database<BudgetRow>('end_user_budgets').where({ id }).first('account_id');
  if (!budget || (accountId !== null && budget.account_id !== accountId)) return false;
  return database.transaction(async (transaction) => {
    await announceChange(transaction, budget.account_id);
    return (await transaction('end_user_budgets').where({ id }).delete()) > 0;
  });
}

/** Deletes all budgets of an account, with the names of the end users. */
export async function deleteEndUserBudgets(transaction: Database, accountId: string): Promise<void> {
  await announceChange(transaction, accountId);
  await transaction('end_user_budgets').where({ account_id: accountId }).delete();
}

/** Has every process read the account's budgets again, and locks the account, which comes before its budgets. */
async function announceChange(transaction: Database, accountId: string): Promise<void> {
  await transaction('accounts').where({ id: accountId }).increment('budgets_version');
}

/** Budgets in their current period. */
function budgetsNow(database: Database) {
  return database<BudgetRow>('end_user_budgets').select<BudgetRow[]>(
    'id',
    'account_id',
    'end_user',
    'usage_limit',
    'limit_period',
    'created_at',
    database.raw('used_of_budget(end_user_budgets, now()) AS used_of_limit'),
  );
}

function toBudget(row: BudgetRow): KeptBudget {
  return readRow(row, { amounts: ['usage_limit', 'used_of_limit'] });
}
