import type { Database } from '../../../db/database.ts';
import type { User } from '../../../db/queries/users.ts';
import { closeSession, openSession } from '../../../services/people/sessions.ts';
import type { PageResult, Visit } from '../../page.ts';

/**
 * Opens a new session, ends the browser's earlier session, and redirects to the page on which a session had ended.
 *
 * @param how whether the second factor is pending, and the issuer of the provider with which the user signed in
 */
export async function enter(
  visit: Visit,
  database: Database,
  user: User,
  how: { readonly secondFactorPending?: boolean; readonly issuer?: string | null } = {},
) {
  if (visit.session) await closeSession(database, visit.session);
  const { secondFactorPending = false, issuer = null } = how;
  const { userAgent, ip } = visit;
  const token = await openSession(database, { user, secondFactorPending, issuer, userAgent, ip });
  const entered = { kind: 'redirect', session: { token } } as const;
  if (secondFactorPending) return { ...entered, path: '/sign-in' } satisfies PageResult;
  return { ...entered, path: visit.back, ...(visit.back !== '' && { back: 'end' as const }) } satisfies PageResult;
}
