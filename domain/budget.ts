/** The budgets of an account: of all of it, of some of its models, or of one of its end users. Contract 5. */
import { type Budget, describeBudget } from './api-key.ts';

/** A budget with the requests that count towards it. */
export interface AccountBudget extends Budget {
  readonly id: string;
  /** Only requests that name this end user count; null for all. */
  readonly endUser: string | null;
  /** Only requests to these models count: ids, or their beginnings with a final `*`; null for all. */
  readonly models: readonly string[] | null;
}

/** Whether a budget that lacks money leaves other requests of the account unaffected. */
export function isPartial({ endUser, models }: Pick<AccountBudget, 'endUser' | 'models'>): boolean {
  return endUser !== null || models !== null;
}

/** Names the budget for an error message, with the time at which it renews; null for a budget that was just deleted. */
export function describeAccountBudget(budget: AccountBudget | null, now: Date): string {
  if (budget === null) return 'a budget of the account';
  if (budget.endUser !== null) return `the end user's ${describeBudget(budget, now)}`;
  if (budget.models === null) return `the account's ${describeBudget(budget, now)}`;
  return `the account's ${describeBudget(budget, now, ` for ${budget.models.join(', ')}`)}`;
}
