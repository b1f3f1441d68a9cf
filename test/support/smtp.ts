/** A mail server on this machine, which keeps the received mail. */
import { once } from 'node:events';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export interface TestMail {
  readonly to: readonly string[];
  /** As received: headers and body, in quoted-printable. */
  readonly raw: string;
  /** The body in plain text, decoded. */
  readonly text: string;
  /** The body in HTML, decoded; empty if there is none. */
  readonly html: string;
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
        const mail = {
          to: envelope.rcptTo.map(({ address }) => address),
          raw,
          text: partOf(raw, 'text/plain'),
          html: partOf(raw, 'text/html'),
        };
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

/** Decodes the part of a type of an e-mail: RFC 2045, sections 6.7 and 6.8, and RFC 2046, section 5.1. */
function partOf(raw: string, type: string): string {
  const boundary = /boundary="([^"]+)"/.exec(raw)?.[1];
  const parts = boundary === undefined ? [raw] : raw.split(`--${boundary}`);
  const part = parts.find((one) => one.includes(`Content-Type: ${type}`));
  if (part === undefined) return '';
  const end = part.indexOf('\r\n\r\n');
  const [head, body] = [part.slice(0, end), part.slice(end + 4)];
  if (/Content-Transfer-Encoding: base64/i.test(head)) return linesOf(Buffer.from(body, 'base64'));
  const bytes = body
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)));
  return linesOf(Buffer.from(bytes, 'latin1'));
}

function linesOf(text: Buffer): string {
  return text.toString().replaceAll('\r\n', '\n');
}
