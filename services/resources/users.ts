/** Users as the administration shows them. */
import type { ListedIdentity } from '../../db/queries/identities.ts';
import type { ListedSession } from '../../db/queries/sessions.ts';
import type { Mail } from '../../db/queries/mails.ts';
import type { Membership, User } from '../../db/queries/users.ts';
import { ADMIN_ROLES, MEMBER_ROLES } from '../../domain/roles.ts';
import * as field from '../../domain/resource/field.ts';
import { nested, resource } from '../../domain/resource/resource.ts';

export const LISTED_USER = resource<User>('ListedUser', {
  id: field.id('user')('id'),
  object: field.constant('user'),
  email: field.text('email', 'The e-mail address with which the user signs in'),
  name: field.text('name', 'The name of the user'),
  staff_role: field.oneOf(ADMIN_ROLES).orNull('staffRole'),
  has_password: field.boolean('hasPassword', 'False until the user has accepted the invitation'),
  has_second_factor: field.boolean('hasSecondFactor', 'Whether signing in requires a code from an authenticator app'),
  disabled_at: field.isoTime.orNull('disabledAt', 'When the user was disabled. Null if enabled'),
  created_at: field.isoTime('createdAt', 'When the user was invited'),
});

const MEMBERSHIP = nested<Membership>({
  account_id: field.id('account')('accountId'),
  name: field.text('accountName', 'The name of the account'),
  role: field.oneOf(MEMBER_ROLES)('role'),
});

const IDENTITY = nested<ListedIdentity>({
  id: field.text('id', 'The id of the identity'),
  issuer: field.text('issuer', 'The OpenID Connect provider'),
  subject: field.text('subject', 'The provider’s id of the user'),
  created_at: field.isoTime('createdAt', 'When the identity was connected'),
});

export const SESSION = nested<ListedSession>({
  id: field.text(({ digest }) => digest.toString('hex'), 'The id of the session'),
  user_agent: field.text('userAgent', 'The browser’s user agent'),
  created_at: field.isoTime('createdAt', 'When the user signed in'),
  last_used_at: field.isoTime('lastUsedAt', 'When the session was last used, to within a minute'),
});

/** An e-mail to a user, as the staff sees it. */
export const MAIL = nested<Mail>({
  created_at: field.isoTime('createdAt', 'When the e-mail was ordered'),
});

/** A user with memberships, identities and sessions. Only the answer that creates a link contains it. */
interface ShownUser extends User {
  readonly memberships: readonly Membership[];
  readonly identities: readonly ListedIdentity[];
  readonly sessions: readonly ListedSession[];
  readonly link?: string;
  readonly mailed?: boolean;
}

export const USER = resource<ShownUser>('User', {
  ...LISTED_USER.fields,
  accounts: field.list(MEMBERSHIP)('memberships', 'The accounts of the user'),
  identities: field.list(IDENTITY)('identities', 'The identities at OpenID Connect providers'),
  sessions: field.list(SESSION)('sessions', 'The sessions of the user'),
  link: field.text.orAbsent(
    ({ link }) => link,
    'The link to choose a password. Works once, for three days. Present only in the answer that creates it',
  ),
  mailed: field.boolean.orAbsent(({ mailed }) => mailed, 'Whether the user also receives the link by e-mail'),
});
