/** Sends e-mail over SMTP: RFC 5321, with TLS as in RFC 8314. */
import { isIP } from 'node:net';
import { createTransport } from 'nodemailer';

export interface OutgoingMail {
  /** Distinguishes the e-mail from all others. Mail servers recognise by it an e-mail that is sent again. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  /** Plain text. */
  readonly text: string;
  /** The same in HTML. */
  readonly html: string;
}

export interface Mailer {
  /** Resolves when the server has accepted the e-mail. @throws MailError */
  send(mail: OutgoingMail): Promise<void>;
}

/** An e-mail was not sent. The error's message contains nothing of the e-mail, and no credentials. */
export class MailError extends Error {
  override readonly name = 'MailError';
  /** Whether a retry cannot succeed, for example because the server does not have the mailbox. */
  readonly isFinal: boolean;
  /** The answer of the server, which may contain the address; null if the server gave none. */
  readonly answer: string | null;

  constructor(message: string, { isFinal, answer }: Pick<MailError, 'isFinal' | 'answer'>) {
    super(message);
    this.isFinal = isFinal;
    this.answer = answer;
  }
}

const CONNECT_TIMEOUT_MS = 10_000;
const SILENCE_TIMEOUT_MS = 20_000;

/**
 * @param smtpUrl `smtp://user:password@host:587`, where STARTTLS starts TLS, or `smtps://…` with TLS from the start.
 *   The mailer never sends credentials without TLS, except to this machine itself.
 * @param from the sender: an address, or `Name <address>`
 */
export function createMailer({ smtpUrl, from }: { readonly smtpUrl: string; readonly from: string }): Mailer {
  const { protocol, hostname, port, username, password } = new URL(smtpUrl);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const secure = protocol === 'smtps:';
  const transport = createTransport({
    host,
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    requireTLS: username !== '' && !secure && !isThisMachine(host),
    ...(username !== '' && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const domain = from.slice(from.lastIndexOf('@') + 1).replace(/>.*/, '');
  return {
    send: async ({ id, to, subject, text, html }) => {
      // RFC 3834: prevents automatic replies, such as absence notes.
      const headers = { 'Auto-Submitted': 'auto-generated' };
      const messageId = `<${id}@${domain}>`;
      await transport
        .sendMail({ from, to: { name: '', address: to }, messageId, subject, text, html, headers })
        .catch(toMailError);
    },
  };
}

function isThisMachine(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

function toMailError(error: unknown): never {
  const { code, responseCode, response }: Readonly<Record<string, unknown>> = Object(error);
  const isAboutMail = code === 'EENVELOPE' || code === 'EMESSAGE';
  const isFinal = isAboutMail && typeof responseCode === 'number' && responseCode >= 500;
  const answer = typeof responseCode === 'number' ? `, and the server answered ${responseCode}` : '';
  const fault = typeof code === 'string' ? code : 'unknown error';
  throw new MailError(`The e-mail was not sent (${fault})${answer}.`, {
    isFinal,
    answer: typeof response === 'string' ? response : null,
  });
}
