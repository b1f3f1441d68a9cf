/** Composes the e-mails of each kind. */
import { publicOffer } from '../../services/operations/public-offer.ts';
import { makeInvitationLink } from '../../services/people/members.ts';
import { makeAddressLink } from '../../services/people/address-change.ts';
import { makeRegistrationLink } from '../../services/people/registration.ts';
import { makeLink } from '../../services/people/sign-in.ts';
import type { Site } from '../../catalogue/site.ts';
import type { Catalogue } from '../../catalogue/types.ts';
import type { Database } from '../../db/database.ts';
import type { Mail } from '../../db/queries/mails.ts';
import type { User } from '../../db/queries/users.ts';
import { NOTICE_TIMES } from '../../domain/policy.ts';
import type { MailKind } from '../../domain/mail.ts';
import { firstExample } from '../public/example-calls.ts';
import { inLanguage, type Texts, wordFor } from '../texts/texts.ts';
import type { Letter, LetterTexts } from './letter.tsx';

export interface ComposeContext {
  readonly mail: Mail;
  readonly database: Database;
  readonly publicUrl: string;
  readonly catalogue: Catalogue;
  readonly site: Site;
  /** The user whom the e-mail names, or who has its address; null if there is none. */
  readonly user: User | null;
  /** In the language of the receiver. */
  readonly texts: Texts;
}

/** Returns the e-mail, or null if there is nothing to send any more. Every attempt to send the e-mail composes it anew. */
type Compose = (context: ComposeContext) => Promise<Letter | null> | Letter | null;

export const COMPOSERS: Readonly<Record<MailKind, Compose>> = {
  // Any person can request a link for any address, so the address may have no user.
  password_link: async ({ database, publicUrl, user, texts: { mail: messages } }) => {
    if (!user) return null;
    const path = await makeLink(database, user.id, user.hasPassword ? 'new_password' : 'invitation');
    return { ...(user.hasPassword ? messages.newPassword : messages.invitation), url: publicUrl + path };
  },
  membership: async ({ mail, database, publicUrl, texts }) => {
    const link = await makeInvitationLink(database, mail.id);
    if (!link) return null;
    return { ...texts.mail.membership(oneLine(link.accountName)), url: publicUrl + link.path, replacesLink: true };
  },
  new_device: aboutPage('/profile', (fact, { mail: messages, profile }) =>
    messages.newDevice(fact('device') || profile.unknownDevice, fact('network'), minuteOf(fact('at'))),
  ),
  password_changed: aboutPage('/lost-password', (_fact, { mail: messages }) => messages.passwordChanged),
  account_closed: aboutPage('', (fact, { mail: messages }) => messages.accountClosed(fact('account'))),
  welcome: ({ mail: { facts }, publicUrl, catalogue, texts }) => ({
    ...texts.mail.welcome,
    ...(facts['approved'] === 'yes' && texts.mail.approved),
    url: `${publicUrl}/console`,
    code: firstCall(catalogue, publicUrl),
  }),
  balance_low: aboutAccount(
    () => 'billing',
    (fact, { mail: messages }) => messages.balanceLow(fact('account'), fact('balance'), fact('threshold')),
  ),
  top_up_failed: aboutAccount(
    () => 'billing',
    (fact, { mail: messages }) => messages.topUpFailed(fact('account'), fact('reason')),
  ),
  document_issued: aboutAccount(
    (fact) => `billing/documents/${fact('document')}`,
    (fact, texts) => texts.mail.documentIssued(wordFor('kind', fact('kind'), texts), fact('number'), fact('total')),
  ),
  month_statement: aboutAccount(
    (fact) => `billing/statements/${fact('month')}`,
    (fact, { mail: messages }) => messages.monthStatement(fact('account'), fact('month')),
  ),
  plan_paid: aboutAccount(
    () => 'billing/plan/payments',
    (fact, texts, site) =>
      texts.mail.planPaid(planName(fact, texts, site), {
        isRenewal: fact('renewed') !== '',
        paid: fact('paid'),
        credit: fact('credit'),
        until: minuteOf(fact('until')),
      }),
  ),
  plan_payment_failed: aboutAccount(
    () => 'billing/plan/payments',
    (fact, texts, site) =>
      texts.mail.planPaymentFailed(fact('account'), planName(fact, texts, site), minuteOf(fact('until'))),
  ),
  plan_ending: aboutAccount(
    () => 'billing',
    (fact, texts, site) => texts.mail.planEnding(fact('account'), planName(fact, texts, site), minuteOf(fact('until'))),
  ),
  plan_ended: aboutAccount(
    () => 'billing',
    (fact, texts, site) => texts.mail.planEnded(fact('account'), planName(fact, texts, site)),
  ),
  key_expiring: aboutAccount(
    (fact) => `keys/${fact('key')}`,
    (fact, { mail: messages }) => messages.keyExpiring(keyName(fact), minuteOf(fact('at'))),
  ),
  key_limit_near: aboutAccount(
    (fact) => `keys/${fact('key')}`,
    (fact, { mail: messages }) => messages.keyLimitNear(keyName(fact), NOTICE_TIMES.keyLimitPercent),
  ),
  late_result: aboutAccount(
    (fact) => `tasks/${fact('task')}`,
    (fact, { mail: messages }) => messages.lateResult(fact('task'), minuteOf(fact('until'))),
  ),
  webhook_failing: aboutAccount(
    (fact) => `webhooks/${fact('endpoint')}`,
    (fact, { mail: messages }) => messages.webhookFailing(fact('url'), minuteOf(fact('at'))),
  ),
  webhook_disabled: aboutAccount(
    (fact) => `webhooks/${fact('endpoint')}`,
    (fact, { mail: messages }) => messages.webhookDisabled(fact('url'), fact('reason')),
  ),
  address_change: async ({ mail, database, publicUrl, user, texts: { mail: messages } }) => {
    const link = user && (await makeAddressLink(database, user.id, mail.address));
    if (!link) return null;
    return { ...messages.addressChange(link.oldEmail, link.newEmail), url: publicUrl + link.path, replacesLink: true };
  },
  registration: async ({ mail: { facts }, database, publicUrl, user, texts: { mail: messages } }) => {
    const link = await makeRegistrationLink(database, facts['registration'] ?? '', user);
    if (link === 'known address') return { ...messages.knownAddress, url: `${publicUrl}/console/sign-in` };
    return link && { ...messages.registration, url: publicUrl + link.path, replacesLink: true };
  },
  registration_rejected: ({ mail: { facts }, publicUrl, texts: { mail: messages } }) => ({
    ...messages.rejected(oneLine(facts['message'] ?? '', MAX_MESSAGE_LENGTH)),
    url: `${publicUrl}/`,
  }),
};

