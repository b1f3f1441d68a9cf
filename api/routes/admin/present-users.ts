/** Users as the administration shows them. */
import type { ListedIdentity } from '../../../db/queries/identities.ts';
import type { ListedSession } from '../../../db/queries/sessions.ts';
import type { Membership, User } from '../../../db/queries/users.ts';
import { ADMIN_ROLES } from '../../../domain/admin-role.ts';
import { nullable } from '../../../domain/json-schema.ts';
import { MEMBER_ROLES } from '../../../domain/member-role.ts';
import {
  arrayOf,
  boolean,
  exactly,
  idOf,
  isoTime,
  namedObject,
  objectOf,
  oneOfTexts,
  optional,
  text,
} from '../../openapi/json-schema.ts';

const LISTED = {
  id: idOf('user'),
  object: exactly('user'),
  email: text('They sign in with it'),
  name: text('For people'),
  staff_role: nullable(oneOfTexts(ADMIN_ROLES)),
  has_password: boolean('False until they have followed their invitation'),
  has_second_factor: boolean('Whether signing in asks for a code from an authenticator app'),
  disabled_at: nullable(isoTime('Since when they cannot sign in')),
  created_at: isoTime('When they were invited'),
};

export const ListedUserSchema = namedObject<ReturnType<typeof presentListedUser>>('ListedUser', LISTED);

export const UserSchema = namedObject<ReturnType<typeof presentUser>>('User', {
  ...LISTED,
  accounts: arrayOf(
    objectOf<ReturnType<typeof presentMembership>>({
      account_id: idOf('account'),
      name: text('The name of the account'),
      role: oneOfTexts(MEMBER_ROLES),
    }),
    'Those that they belong to',
  ),
  identities: arrayOf(
    objectOf<ReturnType<typeof presentIdentity>>({
      id: text('Names the identity, to remove it'),
      issuer: text('The provider of OpenID Connect'),
      subject: text('Whom the provider means'),
      created_at: isoTime('When it was connected'),
    }),
    'With whom they sign in at a provider',
  ),
  sessions: arrayOf(
    objectOf<ReturnType<typeof presentSession>>({
      id: text('Names the session, to end it'),
      user_agent: text('The browser, as it called itself'),
      created_at: isoTime('When they signed in'),
      last_used_at: isoTime('When it was used last, to within a minute'),
    }),
    'Where they are signed in',
  ),
  link: optional(text('Where they choose a password: works once, for three days. Shown only when it was just made')),
  mailed: optional(boolean('Whether they get a link by e-mail as well; beside `link`')),
});

export function presentListedUser(user: User) {
  return {
    id: user.id,
    object: 'user',
    email: user.email,
    name: user.name,
    staff_role: user.staffRole,
    has_password: user.hasPassword,
    has_second_factor: user.hasSecondFactor,
    disabled_at: user.disabledAt?.toISOString() ?? null,
    created_at: user.createdAt.toISOString(),
  };
}

/** The ways in which a user gets in, and to what. */
export interface Access {
  readonly memberships: readonly Membership[];
  readonly identities: readonly ListedIdentity[];
  readonly sessions: readonly ListedSession[];
}

/** @param made the link, only in the answer to its creation */
export function presentUser(
  user: User,
  { memberships, identities, sessions }: Access,
  made?: { readonly link: string; readonly mailed: boolean },
) {
  return {
    ...presentListedUser(user),
    accounts: memberships.map(presentMembership),
    identities: identities.map(presentIdentity),
    sessions: sessions.map(presentSession),
    ...made,
  };
}

function presentMembership({ accountId, accountName, role }: Membership) {
  return { account_id: accountId, name: accountName, role };
}

function presentIdentity({ id, issuer, subject, createdAt }: ListedIdentity) {
  return { id, issuer, subject, created_at: createdAt.toISOString() };
}

function presentSession({ digest, userAgent, createdAt, lastUsedAt }: ListedSession) {
  return {
    id: digest.toString('hex'),
    user_agent: userAgent,
    created_at: createdAt.toISOString(),
    last_used_at: lastUsedAt.toISOString(),
  };
}
