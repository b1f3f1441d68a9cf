import { createServer } from 'node:net';
import { once } from 'node:events';
import { expect } from 'chai';
import { OWN_SITE } from '../../../catalogue/site.ts';
import { CATALOGUE } from '../../support/catalogue.ts';
import pino from 'pino';
import { startMails } from '../../../console/mails/sender.ts';
import type { Repetition } from '../../../domain/background-loop.ts';
import { createMailer } from '../../../services/people/mailer.ts';
import {
  invite,
  PASSWORD,
  startTestConsole,
  useAccount,
  useTestConsole,
  useVisitor,
  Visitor,
} from '../../support/console.ts';
import { connectGenway, field, type Genway } from '../../support/genway.ts';
import { startMailServer, type TestMail, type TestMailServer } from '../../support/smtp.ts';

describe('e-mail of the console', () => {
  const app = useTestConsole({ settings: { canSendMail: true } });
  let genway: Genway;
  let server: TestMailServer;
  let log = '';

  before(async () => {
    genway = await connectGenway(app);
    server = await startMailServer();
  });
  after(() => server.stop());
  beforeEach(async () => {
    await app.database('mails').delete();
    await app.database('sign_in_attempts').delete();
  });

  function start(port = server.port): Repetition {
    return startMails({
      database: app.database,
      mailer: createMailer({ smtpUrl: `smtp://127.0.0.1:${port}`, from: 'genway@example.com' }),
      publicUrl: app.baseUrl,
      site: () => OWN_SITE,
      catalogue: () => CATALOGUE,
      log: pino({ level: 'trace' }, { write: (line) => void (log += line) }),
    });
  }

  /** Sends the queued mail, and no more. */
  async function sent(): Promise<TestMail> {
    const running = start();
    const mail = await server.next();
    await running.stop();
    return mail;
  }

  const pathIn = ({ text }: TestMail): string => new URL(/http\S+/.exec(text)?.[0] ?? '').pathname;
  const askFor = (email: string, visitor = new Visitor(app)) => visitor.send('/console/lost-password', { email });
  const orders = async (): Promise<unknown[]> =>
    app.database('mails').where({ outcome: 'waiting' }).orderBy('address').pluck('address');

  it('delivers an invitation, whose link lets its receiver in', async () => {
    const made = await genway('users', 'invite', 'Ada@example.com', 'Ada');
    expect(field(made, 'mailed')).to.equal('true');
    const mail = await sent();
    expect(mail.to).to.deep.equal(['ada@example.com']);
    expect(mail.raw).to.match(/^Subject: Your invitation to Genway\r$/m);
    const ada = new Visitor(app);
    const entered = await ada.send(pathIn(mail), { password: PASSWORD, repeated: PASSWORD });
    expect(entered.headers['location']).to.equal('/console');
    expect((await ada.get(new URL(field(made, 'link')).pathname)).status, 'the other link').to.equal(410);
  });

  it('delivers a new link after a lost password, from the form beside the sign-in', async () => {
    await Visitor.invited(app, { email: 'lost@example.com' });
    await app.database('mails').delete();
    expect((await new Visitor(app).get('/console/sign-in')).text).to.include('href="/console/lost-password"');
    expect((await askFor('Lost@Example.com')).status).to.equal(200);
    const mail = await sent();
    expect(mail.text).to.include('If you did not request a new password, do nothing');
    const visitor = new Visitor(app);
    const chosen = { password: 'another kite over the sea', repeated: 'another kite over the sea' };
    expect((await visitor.send(pathIn(mail), chosen)).headers['location']).to.equal('/console');
    const kinds = app.database('mails').where({ outcome: 'waiting' }).pluck('kind');
    expect(await kinds, 'the notice of the new password').to.deep.equal(['password_changed']);
  });

  it('answers and behaves the same whether or not a user has the address; who has it is looked up later', async () => {
    await Visitor.invited(app, { email: 'known@example.com' });
    await app.database('mails').delete();
    const [known, unknown] = [await askFor('known@example.com'), await askFor('nobody@example.com')];
    expect(known.text).to.equal(unknown.text);
    expect(await orders()).to.deep.equal(['known@example.com', 'nobody@example.com']);
    const before = server.mails.length;
    expect((await sent()).to).to.deep.equal(['known@example.com']);
    await untilNothingIsOrdered();
    expect(server.mails).to.have.length(before + 1);
  });

  it('e-mail is not sent to disabled users', async () => {
    await Visitor.invited(app, { email: 'disabled@example.com' });
    await app.database('users').where({ email: 'disabled@example.com' }).update({ disabled_at: new Date() });
    await askFor('disabled@example.com');
    const before = server.mails.length;
    await untilNothingIsOrdered();
    expect(server.mails).to.have.length(before);
  });

  it('an e-mail is requested three times for one address, ten times from one, and no more', async () => {
    for (let count = 0; count < 3; count++) expect((await askFor('often@example.com')).status).to.equal(200);
    const fourth = await askFor('often@example.com');
    expect(fourth.status).to.equal(400);
    expect(fourth.text).to.include('Too many attempts');
    for (let count = 0; count < 6; count++) await askFor(`other-${count}@example.com`);
    expect((await askFor('last@example.com')).text).to.include('Too many attempts');
    expect(await orders()).to.have.length(7);
  });

  it('e-mail is sent only to an address that was typed in', async () => {
    for (const email of ['', 'ada', 'a b@example.com', 'a@b', `${'x'.repeat(250)}@example.com`, 'a@b.c\0']) {
      expect((await askFor(email)).status, email).to.equal(400);
    }
    expect(await orders()).to.deep.equal([]);
  });

  it('e-mail is sent after the server was unavailable, and after the process that claimed it has died', async () => {
    await invite(app, { email: 'later@example.com' });
    const away = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    await once(away, 'listening');
    const address = away.address();
    const running = start(typeof address === 'object' && address ? address.port : 0);
    await once(away, 'connection');
    await running.stop();
    away.close();
    expect(await app.database('mails').select('address', 'attempts')).to.deep.equal([
      { address: 'later@example.com', attempts: 1 },
    ]);
    await app.database('mails').update({ next_attempt_at: new Date() });
    expect((await sent()).to).to.deep.equal(['later@example.com']);
  });

  it('e-mail is given up when the server does not have the mailbox, which is logged without the link', async () => {
    const refusing = await startMailServer({
      onRcptTo: (_address, _session, callback) => callback(Object.assign(new Error('no'), { responseCode: 550 })),
    });
    await invite(app, { email: 'gone@example.com' });
    await untilNothingIsOrdered(refusing.port);
    await refusing.stop();
    expect(log).to.include('an e-mail could not be sent');
  });

  it('leaves no link in any log', async () => {
    await invite(app, { email: 'secret@example.com' });
    const path = pathIn(await sent());
    const visitor = new Visitor(app);
    await visitor.get(path);
    await visitor.send(path, { password: PASSWORD, repeated: PASSWORD });
    const token = path.split('/').at(-1) ?? '';
    expect(token).to.have.length(43);
    expect(log + app.logged()).not.to.include(token);
    expect(JSON.stringify(await app.database('user_links'))).not.to.include(token);
  });

  describe('with an invitation of an owner', () => {
    const customer = useAccount(app);
    const owner = useVisitor(app, () => ({ email: 'owner@example.com', account_id: customer.accountId }));
    let members: string;

    before(() => {
      members = `/console/accounts/${customer.accountId}/members`;
    });

    const inviteTo = (email: string, role = 'developer') => owner.send(members, { email, role });
    const becomes = { name: 'Dev', password: PASSWORD, repeated: PASSWORD };

    it('delivers a link that only its receiver sees and that lets its receiver into the account, once', async () => {
      const answer = await inviteTo('Dev@example.com');
      expect(answer.status).to.equal(200);
      expect(answer.text).to.include('an invitation to dev@example.com').and.not.include('/console/join/');
      expect((await owner.get(members)).text).to.include('E-mail pending');
      const mail = await sent();
      expect(mail.to).to.deep.equal(['dev@example.com']);
      expect(mail.text).to.include('You are invited to the account');
      expect((await owner.get(members)).text).to.include('E-mail sent');
      const dev = new Visitor(app);
      expect((await dev.send(pathIn(mail), becomes)).status).to.equal(303);
      expect((await dev.get(`/console/accounts/${customer.accountId}`)).status).to.equal(200);
      expect((await new Visitor(app).send(pathIn(mail), becomes)).status).to.equal(410);
    });

    it('an invitation is not sent once it is withdrawn, and another invitation revokes the link of the first', async () => {
      await inviteTo('late@example.com');
      await owner.send(`${members}/withdraw`, { email: 'late@example.com' });
      await inviteTo('twice@example.com');
      const first = await sent();
      expect(first.to).to.deep.equal(['twice@example.com']);
      await inviteTo('twice@example.com', 'finance');
      const second = await sent();
      expect((await new Visitor(app).get(pathIn(first))).status).to.equal(410);
      expect((await new Visitor(app).get(pathIn(second))).text).to.include('Finance');
    });

    it('tells the owner when the mailbox does not exist, and is sent again after the server was unavailable', async () => {
      const refusing = await startMailServer({
        onRcptTo: (_address, _session, callback) => callback(Object.assign(new Error('no'), { responseCode: 550 })),
      });
      await inviteTo('nobody@example.com');
      await untilNothingIsOrdered(refusing.port);
      await refusing.stop();
      expect((await owner.get(members)).text).to.include('E-mail not delivered');
      await inviteTo('away@example.com');
      const running = start(refusing.port);
      while ((await attemptsFor('away@example.com')) === 0) await new Promise((resolve) => setTimeout(resolve, 20));
      await running.stop();
      await app.database('mails').where({ outcome: 'waiting' }).update({ next_attempt_at: new Date() });
      expect((await sent()).to).to.deep.equal(['away@example.com']);
    });

    it('has a limit for each mailbox over all owners', async () => {
      const other = await app.createAccount();
      const stranger = await Visitor.invited(app, { email: 'stranger@example.com', account_id: other.accountId });
      const theirs = `/console/accounts/${other.accountId}/members`;
      const fields = { email: 'Victim@example.com', role: 'developer' };
      const first = [await inviteTo('victim@example.com'), await inviteTo('victim@example.com')];
      const later = [await stranger.send(theirs, fields), await stranger.send(theirs, fields)];
      expect([...first, ...later].map(({ status }) => status)).to.deep.equal([200, 200, 200, 409]);
      await app.database('account_invitations').where({ email: 'victim@example.com' }).delete();
    });

    it('carries no header and no other recipient injected into an address', async () => {
      for (const email of [
        'a@example.com\r\nBcc: victim@example.com',
        'a@example.com,victim@example.com',
        'a@example.com;victim@example.com',
        '<a@example.com>victim@example.com',
        'a@example.com%0aBcc:victim@example.com',
        '"a\u2028b"@example.com',
        'a\u202ecom.elpmaxe@example.com',
        'a@ex\u200bample.com',
        '\u0430da@example.com',
        '<ada@example.com>',
        'Ada <ada@example.com>',
        'undisclosed:ada@example.com',
        'ada(@example.com',
      ]) {
        expect((await inviteTo(email)).status, JSON.stringify(email)).to.equal(400);
      }
      expect(await orders()).to.deep.equal([]);
    });

    const attemptsFor = async (email: string): Promise<number> =>
      (await app.database('mails').where({ address: email }).first('attempts'))?.attempts;
  });

  it('e-mail is not offered where no server is configured', async () => {
    const without = await startTestConsole();
    const visitor = new Visitor(without);
    expect((await visitor.get('/console/sign-in')).text).not.to.include('/console/lost-password');
    expect((await askFor('ada@example.com', visitor)).status).to.equal(404);
    await invite(without, { email: 'ada@example.com' });
    expect(await without.database('mails')).to.deep.equal([]);
    await without.stop();
  });

  async function untilNothingIsOrdered(port?: number): Promise<void> {
    const running = start(port);
    while ((await orders()).length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    await running.stop();
  }
});
