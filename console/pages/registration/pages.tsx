/** Registration of strangers: the form, and the page of the link that verifies the address. */
import type { ApiServices } from '../../../api/services.ts';
import type { Registration } from '../../../db/queries/registrations.ts';
import { isEmailAddress } from '../../../domain/email-address.ts';
import { isPersonName, PERSON_NAME_LENGTH } from '../../../domain/person-name.ts';
import { registrationTokenOf } from '../../../services/people/provider-sign-in.ts';
import {
  type Admission,
  confirm,
  findRegistration,
  register,
  resendVerification,
  verify,
} from '../../../services/people/registration.ts';
import type { VerifyCaptcha } from '../../../services/people/registration-rules.ts';
import { passwordFault } from '../../../services/people/sign-in.ts';
import { CaptchaCheck, captchaField } from '../../html/captcha.tsx';
import { Card, Field, Form, FormButton, Problem } from '../../html/components.tsx';
import { NewPassword, passwordFaultText } from '../../html/new-password.tsx';
import { type PageResult, everybody, requireFound, type Visit } from '../../page.ts';
import type { Texts } from '../../texts/texts.ts';
import { enter } from '../sign-in/enter.ts';
import { bare, ProviderLinks } from '../sign-in/views.tsx';
import { acceptedVersion, AcceptTerms } from './terms.tsx';

export const registrationPages = [
  everybody.page('/register', (visit, services) => {
    assertOpen(services);
    return visit.session ? { kind: 'redirect', path: '' } : registrationForm(visit, services, null);
  }),
  everybody.form('/register', async (visit, services) => {
    assertOpen(services);
    requireFound(services.people.canSendMail || null);
    const problem = problemOf(visit);
    const termsVersion = acceptedVersion(visit);
    if (problem !== null || termsVersion === false)
      return registrationForm(visit, services, problem ?? visit.texts.registration.acceptFirst);
    const { form, texts, ip } = visit;
    const answer = await register(services, {
      email: form.text('email'),
      name: form.text('name'),
      password: form.exact('password'),
      language: texts.language,
      termsVersion,
      ip,
      verifyCaptcha: captchaOf(visit, services),
    });
    if (answer === 'too many') return registrationForm(visit, services, texts.signIn.tooMany);
    if (answer.refusal !== null) return registrationForm(visit, services, texts.registration.refusals[answer.refusal]);
    return sent(texts, answer.id);
  }),
  everybody.form('/register-again', async (visit, services) => {
    assertOpen(services);
    const { form, texts, ip } = visit;
    const isSent = await resendVerification(services, { id: form.exact('registration'), ip });
    return bare(
      texts.signIn.sentTitle,
      <Card>{isSent ? texts.registration.sentAgain : <Problem of={texts.signIn.tooMany} />}</Card>,
      isSent ? 200 : 400,
    );
  }),
  everybody.page('/register/{registration_token}', async (visit, services) => {
    assertOpen(services);
    const registration = await findOwnRegistration(visit, services);
    return registration ? completion(visit, services, registration, null) : expired(visit);
  }),
  everybody.form('/register/{registration_token}', async (visit, services) => {
    assertOpen(services);
    const { texts, form } = visit;
    const registration = await findOwnRegistration(visit, services);
    if (!registration) return expired(visit);
    const token = tokenOf(visit);
    if (registration.passwordHash === null) return complete(visit, services, registration);
    const result = await verify(services, { token, password: form.exact('password') });
    if (result === 'wrong') return completion(visit, services, registration, texts.registration.wrongPassword);
    if (result === 'too many') return completion(visit, services, registration, texts.signIn.tooMany);
    return admitted(visit, services, result);
  }),
];

/** Returns the check of the form's captcha; null if the operator has none. */
function captchaOf({ form, ip }: Visit, { site: { captcha }, people }: ApiServices): VerifyCaptcha {
  if (captcha === null) return null;
  return () => people.verifyCaptcha(captcha, { token: form.text(captchaField(captcha.provider)), ip });
}

/** A registration with a provider is that of the browser which came back from the provider. */
async function findOwnRegistration(visit: Visit, { database }: ApiServices): Promise<Registration | null> {
  const token = tokenOf(visit);
  const registration = await findRegistration(database, token);
  if (registration === null || registration.passwordHash !== null) return registration;
  return visit.attempt !== null && registrationTokenOf(visit.attempt) === token ? registration : null;
}

