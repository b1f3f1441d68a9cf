/** The members of an account. Owners invite members, change roles and remove members. */
import {
  changeRole,
  inviteMember,
  makeMemberLink,
  type Refusal,
  removeMember,
  withdrawInvitation,
} from '../../../api/services/people/members.ts';
import type { ApiServices } from '../../../api/services/services.ts';
import { type Invitation, listInvitations } from '../../../db/queries/invitations.ts';
import { listMembers, type Member } from '../../../db/queries/users.ts';
import { isEmailAddress } from '../../../domain/email-address.ts';
import { badRequest, ServiceError } from '../../../domain/errors.ts';
import * as field from '../../../domain/resource/field.ts';
import { nested } from '../../../domain/resource/resource.ts';
import { MEMBER_ROLES, type MemberRole } from '../../../domain/roles.ts';
import { Badge, Card, Choice, Copyable, Field, Form, FormButton, Problem } from '../../html/components.tsx';
import { TableCard } from '../../html/resource-table.tsx';
import { type PageResult, member, type MemberVisit, showPage } from '../../page.ts';
import { joinPages } from './join.tsx';
import { useTexts } from '../../html/page-context.ts';

export const memberPages = [
  ...joinPages,
  member.page('/accounts/{account_id}/members', 'own', (visit, services) => showMembers(visit, services, null)),
  member.form('/accounts/{account_id}/members', 'own', async (visit, services) => {
    const { members: words } = visit.texts;
    const email = visit.form.text('email').toLowerCase();
    if (!isEmailAddress(email)) return showMembers(visit, services, { words: words.notAnAddress, status: 400 });
    const { database, canSendMail } = services;
    const made = await inviteMember(database, ownerOf(visit), { email, role: roleIn(visit), canSendMail });
    if (typeof made === 'string') return showMembers(visit, services, { words: words.refusals[made], status: 409 });
    if ('mailedTo' in made)
      return showLink(visit, { title: words.invitedTitle, explained: words.invitationMailed(made.mailedTo) });
    return showLink(visit, {
      title: words.invitedTitle,
      explained: words.invited(email),
      link: services.publicUrl + made.path,
    });
  }),
  member.form('/accounts/{account_id}/members/withdraw', 'own', async (visit, { database }) => {
    await withdrawInvitation(database, ownerOf(visit), visit.form.text('email'));
    return { kind: 'redirect', path: pathOf(visit) };
  }),
  member.page('/accounts/{account_id}/members/{user_id}', 'own', (visit, services) =>
    showMember(visit, services, null),
  ),
  member.form('/accounts/{account_id}/members/{user_id}/role', 'own', async (visit, services) => {
    const change = { userId: visit.params['user_id'] ?? '', role: roleIn(visit) };
    const refusal = await changeRole(services.database, ownerOf(visit), change);
    if (refusal) return showMember(visit, services, refusal);
    return { kind: 'redirect', path: change.userId === visit.user.id ? '' : pathOf(visit) };
  }),
  member.form('/accounts/{account_id}/members/{user_id}/link', 'own', async (visit, services) => {
    const { members: words } = visit.texts;
    const { database, canSendMail, publicUrl } = services;
    const userId = visit.params['user_id'] ?? '';
    const made = await makeMemberLink(database, ownerOf(visit), { userId, canSendMail });
    if (typeof made === 'string') return showMember(visit, services, made);
    if ('mailedTo' in made) return showLink(visit, { title: words.linkTitle, explained: words.mailed(made.mailedTo) });
    return showLink(visit, { title: words.linkTitle, explained: words.linkMade, link: publicUrl + made.path });
  }),
  member.form('/accounts/{account_id}/members/{user_id}/remove', 'own', async (visit, services) => {
    const userId = visit.params['user_id'] ?? '';
    const refusal = await removeMember(services.database, ownerOf(visit), userId);
    if (refusal) return showMember(visit, services, refusal);
    return { kind: 'redirect', path: userId === visit.user.id ? '' : pathOf(visit) };
  }),
];

function pathOf({ account: { accountId } }: MemberVisit): string {
  return `/accounts/${accountId}/members`;
}

function ownerOf({ account: { accountId }, user: { id: ownerId } }: MemberVisit) {
  return { accountId, ownerId };
}

/** @throws ServiceError `bad_request` */
function roleIn({ form }: MemberVisit): MemberRole {
  const role = MEMBER_ROLES.find((known) => known === form.text('role'));
  if (!role) throw badRequest(`"role" must be one of: ${MEMBER_ROLES.join(', ')}`);
  return role;
}

function RoleChoice({ value }: { readonly value: MemberRole }) {
  const { members: words, values } = useTexts();
  const options = MEMBER_ROLES.map((role) => [role, `${values.role[role]}: ${words.rolesDo[role]}`] as const);
  return <Choice name="role" value={value} options={options} />;
}

