/** The forms of the profile: language, password, second factor, sign-in provider, and sessions. */
import { attemptOf, type IdentityProvider, ProviderDownError } from '../../../services/people/provider-sign-in.ts';
import { makeRecoveryCodes } from '../../../services/people/recovery-codes.ts';
import { decryptOffer, findTimeStep } from '../../../services/people/second-factor.ts';
import { inOpenSession, newToken } from '../../../services/people/sessions.ts';
import { changePassword, confirmPassword, passwordFault } from '../../../services/people/sign-in.ts';
import { requestAddressChange } from '../../../services/people/address-change.ts';
import type { ApiServices } from '../../../api/services.ts';
import { deleteIdentities } from '../../../db/queries/identities.ts';
import { deleteUserSession, deleteUserSessions } from '../../../db/queries/sessions.ts';
import { removeSecondFactor, setLanguage, setSecondFactor, setUnwantedMails } from '../../../db/queries/users.ts';
import { isEmailAddress } from '../../../domain/email-address.ts';
import { NOTICES } from '../../../domain/mail.ts';
import { FormError } from '../../form-problem.ts';
import { ButtonLink, Card } from '../../html/components.tsx';
import { passwordFaultText } from '../../html/new-password.tsx';
import { type PageResult, requireFound, showPage, user, type UserVisit } from '../../page.ts';
import { LANGUAGE_NAMES } from '../../texts/texts.ts';
import { addressPages } from './address.tsx';
import { recoveryCodes } from './second-factor.tsx';
import { profile } from './view.tsx';

const page = user.page('/profile', profile);

export const profilePages = [
  page,
  ...addressPages,
  page.form('/language', null, async ({ user, form }, { database }) => {
    const language = form.text('language');
    if (Object.hasOwn(LANGUAGE_NAMES, language)) await setLanguage(database, user.id, language);
  }),
  page.form('/mails', null, async ({ user, form }, { database }) => {
    const wanted = form.all('mails');
    const unwanted = NOTICES.filter((kind) => !wanted.includes(kind));
    await setUnwantedMails(database, user.id, unwanted);
  }),
  page.form(
    '/password',
    null,
    async (visit, services) => {
      const { user, form, texts, session } = visit;
      await assertPassword(visit, services);
      const password = form.exact('password');
      const fault = passwordFault(password, form.exact('repeated'));
      if (fault) throw new FormError(passwordFaultText(texts, fault), { field: 'password' });
      await changePassword(services.database, { user, password, session });
    },
    'passwordChanged',
  ),
  page.form('/address', null, changeAddress, 'addressesAsked'),
  page.form('/second-factor', null, addSecondFactor, (visit, codes) =>
    codes === null ? '/profile' : recoveryCodes(visit, codes),
  ),
  page.form(
    '/second-factor/remove',
    null,
    async (visit, services) => {
      await assertPassword(visit, services);
      await removeSecondFactor(services.database, visit.user.id);
    },
    'secondFactorRemoved',
  ),
  page.form(
    '/recovery-codes',
    null,
    async (visit, services) => {
      if (!visit.user.hasSecondFactor) return null;
      await assertPassword(visit, services);
      return services.database.transaction((transaction) => makeRecoveryCodes(transaction, visit.user.id));
    },
    (visit, codes) => (codes === null ? '/profile' : recoveryCodes(visit, codes)),
  ),
  page.form('/provider', null, connectProvider, (_visit, shown) => shown),
  page.form(
    '/provider/disconnect',
    null,
    async (visit, services) => {
      const { database } = services;
      const provider = providerIn(visit, services);
      await assertPassword(visit, services);
      await deleteIdentities(database, visit.user.id, provider.issuer);
    },
    'disconnected',
  ),
  page.form(
    '/sessions/end',
    null,
    ({ user, form }, { database }) =>
      deleteUserSession(database, user.id, Buffer.from(form.text('session'), 'base64url')),
    'signedOut',
  ),
  page.form(
    '/sessions/end-others',
    null,
    ({ user, session }, { database }) => deleteUserSessions(database, user.id, session.digest),
    'signedOut',
  ),
];

/** Checks the current password before a change that could lock the user out. @throws FormError */
export async function assertPassword({ user, form, texts }: UserVisit, { database }: ApiServices): Promise<void> {
  const result = await confirmPassword(database, user, form.exact('current'));
  if (result === 'right') return;
  const messages = result === 'wrong' ? texts.profile.wrongPassword : texts.signIn.tooMany;
  throw new FormError(messages, { field: 'current' });
}

async function changeAddress(visit: UserVisit, services: ApiServices): Promise<void> {
  const { user, form, texts } = visit;
  requireFound(services.people.canSendMail || null);
  const email = form.text('email').toLowerCase();
  if (!isEmailAddress(email)) throw new FormError(texts.signIn.noAddress, { field: 'email' });
  if (email === user.email) throw new FormError(texts.address.same, { field: 'email' });
  await assertPassword(visit, services);
  if (!(await requestAddressChange(services.database, user, email))) throw new FormError(texts.signIn.tooMany);
}

/** @returns the recovery codes, or null if the user already had a second factor or the session has ended */
async function addSecondFactor(visit: UserVisit, services: ApiServices): Promise<readonly string[] | null> {
  const { user, form, texts, session } = visit;
  const { database, encryption, clock } = services;
  if (user.hasSecondFactor) return null;
  await assertPassword(visit, services);
  const secret = decryptOffer(encryption, session, form.text('offer'));
  const step = secret === null ? null : findTimeStep(secret, form.text('code'), clock.nowMs());
  if (secret === null || step === null) throw new FormError(texts.signIn.wrongCode, { field: 'code' });
  return inOpenSession(database, session, async (transaction) => {
    await setSecondFactor(transaction, user.id, { encryptedSecret: encryption.encrypt(secret, user.id), step });
    await deleteUserSessions(transaction, user.id, session.digest);
    return makeRecoveryCodes(transaction, user.id);
  });
}

async function connectProvider(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const provider = providerIn(visit, services);
  await assertPassword(visit, services);
  const token = newToken();
  try {
    const url = await provider.authorizationUrl(attemptOf(provider, token, visit.session.formToken));
    return { ...leadOn(visit, provider, url), attempt: { token } };
  } catch (error) {
    if (!(error instanceof ProviderDownError)) throw error;
    throw new FormError(visit.texts.signIn.providerDown(provider.name));
  }
}

function providerIn({ form }: UserVisit, { people }: ApiServices): IdentityProvider {
  return requireFound(people.providers().find(({ name }) => name === form.text('provider')));
}

/** Shows a link in place of a redirect, because the pages' policy allows forms to redirect only to this origin. */
function leadOn({ texts: { profile: messages, signIn } }: UserVisit, { name }: IdentityProvider, url: string) {
  return showPage(
    signIn.withProvider(name),
    <Card>
      <ButtonLink href={url} label={messages.continue(name)} />
    </Card>,
  );
}
