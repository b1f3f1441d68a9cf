/** Users as the administration shows them. */
import type { ListedIdentity } from '../../../db/queries/identities.ts';
import type { ListedSession } from '../../../db/queries/sessions.ts';
import type { Membership, User } from '../../../db/queries/users.ts';
import { ADMIN_ROLES, MEMBER_ROLES } from '../../../domain/roles.ts';
import * as field from '../../../domain/resource/field.ts';
import { nested, resource } from '../../../domain/resource/resource.ts';

export const LISTED_USER = resource<User>('ListedUser', {
  id: field.id('user')('id'),
  object: field.constant('user'),
  email: field.text('email', 'They sign in with it'),
  name: field.text('name', 'For people'),
  staff_role: field.oneOf(ADMIN_ROLES).orNull('staffRole'),
  has_password: field.boolean('hasPassword', 'False until they have followed their invitation'),
  has_second_factor: field.boolean('hasSecondFactor', 'Whether signing in asks for a code from an authenticator app'),
  disabled_at: field.isoTime.orNull('disabledAt', 'Since when they cannot sign in'),
  created_at: field.isoTime('createdAt', 'When they were invited'),
});

const MEMBERSHIP = nested<Membership>({
  account_id: field.id('account')('accountId'),
  name: field.text('accountName', 'The name of the account'),
  role: field.oneOf(MEMBER_ROLES)('role'),
});

const IDENTITY = nested<ListedIdentity>({
  id: field.text('id', 'Names the identity, to remove it'),
  issuer: field.text('issuer', 'The provider of OpenID Connect'),
  subject: field.text('subject', 'Whom the provider means'),
  created_at: field.isoTime('createdAt', 'When it was connected'),
});

export const SESSION = nested<ListedSession>({
  id: field.text(({ digest }) => digest.toString('hex'), 'Names the session, to end it'),
  user_agent: field.text('userAgent', 'The browser, as it called itself'),
  created_at: field.isoTime('createdAt', 'When they signed in'),
  last_used_at: field.isoTime('lastUsedAt', 'When it was used last, to within a minute'),
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
  accounts: field.list(MEMBERSHIP)('memberships', 'Those that they belong to'),
  identities: field.list(IDENTITY)('identities', 'With whom they sign in at a provider'),
  sessions: field.list(SESSION)('sessions', 'Where they are signed in'),
  link: field.text.orAbsent(
    ({ link }) => link,
    'Where they choose a password: works once, for three days. Shown only when it was just made',
  ),
  mailed: field.boolean.orAbsent(({ mailed }) => mailed, 'Whether they get a link by e-mail as well; beside `link`'),
});