async function showMembers(
  visit: MemberVisit,
  { database }: ApiServices,
  problem: { readonly words: string; readonly status: number } | null,
): Promise<PageResult> {
  const { texts, account, form } = visit;
  const { members: words, titles } = texts;
  const members = await listMembers(database, account.accountId);
  return showPage(
    'members',
    titles.members,
    <>
      <Members members={members} visit={visit} />
      {await Invitations({ visit, database })}
      <Card title={words.invite}>
        <Problem of={problem?.words ?? null} />
        <Form action={`/console${pathOf(visit)}`}>
          <Field
            name="email"
            label={texts.signIn.email}
            type="email"
            value={form.text('email')}
            required
            autocomplete="off"
          />
          <RoleChoice value="developer" />
          <button type="submit">{words.makeLink}</button>
        </Form>
      </Card>
    </>,
    null,
    problem?.status,
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
  mail: field.oneOf(['ordered', 'sent', 'failed']).orNull('mail'),
});

function Members({ members, visit }: { readonly members: readonly Member[]; readonly visit: MemberVisit }) {
  const { members: words, fields, titles, common } = visit.texts;
  return (
    <TableCard
      of={MEMBER}
      label={titles.members}
      rows={members}
      columns={[
        [
          fields.name,
          ({ id, name }) => (
            <>
              <a href={`/console${pathOf(visit)}/${id}`}>{name}</a> {id === visit.user.id ? words.you : ''}
            </>
          ),
        ],
        'email',
        'role',
        [
          common.secondFactor,
          ({ hasPassword, hasSecondFactor }) =>
            hasSecondFactor ? (
              <Badge tone="good">{words.hasSecondFactor}</Badge>
            ) : (
              <Badge tone="calm">{hasPassword ? words.noSecondFactor : words.neverSignedIn}</Badge>
            ),
        ],
      ]}
    />
  );
}

async function Invitations({
  visit,
  database,
}: {
  readonly visit: MemberVisit;
  readonly database: ApiServices['database'];
}) {
  const { members: words } = visit.texts;
  const invitations = await listInvitations(database, visit.account.accountId);
  if (invitations.length === 0) return null;
  return (
    <TableCard
      title={words.invitations}
      of={INVITATION}
      rows={invitations}
      notes={{ expires_at: 'mail' }}
      columns={[
        'email',
        'role',
        'expires_at',
        [
          words.withdraw,
          ({ email }) => (
            <Form action={`/console${pathOf(visit)}/withdraw`}>
              <input type="hidden" name="email" value={email} />
              <button type="submit" class="quiet" aria-label={words.withdrawOf(email)}>
                {words.withdraw}
              </button>
            </Form>
          ),
        ],
      ]}
    />
  );
}

async function showMember(visit: MemberVisit, { database }: ApiServices, refusal: Refusal | null): Promise<PageResult> {
  const { texts, account, params } = visit;
  const { members: words, common } = texts;
  const member = (await listMembers(database, account.accountId)).find(({ id }) => id === params['user_id']);
  if (!member) throw new ServiceError('not_found', 'Nobody like that belongs to the account.');
  const path = `/console${pathOf(visit)}/${member.id}`;
  return showPage(
    'members',
    member.name,
    <>
      <Problem of={refusal && words.refusals[refusal]} />
      <Card title={texts.fields.role}>
        <p class="soft">{member.email}</p>
        <Form action={`${path}/role`}>
          <RoleChoice value={member.role} />
          <button type="submit">{texts.common.save}</button>
        </Form>
      </Card>
      {member.id === visit.user.id ? null : (
        <Card title={words.lostPassword}>
          <p>{words.linkExplained}</p>
          <Form action={`${path}/link`}>
            <button type="submit" class="quiet">
              {words.makeNewLink}
            </button>
          </Form>
        </Card>
      )}
      <Card title={words.remove}>
        <FormButton
          action={`${path}/remove`}
          label={common.remove(member.name)}
          look="danger"
          question={words.removeExplained}
        />
      </Card>
    </>,
    null,
    refusal ? 409 : 200,
  );
}

/** Shows a link. No other page shows it. */
function showLink(
  visit: MemberVisit,
  { title, explained, link }: { readonly title: string; readonly explained: string; readonly link?: string },
): PageResult {
  const { texts } = visit;
  return showPage(
    'members',
    title,
    <Card>
      <p>{explained}</p>
      {link === undefined ? null : <Copyable text={link} label={title} />}
      <p>
        <a class="button" href={`/console${pathOf(visit)}`}>
          {texts.common.done}
        </a>
      </p>
    </Card>,
  );
}
