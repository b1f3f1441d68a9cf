/** The pages of the profile: language, password, second factor, the provider they sign in with, and their sessions. */
import { deleteSessionOf, deleteSessionsOf } from '../../../db/queries/sessions.ts';
import { removeSecondFactor, setLanguage, setSecondFactor } from '../../../db/queries/users.ts';
import { user } from '../../page.ts';
import { makeRecoveryCodes } from '../../../api/services/people/recovery-codes.ts';
import { inOpenSession } from '../../../api/services/people/sessions.ts';
import { openOffer, stepOfCode } from '../../../api/services/people/second-factor.ts';
import { changePassword, passwordFault } from '../../../api/services/people/sign-in.ts';
import { LANGUAGE_NAMES } from '../../texts/texts.ts';
import { faultWords } from '../../html/new-password.tsx';
import { passwordProblem } from './password-problem.ts';
import { providerProfilePages } from './provider.tsx';
import { recoveryCodes } from './second-factor.tsx';
import { profile } from './view.tsx';

export const profilePages = [
  user.page('/profile', async (visit, services) => profile(visit, services)),
  user.form('/profile/language', async ({ user, form }, { database }) => {
    const language = form.text('language');
    if (Object.hasOwn(LANGUAGE_NAMES, language)) await setLanguage(database, user.id, language);
    return { kind: 'redirect', path: '/profile' };
  }),
  user.form('/profile/password', async (visit, services) => {
    const { user, form, texts, session } = visit;
    const { database } = services;
    const problem = await passwordProblem(visit, database);
    if (problem !== null) return profile(visit, services, { password: problem });
    const password = form.exact('password');
    const fault = passwordFault(password, form.exact('repeated'));
    if (fault) return profile(visit, services, { password: faultWords(texts, fault) });
    await changePassword(database, { user, password, session });
    return { kind: 'redirect', path: '/profile' };
  }),
  user.form('/profile/second-factor', async (visit, services) => {
    const { user, form, texts, session } = visit;
    const { database, sealer, clock } = services;
    if (user.hasSecondFactor) return { kind: 'redirect', path: '/profile' };
    const secret = openOffer(sealer, session, form.text('offer'));
    const again = (problem: string) => profile(visit, services, { secondFactor: problem }, secret);
    const problem = await passwordProblem(visit, database);
    if (problem !== null) return again(problem);
    const step = secret === null ? null : stepOfCode(secret, form.text('code'), clock.nowMs());
    if (secret === null || step === null) return again(texts.signIn.wrongCode);
    const codes = await inOpenSession(database, session, async (transaction) => {
      await setSecondFactor(transaction, user.id, { sealedSecret: sealer.seal(secret, user.id), step });
      await deleteSessionsOf(transaction, user.id, session.digest);
      return makeRecoveryCodes(transaction, user.id);
    });
    return codes ? recoveryCodes(visit, codes) : { kind: 'redirect', path: '/sign-in' };
  }),
  user.form('/profile/second-factor/remove', async (visit, services) => {
    const problem = await passwordProblem(visit, services.database);
    if (problem !== null) return profile(visit, services, { secondFactor: problem });
    await removeSecondFactor(services.database, visit.user.id);
    return { kind: 'redirect', path: '/profile' };
  }),
  user.form('/profile/recovery-codes', async (visit, services) => {
    const { database } = services;
    if (!visit.user.hasSecondFactor) return { kind: 'redirect', path: '/profile' };
    const problem = await passwordProblem(visit, database);
    if (problem !== null) return profile(visit, services, { recoveryCodes: problem });
    const codes = await database.transaction((transaction) => makeRecoveryCodes(transaction, visit.user.id));
    return recoveryCodes(visit, codes);
  }),
  ...providerProfilePages,
  user.form('/profile/sessions/end', async ({ user, form }, { database }) => {
    await deleteSessionOf(database, user.id, Buffer.from(form.text('session'), 'base64url'));
    return { kind: 'redirect', path: '/profile' };
  }),
  user.form('/profile/sessions/end-others', async ({ user, session }, { database }) => {
    await deleteSessionsOf(database, user.id, session.digest);
    return { kind: 'redirect', path: '/profile' };
  }),
];
