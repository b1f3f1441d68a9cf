import { expect } from 'chai';
import pino from 'pino';
import { OWN_SITE, type Site } from '../../catalogue/site.ts';
import { startMails } from '../../console/mails/sender.ts';
import type { Repetition } from '../../domain/background-loop.ts';
import { suspendAccount } from '../../db/queries/accounts.ts';
import { newId } from '../../domain/ids.ts';
import { parseUsd } from '../../domain/money.ts';
import { createMailer } from '../../services/people/mailer.ts';
import { CATALOGUE } from '../support/catalogue.ts';
import { PASSWORD, type Shown, startTestConsole, Visitor } from '../support/console.ts';
import { startMailServer, type TestMail, type TestMailServer } from '../support/smtp.ts';
import { useStarted } from '../support/started.ts';

const OPEN: Site = {
  ...OWN_SITE,
  name: 'Acme',
  isPublic: true,
  documents: [{ name: 'terms', version: '2026-11-01', text: { en: 'Be kind.', zh: '友善。' } }],
  registration: { domains: null, needsApproval: false },
};
const TERMS = '2026-11-01';

describe('the registration of strangers', () => {
  let site = OPEN;
  const app = useStarted(() => startTestConsole({ site: () => site, settings: { canSendMail: true } }));
  let server: TestMailServer;
  let mails: Repetition;
  let log = '';

  before(async () => {
    server = await startMailServer();
    mails = startMails({
      database: app.database,
      mailer: createMailer({ smtpUrl: `smtp://127.0.0.1:${server.port}`, from: 'acme@example.com' }),
      publicUrl: app.baseUrl,
      site: () => site,
      catalogue: () => CATALOGUE,
      log: pino({ level: 'trace' }, { write: (line) => void (log += line) }),
    });
  });
  after(async () => {
    await mails.stop();
    await server.stop();
  });
  beforeEach(async () => {
    site = OPEN;
    await app.database('sign_in_attempts').delete();
  });

  const entries = (email: string) => ({ email, name: 'Ada', password: PASSWORD, repeated: PASSWORD, terms: TERMS });
  const send = (fields: Record<string, string>, visitor = new Visitor(app)): Promise<Shown> =>
    visitor.send('/console/register', fields);
  const pathIn = ({ text }: TestMail): string => new URL(/http\S+/.exec(text)?.[0] ?? '').pathname;
  /** The next e-mail to an address, apart from the welcome. */
  async function mailTo(address: string): Promise<TestMail> {
    for (;;) {
      const mail = await server.next();
      if (mail.to[0] === address && !mail.raw.includes('\nSubject: Welcome')) return mail;
    }
  }
  /** A page without what differs from one drawing to the next. */
  const comparable = ({ text }: Shown): string => text.replaceAll(/(?:form|reg)_[0-9a-z]{32}/g, '');

  /** Registers, and returns the path of the mailed link. */
  async function linkFor(email: string): Promise<string> {
    expect((await send(entries(email))).status).to.equal(200);
    return pathIn(await mailTo(email));
  }

  it('leads from the sign-in and the home page through the e-mail to an account of their own', async () => {
    expect((await new Visitor(app).get('/console/sign-in')).text).to.include('href="/console/register"');
    expect((await new Visitor(app).get('/')).text).to.include('href="/console/register"');
    const visitor = new Visitor(app);
    const shown = await send(entries('Ada@Example.com'), visitor);
    expect(shown.text).to.include('We send a link to your e-mail address.');
    const mail = await mailTo('ada@example.com');
    expect(mail.raw).to.match(/^Subject: Verify your e-mail address for Acme\r$/m);
    expect((await visitor.get('/console')).headers['location'], 'before').to.equal('/console/sign-in');
    expect((await visitor.get(pathIn(mail))).text).to.include('value="ada@example.com"');
    expect((await visitor.send(pathIn(mail), { password: PASSWORD })).headers['location']).to.equal('/console');
    const { account_id, role } = await app
      .database('account_members')
      .join('users', 'users.id', 'user_id')
      .where({ email: 'ada@example.com' })
      .first();
    expect(role).to.equal('owner');
    expect((await visitor.get(`/console/accounts/${account_id}/members`)).status).to.equal(200);
    const registration = await app.database('registrations').where({ account_id }).first();
    expect(registration).to.include({ state: 'done', source: 'password', terms_version: TERMS });
    expect(registration.terms_accepted_at).to.be.instanceOf(Date);
  });

  it('admits nobody with the password before the address is verified', async () => {
    await linkFor('early@example.com');
    const signIn = await new Visitor(app).send('/console/sign-in', { email: 'early@example.com', password: PASSWORD });
    expect(signIn.status).to.equal(401);
  });

  it('answers with the same page and records the same orders whether or not a user has the address', async () => {
    await Visitor.invited(app, { email: 'known@example.com' });
    await mailTo('known@example.com');
    const count = (): Promise<unknown> =>
      app.database('registrations').count().select(app.database('mails').count().as('mails')).first();
    const [before, known] = [await count(), await send(entries('known@example.com'))];
    const [between, unknown] = [await count(), await send(entries('unknown@example.com'))];
    const after = await count();
    expect(comparable(known).replaceAll('known', '')).to.equal(comparable(unknown).replaceAll('unknown', ''));
    expect(known.headers['set-cookie']).to.deep.equal(unknown.headers['set-cookie']);
    const grown = (from: unknown, to: unknown) =>
      ['count', 'mails'].map((column) => Number(Object(to)[column]) - Number(Object(from)[column]));
    expect(grown(before, between)).to.deep.equal([1, 1]).and.to.deep.equal(grown(between, after));
    const arrived = new Map<string | undefined, TestMail>();
    while (arrived.size < 2) {
      const mail = await server.next();
      if (!mail.raw.includes('\nSubject: Welcome')) arrived.set(mail.to[0], mail);
    }
    const [toKnown, toUnknown] = ['known@example.com', 'unknown@example.com'].map((to) => arrived.get(to)?.text);
    expect(toKnown).to.include('Somebody tried to register').and.not.to.include('/console/register/');
    expect(toUnknown).to.include('/console/register/');
  });

  it('links a mailed address to no attempt of another person: the link asks for the password of the attempt', async () => {
    const path = await linkFor('victim@example.com');
    const victim = new Visitor(app);
    expect((await victim.send(path, { password: 'the victim’s own words' })).status).to.equal(401);
    expect(await app.database('users').where({ email: 'victim@example.com' })).to.deep.equal([]);
  });

  it('sends the e-mail again, once, with a link that replaces the first one', async () => {
    const shown = await send(entries('again@example.com'));
    const first = pathIn(await mailTo('again@example.com'));
    const registration = /reg_[0-9a-z]{32}/.exec(shown.text)?.[0] ?? '';
    const resend = (fields: Record<string, string>) => new Visitor(app).send('/console/register-again', fields);
    const answers = await Promise.all([resend({ registration }), resend({ registration })]);
    const second = pathIn(await mailTo('again@example.com'));
    answers.push(await resend({ registration: newId('registration') }), await resend({ registration: 'reg_x' }));
    expect(new Set(answers.map((answer) => `${answer.status} ${comparable(answer)}`))).to.have.property('size', 1);
    const orders = await app.database('mails').where({ address: 'again@example.com' });
    expect(orders).to.have.length(2);
    expect((await new Visitor(app).get(first)).status).to.equal(410);
    expect((await new Visitor(app).get(second)).status).to.equal(200);
    expect((await resend({ registration })).text).to.include('Too many attempts');
    expect((await resend({ registration: '\u0000' })).status).to.be.within(200, 499);
  });

  it('answers a second request for the e-mail alike, whether or not a user has the address', async () => {
    await Visitor.invited(app, { email: 'resident@example.com' });
    await mailTo('resident@example.com');
    const shown: string[] = [];
    for (const email of ['resident@example.com', 'newcomer@example.com']) {
      const [registration = ''] = /reg_[0-9a-z]{32}/.exec((await send(entries(email))).text) ?? [];
      await mailTo(email);
      shown.push(comparable(await new Visitor(app).send('/console/register-again', { registration })));
      expect((await mailTo(email)).text.includes('already has a user'), email).to.equal(email.startsWith('resident'));
    }
    expect(shown[0]).to.equal(shown[1]);
  });

  it('opens a link in any browser, once, and does not count an opened page as its use', async () => {
    const path = await linkFor('twice@example.com');
    for (const visitor of [new Visitor(app), new Visitor(app)]) expect((await visitor.get(path)).status).to.equal(200);
    expect((await new Visitor(app).send(path, { password: PASSWORD })).status).to.equal(303);
    const again = new Visitor(app);
    expect((await again.get(path)).status).to.equal(410);
    expect((await again.send(path, { password: PASSWORD })).status).to.equal(410);
  });

  it('refuses a changed or expired link', async () => {
    const path = await linkFor('late@example.com');
    expect((await new Visitor(app).get(`${path}x`)).status).to.equal(410);
    await app
      .database('registrations')
      .where({ email: 'late@example.com' })
      .update({ expires_at: new Date(0) });
    expect((await new Visitor(app).get(path)).status).to.equal(410);
    expect((await new Visitor(app).send(path, { password: PASSWORD })).status).to.equal(410);
  });

  it('requires the current version of the terms, which it links to', async () => {
    expect((await new Visitor(app).get('/console/register')).text).to.include('href="/terms"');
    for (const terms of ['', '2025-01-01'])
      expect((await send({ ...entries('terms@example.com'), terms })).text).to.include('Accept the terms');
    expect(await app.database('registrations').where({ email: 'terms@example.com' })).to.deep.equal([]);
  });

  const LONG = 'x'.repeat(100_000);
  const WRONG: readonly Record<string, string>[] = [
    { email: 'nobody' },
    { email: `${LONG}@example.com` },
    ...[
      'a@b.c\r\nBcc: d@e.f',
      'a@example.com\u0000',
      'a@example.com, b@example.com',
      'a@example.com b@example.com',
      '<a@example.com>',
      'a@b@example.com',
      '"a b"@example.com',
      'a@[192.0.2.1]',
      'a@localhost',
      'a@mailinator.com.',
      '\u212aate@example.com',
      '\u0430dmin@example.com',
      'admin@ex\u0430mple.com',
      'admin@b\u00fccher.example',
      'a@example.com\u200b',
      `${'a'.repeat(250)}@example.com`,
    ].map((email) => ({ email })),
    { name: 'Ada\r\nBcc: d@e.f' },
    { name: '' },
    { name: LONG },
    { name: 'a\u202eb' },
    { password: 'short', repeated: 'short' },
    { password: LONG, repeated: LONG },
    { repeated: 'another' },
    { terms: LONG },
  ];
  it('refuses wrong and endless entries, and records nothing', async () => {
    const email = 'wrong@example.com';
    for (const changed of WRONG) expect((await send({ ...entries(email), ...changed })).status).to.equal(400);
    expect(await app.database('registrations').where({ email })).to.deep.equal([]);
    const path = await linkFor('long@example.com');
    expect((await new Visitor(app).send(path, { password: LONG })).status).to.equal(401);
    expect((await new Visitor(app).get(`/console/register/${'x'.repeat(5_000)}`)).status).to.equal(410);
  });

  it('limits the attempts of one network, and the attempts for one address', async () => {
    for (let tries = 0; tries < 10; tries++)
      expect((await send(entries(`n${tries}@example.com`))).status).to.equal(200);
    expect((await send(entries('n10@example.com'))).text).to.include('Too many attempts');
    await app.database('sign_in_attempts').delete();
    for (let tries = 0; tries < 3; tries++) expect((await send(entries('often@example.com'))).status).to.equal(200);
    expect((await send(entries('OFTEN@example.com'))).text).to.include('Too many attempts');
  });

  it('counts a client by its connection, whatever its headers say', async () => {
    for (let tries = 0; tries < 10; tries++)
      await new Visitor(app).send('/console/register', entries(`spoof${tries}@example.com`), spoofed(tries));
    const last = await new Visitor(app).send('/console/register', entries('spoof10@example.com'), spoofed(10));
    expect(last.text).to.include('Too many attempts');
  });
  const spoofed = (number: number) => ({
    'x-forwarded-for': `198.51.100.${number}`,
    forwarded: `for=198.51.100.${number}`,
    'x-real-ip': `198.51.100.${number}`,
  });

  it('accepts no form of another site', async () => {
    for (const path of ['/console/register', '/console/register-again', '/console/lost-password']) {
      const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
      expect((await new Visitor(app).send(path, entries('forged@example.com'), headers)).status, path).to.equal(403);
    }
    expect(await app.database('mails').where({ address: 'forged@example.com' })).to.deep.equal([]);
  });

  it('registers once when a form is sent twice', async () => {
    const fields = { ...entries('double@example.com'), form_id: newId('form') };
    await Promise.all([send(fields), send(fields)]);
    expect(await app.database('registrations').where({ email: 'double@example.com' })).to.have.length(1);
  });

  it('tells a refused person the reason, and a held one to wait', async () => {
    site = { ...OPEN, registration: { domains: ['example.com'], needsApproval: true } };
    expect((await send(entries('ada@example.org'))).text).to.include('E-mail addresses of this domain cannot register');
    const held = await new Visitor(app).send(await linkFor('held@example.com'), { password: PASSWORD });
    expect(held.text).to.include('An operator checks your registration.');
  });

  it('leads an invited person to the inviting account, also while registration is open', async () => {
    const { accountId } = await app.createAccount();
    const owner = await Visitor.invited(app, { email: 'owner@example.com', account_id: accountId });
    await owner.send(`/console/accounts/${accountId}/members`, { email: 'dev@example.com', role: 'developer' });
    const path = pathIn(await mailTo('dev@example.com'));
    const dev = new Visitor(app);
    await dev.send(path, { name: 'Dev', password: PASSWORD, repeated: PASSWORD });
    expect((await dev.get(`/console/accounts/${accountId}`)).status).to.equal(200);
    expect(await app.database('accounts').where({ email: 'dev@example.com' })).to.deep.equal([]);
  });

  it('the registration is not there by default, and its open links stop when the operator closes it', async () => {
    const path = await linkFor('closed@example.com');
    site = { ...OPEN, registration: null };
    for (const address of ['/console/register', path]) {
      expect((await new Visitor(app).get(address)).status).to.equal(404);
      expect((await new Visitor(app).send(address, entries('x@example.com'))).status).to.equal(404);
    }
    for (const address of ['/console/sign-in', '/'])
      expect((await new Visitor(app).get(address)).text).not.to.include('/console/register');
  });

  describe('the closing of an account by its owner', () => {
    const CREDIT = { amount: parseUsd(1), perNetworkPerDay: 100, perDay: 100, afterFirstPayment: false };
    const closing = (accountId: string): string => `/console/accounts/${accountId}/close`;
    const isClosed = async (id: string): Promise<boolean> =>
      (await app.database('accounts').where({ id }).first()).closed_at !== null;

    async function newcomer(email: string): Promise<{ readonly visitor: Visitor; readonly accountId: string }> {
      const visitor = new Visitor(app);
      await visitor.send(await linkFor(email), { password: PASSWORD });
      const { account_id: accountId } = await app
        .database('account_members')
        .join('users', 'users.id', 'user_id')
        .where({ email })
        .first();
      return { visitor, accountId };
    }

    it('frees the address for another registration, which gets no second signup credit', async () => {
      site = { ...OPEN, signupCredit: CREDIT };
      const email = 'leaving@example.com';
      const { visitor, accountId } = await newcomer(email);
      await visitor.setLanguage('zh');
      expect((await visitor.get('/console/profile')).text).to.include(`href="${closing(accountId)}"`);
      expect((await visitor.get(closing(accountId))).text)
        .to.include('$1.00')
        .and.include('永久关闭');
      const { text } = await visitor.send(closing(accountId), { name: 'Ada', current: PASSWORD });
      expect(text).to.include('账户 Ada 已关闭').and.include('您的用户已被删除');
      while (!(await mailTo(email)).text.includes('一位所有者关闭了 Acme 的账户“Ada”'));
      expect((await visitor.get('/console')).headers['location']).to.equal('/console/sign-in');
      for (const table of ['users', 'accounts', 'registrations'])
        expect(await app.database(table).where({ email }), table).to.deep.equal([]);
      expect(await app.database('mails').where({ address: email }).pluck('kind')).to.deep.equal(['account_closed']);

      const again = await newcomer(email);
      expect((await again.visitor.get(closing(again.accountId))).text).to.include('$0.00');
      const decisions = await app.database('signup_credits').whereIn('account_id', [accountId, again.accountId]);
      expect(decisions.map(({ outcome }) => outcome)).to.have.members(['granted', 'address_used']);
    });

    it('needs the password, the name of the account and the form of the session', async () => {
      const { visitor, accountId } = await newcomer('careful@example.com');
      const path = closing(accountId);
      const right = { name: 'Ada', current: PASSWORD };
      for (const [wrong, status] of [
        [{ current: 'another password' }, 400],
        [{ current: '' }, 400],
        [{ name: 'ada' }, 400],
        [{ form_token: 'forged' }, 403],
      ] as const)
        expect((await visitor.send(path, { ...right, ...wrong })).status, JSON.stringify(wrong)).to.equal(status);
      const other = await newcomer('other@example.com');
      expect((await other.visitor.send(path, right)).status).to.equal(404);
      const developer = await Visitor.member(app, accountId, 'developer');
      expect((await developer.get(path)).status).to.equal(403);
      expect((await developer.send(path, right)).status).to.equal(403);
      expect(await isClosed(accountId)).to.equal(false);
      const form = { ...right, form_id: newId('form') };
      const [first, second] = await Promise.all([visitor.send(path, form), visitor.send(path, form)]);
      expect([first.text, second.text]).to.satisfy((shown: string[]) =>
        shown.every((text) => text.includes('is closed')),
      );
      expect((await developer.get(`/console/accounts/${accountId}`)).status).to.not.equal(200);
    });

    it('asks a person without a password for a new sign-in, and says what keeps the account open', async () => {
      const { visitor, accountId } = await newcomer('provider@example.com');
      await app.database('users').where({ email: 'provider@example.com' }).update({ password_hash: null });
      const path = closing(accountId);
      expect((await visitor.get(path)).text)
        .to.include('name="name"')
        .and.not.include('name="current"');
      await app.database('sessions').update({ created_at: new Date(Date.now() - 11 * 60_000) });
      expect((await visitor.get(path)).text)
        .to.include('sign in again')
        .and.not.include('name="name"');
      expect((await visitor.send(path, { name: 'Ada' })).status).to.equal(400);
      await suspendAccount(app.database, accountId);
      expect((await visitor.get(path)).text).to.include('The account is suspended.');
      expect(await isClosed(accountId)).to.equal(false);
    });
  });

  it('leaves no address and no link in any log, and no link in the database', async () => {
    const path = await linkFor('secret@example.com');
    await new Visitor(app).get(path);
    const token = path.split('/').at(-1) ?? '';
    expect(token).to.have.length(43);
    expect(log + app.logged())
      .not.to.include(token)
      .and.not.to.include('secret@example.com');
    const stored = [await app.database('registrations'), await app.database('mails')];
    expect(JSON.stringify(stored)).not.to.include(token);
  });
});
