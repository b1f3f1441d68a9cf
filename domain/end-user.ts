/** End users: the people whom an account serves, as its text requests name them. Contract 4.8 and 5. */
import { type Budget, describeBudget } from './api-key.ts';
import { END_USERS } from './policy.ts';

/** The budget of an end user of an account. */
export interface EndUserBudget extends Budget {
  readonly id: string;
  readonly endUser: string;
}

/**
 * The name by which usage and budgets know an end user: the beginning of a long one, and without what PostgreSQL cannot store.
 *
 * @param sent as the client sent it
 */
export function endUserName(sent: string): string {
  const { maxNameLength: max } = END_USERS;
  // Two code units are at most one character. The copy lets go of the rest.
  const name =
    sent.length > max
      ? Array.from(sent.slice(0, 2 * max))
          .slice(0, max)
          .join('')
      : sent;
  return name.replaceAll(/[\0\p{Surrogate}]/gu, '\u{FFFD}');
}

/** Names the budget for an error message, with the time at which it renews. */
export function describeEndUserBudget(budget: Budget | null, now: Date): string {
  return `the end user's ${budget === null ? 'budget' : describeBudget(budget, now)}`;
}