/** Returns a fact of an e-mail on one line; empty if its order lacks the fact. */
type FactOf = (name: string) => string;

/** The e-mail about a page of the console. */
function aboutPage(path: string, textsOf: (fact: FactOf, texts: Texts) => LetterTexts): Compose {
  return ({ mail, publicUrl, texts }) => ({ ...textsOf(factsOf(mail), texts), url: `${publicUrl}/console${path}` });
}

/** The e-mail about a page of an account. */
function aboutAccount(
  pathOf: (fact: FactOf) => string,
  textsOf: (fact: FactOf, texts: Texts, site: Site) => LetterTexts,
): Compose {
  return ({ mail, publicUrl, texts, site }) => {
    const fact = factsOf(mail);
    const url = `${publicUrl}/console/accounts/${mail.accountId}/${pathOf(fact)}`;
    return { ...textsOf(fact, texts, site), url };
  };
}

function factsOf({ facts }: Mail): FactOf {
  return (name) => oneLine(facts[name] ?? '');
}

const MAX_FACT_LENGTH = 120;
/** As long as the message of an operator may be. */
const MAX_MESSAGE_LENGTH = 500;

/** Returns a text of a customer so that it stays within its sentence. */
function oneLine(text: string, maxLength = MAX_FACT_LENGTH): string {
  const line = text.replaceAll(/[\p{C}\p{Z}]+/gu, ' ').trim();
  return line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line;
}

function keyName(fact: FactOf): string {
  return fact('name') || `…${fact('hint')}`;
}

/** The id of a plan that the site no longer has is its name. */
function planName(fact: FactOf, texts: Texts, { plans }: Site): string {
  const plan = plans.find(({ id }) => id === fact('plan'));
  return plan === undefined ? fact('plan') : inLanguage(plan.name, texts);
}

/** @param at in ISO 8601 */
function minuteOf(at: string): string {
  return `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** Returns a call of the first model in the catalogue that answers at once; undefined if there is none. */
function firstCall(catalogue: Catalogue, publicUrl: string): string | undefined {
  const models = publicOffer(catalogue, { disabledBy: () => null });
  return firstExample(
    models.filter(({ family }) => family !== null),
    publicUrl,
  );
}
