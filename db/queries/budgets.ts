/** What all budgets of an account have in common. `db/functions/budgets.sql` holds and counts the money. */
import type { AccountBudget } from '../../domain/budget.ts';
import type { Database } from '../database.ts';
import { readRow, type RowOf } from '../row.ts';

interface BudgetRow extends RowOf<AccountBudget> {
  readonly account_id: string;
  readonly is_ceiling: boolean;
}

/** Makes every process read the account's budgets again. Locks the account, as must happen before its budgets. */
export async function announceBudgets(transaction: Database, accountId: string): Promise<void> {
  await transaction('accounts').where({ id: accountId }).increment('budgets_version');
}

/** Counts running tasks towards a new budget. No allowance counts towards it yet. */
export async function countRunningTasks(transaction: Database, id: string): Promise<void> {
  await transaction('budgets')
    .where({ id })
    .update({ used: transaction.raw('held_by_tasks(budgets)') });
}

/** All budgets of an account, in the order of their ids. */
export async function findBudgets(database: Database, accountId: string): Promise<readonly AccountBudget[]> {
  const rows = await database<BudgetRow>('budgets')
    .where({ account_id: accountId })
    .orderBy('id')
    .select('id', 'end_user', 'models', 'usage_limit', 'limit_period');
  return rows.map((row) => readRow(row, { amounts: ['usage_limit'] }));
}

/** The budgets towards which a request counts, the one with the least left first. Renews none. */
export async function findTightestBudget(
  database: Database,
  {
    accountId,
    endUser,
    model,
  }: { readonly accountId: string; readonly endUser: string | null; readonly model: string },
): Promise<AccountBudget | null> {
  const row = await database<RowOf<AccountBudget>>('budgets')
    .whereRaw('id = ANY (budgets_of(:accountId, :endUser, :model))', { accountId, endUser, model })
    .orderByRaw('usage_limit - used_of_budget(budgets, now())')
    .first('id', 'end_user', 'models', 'usage_limit', 'limit_period');
  return row ? readRow(row, { amounts: ['usage_limit'] }) : null;
}

/** The columns of budgets in their current period. */
export function columnsNow(database: Database) {
  return [
    'id',
    'account_id',
    'end_user',
    'models',
    'is_ceiling',
    'usage_limit',
    'limit_period',
    'created_at',
    database.raw('used_of_budget(budgets, now()) AS used_of_limit'),
  ] as const;
}

/** Deletes a budget. Nothing counts towards it once every process knows. @returns false if there is no such budget */
export async function deleteBudget(
  database: Database,
  {
    id,
    accountId,
    ofEndUser,
    isCeiling,
  }: {
    readonly id: string;
    /** Null for a budget of any account. */
    readonly accountId: string | null;
    readonly ofEndUser: boolean;
    /** Only a budget that the operator set, or did not; undefined for both. */
    readonly isCeiling?: boolean | undefined;
  },
): Promise<boolean> {
  const budgets = (of: Database) => {
    const query = of<BudgetRow>('budgets').where({ id });
    if (accountId !== null) void query.where({ account_id: accountId });
    if (isCeiling !== undefined) void query.where({ is_ceiling: isCeiling });
    return ofEndUser ? query.whereNotNull('end_user') : query.whereNull('end_user');
  };
  const budget = await budgets(database).first('account_id');
  if (!budget) return false;
  return database.transaction(async (transaction) => {
    await announceBudgets(transaction, budget.account_id);
    return (await budgets(transaction).delete()) > 0;
  });
}
