/** What users say about themselves: password, second factor, language. */
import { deleteSessionsOf } from '../../../db/queries/sessions.ts';
import { findUserSecrets, setLanguage, setPassword, setSecondFactor } from '../../../db/queries/users.ts';
import { Card, Choice, Copyable, Field, Form, Problem } from '../../html/components.tsx';
import { type Answer, page, type UserVisit } from '../../page.ts';
import { hashPassword, isPassword, PASSWORD_LENGTH } from '../../../api/services/people/passwords.ts';
import { newSecondFactorSecret, secondFactorAddress, stepOfCode } from '../../../api/services/people/second-factor.ts';
import { passwordFault } from '../../../api/services/people/sign-in.ts';
import { LANGUAGE_NAMES } from '../../texts/texts.ts';
import { faultWords } from '../sign-in/pages.tsx';

export const profilePages = [
  page({ method: 'get', path: '/profile', access: 'user', handle: async (visit) => profile(visit, {}) }),
  page({
    method: 'post',
    path: '/profile/language',
    access: 'user',
    handle: async ({ user, form }, { database }) => {
      const language = form.text('language');
      if (language in LANGUAGE_NAMES) await setLanguage(database, user.id, language);
      return { kind: 'redirect', path: '/profile' };
    },
  }),
  page({
    method: 'post',
    path: '/profile/password',
    access: 'user',
    handle: async (visit, { database }) => {
      const { user, form, texts, session } = visit;
      const secrets = await findUserSecrets(database, user.id);
      if (!(await isPassword(form.exact('current'), secrets?.passwordHash ?? null))) {
        return profile(visit, { password: texts.profile.wrongPassword });
      }
      const password = form.exact('password');
      const fault = passwordFault(password, form.exact('repeated'));
      if (fault) return profile(visit, { password: faultWords(texts, fault) });
      await setPassword(database, user.id, await hashPassword(password));
      await deleteSessionsOf(database, user.id, session.digest);
      return { kind: 'redirect', path: '/profile' };
    },
  }),
  page({
    method: 'post',
    path: '/profile/second-factor',
    access: 'user',
    handle: async (visit, { database, sealer, clock }) => {
      const { user, form, texts } = visit;
      if (user.hasSecondFactor) {
        const secrets = await findUserSecrets(database, user.id);
        if (!(await isPassword(form.exact('current'), secrets?.passwordHash ?? null))) {
          return profile(visit, { secondFactor: texts.profile.wrongPassword });
        }
        await setSecondFactor(database, user.id, null);
        return { kind: 'redirect', path: '/profile' };
      }
      const secret = form.text('secret');
      if (!/^[A-Z2-7]{32}$/.test(secret) || stepOfCode(secret, form.text('code'), clock.nowMs()) === null) {
        return profile(visit, { secondFactor: texts.signIn.wrongCode });
      }
      await setSecondFactor(database, user.id, sealer.seal(secret, user.id));
      await deleteSessionsOf(database, user.id, visit.session.digest);
      return { kind: 'redirect', path: '/profile' };
    },
  }),
];

interface Problems {
  readonly password?: string;
  readonly secondFactor?: string;
}

function profile({ user, texts, session: { formToken } }: UserVisit, problems: Problems): Answer {
  const { profile: words, common } = texts;
  return {
    kind: 'page',
    title: texts.navigation.profile,
    status: Object.keys(problems).length > 0 ? 400 : 200,
    content: (
      <>
        <Card>
          <dl>
            <dt>{common.name}</dt>
            <dd>{user.name}</dd>
            <dt>{texts.signIn.email}</dt>
            <dd>{user.email}</dd>
          </dl>
        </Card>
        <div class="grid">
          <Card title={words.language}>
            <Form token={formToken} action="/console/profile/language">
              <Choice
                name="language"
                label={words.language}
                value={user.language}
                options={Object.entries(LANGUAGE_NAMES)}
              />
              <button type="submit">{common.save}</button>
            </Form>
          </Card>
          <Card title={words.password}>
            <Problem message={problems.password ?? null} />
            <Form token={formToken} action="/console/profile/password">
              <Field name="current" label={words.current} type="password" required autocomplete="current-password" />
              <Field
                name="password"
                label={texts.welcome.password}
                type="password"
                hint={texts.welcome.hint(PASSWORD_LENGTH.min)}
                required
                autocomplete="new-password"
              />
              <Field
                name="repeated"
                label={texts.welcome.repeat}
                type="password"
                required
                autocomplete="new-password"
              />
              <button type="submit">{common.save}</button>
            </Form>
          </Card>
          <Card title={words.secondFactor}>
            <Problem message={problems.secondFactor ?? null} />
            <Form token={formToken} action="/console/profile/second-factor">
              {user.hasSecondFactor ? (
                <RemoveSecondFactor texts={texts} />
              ) : (
                <AddSecondFactor email={user.email} texts={texts} />
              )}
            </Form>
          </Card>
        </div>
      </>
    ),
  };
}

function RemoveSecondFactor({ texts: { profile: words } }: Pick<UserVisit, 'texts'>) {
  return (
    <>
      <p>{words.hasSecondFactor}</p>
      <Field name="current" label={words.current} type="password" required autocomplete="current-password" />
      <button type="submit" class="danger">
        {words.removeSecondFactor}
      </button>
    </>
  );
}

function AddSecondFactor({ email, texts }: Pick<UserVisit, 'texts'> & { readonly email: string }) {
  const { profile: words } = texts;
  const secret = newSecondFactorSecret();
  return (
    <>
      <p>
        {words.addSecondFactor} <a href={secondFactorAddress(secret, email)}>{words.openApp}</a>
      </p>
      <input type="hidden" name="secret" value={secret} />
      <Copyable text={secret} texts={texts} label={words.secret} />
      <Field name="code" label={texts.signIn.code} required autocomplete="one-time-code" inputMode="numeric" />
      <button type="submit">{words.turnOn}</button>
    </>
  );
}
