/** The page on which an owner closes the account for ever. */
import { closeAccount, closingRefusalOf } from '../../../services/people/close-account.ts';
import { existingAccount } from '../../../services/people/existing-account.ts';
import { isRecentSignIn, RECENT_MINUTES } from '../../../services/people/sessions.ts';
import type { ApiServices } from '../../../api/services.ts';
import { FormError } from '../../form-problem.ts';
import { Card, Facts, Field, Form, RoundedMoney } from '../../html/components.tsx';
import { member, type MemberVisit, type PageResult, showPage, type UserVisit } from '../../page.ts';
import { assertPassword } from '../profile/pages.tsx';
import { CurrentPassword } from '../profile/second-factor.tsx';

const page = member.page('/accounts/{account_id}/close', 'own', showClosing);

export const closeAccountPages = [page, page.form('', 'own', close, showClosed)];

async function close(visit: MemberVisit, services: ApiServices): Promise<{ readonly isUserDeleted: boolean }> {
  const { account, user, form, texts } = visit;
  const { closeAccount: messages } = texts;
  if (form.text('name') !== account.accountName.trim()) throw new FormError(messages.wrongName, { field: 'name' });
  if (user.hasPassword) await assertPassword(visit, services);
  else if (needsSignIn(visit, services)) throw new FormError(messages.signInFirst(RECENT_MINUTES));
  const closed = await closeAccount(services.database, { accountId: account.accountId, ownerId: user.id });
  if (typeof closed === 'string') throw new FormError(messages.refusals[closed], { code: 'idempotency_conflict' });
  return closed;
}

function needsSignIn({ user, session }: UserVisit, { clock }: ApiServices): boolean {
  return !user.hasPassword && !isRecentSignIn(session, clock.nowMs());
}

function showClosed(
  { account, texts: { closeAccount: messages } }: MemberVisit,
  { isUserDeleted }: { readonly isUserDeleted: boolean },
): PageResult {
  const shown = showPage(
    messages.title,
    <Card>
      <p>{messages.closed(account.accountName)}</p>
      {isUserDeleted ? <p>{messages.userDeleted}</p> : null}
    </Card>,
  );
  return isUserDeleted ? { ...shown, session: 'end' } : shown;
}

async function showClosing(visit: MemberVisit, services: ApiServices): Promise<PageResult> {
  const { closeAccount: messages } = visit.texts;
  const account = await existingAccount(services.database, visit.account.accountId);
  const refusal = closingRefusalOf(account);
  return showPage(
    messages.title,
    <Card title={account.name}>
      <ul>
        {messages.effects.map((effect) => (
          <li>{effect}</li>
        ))}
      </ul>
      <Facts
        facts={[
          [messages.funds, <RoundedMoney amount={account.fundedAvailable} />],
          [messages.lapsing, <RoundedMoney amount={account.signupAvailable} />],
          [messages.held, <RoundedMoney amount={account.fundedReserved + account.signupReserved} />],
        ]}
      />
    </Card>,
    <Card title={messages.submit}>
      {refusal !== null ? (
        <p>{messages.refusals[refusal]}</p>
      ) : needsSignIn(visit, services) ? (
        <Form action="/console/sign-out" submit={visit.texts.navigation.signOut}>
          <p>{messages.signInFirst(RECENT_MINUTES)}</p>
        </Form>
      ) : (
        <Form action={visit.path} submit={messages.submit} look="danger">
          <Field
            name="name"
            label={messages.typeName}
            hint={messages.typeHint(account.name)}
            required
            autocomplete="off"
          />
          {visit.user.hasPassword ? <CurrentPassword id="close" /> : null}
        </Form>
      )}
    </Card>,
  );
}
