/** A mail server on this machine, which keeps the received mail. */
import { once } from 'node:events';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export interface TestMail {
  readonly to: readonly string[];
  /** As received: headers and body, in quoted-printable. */
  readonly raw: string;
  /** The body, decoded. */
  readonly text: string;
}

export interface TestMailServer {
  readonly port: number;
  readonly mails: readonly TestMail[];
  /** The next e-mail that arrives, or the first one that no call has returned. */
  next(): Promise<TestMail>;
  stop(): Promise<void>;
}

/** @param options such as who may send; by default anybody may, without TLS */
export async function startMailServer(options: SMTPServerOptions = {}, port = 0): Promise<TestMailServer> {
  const mails: TestMail[] = [];
  const unread: TestMail[] = [];
  const waiting: ((mail: TestMail) => void)[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData: (stream, { envelope }, callback) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const raw = Buffer.concat(chunks).toString();
        const mail = { to: envelope.rcptTo.map(({ address }) => address), raw, text: textOf(raw) };
        mails.push(mail);
        const reader = waiting.shift();
        if (reader) reader(mail);
        else unread.push(mail);
        callback();
      });
    },
    ...options,
  });
  server.on('error', () => undefined);
  server.listen(port, '127.0.0.1');
  await once(server.server, 'listening');
  const address = server.server.address();
  if (address === null || typeof address === 'string') throw new Error('the mail server has no port');
  return {
    port: address.port,
    mails,
    next: async () => unread.shift() ?? new Promise((resolve) => waiting.push(resolve)),
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** RFC 2045, section 6.7, of texts in ASCII. */
function textOf(raw: string): string {
  const body = raw.slice(raw.indexOf('\r\n\r\n') + 4);
  return body
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)));
}
