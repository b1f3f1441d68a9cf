/** The budgets of whole accounts and of groups of models. */
import type { AccountBudget } from '../../domain/budget.ts';
import { newId } from '../../domain/ids.ts';
import type { PicoUsd } from '../../domain/money.ts';
import { ACCOUNT_BUDGETS } from '../../domain/policy.ts';
import { type Database, onlyRow } from '../database.ts';
import { type IdPage, newestFirst } from '../page.ts';
import { columnsOf, readRow, type RowOf } from '../row.ts';
import { recallAllowances } from './allowances.ts';
import { announceBudgets, columnsNow, countRunningTasks } from './budgets.ts';

/** A budget with its spent amount. */
export interface StoredAccountBudget extends Omit<AccountBudget, 'endUser'> {
  readonly accountId: string;
  /** Whether the operator set it, so that the account's owner cannot change it. */
  readonly isCeiling: boolean;
  /** The sum of charges and holds in this period. */
  readonly usedOfLimit: PicoUsd;
  readonly createdAt: Date;
}

export type NewAccountBudget = Pick<
  StoredAccountBudget,
  'accountId' | 'models' | 'isCeiling' | 'usageLimit' | 'limitPeriod'
>;

type BudgetRow = RowOf<StoredAccountBudget>;

/**
 * Sets the budget of an account or of a group of its models. A budget with the same models, the same period and the same
 * setter gets the new limit, at once, and keeps the spent amount. A new budget applies once every process knows it, within
 * about three seconds.
 *
 * @returns null if the account already has the maximum number of budgets
 */
export async function setAccountBudget(
  database: Database,
  wanted: NewAccountBudget,
): Promise<StoredAccountBudget | null> {
  const { accountId, isCeiling, limitPeriod } = wanted;
  const models = wanted.models === null ? null : [...new Set(wanted.models)].toSorted();
  const usageLimit = wanted.usageLimit.toString();
  const id = await database.transaction(async (transaction) => {
    await announceBudgets(transaction, accountId);
    const budgets = () => ofAccount(transaction, accountId).where({ is_ceiling: isCeiling });
    const known = await budgets()
      .where({ limit_period: limitPeriod })
      .whereRaw('models IS NOT DISTINCT FROM :models::text[]', { models })
      .first('id');
    if (known) {
      await transaction('budgets').where({ id: known.id }).update({ usage_limit: usageLimit });
      return known.id;
    }
    const { count } = onlyRow(await budgets().count<{ count: string }[]>('*'));
    if (Number(count) >= ACCOUNT_BUDGETS.maxBudgets) return null;
    const budget = { id: newId('budget'), accountId, models, isCeiling, usageLimit, limitPeriod };
    await transaction('budgets').insert(columnsOf(budget));
    await countRunningTasks(transaction, budget.id);
    return budget.id;
  });
  if (id === null) return null;
  await recallAllowances(database, { accountId, budgetId: id });
  const row = await ofAccount(database, accountId).where({ id }).select<BudgetRow[]>(columnsNow(database)).first();
  return row ? toBudget(row) : null;
}

/** A page of an account's budgets, newest first. */
export async function listAccountBudgets(
  database: Database,
  { accountId, ...page }: IdPage & { readonly accountId: string },
): Promise<readonly StoredAccountBudget[]> {
  const query = ofAccount(database, accountId).select<BudgetRow[]>(columnsNow(database));
  return (await newestFirst(query, page)).map(toBudget);
}

function ofAccount(database: Database, accountId: string) {
  return database<BudgetRow>('budgets').where({ account_id: accountId }).whereNull('end_user');
}

function toBudget(row: BudgetRow): StoredAccountBudget {
  return readRow(row, { amounts: ['usage_limit', 'used_of_limit'] });
}
