import { expect } from 'chai';
import { createMailer, MailError } from '../../../services/people/mailer.ts';
import { startMailServer, type TestMailServer } from '../../support/smtp.ts';

const MAIL = { id: 'mail_1', to: 'ada@example.com', subject: 'Hello', text: 'A line.\n', html: '<p>A line.</p>' };
const FROM = 'Genway <genway@example.com>';

describe('the mailer', () => {
  const servers: TestMailServer[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.stop();
  });

  async function serve(...options: Parameters<typeof startMailServer>): Promise<TestMailServer> {
    const server = await startMailServer(...options);
    servers.push(server);
    return server;
  }

  const failureOf = (smtpUrl: string, mail = MAIL): Promise<MailError> =>
    createMailer({ smtpUrl, from: FROM })
      .send(mail)
      .then(
        () => {
          throw new Error('it was sent');
        },
        (error: MailError) => error,
      );

  it('sends plain text from the sender, marked so that no out-of-office reply is sent', async () => {
    const server = await serve();
    await createMailer({ smtpUrl: `smtp://127.0.0.1:${server.port}`, from: FROM }).send(MAIL);
    const { to, raw, text } = await server.next();
    expect(to).to.deep.equal(['ada@example.com']);
    expect(raw)
      .to.match(/^From: Genway <genway@example.com>\r$/m)
      .and.match(/^Content-Type: text\/plain/m)
      .and.match(/^Auto-Submitted: auto-generated\r$/m)
      .and.match(/^Message-ID: <mail_1@example.com>\r$/m);
    expect(text).to.include('A line.');
  });

  it('signs in with the name and password of the URL', async () => {
    const asked: unknown[] = [];
    const server = await serve({
      authOptional: false,
      onAuth: ({ username, password }, _session, callback) => {
        asked.push([username, password]);
        callback(null, { user: username });
      },
    });
    await createMailer({ smtpUrl: `smtp://me%40example:p%3Ass@127.0.0.1:${server.port}`, from: FROM }).send(MAIL);
    expect(asked).to.deep.equal([['me@example', 'p:ss']]);
    expect(server.mails).to.have.length(1);
  });

  it('reports a refused sign-in without the password, and permits a retry', async () => {
    const server = await serve({
      authOptional: false,
      onAuth: (_auth, _session, callback) => callback(new Error('Invalid username or password')),
    });
    const error = await failureOf(`smtp://me:hidden-password@127.0.0.1:${server.port}`);
    expect(error).to.be.instanceOf(MailError).and.include({ isFinal: false });
    expect(error.message).to.equal('The e-mail was not sent (EAUTH), and the server answered 535.');
  });

  it('permits no retry when the server does not have the mailbox', async () => {
    const server = await serve({
      onRcptTo: (_address, _session, callback) => callback(Object.assign(new Error('no'), { responseCode: 550 })),
    });
    expect(await failureOf(`smtp://127.0.0.1:${server.port}`)).to.include({ isFinal: true });
  });

  it('permits a retry when the server is unavailable or refuses temporarily', async () => {
    const server = await serve({
      onRcptTo: (_address, _session, callback) => callback(Object.assign(new Error('no'), { responseCode: 451 })),
    });
    expect(await failureOf(`smtp://127.0.0.1:${server.port}`)).to.include({ isFinal: false });
    expect(await failureOf('smtp://127.0.0.1:9')).to.include({ isFinal: false });
  });

  it('sends each mail to one address, whatever the address contains', async () => {
    const server = await serve();
    const mailer = createMailer({ smtpUrl: `smtp://127.0.0.1:${server.port}`, from: FROM });
    for (const to of ['a@example.com,b@example.com', 'a@example.com\r\nBcc: b@example.com', 'x <b@example.com>']) {
      await mailer.send({ ...MAIL, to }).catch(() => undefined);
    }
    expect(server.mails.filter((mail) => mail.to.includes('b@example.com'))).to.deep.equal([]);
  });
});
