import { expect } from 'chai';
import { parseOperatorFile } from '../../catalogue/operator-file.ts';
import { checkSite, OWN_SITE, type Site } from '../../catalogue/site.ts';
import { parseUsd } from '../../domain/money.ts';
import type { BlockKind } from '../../domain/registration.ts';
import { createGuardedClient, type GuardedClient } from '../../providers/guard/address-guard.ts';
import { blockRegistrations } from '../../services/people/registration-blocks.ts';
import { PASSWORD, type Shown, startTestConsole, Visitor } from '../support/console.ts';
import { startGitHub, type TestGitHub } from '../support/github.ts';
import { CLIENT, startProvider, type TestProvider } from '../support/open-id.ts';
import { type RecordingReceiver, startRecordingReceiver } from '../support/receiver.ts';
import type { TestApp } from '../support/app.ts';

describe('several providers of sign-in', () => {
  let github: TestGitHub;
  let provider: TestProvider;
  let app: TestApp;
  let site: Site;
  let open: Site;
  let captcha: RecordingReceiver;
  const client = createGuardedClient({ allowPrivateAddresses: true });

  before(async () => {
    [github, provider] = await Promise.all([startGitHub(CLIENT.clientSecret), startProvider()]);
    const hub = { ...CLIENT, name: 'Hub', kind: 'github', issuer: github.issuer } as const;
    open = {
      ...OWN_SITE,
      documents: [{ name: 'terms', version: '1', text: { en: 'Be kind.', zh: '友善。' } }],
      registration: { domains: null, needsApproval: false },
      providers: [{ ...CLIENT, issuer: provider.issuer }, hub],
    };
    captcha = await startRecordingReceiver((response) => {
      const isRight = captcha.requests.at(-1)?.body.includes('response=right');
      response.end(JSON.stringify({ success: isRight, hostname: '127.0.0.1' }));
    });
    const guardedClient: GuardedClient = {
      ...client,
      request: (_url, options) => client.request(captcha.url, options),
    };
    app = await startTestConsole({ site: () => site, guardedClient });
  });
  after(async () => {
    await app.stop();
    await Promise.all([github.stop(), provider.stop(), captcha.close(), client.close()]);
  });
  beforeEach(async () => {
    site = open;
    await app.database('sign_in_attempts').delete();
  });

  let count = 0;
  /** A user of GitHub with a verified address. @returns the address */
  function octocat({
    verified = true,
    domain = 'example.com',
  }: { verified?: boolean; domain?: string | undefined } = {}) {
    const email = `octocat-${++count}@${domain}`;
    const other = { email: `other-${count}@example.com`, primary: false, verified: true };
    github.user = { id: count, emails: [other, { email: email.toUpperCase(), primary: true, verified }] };
    return email;
  }

  async function leave(visitor: Visitor, name: string): Promise<string> {
    return String((await visitor.get(`/console/sign-in/with/${name}`)).headers['location']);
  }
  const comeBack = async (visitor: Visitor): Promise<Shown> => visitor.get(github.signIn(await leave(visitor, 'Hub')));
  const finish = (visitor: Visitor, path: string): Promise<Shown> => visitor.send(path, { name: 'Octo', terms: '1' });

  /** Registers with GitHub. @returns the answer of the last form */
  async function register(visitor: Visitor): Promise<Shown> {
    return finish(visitor, String((await comeBack(visitor)).headers['location']));
  }

  it('registers a stranger with a verified address, who accepts the terms first, and knows the stranger afterwards', async () => {
    const email = octocat();
    const visitor = new Visitor(app);
    expect((await visitor.get('/console/register')).text)
      .to.include('Sign in with Hub')
      .and.include('Example');
    const path = String((await comeBack(visitor)).headers['location']);
    expect((await visitor.get(path)).text).to.include(`value="${email}"`);
    expect((await visitor.send(path, { name: 'Octo' })).text).to.include('Accept the terms');
    expect(await app.database('users').where({ email })).to.deep.equal([]);
    expect((await finish(visitor, path)).headers['location']).to.equal('/console');
    const again = new Visitor(app);
    expect((await comeBack(again)).headers['location']).to.equal('/console');
    expect((await again.get('/console/profile')).text).to.include('You sign in without a password.');
    const { source, terms_version } = await app.database('registrations').where({ source: 'Hub' }).first();
    expect([source, terms_version]).to.deep.equal(['Hub', '1']);
  });

  /** How a registration with a provider ends: the answer to its last request, and its row. */
  interface Ending {
    readonly rule: string;
    readonly site?: Partial<Site>;
    readonly domain?: string;
    /** Prepares the database, for the address. */
    readonly arrange?: (email: string) => Promise<unknown>;
    readonly fields?: Record<string, string>;
    readonly shown: string;
    readonly outcome: string;
  }
  const filled = (most: number, ...subject: readonly string[]) =>
    app.database('sign_in_attempts').insert({ subject: JSON.stringify(subject), attempts: most });
  const block = (kind: BlockKind, value: string) =>
    blockRegistrations(app.database, { kind, value }, { author: 'op', reason: 'a test' });
  const CAPTCHA = { provider: 'hcaptcha', siteKey: 'the-site-key', secret: 'the secret' } as const;
  const CREDIT = { amount: parseUsd(1), perNetworkPerDay: 1, perDay: 10, afterFirstPayment: false };
  const ENDINGS: readonly Ending[] = [
    {
      rule: 'a missing captcha',
      site: { captcha: CAPTCHA },
      shown: 'Confirm that you are a person',
      outcome: 'waiting_for_verification null',
    },
    {
      rule: 'a captcha that its service refuses',
      site: { captcha: CAPTCHA },
      fields: { 'h-captcha-response': 'wrong' },
      shown: 'Confirm that you are a person',
      outcome: 'waiting_for_verification null',
    },
    {
      rule: 'ten completions before',
      site: { captcha: CAPTCHA },
      arrange: async (email) => {
        const [id = ''] = await app.database('registrations').where({ email }).pluck<string[]>('id');
        await filled(10, 'completions of registration', id);
      },
      fields: { 'h-captcha-response': 'right' },
      shown: 'Too many attempts',
      outcome: 'waiting_for_verification null',
    },
    {
      rule: 'ten registrations of the network before',
      arrange: () => filled(10, 'registrations from network', '127.0.0.1'),
      shown: 'Too many attempts',
      outcome: '',
    },
    {
      rule: 'three registrations of the address before',
      arrange: (email) => filled(3, 'registrations of address', email),
      shown: 'Too many attempts',
      outcome: '',
    },
    {
      rule: 'a domain that the operator does not admit',
      site: { registration: { domains: ['acme.example'], needsApproval: false } },
      shown: 'E-mail addresses of this domain cannot register',
      outcome: 'refused domain',
    },
    {
      rule: 'a disposable address',
      domain: 'mailinator.com',
      shown: 'Temporary e-mail addresses cannot register',
      outcome: 'refused disposable_address',
    },
    {
      rule: 'a blocked domain',
      domain: 'farm.example',
      arrange: () => block('domain', 'farm.example'),
      shown: 'Registrations from this domain or network are not accepted',
      outcome: 'refused blocked',
    },
    {
      rule: 'a blocked mailbox',
      arrange: (email) => block('address', email.replace('@', '+1@')),
      shown: 'This link has expired',
      outcome: 'refused blocked',
    },
    {
      rule: 'an operator who approves each registration',
      site: { registration: { domains: null, needsApproval: true } },
      shown: 'An operator checks your registration',
      outcome: 'waiting_for_approval approval',
    },
    {
      rule: 'a blocked network',
      arrange: () => block('network', '127.0.0.1'),
      shown: 'Registrations from this domain or network are not accepted',
      outcome: 'refused blocked',
    },
  ];
  for (const { rule, site: changes, domain, arrange, fields, shown, outcome } of ENDINGS) {
    it(`does not admit a stranger past ${rule}`, async () => {
      site = { ...open, ...changes };
      const email = octocat({ domain });
      const visitor = new Visitor(app);
      const isLate = rule === 'ten completions before';
      if (!isLate) await arrange?.(email);
      const back = await comeBack(visitor);
      if (isLate) await arrange?.(email);
      const path = back.headers['location'];
      const last =
        path === undefined ? back : await visitor.send(String(path), { name: 'Octo', terms: '1', ...fields });
      await app.database('registration_blocks').update({ lifted_at: new Date() }).whereNull('lifted_at');
      expect(last.text).to.include(shown);
      expect(await app.database('users').where({ email })).to.deep.equal([]);
      const rows = await app.database('registrations').where({ email });
      expect(rows.map(({ state, reason }) => `${state} ${reason}`).join()).to.equal(outcome);
    });
  }

  it('asks for the captcha before the registration, and admits a person who solves it at the second attempt', async () => {
    site = { ...open, captcha: CAPTCHA };
    octocat();
    const visitor = new Visitor(app);
    const path = String((await comeBack(visitor)).headers['location']);
    const page = await visitor.get(path);
    expect(page.text).to.include('data-sitekey="the-site-key"');
    expect(String(page.headers['content-security-policy'])).to.include('https://*.hcaptcha.com');
    const answer = (token: string) => visitor.send(path, { name: 'Octo', terms: '1', 'h-captcha-response': token });
    expect((await answer('wrong')).status).to.equal(400);
    expect((await answer('right')).headers['location']).to.equal('/console');
  });

  it('gives signup credit within the limit of the network', async () => {
    site = { ...open, signupCredit: CREDIT };
    const outcomes: unknown[] = [];
    for (const _ of [1, 2]) {
      const email = octocat();
      await register(new Visitor(app));
      const [{ id }] = await app.database('accounts').where({ email });
      outcomes.push((await app.database('signup_credits').where({ account_id: id }).first()).outcome);
    }
    expect(outcomes).to.deep.equal(['granted', 'network_limit']);
  });

  it('completes a registration only in the browser that came back from the provider, and once', async () => {
    const email = octocat();
    const visitor = new Visitor(app);
    const path = String((await comeBack(visitor)).headers['location']);
    const other = new Visitor(app);
    expect((await other.get(path)).status).to.equal(410);
    expect((await finish(other, path)).status).to.equal(410);
    await leave(other, 'Hub');
    expect((await finish(other, path)).status).to.equal(410);
    expect(await app.database('users').where({ email })).to.deep.equal([]);
    expect((await finish(visitor, path)).status).to.equal(303);
    expect((await finish(visitor, path)).status).to.equal(410);
  });

  it('neither registers nor links a person with an unverified address', async () => {
    const email = octocat({ verified: false });
    const shown = await comeBack(new Visitor(app));
    expect([shown.status, shown.text.includes('Hub has not verified')]).to.deep.equal([401, true]);
    await Visitor.invited(app, { email });
    expect((await comeBack(new Visitor(app))).status).to.equal(401);
    expect(await app.database('registrations').where({ email })).to.deep.equal([]);
  });

  it('takes no address for that of another person, though both read alike in lower case', async () => {
    const { accountId } = await app.createAccount();
    const owner = await Visitor.invited(app, { email: 'owner@example.com', account_id: accountId });
    await owner.send(`/console/accounts/${accountId}/members`, { email: 'kate@example.com', role: 'owner' });
    for (const email of ['\u212aate@example.com', 'k\u0430te@example.com', 'kate@ex\u0430mple.com']) {
      octocat();
      github.user = { ...github.user, emails: [{ email, primary: true, verified: true }] };
      const shown = await comeBack(new Visitor(app));
      expect([shown.status, shown.text.includes('Hub has not verified')], email).to.deep.equal([401, true]);
    }
    expect(await app.database('users').where({ email: 'kate@example.com' })).to.deep.equal([]);
  });

  it('links no identity to a user with a password by a verified address', async () => {
    const email = octocat();
    await Visitor.invited(app, { email });
    const shown = await comeBack(new Visitor(app));
    expect(shown.text).to.include('The user with your e-mail address has a password.');
    const victim = new Visitor(app);
    await victim.send('/console/sign-in', { email, password: PASSWORD });
    expect((await victim.get('/console/profile')).status).to.equal(200);
  });

  it('refuses the answer of one provider to an attempt with another', async () => {
    octocat();
    const visitor = new Visitor(app);
    const state = new URL(await leave(visitor, 'Example')).searchParams.get('state') ?? '';
    const code = /code=([^&]+)/.exec(github.signIn(await leave(new Visitor(app), 'Hub')))?.[1] ?? '';
    const shown = await visitor.get(`/console/sign-in/callback?code=${code}&state=${state}`);
    expect(shown.status).to.be.oneOf([401, 503]);
    expect((await visitor.get('/console/profile')).status).to.equal(303);
  });

  it('refuses an answer with another state, in another browser, or a second time', async () => {
    octocat();
    await register(new Visitor(app));
    const visitor = new Visitor(app);
    const back = github.signIn(await leave(visitor, 'Hub'));
    expect((await new Visitor(app).get(back)).status).to.equal(401);
    const { cookie } = visitor;
    expect((await visitor.get(back)).headers['location']).to.equal('/console');
    expect((await new Visitor(app).get(back, { cookie })).status).to.equal(401);
    const changed = new Visitor(app);
    const answer = github.signIn(await leave(changed, 'Hub')).replace(/state=[\w-]+/, 'state=guess');
    expect((await changed.get(answer)).status).to.equal(401);
  });

  it('leads to no address of a request: unknown providers and addresses in parameters', async () => {
    for (const name of ['nobody', encodeURIComponent('https://evil.example'), '%2F%2Fevil.example', 'x'.repeat(5_000)])
      expect((await new Visitor(app).get(`/console/sign-in/with/${name}`)).status).to.equal(404);
    octocat();
    const visitor = new Visitor(app);
    const back = `${github.signIn(await leave(visitor, 'Hub'))}&redirect_uri=https://evil.example&back=//evil.example`;
    expect(String((await visitor.get(back)).headers['location'])).to.match(/^\/console\/register\/[\w-]{43}$/);
  });

  it('admits no stranger while people come by invitation', async () => {
    const email = octocat();
    site = { ...open, registration: null };
    const shown = await comeBack(new Visitor(app));
    expect([shown.status, shown.text.includes('No user has your e-mail address.')]).to.deep.equal([401, true]);
    expect(await app.database('registrations').where({ email })).to.deep.equal([]);
  });

  it('connects each provider to a user on its own', async () => {
    octocat();
    const visitor = await Visitor.invited(app, { email: 'both@example.com' });
    const { text } = await visitor.send('/console/profile/provider', { provider: 'Hub', current: PASSWORD });
    const url = /href="(http:[^"]+authorize\?[^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect((await visitor.get(github.signIn(url))).headers['location']).to.equal('/console/profile');
    const profile = (await visitor.get('/console/profile')).text;
    expect(profile.split('The provider is connected')).to.have.length(2);
    expect((await comeBack(new Visitor(app))).headers['location']).to.equal('/console');
    expect((await visitor.send('/console/profile/provider', { provider: 'nobody' })).status).to.equal(404);
  });

  it('a provider is read from the file about the site, where GitHub alone needs no issuer', () => {
    const check = (providers: string) =>
      checkSite(parseOperatorFile(`name: Acme\nproviders: [${providers}]`, 'site.yaml', () => undefined));
    const client = 'client_id: a, client_secret: b';
    const { value } = check(`{ name: GitHub, kind: github, ${client} }`);
    expect(value?.providers[0]).to.include({ kind: 'github', issuer: 'https://github.com', asksSecondFactor: false });
    for (const wrong of [
      `{ name: Google, ${client} }`,
      `{ name: Google, issuer: "http://accounts.example.com", ${client} }`,
      `{ name: A, kind: github, ${client} }, { name: A, issuer: "https://a.example", ${client} }`,
      `{ name: A/B, kind: github, ${client} }`,
    ])
      expect(check(wrong).findings, wrong).to.have.length(1);
  });

  it('leaves no secret of a client in the log', async () => {
    expect(app.logged()).not.to.include(CLIENT.clientSecret);
  });
});
