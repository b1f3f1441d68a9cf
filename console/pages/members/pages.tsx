/** The members of an account. Owners invite members, change roles and remove members. */
import type { Child } from 'hono/jsx';
import {
  changeRole,
  inviteMember,
  makeMemberLink,
  type Refusal,
  removeMember,
  withdrawInvitation,
} from '../../../services/people/members.ts';
import type { ApiServices } from '../../../api/services.ts';
import { type Invitation, listInvitations } from '../../../db/queries/invitations.ts';
import { listMembers, lockMembers, type Member } from '../../../db/queries/users.ts';
import { isEmailAddress } from '../../../domain/email-address.ts';
import { badRequest } from '../../../domain/errors.ts';
import * as field from '../../../domain/resource/field.ts';
import { nested } from '../../../domain/resource/resource.ts';
import { MAIL_OUTCOMES } from '../../../domain/mail.ts';
import { MEMBER_ROLES, type MemberRole } from '../../../domain/roles.ts';
import { FormError } from '../../form-problem.ts';
import { Badge, ButtonLink, Card, Choice, Copyable, Field, Form, FormButton } from '../../html/components.tsx';
import { useTexts } from '../../html/page-context.ts';
import { TableCard } from '../../html/resource-table.tsx';
import { requireFound, member, type MemberVisit, openPage, type PageResult, showPage } from '../../page.ts';
import { saveIfUnchanged } from '../../stored-fields.ts';
import { joinPages } from './join.tsx';

const listPage = member.page('/accounts/{account_id}/members', 'own', showMembers);
const memberPage = member.page('/accounts/{account_id}/members/{user_id}', 'own', showMember);

export const memberPages = [
  ...joinPages,
  listPage,
  listPage.form(
    '',
    'own',
    async (visit, { database, publicUrl, people: { canSendMail } }) => {
      const { members: messages } = visit.texts;
      const email = visit.form.text('email').toLowerCase();
      if (!isEmailAddress(email)) throw new FormError(messages.notAnAddress, { field: 'email' });
      const invited = inviteMember(database, ownerOf(visit), { email, role: roleIn(visit), canSendMail });
      const made = orRefused(await invited, visit);
      const title = messages.invitedTitle(email);
      if ('mailedTo' in made) return { title, explained: messages.invitationMailed(made.mailedTo) };
      return { title, explained: messages.invited(email), link: publicUrl + made.path };
    },
    showLink,
  ),
  listPage.form(
    '/withdraw',
    'own',
    (visit, { database }) => withdrawInvitation(database, ownerOf(visit), visit.form.text('email')),
    'invitationWithdrawn',
  ),
  memberPage,
  memberPage.form(
    '/role',
    'own',
    async (visit, { database }) => {
      const { user_id: userId = '' } = visit.params;
      await saveIfUnchanged(visit, database, {
        find: async (transaction) => {
          const members = await lockMembers(transaction, visit.account.accountId);
          return requireFound(members.find((member) => member.userId === userId));
        },
        fieldsOf: ({ role }) => ({ role }),
        save: async (transaction) =>
          orRefused(await changeRole(transaction, ownerOf(visit), { userId, role: roleIn(visit) }), visit),
      });
    },
    pathAfterChange,
  ),
  memberPage.form(
    '/link',
    'own',
    async (visit, { database, publicUrl, people: { canSendMail } }) => {
      const { members: messages } = visit.texts;
      const userId = visit.params['user_id'] ?? '';
      const made = orRefused(await makeMemberLink(database, ownerOf(visit), { userId, canSendMail }), visit);
      const title = messages.linkTitle;
      if ('mailedTo' in made) return { title, explained: messages.mailed(made.mailedTo) };
      return { title, explained: messages.linkMade, link: publicUrl + made.path };
    },
    showLink,
  ),
  memberPage.form(
    '/remove',
    'own',
    async (visit, { database }) => {
      orRefused(await removeMember(database, ownerOf(visit), visit.params['user_id'] ?? ''), visit);
    },
    (visit) => openPage(pathAfterChange(visit), 'removed'),
  ),
];

/** Returns the result. @throws FormError for a refusal */
function orRefused<Made extends object | null>(made: Made | Refusal, { texts }: MemberVisit): Made {
  if (typeof made === 'string') throw new FormError(texts.members.refusals[made], { code: 'idempotency_conflict' });
  return made;
}

/** The page after a change. Owners who changed their own role may no longer see the list of members. */
function pathAfterChange(visit: MemberVisit): string {
  return visit.params['user_id'] === visit.user.id ? '' : pathOf(visit);
}

function pathOf({ account: { accountId } }: MemberVisit): string {
  return `/accounts/${accountId}/members`;
}

function ownerOf({ account: { accountId }, user: { id: ownerId } }: MemberVisit) {
  return { accountId, ownerId };
}

