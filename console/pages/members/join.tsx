/** The page of an invitation's link. The invited person accepts as a new user, or after signing in. */
import type { Child } from 'hono/jsx';
import { acceptAsNewUser, acceptInvitation, findInvitationOf } from '../../../services/people/members.ts';
import { passwordFault } from '../../../services/people/sign-in.ts';
import type { Database } from '../../../db/database.ts';
import type { Invitation } from '../../../db/queries/invitations.ts';
import { findUserByEmail } from '../../../db/queries/users.ts';
import { isPersonName, PERSON_NAME_LENGTH } from '../../../domain/person-name.ts';
import { ButtonLink, Card, Field, Form, Problem } from '../../html/components.tsx';
import { passwordFaultText, NewPassword } from '../../html/new-password.tsx';
import { type PageResult, everybody, type Visit } from '../../page.ts';
import { enter } from '../sign-in/enter.ts';
import { bare, expiredLink } from '../sign-in/views.tsx';

export const joinPages = [
  everybody.page('/join/{invitation_token}', async (visit, { database }) => {
    const invitation = await findInvitationOf(database, visit.params['invitation_token'] ?? '');
    return invitation ? join(visit, invitation, database) : expiredLink(visit.texts);
  }),
  everybody.form('/join/{invitation_token}', async (visit, { database }) => {
    const { session, params } = visit;
    const { invitation_token: token = '' } = params;
    const invitation = await findInvitationOf(database, token);
    if (!invitation) return expiredLink(visit.texts);
    if (!session) return joinAsNewUser(visit, invitation, database);
    if (session.secondFactorPending) return join(visit, invitation, database);
    const accepted = await acceptInvitation(database, token, session);
    return accepted ? { kind: 'redirect', path: `/accounts/${accepted.accountId}` } : join(visit, invitation, database);
  }),
];

async function joinAsNewUser(visit: Visit, invitation: Invitation, database: Database): Promise<PageResult> {
  const { form, params, texts, ip } = visit;
  const name = form.text('name');
  const password = form.exact('password');
  if (!isPersonName(name)) return newUserForm(visit, invitation, texts.members.nameFault(PERSON_NAME_LENGTH));
  const fault = passwordFault(password, form.exact('repeated'));
  if (fault) return newUserForm(visit, invitation, passwordFaultText(texts, fault));
  const result = await acceptAsNewUser(database, { token: params['invitation_token'] ?? '', name, password, ip });
  if (result === 'over') return join(visit, invitation, database);
  if (result === 'too many') return newUserForm(visit, invitation, texts.signIn.tooMany);
  return enter(visit, database, result.user);
}

/** Shows how to accept the invitation. */
async function join(visit: Visit, invitation: Invitation, database: Database): Promise<PageResult> {
  const { session, texts } = visit;
  const { members: messages } = texts;
  const { accountName, email, role } = invitation;
  if (session && !session.secondFactorPending) {
    if (session.user.email !== email)
      return joinPage(visit, invitation, <p>{messages.forSomebodyElse(email, session.user.email)}</p>, 409);
    return joinPage(
      visit,
      invitation,
      <Form action={visit.path} submit={messages.joinAccount(accountName)}>
        <p>{messages.joinAs(texts.values.role[role])}</p>
      </Form>,
    );
  }
  if (!(await findUserByEmail(database, email))) return newUserForm(visit, invitation, null);
  return joinPage(
    visit,
    invitation,
    <>
      <p>{messages.signInFirst(email)}</p>
      <p>
        <ButtonLink href="/console/sign-in" label={texts.signIn.title} />
      </p>
    </>,
  );
}

function newUserForm(visit: Visit, invitation: Invitation, problem: string | null): PageResult {
  const { signIn, members: messages, values } = visit.texts;
  return joinPage(
    visit,
    invitation,
    <>
      <Problem of={problem} />
      <p>{messages.joinAs(values.role[invitation.role])}</p>
      <Form action={visit.path} submit={messages.joinAccount(invitation.accountName)}>
        <Field name="email" label={signIn.email} type="email" value={invitation.email} autocomplete="username" />
        <Field name="name" value={visit.form.text('name')} required autocomplete="name" />
        <NewPassword />
      </Form>
    </>,
    problem === null ? 200 : 400,
  );
}

function joinPage({ texts }: Visit, { accountName }: Invitation, content: Child, status = 200): PageResult {
  return bare(texts.members.joinAccount(accountName), <Card>{content}</Card>, status);
}
