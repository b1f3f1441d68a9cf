/** The budgets of end users. db/functions/budgets.sql holds and counts the money. */
import { endUserName, type EndUserBudget } from '../../domain/end-user.ts';
import { newId } from '../../domain/ids.ts';
import type { PicoUsd } from '../../domain/money.ts';
import { END_USERS } from '../../domain/policy.ts';
import { type Database, onlyRow } from '../database.ts';
import { type IdPage, newestFirst } from '../page.ts';
import { columnsOf, readRow, type RowOf } from '../row.ts';
import { recallAllowances } from './allowances.ts';
import { announceBudgets, columnsNow, countRunningTasks, deleteBudget } from './budgets.ts';

/** A budget with its spent amount. */
export interface StoredBudget extends EndUserBudget {
  readonly accountId: string;
  /** The sum of charges and holds in this period. */
  readonly usedOfLimit: PicoUsd;
  readonly createdAt: Date;
}

export type NewBudget = Pick<StoredBudget, 'accountId' | 'endUser' | 'usageLimit' | 'limitPeriod'>;

type BudgetRow = RowOf<StoredBudget>;

/**
 * Sets or replaces the budget of an end user of an account. The spent amount is kept if the period stays the same;
 * another period starts now. The name is cut as in requests. A changed budget applies at once. A new budget applies once
 * every process knows it, within about three seconds.
 *
 * @returns null if the account already has the maximum number of budgets
 */
export async function setEndUserBudget(database: Database, wanted: NewBudget): Promise<StoredBudget | null> {
  const budget = { ...wanted, endUser: endUserName(wanted.endUser) };
  const { accountId, endUser, limitPeriod } = budget;
  const id = await database.transaction(async (transaction) => {
    await announceBudgets(transaction, accountId);
    const budgets = () => transaction<BudgetRow>('budgets').where({ account_id: accountId }).whereNotNull('end_user');
    const known = await budgets().where({ end_user: endUser }).first('id');
    const { count } = onlyRow(await budgets().count<{ count: string }[]>('*'));
    if (!known && Number(count) >= END_USERS.maxBudgets) return null;
    const ofPeriod = (kept: string, started: string) =>
      transaction.raw(`CASE WHEN budgets.limit_period = :limitPeriod THEN budgets.${kept} ELSE ${started} END`, {
        limitPeriod,
      });
    const rows = await transaction('budgets')
      .insert(columnsOf({ id: newId('endUserBudget'), ...budget }))
      .onConflict(['account_id', 'end_user'])
      .merge({
        usage_limit: budget.usageLimit.toString(),
        limit_period: limitPeriod,
        used: ofPeriod('used', 'held_for_budget(budgets)'),
        period_since: ofPeriod('period_since', 'clock_timestamp()'),
      })
      .returning<{ id: string }[]>('id');
    const { id: kept } = onlyRow(rows);
    if (!known) await countRunningTasks(transaction, kept);
    return kept;
  });
  if (id === null) return null;
  await recallAllowances(database, { accountId, budgetId: id });
  const row = await budgetsNow(database).where({ id }).first();
  return row ? toBudget(row) : null;
}

/**
 * A page of an account's budgets, newest first.
 *
 * @param endUser as the client names the end user
 * @param before the id of the last budget of the previous page
 */
export async function listEndUserBudgets(
  database: Database,
  { accountId, endUser, ...page }: IdPage & { readonly accountId: string; readonly endUser?: string | undefined },
): Promise<readonly StoredBudget[]> {
  const query = budgetsNow(database).where(
    columnsOf({ accountId, endUser: endUser === undefined ? undefined : endUserName(endUser) }),
  );
  return (await newestFirst(query, page)).map(toBudget);
}

/**
 * Deletes a budget. Its end user is unlimited once every process knows.
 *
 * @param accountId null for a budget of any account
 * @returns false if there is no such budget
 */
export async function deleteEndUserBudget(
  database: Database,
  { id, accountId = null }: { readonly id: string; readonly accountId?: string | null },
): Promise<boolean> {
  return deleteBudget(database, { id, accountId, ofEndUser: true });
}

/** Deletes the budgets of an account's end users, with their names. */
export async function deleteEndUserBudgets(transaction: Database, accountId: string): Promise<void> {
  await announceBudgets(transaction, accountId);
  await transaction('budgets').where({ account_id: accountId }).whereNotNull('end_user').delete();
}

/** Budgets in their current period. */
function budgetsNow(database: Database) {
  return database<BudgetRow>('budgets').whereNotNull('end_user').select<BudgetRow[]>(columnsNow(database));
}

function toBudget(row: BudgetRow): StoredBudget {
  return readRow(row, { amounts: ['usage_limit', 'used_of_limit'] });
}
