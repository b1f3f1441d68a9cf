/** End users: the people whom an account serves, as its text requests name them. Contract 4.8 and 5. */
import type { AccountBudget } from './budget.ts';
import { END_USERS } from './policy.ts';

/** The budget of an end user of an account. */
export interface EndUserBudget extends AccountBudget {
  readonly endUser: string;
}

/**
 * Returns the name of an end user in usage and budgets: cut to the maximum length, with U+FFFD for characters that
 * PostgreSQL cannot store.
 *
 * @param sent as the client sent it
 */
export function endUserName(sent: string): string {
  const { maxNameLength: max } = END_USERS;
  // A character takes at most two code units. The copy releases the rest of the string.
  const name =
    sent.length > max
      ? Array.from(sent.slice(0, 2 * max))
          .slice(0, max)
          .join('')
      : sent;
  return name.replaceAll(/[\0\p{Surrogate}]/gu, '\u{FFFD}');
}
