/**
 * Sends the e-mails with links. A request for a link only writes an order to PostgreSQL; every api process reads
 * orders. The process makes the link just before it sends the e-mail, so that no stored value grants access. If the
 * process dies between sending the e-mail and removing the order, another e-mail follows a minute later; using one link
 * invalidates the other. The order of an invitation to an account is the invitation itself.
 */
import { claimInvitationToMail } from '../services/people/members.ts';
import { makeLink } from '../services/people/sign-in.ts';
import type { ApiServices } from '../api/services.ts';
import { endInvitationMail } from '../db/queries/invitations.ts';
import { claimLinkMail, type LinkMail, removeLinkMail } from '../db/queries/link-mails.ts';
import { findUserByEmail, type User } from '../db/queries/users.ts';
import { repeat, type Repetition } from '../domain/background-loop.ts';
import { textsIn } from './texts/texts.ts';

interface MailDependencies extends Pick<ApiServices, 'database' | 'log' | 'publicUrl'> {
  readonly mailer: {
    /** @throws Error whose `isFinal` is true if another attempt is useless */
    send(mail: { readonly to: string; readonly subject: string; readonly text: string }): Promise<void>;
  };
}

const PAUSE_MS = 1_000;
/** Takes about twelve hours, because the pauses between attempts grow. */
const MAX_ATTEMPTS = 10;

/** Starts to read orders. Stopping waits for the e-mail in progress. */
export function startMail(dependencies: MailDependencies): Repetition {
  const onError = (error: unknown): void =>
    dependencies.log.error({ err: error }, 'could not read the e-mails to send');
  const sendNext = async () => (await sendNextLink(dependencies)) || sendNextInvitation(dependencies);
  return repeat(sendNext, { pauseMs: PAUSE_MS, onError });
}

/** @returns whether an e-mail was due */
async function sendNextLink(dependencies: MailDependencies): Promise<boolean> {
  const { database } = dependencies;
  const order = await claimLinkMail(database);
  if (!order) return false;
  const found = await findUserByEmail(database, order.email);
  // Any person can request a link for any address, so the address may have no user.
  const isDone =
    !found || found.user.disabledAt !== null || (await sendLink(found.user, order, dependencies)) !== 'later';
  if (isDone) await removeLinkMail(database, order.email);
  return true;
}

async function sendLink(user: User, { email, attempts }: LinkMail, dependencies: MailDependencies): Promise<Outcome> {
  const { database, publicUrl } = dependencies;
  const { mail: messages } = textsIn(user.language);
  const link = publicUrl + (await makeLink(database, user.id, user.hasPassword ? 'new_password' : 'invitation'));
  const { subject, text } = user.hasPassword ? messages.newPassword : messages.invitation;
  return deliver({ to: email, subject, text: text(link) }, { attempts, facts: { user_id: user.id } }, dependencies);
}

/** @returns whether an e-mail was due */
async function sendNextInvitation(dependencies: MailDependencies): Promise<boolean> {
  const { database, publicUrl } = dependencies;
  const order = await claimInvitationToMail(database);
  if (!order) return false;
  const { email, accountId, accountName, attempts, path, digest } = order;
  const known = await findUserByEmail(database, email);
  const { subject, text } = textsIn(known?.user.language ?? 'en').mail.membership;
  const mail = { to: email, subject, text: text(publicUrl + path, accountName) };
  const outcome = await deliver(mail, { attempts, facts: { account_id: accountId } }, dependencies);
  if (outcome !== 'later') await endInvitationMail(database, digest, outcome);
  return true;
}

type Outcome = 'sent' | 'failed' | 'later';

/** @param facts the fields of the log line; never the address or the link */
async function deliver(
  mail: { readonly to: string; readonly subject: string; readonly text: string },
  { attempts, facts }: { readonly attempts: number; readonly facts: Readonly<Record<string, string>> },
  { mailer, log }: MailDependencies,
): Promise<Outcome> {
  try {
    await mailer.send(mail);
    return 'sent';
  } catch (error) {
    const isGivenUp = isFinal(error) || attempts >= MAX_ATTEMPTS;
    const report = { ...facts, attempts, reason: error instanceof Error ? error.message : 'unknown' };
    if (isGivenUp) log.error(report, 'an e-mail with a link could not be sent; create a new link');
    else log.warn(report, 'an e-mail with a link is tried again later');
    return isGivenUp ? 'failed' : 'later';
  }
}

function isFinal(error: unknown): boolean {
  return error instanceof Error && 'isFinal' in error && error.isFinal === true;
}
