/** The way in and out. */
import type { Child } from 'hono/jsx';
import type { Database } from '../../../db/database.ts';
import type { User } from '../../../db/queries/users.ts';
import { Card, Field, Form, Problem } from '../../html/components.tsx';
import { type Answer, page, type Visit } from '../../page.ts';
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

export const signInPages = [
  page({
    method: 'get',
    path: '/sign-in',
    access: 'everybody',
    handle: async ({ session, texts }) => {
      if (!session) return signIn(texts, { email: '', problem: null });
      return session.secondFactorPending
        ? secondFactor(texts, session.formToken, null)
        : { kind: 'redirect', path: '' };
    },
  }),
  page({
    method: 'post',
    path: '/sign-in',
    access: 'everybody',
    handle: async (visit, { database }) => {
      const { form, texts, ip } = visit;
      const email = form.text('email');
      const result = await checkPassword(database, { email, password: form.exact('password'), ip });
      if (result === 'wrong') return signIn(texts, { email, problem: texts.signIn.wrong });
      if (result === 'too many') return signIn(texts, { email, problem: texts.signIn.tooMany });
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
      await closeSession(services.database, session);
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
    handle: async ({ params, texts, path }, { database }) => {
      const user = await findLink(database, params['token'] ?? '');
      return user ? welcome(texts, { path, email: user.email, problem: null }) : expired(texts);
    },
  }),
  page({
    method: 'post',
    path: '/welcome/{token}',
    access: 'everybody',
    handle: async (visit, { database }) => {
      const { params, texts, form, path } = visit;
      const { token = '' } = params;
      const user = await findLink(database, token);
      if (!user) return expired(texts);
      const password = form.exact('password');
      const fault = passwordFault(password, form.exact('repeated'));
      if (fault) return welcome(texts, { path, email: user.email, problem: faultWords(texts, fault) });
      if (!(await choosePassword(database, token, password))) return expired(texts);
      return enter(visit, database, user, user.hasSecondFactor);
    },
  }),
];

/** @param secondFactorPending whether only the password was right so far */
async function enter(visit: Visit, database: Database, user: User, secondFactorPending: boolean): Promise<Answer> {
  const token = await openSession(database, { userId: user.id, secondFactorPending, userAgent: visit.userAgent });
  return { kind: 'redirect', path: secondFactorPending ? '/sign-in' : '', session: { token } };
}

export function faultWords({ welcome }: Texts, fault: NonNullable<ReturnType<typeof passwordFault>>): string {
  if (fault === 'different') return welcome.different;
  return fault === 'too short' ? welcome.tooShort(PASSWORD_LENGTH.min) : welcome.tooLong(PASSWORD_LENGTH.max);
}

function bare(title: string, content: Child, status = 200): Answer {
  return { kind: 'page', title, content, status, bare: true };
}

function signIn(
  { signIn: words }: Texts,
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
      <p class="hint">{words.invitation}</p>
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
  { welcome: words, signIn: { email: emailLabel } }: Texts,
  { path, email, problem }: { readonly path: string; readonly email: string; readonly problem: string | null },
): Answer {
  return bare(
    words.title,
    <Card>
      <Problem message={problem} />
      <form method="post" action={path}>
        <Field name="email" label={emailLabel} type="email" value={email} autocomplete="username" />
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
      </form>
    </Card>,
    problem === null ? 200 : 400,
  );
}

function expired({ welcome: words }: Texts): Answer {
  return bare(words.expiredTitle, <Card>{words.expired}</Card>, 410);
}
