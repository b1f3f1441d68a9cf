/**
 * Signs a user in with the OpenID provider, and connects the provider to a user who has a password. Links, never forms,
 * lead to the provider: the pages' policy allows forms and their redirects only to this origin, and a provider may
 * redirect to other hosts.
 */
import {
  attemptOf,
  connect,
  type Identity,
  type OpenIdProvider,
  ProviderDownError,
  signInAs,
  SignInRefusedError,
} from '../../../services/people/provider-sign-in.ts';
import { canAskProvider } from '../../../services/people/sign-in.ts';
import { newToken } from '../../../services/people/sessions.ts';
import type { ApiServices } from '../../../api/services.ts';
import { requireFound, type PageResult, everybody, type Visit } from '../../page.ts';
import { enter } from './enter.ts';
import { signInForm } from './views.tsx';

export const providerPages = [
  everybody.page('/sign-in/provider', async (visit, services) => {
    const provider = providerOf(services);
    const token = newToken();
    try {
      const url = await provider.authorizationUrl(attemptOf(token, null));
      return { kind: 'leave', url, attempt: { token } };
    } catch (error) {
      return failed(visit, services, error);
    }
  }),
  everybody.page('/sign-in/callback', async (visit, services) => {
    const provider = providerOf(services);
    const { attempt, texts } = visit;
    if (attempt === null) return refused(visit, services, texts.signIn.attemptOver);
    if (!(await canAskProvider(services.database, visit.ip))) return refused(visit, services, texts.signIn.tooMany);
    try {
      const answer = await finish(visit, services, await identityOf(provider, visit, attempt));
      return { ...answer, attempt: 'end' };
    } catch (error) {
      return failed(visit, services, error);
    }
  }),
];

/** The identity that the provider returned, and the purpose of the attempt. */
interface Arrival {
  readonly identity: Identity;
  /** True if a signed-in user connects the provider, false for a sign-in. */
  readonly isConnecting: boolean;
}

/** Distinguishes a connection from a sign-in by the returned state: a connection's state depends on the session. */
async function identityOf(provider: OpenIdProvider, { query, session }: Visit, token: string): Promise<Arrival> {
  const given = query.get('state');
  const formToken = session && !session.secondFactorPending ? session.formToken : null;
  const isConnecting = formToken !== null && attemptOf(token, formToken).state === given;
  const attempt = attemptOf(token, isConnecting ? formToken : null);
  return { identity: await provider.identityOf(query.toString(), attempt), isConnecting };
}

async function finish(visit: Visit, services: ApiServices, { identity, isConnecting }: Arrival): Promise<Shown> {
  const { session, texts } = visit;
  const { database } = services;
  if (isConnecting && session) {
    const isConnected = await connect(database, session, identity);
    return isConnected === false
      ? refused(visit, services, texts.signIn.identityTaken)
      : { kind: 'redirect', path: '/profile' };
  }
  const result = await signInAs(database, identity);
  if (result === 'not connected') return refused(visit, services, texts.signIn.notConnected(providerOf(services).name));
  if (result === 'unknown') return refused(visit, services, texts.signIn.unknown);
  const { user } = result;
  const secondFactorPending = user.hasSecondFactor && !providerOf(services).asksSecondFactor;
  return enter(visit, database, user, { byProvider: true, secondFactorPending });
}

type Shown = Extract<PageResult, { kind: 'page' | 'redirect' }>;

function failed(visit: Visit, services: ApiServices, error: unknown): Shown {
  const { signIn: messages } = visit.texts;
  const { log } = services;
  const { openIdProvider } = services.people;
  if (error instanceof ProviderDownError) {
    log.warn({ err: error, request_id: visit.requestId }, 'the OpenID Connect provider does not answer');
    return refused(visit, services, messages.providerDown(openIdProvider?.name ?? ''), 503);
  }
  if (!(error instanceof SignInRefusedError)) throw error;
  log.info(
    { request_id: visit.requestId, reason: error.message },
    'refused a sign-in with the OpenID Connect provider',
  );
  return refused(visit, services, messages.attemptOver);
}

function refused(visit: Visit, services: ApiServices, problem: string, status = 401): Shown {
  return { ...signInForm(visit.texts, services, { problem, status }), attempt: 'end' };
}

function providerOf({ people: { openIdProvider } }: ApiServices): OpenIdProvider {
  return requireFound(openIdProvider);
}