/** The role that a form gives to a member. @throws ServiceError `bad_request` */
export function roleIn({ form }: Pick<MemberVisit, 'form'>): MemberRole {
  const role = MEMBER_ROLES.find((known) => known === form.text('role'));
  if (!role) throw badRequest(`"role" must be one of: ${MEMBER_ROLES.join(', ')}`);
  return role;
}

function RoleChoice({ value }: { value?: MemberRole }) {
  const { members: messages, values } = useTexts();
  const options = MEMBER_ROLES.map((role) => [role, `${values.role[role]}: ${messages.rolesDo[role]}`] as const);
  return <Choice name="role" value={value} options={options} />;
}

async function showMembers(visit: MemberVisit, { database }: ApiServices): Promise<PageResult> {
  const { texts, account, form } = visit;
  const { members: messages, titles, fields, common } = texts;
  return showPage(
    titles.members,
    <TableCard
      of={MEMBER}
      rows={await listMembers(database, account.accountId)}
      columns={[
        [
          fields.name,
          ({ id, name }) => (
            <>
              <a href={`/console${pathOf(visit)}/${id}`}>{name}</a> {id === visit.user.id ? messages.you : ''}
            </>
          ),
        ],
        'email',
        'role',
        [
          common.secondFactor,
          ({ hasPassword, hasSecondFactor }) =>
            hasSecondFactor ? (
              <Badge tone="good">{messages.hasSecondFactor}</Badge>
            ) : (
              <Badge tone="calm">{hasPassword ? messages.noSecondFactor : messages.neverSignedIn}</Badge>
            ),
        ],
      ]}
    />,
    await Invitations({ visit, database }),
    <Card title={messages.invite}>
      <Form action={`/console${pathOf(visit)}`} submit={messages.makeLink}>
        <Field
          name="email"
          label={texts.signIn.email}
          type="email"
          value={form.text('email')}
          required
          autocomplete="off"
        />
        <RoleChoice value="developer" />
      </Form>
    </Card>,
  );
}

export const MEMBER = nested<Member>({
  name: field.text('name'),
  email: field.text('email'),
  role: field.oneOf(MEMBER_ROLES)('role'),
});

const INVITATION = nested<Invitation>({
  email: field.text('email'),
  role: field.oneOf(MEMBER_ROLES)('role'),
  expires_at: field.isoTime('expiresAt'),
  mail: field.oneOf(MAIL_OUTCOMES).orNull('mail'),
});

async function Invitations({ visit, database }: { visit: MemberVisit; database: ApiServices['database'] }) {
  const { members: messages } = visit.texts;
  const invitations = await listInvitations(database, visit.account.accountId);
  if (invitations.length === 0) return null;
  return (
    <TableCard
      title={messages.invitations}
      of={INVITATION}
      rows={invitations}
      notes={{ expires_at: 'mail' }}
      columns={[
        'email',
        'role',
        'expires_at',
        [
          messages.withdraw,
          ({ email }) => (
            <Form action={`/console${pathOf(visit)}/withdraw`}>
              <input type="hidden" name="email" value={email} />
              <button type="submit" class="quiet" aria-label={messages.withdrawOf(email)}>
                {messages.withdraw}
              </button>
            </Form>
          ),
        ],
      ]}
    />
  );
}

async function showMember(visit: MemberVisit, { database }: ApiServices): Promise<PageResult> {
  const { texts, account, params } = visit;
  const { members: messages, common } = texts;
  const member = requireFound(
    (await listMembers(database, account.accountId)).find(({ id }) => id === params['user_id']),
  );
  const path = `/console${pathOf(visit)}/${member.id}`;
  return showPage(
    member.name,
    <Card title={texts.fields.role}>
      <p class="soft">{member.email}</p>
      <Form action={`${path}/role`} submit={texts.common.save} stored={{ role: member.role }}>
        <RoleChoice />
      </Form>
    </Card>,
    member.id === visit.user.id ? null : (
      <Card title={messages.lostPassword}>
        <p>{messages.linkExplained}</p>
        <Form action={`${path}/link`} submit={messages.makeNewLink} look="quiet" />
      </Card>
    ),
    <Card title={messages.remove}>
      <FormButton
        action={`${path}/remove`}
        label={common.remove(member.name)}
        look="danger"
        question={messages.removeExplained}
      />
    </Card>,
  );
}

/** A link, which no other page shows, or a sentence that an e-mail has it. */
interface MadeLink {
  readonly title: string;
  readonly explained: string;
  readonly link?: string;
}

/** @param children the link to the next page */
export function showMadeLink({ title, explained, link }: MadeLink, children: Child = null): PageResult {
  return showPage(
    title,
    <Card>
      <p>{explained}</p>
      {link === undefined ? null : <Copyable text={link} label={title} />}
      {children}
    </Card>,
  );
}

function showLink(visit: MemberVisit, made: MadeLink): PageResult {
  const done = <ButtonLink href={`/console${pathOf(visit)}`} label={visit.texts.common.done} />;
  return showMadeLink(made, <p>{done}</p>);
}
