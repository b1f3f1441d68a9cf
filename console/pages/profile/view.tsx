/** The profile of the user. */
import type { ApiServices } from '../../../api/services.ts';
import { listOpenSessions } from '../../../services/people/sessions.ts';
import { listIdentities } from '../../../db/queries/identities.ts';
import { countRecoveryCodes } from '../../../db/queries/recovery-codes.ts';
import { NOTICES } from '../../../domain/mail.ts';
import { hasMemberPermission } from '../../../domain/roles.ts';
import { ButtonLink, Card, Check, Choice, Facts, Form } from '../../html/components.tsx';
import { NewPassword } from '../../html/new-password.tsx';
import { useTexts } from '../../html/page-context.ts';
import { type PageResult, showPage, type UserVisit } from '../../page.ts';
import { LANGUAGE_NAMES } from '../../texts/texts.ts';
import { ChangeAddress } from './address.tsx';
import { AddSecondFactor, CurrentPassword, OwnSecondFactor } from './second-factor.tsx';
import { Sessions } from './sessions.tsx';

export async function profile(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const { user, texts } = visit;
  const { database, encryption } = services;
  const connected = (await listIdentities(database, user.id)).map(({ issuer }) => issuer);
  const { fields, signIn, profile: messages, navigation, common } = texts;
  const sessions = await listOpenSessions(database, user.id);
  const codesLeft = user.hasSecondFactor ? await countRecoveryCodes(database, user.id) : 0;
  return showPage(
    navigation.profile,
    <Card>
      <Facts
        facts={[
          [fields.name, user.name],
          [signIn.email, user.email],
        ]}
      />
    </Card>,
    <div class="grid">
      <Card title={messages.language}>
        <Form action="/console/profile/language" submit={common.save}>
          <Choice
            name="language"
            label={messages.language}
            value={user.language}
            options={Object.entries(LANGUAGE_NAMES)}
          />
        </Form>
      </Card>
      {services.people.canSendMail ? (
        <Card title={messages.mails}>
          <Form action="/console/profile/mails" submit={common.save}>
            <p class="soft">{messages.mailsExplained}</p>
            {NOTICES.map((kind) => (
              <Check
                name="mails"
                value={kind}
                label={texts.values.mail_kind[kind]}
                isChecked={!user.unwantedMails.includes(kind)}
              />
            ))}
          </Form>
        </Card>
      ) : null}
      {services.people.canSendMail && user.hasPassword ? <ChangeAddress /> : null}
      <Card title={signIn.password}>
        {user.hasPassword ? (
          <Form action="/console/profile/password" submit={common.save}>
            <CurrentPassword id="password" />
            <NewPassword />
          </Form>
        ) : (
          <p>{messages.noPassword}</p>
        )}
      </Card>
      {!user.hasPassword ? null : user.hasSecondFactor ? (
        <OwnSecondFactor codesLeft={codesLeft} />
      ) : (
        <AddSecondFactor visit={visit} encryption={encryption} />
      )}
      {user.hasPassword
        ? services.people
            .providers()
            .map(({ name, issuer }) => <Provider name={name} isConnected={connected.includes(issuer)} />)
        : null}
      <Sessions visit={visit} sessions={sessions} />
      <OwnedAccounts memberships={visit.memberships} />
    </div>,
  );
}

/** Connects or disconnects a provider. Only for users with a password, who can still sign in without the provider. */
function Provider({ name, isConnected }: { name: string; isConnected: boolean }) {
  const { profile: messages, signIn } = useTexts();
  return (
    <Card title={signIn.withProvider(name)}>
      <p>{isConnected ? messages.connected : messages.notConnected}</p>
      <Form
        action={isConnected ? '/console/profile/provider/disconnect' : '/console/profile/provider'}
        submit={isConnected ? messages.disconnect : messages.connect}
        look={isConnected ? 'danger' : ''}
      >
        <input type="hidden" name="provider" value={name} />
        <CurrentPassword id={`provider-${name}`} />
      </Form>
    </Card>
  );
}

/** Links to the closing of the accounts that the user owns. */
function OwnedAccounts({ memberships }: Pick<UserVisit, 'memberships'>) {
  const { closeAccount: messages } = useTexts();
  const owned = memberships.filter(({ role }) => hasMemberPermission(role, 'own'));
  if (owned.length === 0) return null;
  return (
    <Card title={messages.title}>
      <p class="soft">{messages.owned}</p>
      <div class="row actions">
        {owned.map(({ accountId, accountName }) => (
          <ButtonLink href={`/console/accounts/${accountId}/close`} label={`${accountName} …`} look="quiet" />
        ))}
      </div>
    </Card>
  );
}
