import { expect } from 'chai';
import pino from 'pino';
import { OWN_SITE, type Site } from '../../../catalogue/site.ts';
import { startMails } from '../../../console/mails/sender.ts';
import { recordSeller } from '../../../db/queries/billing-documents.ts';
import { topUp } from '../../../db/queries/credits.ts';
import { parseUsd } from '../../../domain/money.ts';
import { type NewMail, orderMail } from '../../../db/queries/mails.ts';
import { MAIL_KINDS, type MailKind, NOTICES } from '../../../domain/mail.ts';
import { createMailer } from '../../../services/people/mailer.ts';
import { CATALOGUE } from '../../support/catalogue.ts';
import { useAccount, useTestConsole, useVisitor, Visitor } from '../../support/console.ts';
import { eventually } from '../../support/eventually.ts';
import { startMailServer, type TestMail, type TestMailServer } from '../../support/smtp.ts';

const SITE: Site = {
  ...OWN_SITE,
  name: 'Acme <AI>',
  color: '#0f766e',
  support: 'help@acme.example',
  logo: { type: 'image/png', content: Buffer.alloc(1) },
};

const HOSTILE =
  'x\r\nBcc: victim@example.com\r\n\r\n<script>alert(1)</script><a href="https://evil.example">"click"</a>';
const AT = '2026-11-02T10:30:00.000Z';
/** Each name that a customer can choose is hostile, whatever the kind. */
const FACTS = {
  ...Object.fromEntries(
    ['account', 'name', 'url', 'reason', 'network', 'device', 'message'].map((name) => [name, HOSTILE]),
  ),
  at: AT,
  until: AT,
  kind: 'receipt',
  number: 'R-2026-1',
  total: '$5.00',
  balance: '$1.00',
  threshold: '$2.00',
  document: 'doc_1',
  month: '2026-10',
  key: 'key_1',
  hint: 'wxyz',
  task: 'task_1',
  endpoint: 'we_1',
  plan: HOSTILE,
  renewed: 'yes',
  paid: '$10.00',
  credit: '$12.00',
};

/** All kinds except invitations, which `sender.test.ts` accepts. */
const KINDS: readonly MailKind[] = [
  'password_link',
  'new_device',
  'password_changed',
  'registration_rejected',
  ...NOTICES,
];

