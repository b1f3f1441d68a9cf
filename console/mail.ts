/**
 * Sends the e-mails that bring people a link. Whoever asks for one only leaves an order in PostgreSQL and waits for nothing;
 * every api process looks for orders. The link is made here, just before it is sent: nothing stored leads in. A process
 * that dies between sending and removing the order sends another link a minute later, which does no harm: both lead to the
 * same user, and the first one used ends the other.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { makeLink } from '../api/services/people/sign-in.ts';
import type { ApiServices } from '../api/services/services.ts';
import { claimLinkMail, type LinkMail, removeLinkMail } from '../db/queries/link-mails.ts';
import { findUserByEmail, type User } from '../db/queries/users.ts';
import { textsIn } from './texts/texts.ts';

interface MailDependencies extends Pick<ApiServices, 'database' | 'log' | 'publicUrl'> {
  readonly mailer: {
    /** @throws Error whose `isFinal` says that trying again is of no use */
    send(mail: { readonly to: string; readonly subject: string; readonly text: string }): Promise<void>;
  };
}

export interface RunningMail {
  /** Resolves when the e-mail under way is sent. */
  stop(): Promise<void>;
}

const PAUSE_MS = 1_000;
/** Within about twelve hours, since the pauses between attempts grow. */
const MAX_ATTEMPTS = 10;

export function startMail(dependencies: MailDependencies): RunningMail {
  const stopped = new AbortController();
  const { signal } = stopped;

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const more = await sendNext(dependencies).catch((error: unknown) => {
        dependencies.log.error({ err: error }, 'e-mails could not be looked for');
        return false;
      });
      if (!more) await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  const running = run();
  return {
    stop: async () => {
      stopped.abort();
      await running;
    },
  };
}

/** @returns whether there was one to send */
async function sendNext(dependencies: MailDependencies): Promise<boolean> {
  const { database } = dependencies;
  const order = await claimLinkMail(database);
  if (!order) return false;
  const found = await findUserByEmail(database, order.email);
  // Anybody may ask for a link to any address.
  const isDone = !found || found.user.disabledAt !== null || (await isDelivered(found.user, order, dependencies));
  if (isDone) await removeLinkMail(database, order.email);
  return true;
}

/** @returns whether nothing is left to do: it was sent, or is given up */
async function isDelivered(
  user: User,
  { email, attempts }: LinkMail,
  { database, mailer, publicUrl, log }: MailDependencies,
): Promise<boolean> {
  const { mail: words } = textsIn(user.language);
  const link = publicUrl + (await makeLink(database, user.id, user.hasPassword ? 'new_password' : 'invitation'));
  const { subject, text } = user.hasPassword ? words.newPassword : words.invitation;
  try {
    await mailer.send({ to: email, subject, text: text(link) });
    return true;
  } catch (error) {
    const isGivenUp = isFinal(error) || attempts >= MAX_ATTEMPTS;
    const facts = { user_id: user.id, attempts, reason: error instanceof Error ? error.message : 'unknown' };
    if (isGivenUp) log.error(facts, 'an e-mail with a link is given up; `genway users link` makes another link');
    else log.warn(facts, 'an e-mail with a link is tried again later');
    return isGivenUp;
  }
}

function isFinal(error: unknown): boolean {
  return error instanceof Error && 'isFinal' in error && error.isFinal === true;
}
