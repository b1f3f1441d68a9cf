/** The people who sign in to the console. */
import Joi from 'joi';
import { findAccount } from '../../../db/queries/accounts.ts';
import { findUser, insertUser, setMember, type User } from '../../../db/queries/users.ts';
import { ADMIN_ROLES, type AdminRole } from '../../../domain/admin-role.ts';
import { badRequest } from '../../../domain/errors.ts';
import { newId } from '../../../domain/ids.ts';
import { nullable } from '../../../domain/json-schema.ts';
import { MEMBER_ROLES, type MemberRole } from '../../../domain/member-role.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { noSuch } from '../../endpoint/path.ts';
import { component, exactly, fieldsOf, idOf, object, oneOfTexts, text } from '../../openapi/json-schema.ts';
import { makeLink } from '../../services/people/sign-in.ts';
import { choice, freeText } from '../../validation.ts';

interface CreateUserBody {
  readonly email: string;
  readonly name: string;
  readonly staff_role?: AdminRole | null;
  readonly account_id?: string;
  readonly member_role?: MemberRole;
}

/** What holds for every address; whether somebody reads mail there, only they can show. */
const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;

const createUserSchema = Joi.object<CreateUserBody>({
  email: freeText({ min: 3, max: 254 })
    .pattern(EMAIL)
    .required()
    .description('Where to reach them; they sign in with it')
    .messages({ 'string.pattern.base': '{{#label}} must be an e-mail address' }),
  name: freeText({ min: 1, max: 100 }).required().description('For people'),
  staff_role: choice(ADMIN_ROLES)
    .allow(null)
    .description('What they may do as staff of the gateway; null for customers'),
  account_id: Joi.string().description('An account that they belong to'),
  member_role: choice(MEMBER_ROLES).description('What they may do in that account; `owner` unless it is said'),
});

const UserSchema = component(
  'User',
  object(
    fieldsOf<ReturnType<typeof presentUser>>({
      id: idOf('user'),
      object: exactly('user'),
      email: text('They sign in with it'),
      name: text('For people'),
      staff_role: nullable(oneOfTexts(ADMIN_ROLES)),
      link: text('Where they choose a password: works once, for three days'),
    }),
  ),
);

export const createUser = endpoint({
  id: 'createUser',
  tag: 'Administration',
  method: 'post',
  path: '/admin/v1/users',
  access: 'admin',
  summary: 'Invite somebody to the console',
  description: 'The answer is the only one that shows the link. Hand it over by a channel that nobody else reads.',
  body: jsonBody('CreateUser', createUserSchema),
  answers: { 201: dataOf(UserSchema, 'The user, with an invitation') },
  handle: async ({ body }, { database, publicUrl }) => {
    const { account_id: accountId } = body;
    if (accountId !== undefined && !(await findAccount(database, accountId))) throw noSuch('account');
    const user = await insertUser(database, {
      id: newId('user'),
      email: body.email.toLowerCase(),
      name: body.name,
      staffRole: body.staff_role ?? null,
      passwordHash: null,
    });
    if (!user) throw badRequest('"email" belongs to a user already');
    if (accountId !== undefined) {
      await setMember(database, { accountId, userId: user.id, role: body.member_role ?? 'owner' });
    }
    return { data: presentUser(user, publicUrl + (await makeLink(database, user.id, 'invitation'))) };
  },
});

export const createUserLink = endpoint({
  id: 'createUserLink',
  tag: 'Administration',
  method: 'post',
  path: '/admin/v1/users/{user_id}/links',
  access: 'admin',
  summary: 'Let a user choose a new password',
  description: 'The link works once, for three days, and signs the user out everywhere when it is used.',
  answers: { 201: dataOf(UserSchema, 'The user, with a link') },
  handle: async ({ params }, { database, publicUrl }) => {
    const user = await findUser(database, params.user_id);
    if (!user) throw noSuch('user');
    return { data: presentUser(user, publicUrl + (await makeLink(database, user.id, 'new_password'))) };
  },
});

function presentUser({ id, email, name, staffRole }: User, link: string) {
  return { id, object: 'user', email, name, staff_role: staffRole, link };
}