describe('the kinds of e-mails', () => {
  const app = useTestConsole({ settings: { canSendMail: true } });
  const customer = useAccount(app);
  const operator = useVisitor(app, () => ({ email: 'op@example.com', staff_role: 'operator' }));
  let server: TestMailServer;
  let person: Visitor;
  let userId: string;
  let count = 0;

  before(async () => {
    server = await startMailServer();
  });
  after(() => server.stop());
  beforeEach(async () => {
    const email = `person-${++count}@example.com`;
    person = await Visitor.invited(app, { email, account_id: customer.accountId });
    ({ id: userId } = await app.database('users').where({ email }).first('id'));
    await app.database('mails').delete();
  });

  function order(kind: MailKind, changes: Partial<NewMail> = {}): Promise<void> {
    const address = `person-${count}@example.com`;
    const accountId = customer.accountId;
    return orderMail(app.database, { kind, address, userId, accountId, reference: null, facts: FACTS, ...changes });
  }

  /** Sends all e-mails that wait, and returns them. */
  async function sendAll(port = server.port): Promise<readonly TestMail[]> {
    const before = server.mails.length;
    const running = startMails({
      database: app.database,
      mailer: createMailer({ smtpUrl: `smtp://127.0.0.1:${port}`, from: 'genway@example.com' }),
      publicUrl: app.baseUrl,
      site: () => SITE,
      catalogue: () => CATALOGUE,
      log: pino({ level: 'silent' }),
    });
    const due = app.database('mails').where({ outcome: 'waiting' }).whereRaw('next_attempt_at <= now()');
    await eventually(async () => (await due.clone()).length === 0);
    await running.stop();
    return server.mails.slice(before);
  }

  const headOf = ({ raw }: TestMail): string => raw.slice(0, raw.indexOf('\r\n\r\n'));
  const outcomes = (): Promise<string[]> => app.database('mails').orderBy('created_at').pluck('outcome');

  for (const [language, action] of [
    ['en', 'Choose your e-mails'],
    ['zh', '选择您接收的邮件'],
  ] as const) {
    it(`show names of customers as text, with one action, in the operator’s look (${language})`, async () => {
      await person.send('/console/profile/language', { language });
      for (const kind of KINDS) {
        await order(kind);
        const [mail] = await sendAll();
        if (!mail) throw new Error(`no ${kind}`);
        const { html, text, to } = mail;
        expect(to, kind).to.have.length(1);
        expect(headOf(mail), kind).not.to.match(/^bcc:/im);
        expect(html, kind).not.to.include('<script').and.not.include('href="https://evil.example');
        expect(html).to.include('Acme &lt;AI&gt;').and.include('background:#0f766e');
        expect(html).to.include(`src="${app.baseUrl}/console/assets/site-logo"`).and.include(`lang="${language}"`);
        const links = [...html.matchAll(/<a href="([^"]+)"/g)].map(([, link]) => link);
        const isNotice = MAIL_KINDS[kind] === 'notice';
        expect(links.slice(1), kind).to.deep.equal([
          'mailto:help@acme.example',
          ...(isNotice ? [`${app.baseUrl}/console/profile`] : []),
        ]);
        expect(links[0]).to.match(new RegExp(`^${app.baseUrl}/`));
        expect(text, kind).to.include(`\n${links[0]}\n`).and.include('help@acme.example');
        expect(text.includes(action), kind).to.equal(isNotice);
      }
    });
  }

  it('a receipt is linked: the link opens exactly this receipt, for members alone', async () => {
    const { accountId } = customer;
    await recordSeller(app.database, { name: 'Acme GmbH', address: [], taxId: null, taxes: [], taxPoint: 'paid' });
    for (const reference of ['wire 1', 'wire 2'])
      await topUp(app.database, { accountId, amount: parseUsd(5), reference });
    const mails = (await sendAll()).filter(({ to }) => String(to).includes(`person-${count}@`));
    expect(mails).to.have.length(2);
    for (const { html, raw } of mails) {
      const [, link = ''] = /<a href="([^"]+)"/.exec(html) ?? [];
      const [number = ''] = /R-\d+-\d+/.exec(raw) ?? [];
      const { text } = await person.get(link.slice(app.baseUrl.length));
      expect(text).to.match(new RegExp(`<h1[^>]*>Receipt ${number}</h1>`));
      const stranger = await new Visitor(app).get(link.slice(app.baseUrl.length));
      expect([stranger.status, stranger.headers['location']]).to.deep.equal([303, '/console/sign-in']);
    }
  });

  it('a welcome shows a call that a new key can make', async () => {
    await order('welcome');
    const [mail] = await sendAll();
    expect(mail?.text).to.match(/curl '[^']+\/v1\/chat\/completions' \\\n {2}-H "Authorization: Bearer \$API_KEY"/);
  });

  it('a welcome after an approval reports the approval', async () => {
    await order('welcome', { facts: { approved: 'yes' } });
    const [mail] = await sendAll();
    expect(mail?.raw).to.match(/^Subject: Your registration at Acme <AI> is approved\r$/m);
    expect(mail?.text).to.include('An operator approved your registration').and.include('/v1/chat/completions');
  });

  it('leave out the notices that a person switched off, and never those about security', async () => {
    const page = await person.get('/console/profile');
    expect(page.text.match(/name="mails"[^>]*checked/g)).to.have.length(NOTICES.length);
    await person.send('/console/profile/mails', { mails: 'welcome' });
    await order('balance_low');
    await order('password_changed');
    expect((await sendAll()).map(({ raw }) => /^Subject: (.*)\r$/m.exec(raw)?.[1])).to.deep.equal([
      'Your Acme <AI> password was changed',
    ]);
    expect(await outcomes()).to.have.members(['skipped', 'sent']);
    await person.send('/console/profile/mails', { mails: 'balance_low' });
    await order('balance_low');
    expect(await sendAll()).to.have.length(1);
    await person.send('/console/profile/mails', { mails: 'password_changed' });
    const stored = await app.database('users').where({ id: userId }).first('unwanted_mails');
    expect(stored.unwanted_mails).to.deep.equal(NOTICES);
  });

  it('go out once for a reference, whoever orders it and however often', async () => {
    await Promise.all(Array.from({ length: 8 }, () => order('balance_low', { reference: 'balance_low:1' })));
    expect(await sendAll()).to.have.length(1);
    await order('balance_low', { reference: 'balance_low:1' });
    expect(await sendAll()).to.have.length(0);
  });

  it('about security go out before notices that were ordered earlier', async () => {
    await order('balance_low');
    await order('late_result');
    await order('password_changed');
    const subjects = (await sendAll()).map(({ raw }) => /^Subject: (.*)\r$/m.exec(raw)?.[1]);
    expect(subjects).to.have.length(3);
    expect(subjects[0]).to.equal('Your Acme <AI> password was changed');
  });

  it('carry the same id when a process dies after sending and before recording it', async () => {
    await order('balance_low', { reference: 'balance_low:2' });
    const [first] = await sendAll();
    await app.database('mails').update({ outcome: 'waiting', sent_at: null, next_attempt_at: new Date() });
    const [again] = await sendAll();
    const idOf = (mail: TestMail | undefined) =>
      /^Message-ID: (<mail_[^>]+@example.com>)\r$/m.exec(mail?.raw ?? '')?.[1];
    expect(idOf(first)).to.be.a('string');
    expect(idOf(again)).to.equal(idOf(first));
  });

  it('e-mails are given up a day after their order, for example if no mail server was configured', async () => {
    await order('balance_low');
    await app.database('mails').update({ created_at: new Date(Date.now() - 25 * 3_600_000) });
    expect(await sendAll()).to.have.length(0);
    expect(await outcomes()).to.deep.equal(['given_up']);
  });

  it('e-mails are shown to the staff with the refusal of the mail server', async () => {
    const refusing = await startMailServer({
      onRcptTo: (_address, _session, callback) =>
        callback(Object.assign(new Error('mailbox <full> of person'), { responseCode: 552 })),
    });
    await order('balance_low');
    await sendAll(refusing.port);
    await refusing.stop();
    const { text } = await operator.get(`/console/staff/people/${userId}`);
    expect(text).to.include('Low balance').and.include('E-mail not delivered');
    expect(text).to.include('mailbox &lt;full&gt; of person');
  });

  it('tell a person about a sign-in from a new device or network, and not about the first one or a known one', async () => {
    const signIn = (userAgent: string) => {
      const visitor = new Visitor(app);
      const email = `person-${count}@example.com`;
      return visitor.send('/console/sign-in', { email, password: 'a kite over the sea' }, { 'user-agent': userAgent });
    };
    const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
    expect((await signIn(firefox)).status).to.equal(303);
    expect((await signIn(firefox.replaceAll('140', '141'))).status).to.equal(303);
    const mails = await sendAll();
    expect(mails).to.have.length(1);
    expect(mails[0]?.text).to.include('Firefox, Linux').and.include('127.0.0.0/24');
  });
});