/** Completes a registration with a provider. */
async function complete(visit: Visit, services: ApiServices, registration: Registration): Promise<PageResult> {
  const { form, texts } = visit;
  const name = form.text('name');
  const again = (problem: string): PageResult => completion(visit, services, registration, problem);
  if (!isPersonName(name)) return again(texts.members.nameFault(PERSON_NAME_LENGTH));
  const termsVersion = acceptedVersion(visit);
  if (termsVersion === false) return again(texts.registration.acceptFirst);
  const verifyCaptcha = captchaOf(visit, services);
  const result = await confirm(services, tokenOf(visit), { name, termsVersion, verifyCaptcha });
  if (result === 'too many') return again(texts.signIn.tooMany);
  if (result === 'captcha_failed' || result === 'captcha_unavailable')
    return again(texts.registration.refusals[result]);
  return { ...(await admitted(visit, services, result)), attempt: 'end' };
}

type Shown = Extract<PageResult, { kind: 'page' | 'redirect' }>;

function assertOpen({ site }: ApiServices): void {
  requireFound(site.registration);
}

function tokenOf({ params }: Visit): string {
  return params['registration_token'] ?? '';
}

function problemOf({ form, texts }: Visit): string | null {
  if (!isEmailAddress(form.text('email'))) return texts.signIn.noAddress;
  if (!isPersonName(form.text('name'))) return texts.members.nameFault(PERSON_NAME_LENGTH);
  const fault = passwordFault(form.exact('password'), form.exact('repeated'));
  return fault && passwordFaultText(texts, fault);
}

async function admitted(visit: Visit, { database }: ApiServices, result: Admission): Promise<Shown> {
  const { registration: messages } = visit.texts;
  if (result === 'over') return expired(visit);
  if (result === 'held') return bare(messages.heldTitle, <Card>{messages.held}</Card>);
  return enter(visit, database, result.user, { issuer: result.issuer });
}

function registrationForm(
  { form, texts }: Visit,
  { people: { canSendMail, providers }, site: { captcha } }: ApiServices,
  problem: string | null,
): PageResult {
  const { registration: messages, signIn } = texts;
  const page = bare(
    messages.title,
    <Card>
      <Problem of={problem} />
      <ProviderLinks names={providers().map(({ name }) => name)} />
      {canSendMail ? (
        <Form action="/console/register" submit={messages.submit}>
          <Field
            name="email"
            label={signIn.email}
            type="email"
            value={form.text('email')}
            required
            autocomplete="username"
          />
          <Field name="name" value={form.text('name')} required autocomplete="name" />
          <NewPassword />
          <AcceptTerms />
          {captcha === null ? null : <CaptchaCheck captcha={captcha} />}
        </Form>
      ) : (
        <p>{messages.noMail}</p>
      )}
      <p class="hint">
        <a href="/console/sign-in">{messages.haveOne}</a>
      </p>
    </Card>,
    problem === null ? 200 : 400,
  );
  return { ...page, captcha: captcha?.provider };
}

function sent({ signIn, registration: messages }: Texts, registration: string): PageResult {
  return bare(
    signIn.sentTitle,
    <Card>
      <p>{messages.sent}</p>
      <FormButton action="/console/register-again" label={messages.again} entries={{ registration }} />
    </Card>,
  );
}

/** The form that verifies the address or, for a person who comes from a provider, asks for the rest. */
function completion(
  visit: Visit,
  { site: { captcha } }: ApiServices,
  { email, passwordHash }: Registration,
  problem: string | null,
): PageResult {
  const { path, texts, form } = visit;
  const { registration: messages, signIn } = texts;
  const hasPassword = passwordHash !== null;
  const page = bare(
    hasPassword ? messages.verifyTitle : messages.title,
    <Card>
      <Problem of={problem} />
      <Form action={path} submit={hasPassword ? messages.verify : messages.submit}>
        {hasPassword ? <p>{messages.verifyIntro}</p> : null}
        <Field name="email" label={signIn.email} type="email" value={email ?? ''} autocomplete="username" />
        {hasPassword ? (
          <Field name="password" label={signIn.password} type="password" required autocomplete="current-password" />
        ) : (
          <>
            <Field name="name" value={form.text('name')} required autocomplete="name" />
            <AcceptTerms />
            {captcha === null ? null : <CaptchaCheck captcha={captcha} />}
          </>
        )}
      </Form>
    </Card>,
    problem === null ? 200 : hasPassword ? 401 : 400,
  );
  return hasPassword ? page : { ...page, captcha: captcha?.provider };
}

function expired({ texts: { registration: messages, welcome } }: Visit): Shown {
  return bare(welcome.expiredTitle, <Card>{messages.expired}</Card>, 410);
}
