/** Lets operators invite, edit and disable the people of accounts. Only `genway users` changes staff of the gateway. */
import { MAIL } from '../../../../services/resources/users.ts';
import { createUserSchema } from '../../../../services/input/users.ts';
import { existingOpenAccount } from '../../../../services/people/existing-account.ts';
import { blockPerson } from '../../../../services/people/registration-blocks.ts';
import { changeUser, inviteUser, makeUserLink } from '../../../../services/people/users.ts';
import type { ApiServices } from '../../../../api/services.ts';
import { createValidator } from '../../../../services/input/validation.ts';
import {
  findUser,
  findUserByEmail,
  listMemberships,
  lockMembers,
  lockUser,
  removeMember,
  setMember,
  type User,
} from '../../../../db/queries/users.ts';
import { listMailsTo } from '../../../../db/queries/mails.ts';
import { ServiceError } from '../../../../domain/errors.ts';
import { isPersonName, PERSON_NAME_LENGTH } from '../../../../domain/person-name.ts';
import { type MemberRole, MEMBER_ROLES } from '../../../../domain/roles.ts';
import { FormError } from '../../../form-problem.ts';
import { Card, Choice, Empty, Field, Form, FormButton } from '../../../html/components.tsx';
import { Chosen, TableCard } from '../../../html/resource-table.tsx';
import { useTexts } from '../../../html/page-context.ts';
import {
  requireFound,
  formsOver,
  hasPermission,
  type PageResult,
  showPage,
  staff,
  type UserVisit,
} from '../../../page.ts';
import { saveIfUnchanged, type StoredFields } from '../../../stored-fields.ts';
import { wordFor } from '../../../texts/texts.ts';
import { authorshipOf } from '../reason.ts';
import { roleIn, showMadeLink } from '../../members/pages.tsx';

/** On the page of a user. */
const MAX_MAILS = 50;

const validate = createValidator(createUserSchema);

const page = staff.page('/staff/people/{user_id}', 'read', showPerson);
const change = formsOver(page, 'operate', customerOf);

export const staffPeoplePages = [
  page,
  change('', rename),
  change('/disable', (_visit, { database }, { id }) => changeUser(database, id, { disabled: true }), 'disabled'),
  change('/block', (visit, { database }, { id }) => blockPerson(database, id, authorshipOf(visit)), 'blocked'),
  change('/enable', (_visit, { database }, { id }) => changeUser(database, id, { disabled: false }), 'enabled'),
  change(
    '/second-factor',
    (_visit, { database }, { id }) => changeUser(database, id, { secondFactor: null }),
    'secondFactorRemoved',
  ),
  change('/role', async (visit, { database }, { id: userId }) => {
    const { form } = visit;
    const { id: accountId } = await existingOpenAccount(database, form.text('account_id'));
    await saveIfUnchanged(visit, database, {
      find: async (transaction) => {
        const members = await lockMembers(transaction, accountId);
        return { role: members.find((member) => member.userId === userId)?.role };
      },
      fieldsOf: (stored) => stored,
      save: (transaction) => setMember(transaction, { accountId, userId, role: roleIn(visit) }),
    });
  }),
  change('/leave', ({ form }, { database }, { id }) => removeMember(database, form.text('account_id'), id), 'removed'),
  staff.form('/staff/people/{user_id}/link', 'operate', async (visit, services) => {
    const user = await customerOf(visit, services);
    const { members: messages } = visit.texts;
    const explained = services.people.canSendMail ? messages.mailed(user.email) : messages.linkMade;
    return showMadeLink({ title: messages.linkTitle, explained, link: await makeUserLink(services, user) });
  }),
];

function rename(visit: UserVisit, { database }: ApiServices, { id }: User): Promise<void> {
  const name = visit.form.text('name');
  if (!isPersonName(name)) throw new FormError(visit.texts.members.nameFault(PERSON_NAME_LENGTH), { field: 'name' });
  return saveIfUnchanged(visit, database, {
    find: async (transaction) => {
      await lockUser(transaction, id);
      return personOf(visit, { database: transaction });
    },
    fieldsOf: nameFields,
    save: (transaction) => changeUser(transaction, id, { name }),
  });
}

function nameFields({ name }: User): StoredFields {
  return { name };
}

async function personOf({ params }: UserVisit, { database }: Pick<ApiServices, 'database'>): Promise<User> {
  return requireFound(await findUser(database, params['user_id'] ?? ''));
}

/** @throws ServiceError `forbidden` for staff: an operator must not take over another operator's access */
async function customerOf(visit: UserVisit, services: ApiServices): Promise<User> {
  const user = await personOf(visit, services);
  if (user.staffRole !== null)
    throw new ServiceError('forbidden', 'Staff cannot be changed here. Use the command "genway users".');
  return user;
}

