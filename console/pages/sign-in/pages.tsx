/** The way in and out. */
import type { Database } from '../../../db/database.ts';
import type { User } from '../../../db/queries/users.ts';
import { Card, Field, Form, FormOf, Problem } from '../../html/components.tsx';
import { type Answer, page, type Visit } from '../../page.ts';
import type { ApiServices } from '../../../api/services/services.ts';
import { PASSWORD_LENGTH } from '../../../api/services/people/passwords.ts';
import { closeSession, openSession } from '../../../api/services/people/sessions.ts';
import {
  checkPassword,
  checkSecondFactor,
  choosePassword,
  findLink,
  passwordFault,
} from '../../../api/services/people/sign-in.ts';
import type { Texts } from '../../texts/texts.ts';
import { bare } from './bare.ts';
import { lostPasswordPages } from './lost-password.tsx';

export const signInPages = [
  ...lostPasswordPages,
  page({
    method: 'get',
    path: '/sign-in',
    access: 'everybody',
    handle: async ({ session, texts }, services) => {
      if (!session) return signIn(texts, services, { email: '', problem: null });
      return session.secondFactorPending
        ? secondFactor(texts, session.formToken, null)
        : { kind: 'redirect', path: '' };
    },
  }),
  page({
    method: 'post',
    path: '/sign-in',
    access: 'everybody',
    handle: async (visit, services) => {
      const { database } = services;
      const { form, texts, ip } = visit;
      const email = form.text('email');
      const result = await checkPassword(database, { email, password: form.exact('password'), ip });
      if (result === 'wrong') return signIn(texts, services, { email, problem: texts.signIn.wrong });
      if (result === 'too many') return signIn(texts, services, { email, problem: texts.signIn.tooMany });
      const { user } = result;
      return enter(visit, database, user, user.hasSecondFactor);
    },
  }),
  page({
    method: 'post',
    path: '/sign-in/code',
    access: 'everybody',
    handle: async (visit, services) => {
      const { session, form, texts } = visit;
      if (!session?.secondFactorPending) return { kind: 'redirect', path: '/sign-in' };
      const nowMs = services.clock.nowMs();
      const { user } = session;
      if (!(await checkSecondFactor(services, { user, code: form.text('code'), nowMs }))) {
        return secondFactor(texts, session.formToken, texts.signIn.wrongCode);
      }
      return enter(visit, services.database, user, false);
    },
  }),
  page({
    method: 'post',
    path: '/sign-out',
    access: 'everybody',
    handle: async ({ session }, { database }) => {
      if (session) await closeSession(database, session);
      return { kind: 'redirect', path: '/sign-in', session: 'end' };
    },
  }),
  page({
    method: 'get',
    path: '/welcome/{token}',
    access: 'everybody',
    handle: async (visit, { database }) => {
      const user = await findLink(database, visit.params['token'] ?? '');
      return user ? welcome(visit, { email: user.email, problem: null }) : expired(visit.texts);
    },
  }),
  page({
    method: 'post',
    path: '/welcome/{token}',
    access: 'everybody',
    handle: async (visit, { database }) => {
      const { params, texts, form } = visit;
      const { token = '' } = params;
      const user = await findLink(database, token);
      if (!user) return expired(texts);
      const password = form.exact('password');
      const fault = passwordFault(password, form.exact('repeated'));
      if (fault) return welcome(visit, { email: user.email, problem: faultWords(texts, fault) });
      if (!(await choosePassword(database, token, password))) return expired(texts);
      return enter(visit, database, user, user.hasSecondFactor);
    },
  }),
];

/**
 * Opens a session of its own, whatever the browser had before, which is over then.
 *
 * @param secondFactorPending whether only the password was right so far
 */
async function enter(visit: Visit, database: Database, user: User, secondFactorPending: boolean): Promise<Answer> {
  if (visit.session) await closeSession(database, visit.session);
  const token = await openSession(database, { userId: user.id, secondFactorPending, userAgent: visit.userAgent });
  return { kind: 'redirect', path: secondFactorPending ? '/sign-in' : '', session: { token } };
}

export function faultWords({ welcome }: Texts, fault: NonNullable<ReturnType<typeof passwordFault>>): string {
  if (fault === 'different') return welcome.different;
  return fault === 'too short' ? welcome.tooShort(PASSWORD_LENGTH.min) : welcome.tooLong(PASSWORD_LENGTH.max);
}

function signIn(
  { signIn: words }: Texts,
  { sendsMail }: Pick<ApiServices, 'sendsMail'>,
  { email, problem }: { readonly email: string; readonly problem: string | null },
): Answer {
  return bare(
    words.title,
    <Card>
      <Problem message={problem} />
      <form method="post" action="/console/sign-in">
        <Field name="email" label={words.email} type="email" value={email} required autocomplete="username" />
        <Field name="password" label={words.password} type="password" required autocomplete="current-password" />
        <button type="submit">{words.submit}</button>
      </form>
      <p class="hint">{sendsMail ? <a href="/console/lost-password">{words.lostPassword}</a> : words.invitation}</p>
    </Card>,
    problem === null ? 200 : 401,
  );
}

function secondFactor({ signIn: words }: Texts, formToken: string, problem: string | null): Answer {
  return bare(
    words.codeTitle,
    <Card>
      <Problem message={problem} />
      <Form token={formToken} action="/console/sign-in/code">
        <Field name="code" label={words.code} required autocomplete="one-time-code" inputMode="numeric" />
        <button type="submit">{words.submit}</button>
      </Form>
    </Card>,
    problem === null ? 200 : 401,
  );
}

function welcome(
  { texts: { welcome: words, signIn: labels }, path, session }: Visit,
  { email, problem }: { readonly email: string; readonly problem: string | null },
): Answer {
  return bare(
    words.title,
    <Card>
      <Problem message={problem} />
      <FormOf session={session} action={path}>
        <Field name="email" label={labels.email} type="email" value={email} autocomplete="username" />
        <Field
          name="password"
          label={words.password}
          type="password"
          hint={words.hint(PASSWORD_LENGTH.min)}
          required
          autocomplete="new-password"
        />
        <Field name="repeated" label={words.repeat} type="password" required autocomplete="new-password" />
        <button type="submit">{words.submit}</button>
      </FormOf>
    </Card>,
    problem === null ? 200 : 400,
  );
}

function expired({ welcome: words }: Texts): Answer {
  return bare(words.expiredTitle, <Card>{words.expired}</Card>, 410);
}
