/** Connects the OpenID provider to a user who has a password, and disconnects it. */
import { attemptOf, ProviderDownError } from '../../../api/services/people/provider-sign-in.ts';
import { newToken } from '../../../api/services/people/sessions.ts';
import { deleteIdentities } from '../../../db/queries/identities.ts';
import { Card } from '../../html/components.tsx';
import { type PageResult, user, type UserVisit } from '../../page.ts';
import { passwordProblem } from './password-problem.ts';
import { profile } from './view.tsx';

export const providerProfilePages = [
  user.form('/profile/provider', async (visit, services) => {
    const { openIdProvider, database } = services;
    if (openIdProvider === null) return { kind: 'redirect', path: '/profile' };
    const problem = await passwordProblem(visit, database);
    if (problem !== null) return profile(visit, services, { provider: problem });
    const { texts, session } = visit;
    const token = newToken();
    try {
      const url = await openIdProvider.authorizationUrl(attemptOf(token, session.formToken));
      return { ...leadOn(visit, openIdProvider.name, url), attempt: { token } };
    } catch (error) {
      if (!(error instanceof ProviderDownError)) throw error;
      return profile(visit, services, { provider: texts.signIn.providerDown(openIdProvider.name) });
    }
  }),
  user.form('/profile/provider/disconnect', async (visit, services) => {
    const { openIdProvider, database } = services;
    if (openIdProvider === null) return { kind: 'redirect', path: '/profile' };
    const problem = await passwordProblem(visit, database);
    if (problem !== null) return profile(visit, services, { provider: problem });
    await deleteIdentities(database, visit.user.id, openIdProvider.issuer);
    return { kind: 'redirect', path: '/profile' };
  }),
];

/** Shows a link instead of a redirect, because the policy of the pages lets forms lead to this origin only. */
function leadOn({ texts: { profile: words, signIn } }: UserVisit, name: string, url: string) {
  return {
    kind: 'page',
    title: signIn.withProvider(name),
    content: (
      <Card>
        <a class="button" href={url}>
          {words.continue(name)}
        </a>
      </Card>
    ),
  } satisfies PageResult;
}
