/** The profile of the user. */
import type { ApiServices } from '../../../api/services/services.ts';
import { listOpenSessions } from '../../../api/services/people/sessions.ts';
import { hasIdentity } from '../../../db/queries/identities.ts';
import { countRecoveryCodes } from '../../../db/queries/recovery-codes.ts';
import { Card, Choice, Form, Problem } from '../../html/components.tsx';
import { Facts } from '../../html/facts.tsx';
import { NewPassword } from '../../html/new-password.tsx';
import type { PageResult, UserVisit } from '../../page.ts';
import { LANGUAGE_NAMES } from '../../texts/texts.ts';
import { ProviderCard } from './provider-card.tsx';
import { AddSecondFactor, CurrentPassword, OwnSecondFactor } from './second-factor.tsx';
import { Sessions } from './sessions.tsx';

/** The problem of each form. */
export interface ProfileProblems {
  readonly password?: string;
  readonly secondFactor?: string;
  readonly recoveryCodes?: string;
  readonly provider?: string;
}

/** @param offered the secret of a second factor that was offered before */
export async function profile(
  visit: UserVisit,
  services: ApiServices,
  problems: ProfileProblems = {},
  offered: string | null = null,
): Promise<PageResult> {
  const { user, texts } = visit;
  const { database, sealer, openIdProvider } = services;
  const sessions = await listOpenSessions(database, user.id);
  const codesLeft = user.hasSecondFactor ? await countRecoveryCodes(database, user.id) : 0;
  const isConnected = openIdProvider !== null && (await hasIdentity(database, user.id, openIdProvider.issuer));
  const { secondFactor = null, recoveryCodes: codesProblem = null, provider = null } = problems;
  return {
    kind: 'page',
    title: texts.navigation.profile,
    status: Object.keys(problems).length > 0 ? 400 : 200,
    content: (
      <>
        <Card>
          <Facts
            facts={[
              [texts.fields.name, user.name],
              [texts.signIn.email, user.email],
            ]}
          />
        </Card>
        <div class="grid">
          <Language visit={visit} />
          {user.hasPassword ? (
            <Password visit={visit} problem={problems.password ?? null} />
          ) : (
            <NoPassword visit={visit} />
          )}
          {!user.hasPassword ? null : user.hasSecondFactor ? (
            <OwnSecondFactor codesLeft={codesLeft} problem={secondFactor} codesProblem={codesProblem} />
          ) : (
            <AddSecondFactor visit={visit} sealer={sealer} offered={offered} problem={secondFactor} />
          )}
          {openIdProvider !== null && user.hasPassword ? (
            <ProviderCard name={openIdProvider.name} isConnected={isConnected} problem={provider} />
          ) : null}
          <Sessions visit={visit} sessions={sessions} />
        </div>
      </>
    ),
  };
}

interface OfVisit {
  readonly visit: UserVisit;
}

function Language({ visit: { user, texts } }: OfVisit) {
  const { profile: words, common } = texts;
  return (
    <Card title={words.language}>
      <Form action="/console/profile/language">
        <Choice name="language" label={words.language} value={user.language} options={Object.entries(LANGUAGE_NAMES)} />
        <button type="submit">{common.save}</button>
      </Form>
    </Card>
  );
}

function Password({ visit: { texts }, problem }: OfVisit & { readonly problem: string | null }) {
  const { profile: words, common, signIn } = texts;
  return (
    <Card title={signIn.password}>
      <Problem of={problem} />
      <Form action="/console/profile/password">
        <CurrentPassword label={words.current} id="password" />
        <NewPassword />
        <button type="submit">{common.save}</button>
      </Form>
    </Card>
  );
}

function NoPassword({ visit: { texts } }: OfVisit) {
  return (
    <Card title={texts.signIn.password}>
      <p>{texts.profile.noPassword}</p>
    </Card>
  );
}
