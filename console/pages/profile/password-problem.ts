import { confirmPassword } from '../../../api/services/people/sign-in.ts';
import type { Database } from '../../../db/database.ts';
import type { UserVisit } from '../../page.ts';

/** Checks the current password before a change that could lock the user out. @returns the problem, or null if the password is right */
export async function passwordProblem({ user, form, texts }: UserVisit, database: Database): Promise<string | null> {
  const result = await confirmPassword(database, user, form.exact('current'));
  if (result === 'right') return null;
  return result === 'wrong' ? texts.profile.wrongPassword : texts.signIn.tooMany;
}
