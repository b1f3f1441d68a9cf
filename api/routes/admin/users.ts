/** The people who sign in to the console. */
import { deleteIdentity, listIdentities } from '../../../db/queries/identities.ts';
import { deleteUserSession } from '../../../db/queries/sessions.ts';
import {
  deleteUser as removeUser,
  findUser,
  listMemberships,
  listUsers as findUsers,
  removeMember,
  setMember,
  type User,
} from '../../../db/queries/users.ts';
import type { Database } from '../../../db/database.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { listPage, pageById, pageOf } from '../../endpoint/page.ts';
import { notFoundError } from '../../../domain/not-found.ts';
import { flagParameter, idParameter, textParameter } from '../../endpoint/query.ts';
import { deletionOf } from '../../../domain/resource/resource.ts';
import { listOpenSessions } from '../../../services/people/sessions.ts';
import { changeUser, inviteUser, makeUserLink } from '../../../services/people/users.ts';
import { existingOpenAccount } from '../../../services/people/existing-account.ts';
import { LISTED_USER, USER } from '../../../services/resources/users.ts';
import { createUserSchema, membershipSchema, updateUserSchema } from '../../../services/input/users.ts';

const DELETED = deletionOf('user', 'user');

export const userEndpoints = endpoints('Administration', {
  createUser: endpoint({
    request: 'POST /admin/v1/users',
    access: 'admin',
    summary: 'Invite a user to the console',
    description:
      'Only this answer shows the link. If e-mail is configured, the user also gets a link by e-mail; ' +
      'otherwise hand the link over by a private channel.',
    body: jsonBody('CreateUser', createUserSchema),
    answers: { 201: dataOf(USER.schema, 'The user, with an invitation') },
    refusals: ['not_found', 'idempotency_conflict'],
    handle: async ({ body }, services) => {
      const { database } = services;
      const { canSendMail } = services.people;
      const { email, name, staff_role: staffRole = null, account_id: accountId, member_role: role = 'owner' } = body;
      if (accountId !== undefined) await existingOpenAccount(database, accountId);
      const membership = accountId === undefined ? null : { accountId, role };
      const { user, link } = await inviteUser(services, { email, name, staffRole }, membership);
      return { data: await show(database, user, { link, mailed: canSendMail }) };
    },
  }),
  listUsers: endpoint({
    request: 'GET /admin/v1/users',
    access: 'admin-read',
    summary: 'List and search users, newest first',
    query: {
      search: textParameter('A part of the name or the e-mail address, in any case, or the whole id'),
      account_id: idParameter('account', 'Filters by account'),
      staff: flagParameter('True: staff of the gateway. False: customers'),
      disabled: flagParameter('True: disabled users. False: all other users'),
      ...pageById('user'),
    },
    answers: { 200: pageOf(LISTED_USER.schema, 'A page of users') },
    handle: ({ query }, { database }) => {
      const { search, account_id: accountId, staff: isStaff, disabled: isDisabled } = query;
      const filter = { search, accountId, isStaff, isDisabled };
      return listPage(query, (slice) => findUsers(database, { ...filter, ...slice }), LISTED_USER.present);
    },
  }),
  getUser: endpoint({
    request: 'GET /admin/v1/users/{user_id}',
    access: 'admin-read',
    summary: 'Get a user with accounts, identities and sessions',
    answers: { 200: dataOf(USER.schema, 'The user') },
    handle: async ({ params }, { database }) => ({
      data: await show(database, await existing(database, params.user_id)),
    }),
  }),
  updateUser: endpoint({
    request: 'PATCH /admin/v1/users/{user_id}',
    access: 'admin',
    summary: 'Edit, disable or enable a user',
    description:
      'Omitted fields stay unchanged. A disabled user is signed out at once, in all processes, and the links of the user stop ' +
      'working.',
    body: jsonBody('UpdateUser', updateUserSchema),
    answers: { 200: dataOf(USER.schema, 'The changed user') },
    handle: async ({ params: { user_id: userId }, body }, { database }) => {
      await existing(database, userId);
      const { name, staff_role: staffRole, disabled, second_factor: secondFactor } = body;
      await changeUser(database, userId, { name, staffRole, disabled, secondFactor });
      return { data: await show(database, await existing(database, userId)) };
    },
  }),
  deleteUser: endpoint({
    request: 'DELETE /admin/v1/users/{user_id}',
    access: 'admin',
    summary: 'Delete a user, and sign the user out at once',
    description:
      'The keys and tasks of the user stay with the accounts. To keep a user from signing in for a while, disable the user.',
    answers: {
      200: dataOf(DELETED.schema, 'The deleted user'),
    },
    handle: async ({ params: { user_id: id } }, { database }) => {
      if (!(await removeUser(database, id))) throw notFoundError('user');
      return { data: DELETED.present({ id }) };
    },
  }),
  createUserLink: endpoint({
    request: 'POST /admin/v1/users/{user_id}/links',
    access: 'admin',
    summary: 'Create a link to choose a new password',
    description:
      'The link works once, for three days. The new password signs the user out everywhere and removes all identities of the user.',
    answers: { 201: dataOf(USER.schema, 'The user, with a link') },
    refusals: ['bad_request'],
    handle: async ({ params }, services) => {
      const user = await existing(services.database, params.user_id);
      const link = await makeUserLink(services, user);
      return { data: await show(services.database, user, { link, mailed: services.people.canSendMail }) };
    },
  }),
  joinAccount: endpoint({
    request: 'POST /admin/v1/users/{user_id}/accounts',
    access: 'admin',
    summary: 'Add a user to an account, or change the user’s role',
    body: jsonBody('JoinAccount', membershipSchema),
    answers: { 200: dataOf(USER.schema, 'The user with all accounts') },
    refusals: ['idempotency_conflict'],
    handle: async ({ params, body: { account_id: accountId, role } }, { database }) => {
      const user = await existing(database, params.user_id);
      await existingOpenAccount(database, accountId);
      await setMember(database, { accountId, userId: user.id, role });
      return { data: await show(database, user) };
    },
  }),
  leaveAccount: endpoint({
    request: 'DELETE /admin/v1/users/{user_id}/accounts/{account_id}',
    access: 'admin',
    summary: 'Remove a user from an account at once',
    answers: { 200: dataOf(USER.schema, 'The user with the remaining accounts') },
    handle: async ({ params: { user_id: userId, account_id: accountId } }, { database }) => {
      const user = await existing(database, userId);
      if (!(await removeMember(database, accountId, userId))) throw notFoundError('account');
      return { data: await show(database, user) };
    },
  }),
  removeUserIdentity: endpoint({
    request: 'DELETE /admin/v1/users/{user_id}/identities/{identity_id}',
    access: 'admin',
    summary: 'Remove a user’s identity at an OpenID Connect provider',
    description: 'The user’s sessions continue: end them one by one, or disable the user.',
    answers: { 200: dataOf(USER.schema, 'The user with the remaining identities') },
    handle: async ({ params: { user_id: userId, identity_id: identityId } }, { database }) => {
      const user = await existing(database, userId);
      if (!(await deleteIdentity(database, userId, identityId))) throw notOfUser('identity');
      return { data: await show(database, user) };
    },
  }),
  endUserSession: endpoint({
    request: 'DELETE /admin/v1/users/{user_id}/sessions/{session_id}',
    access: 'admin',
    summary: 'End a session of a user, at once',
    answers: { 200: dataOf(USER.schema, 'The user with the remaining sessions') },
    handle: async ({ params: { user_id: userId, session_id: sessionId } }, { database }) => {
      const user = await existing(database, userId);
      if (!(await deleteUserSession(database, userId, Buffer.from(sessionId, 'hex')))) throw notOfUser('session');
      return { data: await show(database, user) };
    },
  }),
});

/** @throws ServiceError `not_found` */
async function existing(database: Database, userId: string): Promise<User> {
  const user = await findUser(database, userId);
  if (!user) throw notFoundError('user');
  return user;
}

function notOfUser(what: string): ServiceError {
  return new ServiceError('not_found', `The user has no such ${what}. Check the id.`);
}

async function show(database: Database, user: User, made?: { readonly link: string; readonly mailed: boolean }) {
  const [memberships, identities, sessions] = await Promise.all([
    listMemberships(database, user.id),
    listIdentities(database, user.id),
    listOpenSessions(database, user.id),
  ]);
  return USER.present({ ...user, memberships, identities, sessions, ...made });
}
