import type { Database } from '../../../db/database.ts';
import type { User } from '../../../db/queries/users.ts';
import { closeSession, openSession } from '../../../api/services/people/sessions.ts';
import type { Answer, Visit } from '../../page.ts';

/**
 * Opens a session of its own, whatever the browser had before, which is over then.
 *
 * @param how whether only the password was right so far, and whether a provider said who it is
 */
export async function enter(
  visit: Visit,
  database: Database,
  user: User,
  how: { readonly secondFactorPending?: boolean; readonly byProvider?: boolean } = {},
) {
  if (visit.session) await closeSession(database, visit.session);
  const { secondFactorPending = false, byProvider = false } = how;
  const { userAgent } = visit;
  const token = await openSession(database, { userId: user.id, secondFactorPending, byProvider, userAgent });
  return { kind: 'redirect', path: secondFactorPending ? '/sign-in' : '', session: { token } } satisfies Answer;
}
