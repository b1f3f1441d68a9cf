/** Sets budgets, and finds the budgets that text processes need. */
import {
  type NewAccountBudget,
  setAccountBudget as storeAccountBudget,
  type StoredAccountBudget,
} from '../../db/queries/account-budgets.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import { findBudgets } from '../../db/queries/budgets.ts';
import type { Database } from '../../db/database.ts';
import { type StoredBudget, type NewBudget, setEndUserBudget } from '../../db/queries/end-user-budgets.ts';
import type { AccountBudget } from '../../domain/budget.ts';
import { badRequest } from '../../domain/errors.ts';
import { matchesModels } from '../../domain/model-patterns.ts';
import { ACCOUNT_BUDGETS, END_USERS } from '../../domain/policy.ts';

/** Sets or replaces the budget of an end user. @throws ServiceError `bad_request` if the account has too many */
export async function setBudget(database: Database, budget: NewBudget): Promise<StoredBudget> {
  return (await setEndUserBudget(database, budget)) ?? refuseFurther(END_USERS.maxBudgets);
}

/** Sets the budget of an account or of a group of models. @throws ServiceError `bad_request` if the account has too many */
export async function setAccountBudget(database: Database, budget: NewAccountBudget): Promise<StoredAccountBudget> {
  return (await storeAccountBudget(database, budget)) ?? refuseFurther(ACCOUNT_BUDGETS.maxBudgets);
}

function refuseFurther(max: number): never {
  throw badRequest(`The account has ${max} budgets already. Delete one that is no longer needed.`);
}

/** The budgets towards which a request counts, in the order of their ids. */
export type FindBudgets = (
  account: Pick<Caller['account'], 'id' | 'budgetsVersion'>,
  request: { readonly endUser: string | null; readonly model: string },
) => Promise<readonly AccountBudget[]>;

interface Budgets {
  readonly byEndUser: ReadonlyMap<string, AccountBudget>;
  /** The budgets of the account and of its groups of models. */
  readonly shared: readonly AccountBudget[];
}

const NONE: readonly AccountBudget[] = [];

/** Cached accounts and budgets, about 50 MB. */
const MAX_KEPT = 200_000;

/** Reads an account's budgets again only after a change, so that requests cost no statement. */
export function createFindBudgets(database: Database): FindBudgets {
  const accounts = new Map<string, { readonly version: number; readonly budgets: Promise<Budgets>; size: number }>();

  async function read(accountId: string, version: number): Promise<Budgets> {
    const entry = { version, budgets: findBudgets(database, accountId).then(sort), size: 0 };
    accounts.delete(accountId);
    accounts.set(accountId, entry);
    try {
      const budgets = await entry.budgets;
      entry.size = budgets.byEndUser.size + budgets.shared.length;
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

  return async ({ id, budgetsVersion }, { endUser, model }) => {
    if (budgetsVersion === 0) return NONE;
    const known = accounts.get(id);
    // Two keys of an account may have been read at different times.
    const budgets = known && known.version >= budgetsVersion ? known.budgets : read(id, budgetsVersion);
    const { byEndUser, shared } = await budgets;
    const own = endUser === null ? undefined : byEndUser.get(endUser);
    const applying = shared.filter(({ models }) => models === null || matchesModels(models, model));
    return own === undefined ? applying : [...applying, own];
  };
}

function sort(budgets: readonly AccountBudget[]): Budgets {
  const byEndUser = new Map<string, AccountBudget>();
  for (const budget of budgets) if (budget.endUser !== null) byEndUser.set(budget.endUser, budget);
  return { byEndUser, shared: budgets.filter(({ endUser }) => endUser === null) };
}
