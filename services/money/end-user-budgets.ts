/** Sets the budgets of end users, and finds the budgets that text processes need. */
import type { Caller } from '../../db/queries/api-keys.ts';
import type { Database } from '../../db/database.ts';
import {
  findBudgetsByEndUser,
  type StoredBudget,
  type NewBudget,
  setEndUserBudget,
} from '../../db/queries/end-user-budgets.ts';
import type { EndUserBudget } from '../../domain/end-user.ts';
import { badRequest } from '../../domain/errors.ts';
import { END_USERS } from '../../domain/policy.ts';

/** Sets or replaces the budget of an end user. @throws ServiceError `bad_request` if the account has too many */
export async function setBudget(database: Database, budget: NewBudget): Promise<StoredBudget> {
  const kept = await setEndUserBudget(database, budget);
  if (!kept)
    throw badRequest(`The account has ${END_USERS.maxBudgets} budgets already. Delete one that is no longer needed.`);
  return kept;
}

/** The budget of an end user; null for none. */
export type FindBudget = (
  account: Pick<Caller['account'], 'id' | 'budgetsVersion'>,
  endUser: string,
) => Promise<EndUserBudget | null>;

type Budgets = ReadonlyMap<string, EndUserBudget>;

/** Cached accounts and budgets, about 50 MB. */
const MAX_KEPT = 200_000;

/** Reads an account's budgets again only after a change, so that end users without a budget cost no statement. */
export function createFindBudget(database: Database): FindBudget {
  const accounts = new Map<string, { readonly version: number; readonly budgets: Promise<Budgets>; size: number }>();

  async function read(accountId: string, version: number): Promise<Budgets> {
    const entry = { version, budgets: findBudgetsByEndUser(database, accountId), size: 0 };
    accounts.delete(accountId);
    accounts.set(accountId, entry);
    try {
      const budgets = await entry.budgets;
      entry.size = budgets.size;
      forgetOldest();
      return budgets;
    } catch (error) {
      if (accounts.get(accountId) === entry) accounts.delete(accountId);
      throw error;
    }
  }

  function forgetOldest(): void {
    // An account without budgets also counts as an entry.
    let kept = accounts.size;
    for (const { size } of accounts.values()) kept += size;
    for (const [accountId, { size }] of accounts) {
      if (kept <= MAX_KEPT) return;
      accounts.delete(accountId);
      kept -= size + 1;
    }
  }

  return async ({ id, budgetsVersion }, endUser) => {
    if (budgetsVersion === 0) return null;
    const known = accounts.get(id);
    // Two keys of an account may have been read at different times.
    const budgets = known && known.version >= budgetsVersion ? known.budgets : read(id, budgetsVersion);
    return (await budgets).get(endUser) ?? null;
  };
}
