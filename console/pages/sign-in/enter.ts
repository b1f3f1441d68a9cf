import type { Database } from '../../../db/database.ts';
import type { User } from '../../../db/queries/users.ts';
import { closeSession, openSession } from '../../../api/services/people/sessions.ts';
import type { PageResult, Visit } from '../../page.ts';

/**
 * Opens a new session, and ends the browser's earlier session.
 *
 * @param how whether the second factor is pending, and whether the user signed in with a provider
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
  return { kind: 'redirect', path: secondFactorPending ? '/sign-in' : '', session: { token } } satisfies PageResult;
}
