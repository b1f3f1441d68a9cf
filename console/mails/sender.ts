/**
 * Sends the e-mails of the outbox, in every api process. A process composes an e-mail just before it sends the e-mail,
 * so that no stored value grants access. If the process dies between sending the e-mail and recording it, the e-mail is
 * sent again a minute later, with the same id.
 */
import { MailError, type Mailer, type OutgoingMail } from '../../services/people/mailer.ts';
import type { Site } from '../../catalogue/site.ts';
import type { Catalogue } from '../../catalogue/types.ts';
import type { ApiServices } from '../../api/services.ts';
import { claimMail, endMail, type Mail } from '../../db/queries/mails.ts';
import { findUser, findUserByEmail, type User } from '../../db/queries/users.ts';
import { isNotice } from '../../domain/mail.ts';
import { repeat, type Repetition } from '../../domain/background-loop.ts';
import { textsIn } from '../texts/texts.ts';
import { COMPOSERS } from './kinds.ts';
import { renderHtml, renderText } from './letter.tsx';

interface MailDependencies extends Pick<ApiServices, 'database' | 'log' | 'publicUrl'> {
  /** The current site, whose look the e-mails have. */
  readonly site: () => Site;
  readonly catalogue: () => Catalogue;
  readonly mailer: Mailer;
}

type Result = Pick<Mail, 'outcome' | 'failure'>;

const SKIPPED: Result = { outcome: 'skipped', failure: null };

const PAUSE_MS = 1_000;
/** Takes about twelve hours, because the pauses between attempts grow. */
const MAX_ATTEMPTS = 10;
/** E-mails that were ordered while no mail server was configured are old news. */
const MAX_AGE_MS = 24 * 3_600_000;
const MAX_FAILURE_LENGTH = 500;

/** Starts to send e-mails. Stopping waits for the e-mail in progress. */
export function startMails(dependencies: MailDependencies): Repetition {
  const onError = (error: unknown): void =>
    dependencies.log.error({ err: error }, 'could not read the e-mails to send');
  return repeat(() => sendNext(dependencies), { pauseMs: PAUSE_MS, onError });
}

/** @returns whether an e-mail was due */
async function sendNext(dependencies: MailDependencies): Promise<boolean> {
  const { database } = dependencies;
  const mail = await claimMail(database);
  if (!mail) return false;
  await endMail(database, mail.id, await attempt(mail, dependencies));
  return true;
}

async function attempt(mail: Mail, dependencies: MailDependencies): Promise<Result> {
  if (Date.now() - mail.createdAt.getTime() > MAX_AGE_MS) return { outcome: 'given_up', failure: mail.failure };
  const user = await findReceiver(mail, dependencies);
  if (user !== null && !isWanted(mail, user)) return SKIPPED;
  const { database, publicUrl } = dependencies;
  const site = dependencies.site();
  const texts = textsIn(user?.language ?? mail.facts['language'] ?? 'en', site.name);
  const catalogue = dependencies.catalogue();
  const letter = await COMPOSERS[mail.kind]({ mail, database, publicUrl, catalogue, site, user, texts });
  if (!letter) return SKIPPED;
  const frame = { site, publicUrl, texts, isNotice: isNotice(mail.kind) };
  const { subject } = letter;
  const content = { subject, text: renderText(letter, frame), html: renderHtml(letter, frame) };
  // A mail server that drops the second e-mail with an id would leave its reader with the replaced link.
  const id = letter.replacesLink ? `${mail.id}.${mail.attempts}` : mail.id;
  return deliver(mail, { ...content, id, to: mail.address }, dependencies);
}

function isWanted({ kind }: Mail, { disabledAt, unwantedMails }: User): boolean {
  return disabledAt === null && !(isNotice(kind) && unwantedMails.includes(kind));
}

async function findReceiver({ userId, address }: Mail, { database }: MailDependencies): Promise<User | null> {
  if (userId !== null) return findUser(database, userId);
  return (await findUserByEmail(database, address))?.user ?? null;
}

async function deliver(
  { id, attempts, kind, userId, accountId }: Mail,
  outgoing: OutgoingMail,
  { mailer, log }: MailDependencies,
): Promise<Result> {
  try {
    await mailer.send(outgoing);
    return { outcome: 'sent', failure: null };
  } catch (error) {
    if (!(error instanceof MailError)) throw error;
    const isGivenUp = error.isFinal || attempts >= MAX_ATTEMPTS;
    // Never the address or the link.
    const report = { mail_id: id, kind, user_id: userId, account_id: accountId, attempts, reason: error.message };
    if (isGivenUp) log.error(report, 'an e-mail could not be sent');
    else log.warn(report, 'an e-mail is tried again later');
    const failure = (error.answer ?? error.message).replaceAll(/\p{Cc}+/gu, ' ').slice(0, MAX_FAILURE_LENGTH);
    return { outcome: error.isFinal ? 'refused' : isGivenUp ? 'given_up' : 'waiting', failure };
  }
}
