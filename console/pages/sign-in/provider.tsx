/**
 * Signs a user in with a provider, and connects a provider to a user who has a password. Links, never forms, lead to the
 * provider: the pages' policy allows forms and their redirects only to this origin, and a provider may redirect to other
 * hosts.
 */
import {
  attemptOf,
  connect,
  type Identity,
  type IdentityProvider,
  ProviderDownError,
  registrationTokenOf,
  signInAs,
  SignInRefusedError,
} from '../../../services/people/provider-sign-in.ts';
import { registerWithProvider } from '../../../services/people/registration.ts';
import { canAskProvider } from '../../../services/people/sign-in.ts';
import { newToken } from '../../../services/people/sessions.ts';
import type { ApiServices } from '../../../api/services.ts';
import { requireFound, type PageResult, everybody, type Visit } from '../../page.ts';
import { enter } from './enter.ts';
import { signInForm } from './views.tsx';

export const providerPages = [
  everybody.page('/sign-in/with/{provider}', async (visit, services) => {
    const { provider: name } = visit.params;
    const provider = requireFound(services.people.providers().find((one) => one.name === name));
    const token = newToken();
    try {
      const url = await provider.authorizationUrl(attemptOf(provider, token, null));
      return { kind: 'leave', url, attempt: { token } };
    } catch (error) {
      return failed(visit, services, provider, error);
    }
  }),
  everybody.page('/sign-in/callback', async (visit, services) => {
    if (services.people.providers().length === 0) requireFound(null);
    const { attempt: token, texts } = visit;
    const arrival = token === null ? null : arrivalOf(visit, services, token);
    if (token === null || arrival === null) return refused(visit, services, texts.signIn.attemptOver);
    if (!(await canAskProvider(services.database, visit.ip))) return refused(visit, services, texts.signIn.tooMany);
    try {
      const { provider, formToken } = arrival;
      const identity = await provider.identityOf(visit.query.toString(), attemptOf(provider, token, formToken));
      return await finish(visit, services, { ...arrival, identity, token });
    } catch (error) {
      return failed(visit, services, arrival.provider, error);
    }
  }),
];

/** The attempt to which an answer belongs. */
interface Arrival {
  readonly provider: IdentityProvider;
  /** The form token of the session to which a user connects the provider; null for a sign-in. */
  readonly formToken: string | null;
}

/** Finds the attempt by the returned state, which depends on the provider and, for a connection, on the session. */
function arrivalOf({ query, session }: Visit, { people }: ApiServices, token: string): Arrival | null {
  const given = query.get('state');
  const formTokens = [null, ...(session && !session.secondFactorPending ? [session.formToken] : [])];
  const attempts = people.providers().flatMap((provider) => formTokens.map((formToken) => ({ provider, formToken })));
  return attempts.find(({ provider, formToken }) => attemptOf(provider, token, formToken).state === given) ?? null;
}

interface Answer extends Arrival {
  readonly identity: Identity;
  readonly token: string;
}

async function finish(visit: Visit, services: ApiServices, answer: Answer): Promise<Shown> {
  const { session, texts } = visit;
  const { provider, identity, formToken } = answer;
  const { database } = services;
  if (formToken !== null && session) {
    const isConnected = await connect(database, session, identity);
    return isConnected === false
      ? refused(visit, services, texts.signIn.identityTaken)
      : { kind: 'redirect', path: '/profile', attempt: 'end' };
  }
  const result = await signInAs(database, identity);
  if (result === 'unverified') {
    const facts = { request_id: visit.requestId, issuer: provider.issuer };
    services.log.info({ ...facts, reason: 'the provider has not verified the e-mail address' }, REFUSAL_LOGGED);
  }
  if (typeof result === 'string') return refused(visit, services, problemOf(result, visit, provider));
  if ('stranger' in result) return startRegistration(visit, services, answer, result.stranger);
  const { user } = result;
  const secondFactorPending = user.hasSecondFactor && !provider.asksSecondFactor;
  return { ...(await enter(visit, database, user, { issuer: provider.issuer, secondFactorPending })), attempt: 'end' };
}

function problemOf(
  result: 'unverified' | 'unknown' | 'not connected',
  { texts: { signIn: messages }, site }: Visit,
  { name }: IdentityProvider,
): string {
  if (result === 'not connected') return messages.notConnected(name);
  return result === 'unverified' && site.registration !== null ? messages.unverified(name) : messages.unknown;
}

/** The browser keeps the cookie of the attempt, to which the registration belongs. */
async function startRegistration(
  visit: Visit,
  services: ApiServices,
  { provider, identity, token: attempt }: Answer,
  email: string,
): Promise<Shown> {
  const { texts, site, ip } = visit;
  if (site.registration === null) return refused(visit, services, texts.signIn.unknown);
  const token = registrationTokenOf(attempt);
  const applicant = { identity, email, source: provider.name, ip, language: texts.language, token };
  const answer = await registerWithProvider(services, applicant);
  if (answer === 'too many') return refused(visit, services, texts.signIn.tooMany);
  if (answer.refusal !== null) return refused(visit, services, texts.registration.refusals[answer.refusal]);
  return { kind: 'redirect', path: `/register/${token}` };
}

const REFUSAL_LOGGED = 'refused a sign-in with a provider';

type Shown = Extract<PageResult, { kind: 'page' | 'redirect' }>;

function failed(visit: Visit, services: ApiServices, { name, issuer }: IdentityProvider, error: unknown): Shown {
  const { signIn: messages } = visit.texts;
  const { log } = services;
  const facts = { request_id: visit.requestId, issuer };
  if (error instanceof ProviderDownError) {
    log.warn({ err: error, ...facts }, 'a provider of sign-in does not answer');
    return refused(visit, services, messages.providerDown(name), 503);
  }
  if (!(error instanceof SignInRefusedError)) throw error;
  log.info({ ...facts, reason: error.message }, REFUSAL_LOGGED);
  return refused(visit, services, messages.attemptOver);
}

function refused(visit: Visit, services: ApiServices, problem: string, status = 401): Shown {
  return { ...signInForm(visit.texts, services, { problem, status }), attempt: 'end' };
}