/** Invites a new person by a link. An existing user becomes a member immediately. @throws FormError for a member */
export async function invite(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const { form, texts, params } = visit;
  const { id: accountId } = await existingOpenAccount(services.database, params['account_id'] ?? '');
  const role = roleIn(visit);
  const { email, name } = validate({ email: form.text('email'), name: form.text('name') });
  const known = await findUserByEmail(services.database, email.toLowerCase());
  if (known) {
    const memberships = await listMemberships(services.database, known.user.id);
    if (memberships.some((membership) => membership.accountId === accountId))
      throw new FormError(texts.members.refusals['member already'], { field: 'email', code: 'idempotency_conflict' });
    await setMember(services.database, { accountId, userId: known.user.id, role });
    return { kind: 'redirect', path: `/staff/accounts/${accountId}?tab=members` };
  }
  const { link } = await inviteUser(services, { email, name, staffRole: null }, { accountId, role });
  const { members: messages } = texts;
  const explained = services.people.canSendMail ? messages.invitationMailed(email) : messages.invited(email);
  return showMadeLink({ title: messages.invitedTitle(email), explained, link });
}

async function showPerson(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const user = await personOf(visit, services);
  const memberships = await listMemberships(services.database, user.id);
  const mails = await listMailsTo(services.database, { userId: user.id, address: user.email, limit: MAX_MAILS });
  const { staffPeople: messages, members, staffAccounts, common } = visit.texts;
  const path = `/console/staff/people/${user.id}`;
  const mayChange = hasPermission(visit, 'operate') && user.staffRole === null;
  return showPage(
    user.name,
    <Card>
      <p>
        {user.email} <Chosen name="state" value={user.disabledAt === null ? 'enabled' : 'disabled'} />
      </p>
      {user.staffRole === null ? null : <p class="soft">{messages.isStaff}</p>}
      {mayChange ? <PersonForms user={user} path={path} /> : null}
    </Card>,
    memberships.map(({ accountId, accountName, role }) => (
      <Card title={accountName}>
        <p>
          <a href={`/console/staff/accounts/${accountId}`}>{staffAccounts.ofAccount(accountName)}</a>
        </p>
        {mayChange ? (
          <div class="row">
            <Form action={`${path}/role`} class="row" submit={common.save} stored={{ role }}>
              <input type="hidden" name="account_id" value={accountId} />
              <RoleChoice id={`role-${accountId}`} />
            </Form>
            <FormButton
              action={`${path}/leave`}
              label={members.remove}
              look="danger"
              question={members.removeExplained}
              entries={{ account_id: accountId }}
            />
          </div>
        ) : (
          <Chosen name="role" value={role} />
        )}
      </Card>
    )),
    memberships.length === 0 ? <Empty>{messages.noAccounts}</Empty> : null,
    mails.length === 0 ? null : (
      <TableCard
        title={messages.mails}
        wide
        of={MAIL}
        rows={mails}
        columns={[
          [messages.mail, ({ kind }) => wordFor('mail_kind', kind, visit.texts)],
          'created_at',
          [visit.texts.fields.status, ({ outcome }) => <Chosen name="mail" value={outcome} />],
          [messages.answer, ({ failure }) => failure ?? '', 'words'],
        ]}
      />
    ),
  );
}

function PersonForms({ user, path }: { user: User; path: string }) {
  const { staffPeople: messages, members, common } = useTexts();
  const disable = (
    <>
      <FormButton action={`${path}/disable`} label={common.disable} look="danger" question={messages.disableQuestion} />
      <FormButton action={`${path}/link`} label={members.makeNewLink} question={members.linkExplained} />
    </>
  );
  return (
    <>
      <Form action={path} submit={common.save} stored={nameFields(user)}>
        <Field name="name" required />
      </Form>
      <div class="row actions">
        {user.disabledAt === null ? disable : <FormButton action={`${path}/enable`} label={common.enable} />}
        {user.hasSecondFactor ? (
          <FormButton
            action={`${path}/second-factor`}
            label={messages.removeFactor}
            look="danger"
            question={messages.removeFactorQuestion}
          />
        ) : null}
      </div>
    </>
  );
}

function RoleChoice({ id, value }: { id: string; value?: MemberRole }) {
  const { values } = useTexts();
  const options = MEMBER_ROLES.map((role) => [role, values.role[role]] as const);
  return <Choice name="role" id={id} value={value} options={options} />;
}

/** The form that invites a person to an account. */
export function InviteForm({ accountId }: { accountId: string }) {
  const { members: messages } = useTexts();
  return (
    <Form action={`/console/staff/accounts/${accountId}/members`} class="grid" submit={messages.makeLink}>
      <Field name="email" id="invited-email" type="email" required autocomplete="off" />
      <Field name="name" id="invited-name" required autocomplete="off" />
      <RoleChoice id="invited-role" value="owner" />
    </Form>
  );
}
