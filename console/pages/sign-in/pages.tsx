/** Signing in and out. */
import { ButtonLink, Card, Field, Form, Problem } from '../../html/components.tsx';
import { passwordFaultText, NewPassword } from '../../html/new-password.tsx';
import { type PageResult, everybody, type Visit } from '../../page.ts';
import { closeSession } from '../../../services/people/sessions.ts';
import {
  checkPassword,
  checkSecondFactor,
  choosePassword,
  findLink,
  passwordFault,
} from '../../../services/people/sign-in.ts';
import type { Texts } from '../../texts/texts.ts';
import { enter } from './enter.ts';
import { lostPasswordPages } from './lost-password.tsx';
import { providerPages } from './provider.tsx';
import { bare, expiredLink, signInForm } from './views.tsx';

export const signInPages = [
  ...lostPasswordPages,
  ...providerPages,
  everybody.page('/sign-in', async ({ session, texts }, services) => {
    if (!session) return signInForm(texts, services, {});
    return session.secondFactorPending ? secondFactor(texts, null) : { kind: 'redirect', path: '' };
  }),
  everybody.form('/sign-in', async (visit, services) => {
    const { database } = services;
    const { form, texts, ip } = visit;
    const email = form.text('email');
    const result = await checkPassword(database, { email, password: form.exact('password'), ip });
    if (result === 'wrong') return signInForm(texts, services, { email, problem: texts.signIn.wrong });
    if (result === 'too many') return signInForm(texts, services, { email, problem: texts.signIn.tooMany });
    const { user } = result;
    return enter(visit, database, user, { secondFactorPending: user.hasSecondFactor });
  }),
  everybody.form('/sign-in/code', async (visit, services) => {
    const { session, form, texts } = visit;
    if (!session?.secondFactorPending) return { kind: 'redirect', path: '/sign-in' };
    const nowMs = services.clock.nowMs();
    const { user } = session;
    const result = await checkSecondFactor(services, { user, code: form.text('code'), nowMs });
    if (result === 'wrong') return secondFactor(texts, texts.signIn.wrongCode);
    if (result === 'too many') return secondFactor(texts, texts.signIn.tooMany);
    return enter(visit, services.database, user, { issuer: session.issuer });
  }),
  {
    ...everybody.form('/sign-out', async ({ session, texts }, { database, publicUrl, people }) => {
      if (session) await closeSession(database, session);
      const provider = people.providers().find(({ issuer }) => issuer === session?.issuer);
      const url = await provider?.signOutUrl(`${publicUrl}/console/sign-in`);
      if (!provider || !url) return { kind: 'redirect', path: '/sign-in', session: 'end' };
      return { ...signedOut(texts, provider.name, url), session: 'end' };
    }),
    isRepeatable: true,
  } as const,
  everybody.page('/welcome/{token}', async (visit, { database }) => {
    const user = await findLink(database, visit.params['token'] ?? '');
    return user ? welcome(visit, { email: user.email, problem: null }) : expiredLink(visit.texts);
  }),
  everybody.form('/welcome/{token}', async (visit, { database }) => {
    const { params, texts, form, ip } = visit;
    const { token = '' } = params;
    const user = await findLink(database, token);
    if (!user) return expiredLink(texts);
    const password = form.exact('password');
    const fault = passwordFault(password, form.exact('repeated'));
    if (fault) return welcome(visit, { email: user.email, problem: passwordFaultText(texts, fault) });
    const result = await choosePassword(database, { token, password, ip });
    if (result === 'over') return expiredLink(texts);
    if (result === 'too many') return welcome(visit, { email: user.email, problem: texts.signIn.tooMany });
    return enter(visit, database, user, { secondFactorPending: user.hasSecondFactor });
  }),
];

function secondFactor({ signIn: messages, common }: Texts, problem: string | null): PageResult {
  return bare(
    common.secondFactor,
    <Card>
      <Problem of={problem} />
      <Form action="/console/sign-in/code" submit={messages.submit}>
        <Field name="code" label={messages.code} hint={messages.recoveryHint} required autocomplete="one-time-code" />
      </Form>
      <Form action="/console/sign-out" class="start-over" submit={messages.startOver} look="quiet" />
    </Card>,
    problem === null ? 200 : 401,
  );
}

function welcome(
  { texts, path }: Visit,
  { email, problem }: { readonly email: string; readonly problem: string | null },
): PageResult {
  const { welcome: messages, signIn: labels } = texts;
  return bare(
    messages.title,
    <Card>
      <Problem of={problem} />
      <Form action={path} submit={messages.submit}>
        <Field name="email" label={labels.email} type="email" value={email} autocomplete="username" />
        <NewPassword />
      </Form>
    </Card>,
    problem === null ? 200 : 400,
  );
}

/** Warns that the session at the provider may still be open. @param signOutUrl the provider's sign-out address */
function signedOut({ signIn: messages }: Texts, name: string, signOutUrl: string) {
  return bare(
    messages.signedOut,
    <Card>
      <p>{messages.stillSignedIn(name)}</p>
      <div class="row">
        <ButtonLink href={signOutUrl} label={messages.signOutThere(name)} />
        <a href="/console/sign-in">{messages.back}</a>
      </div>
    </Card>,
  );
}
