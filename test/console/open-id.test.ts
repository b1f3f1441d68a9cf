import { expect } from 'chai';
import { connect } from '../../services/people/provider-sign-in.ts';
import { codeAt } from '../../services/people/second-factor.ts';
import { mountConsole } from '../../console/serve.ts';
import { findUserByEmail } from '../../db/queries/users.ts';
import { digestToken } from '../../domain/bearer-token.ts';
import { SignInRefusedError } from '../../services/people/identity-provider.ts';
import { createOpenIdProvider } from '../../services/people/openid-provider.ts';
import { OWN_SITE, type Site } from '../../catalogue/site.ts';
import type { ProviderSettings } from '../../catalogue/sign-in-providers.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import type { TestCaller } from '../support/factories.ts';
import {
  addSecondFactor,
  invite,
  newPasswordLink,
  PASSWORD,
  type Shown,
  type TestSecondFactor,
  Visitor,
} from '../support/console.ts';
import { CLIENT, type KnownPerson, REDIRECT_URI, startProvider, type TestProvider } from '../support/open-id.ts';

/** A site with the providers, whose settings never change. */
function siteWith(...providers: readonly ProviderSettings[]): () => Site {
  const site = { ...OWN_SITE, providers };
  return () => site;
}

describe('signing in with a provider of OpenID Connect', () => {
  let provider: TestProvider;
  let app: TestApp;
  let customer: TestCaller;

  const start = (
    issuer: string,
    settings: { readonly asksSecondFactor?: boolean; readonly clientSecret?: string } = {},
  ): Promise<TestApp> =>
    startTestApp({
      mountPages: mountConsole,
      site: siteWith({ ...CLIENT, ...settings, issuer }),
      settings: { publicUrl: 'http://127.0.0.1' },
    });

  before(async () => {
    provider = await startProvider();
    app = await start(provider.issuer);
    customer = await app.createAccount();
  });
  after(async () => {
    await app.stop();
    await provider.stop();
  });

  /** Registers a person with the provider, by that name at example.com by default. */
  function know(login: string, person: KnownPerson = {}): string {
    provider.people.set(login, { email: `${login}@example.com`, email_verified: true, ...person });
    return `${login}@example.com`;
  }

  /** Invites a person to the customer's account. */
  const welcome = (email: string): Promise<string> => invite(app, { email, account_id: customer.accountId });

  /** Starts at Genway, signs in at the provider, and returns. @returns the address of the return */
  async function goThere(visitor: Visitor, login: string): Promise<string> {
    const left = await visitor.get('/console/sign-in/with/Example');
    return provider.signIn(String(left.headers['location']), login);
  }

  const signIn = async (visitor: Visitor, login: string): Promise<Shown> => visitor.get(await goThere(visitor, login));

  const isIn = async (visitor: Visitor): Promise<boolean> =>
    (await visitor.get(`/console/accounts/${customer.accountId}`)).status === 200;

  /** The address of the provider, to which a user with a password goes to connect it. */
  async function providerUrl(visitor: Visitor): Promise<string> {
    const { text } = await visitor.send('/console/profile/provider', { provider: 'Example', current: PASSWORD });
    return /href="(http:[^"]+\/auth\?[^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  }

  /** A user with a password connects the provider. */
  const connectProvider = async (visitor: Visitor, login: string): Promise<Shown> =>
    visitor.get(await provider.signIn(await providerUrl(visitor), login));

  it('admits an invited person with a verified address at the provider, who needs no password', async () => {
    await welcome(know('ada'));
    const visitor = new Visitor(app);
    expect((await visitor.get('/console/sign-in')).text).to.include('Sign in with Example');
    expect((await signIn(visitor, 'ada')).headers['location']).to.equal('/console');
    expect(await isIn(visitor)).to.equal(true);
    expect((await visitor.get('/console/profile')).text).to.include('You sign in without a password.');
  });

  it('admits an invited person of Microsoft Entra, which confirms addresses by a claim of its own', async () => {
    for (const [index, edov] of [true, 1, '1', 'true'].entries()) {
      await welcome(know(`entra-${index}`, { email_verified: undefined, xms_edov: edov }));
      const visitor = new Visitor(app);
      expect((await signIn(visitor, `entra-${index}`)).headers['location'], String(edov)).to.equal('/console');
    }
  });

  it('accepts the invitation, whose link admits nobody afterwards', async () => {
    const path = await welcome(know('bea'));
    await signIn(new Visitor(app), 'bea');
    expect((await new Visitor(app).get(path)).status).to.equal(410);
  });

  it('knows people by their subject from then on, also with another address', async () => {
    await welcome(know('cid'));
    await signIn(new Visitor(app), 'cid');
    know('cid', { email: 'new-name@example.com', email_verified: false });
    const visitor = new Visitor(app);
    await signIn(visitor, 'cid');
    expect(await isIn(visitor)).to.equal(true);
  });

  it('admits nobody to whom an address is assigned later', async () => {
    await welcome(know('dan'));
    await signIn(new Visitor(app), 'dan');
    know('dans-successor', { email: 'dan@example.com' });
    const visitor = new Visitor(app);
    expect((await signIn(visitor, 'dans-successor')).status).to.equal(401);
    expect(await isIn(visitor)).to.equal(false);
  });

  const REFUSED: readonly { readonly what: string; readonly person: KnownPerson; readonly isInvited: boolean }[] = [
    { what: 'an address that the provider has not verified', person: { email_verified: false }, isInvited: true },
    {
      what: 'an address that neither the provider nor the owner of its domain has verified',
      person: { email_verified: undefined, xms_edov: false },
      isInvited: true,
    },
    {
      what: 'an address that the provider denies, whatever the owner of its domain reports',
      person: { email_verified: false, xms_edov: true },
      isInvited: true,
    },
    { what: 'nobody’s invitation', person: {}, isInvited: false },
  ];
  for (const [index, { what, person, isInvited }] of REFUSED.entries()) {
    it(`refuses ${what}, and reports the reason in one sentence`, async () => {
      const email = know(`refused-${index}`, person);
      if (isInvited) await welcome(email);
      const visitor = new Visitor(app);
      const shown = await signIn(visitor, `refused-${index}`);
      expect(shown.status).to.equal(401);
      expect(shown.text).to.include('No user has your e-mail address.');
      expect(await isIn(visitor)).to.equal(false);
      expect(await app.database('users').where({ email })).to.have.length(isInvited ? 1 : 0);
    });
  }

  it('refuses users with a password until they connect the provider with it', async () => {
    const email = know('eve');
    const eve = await Visitor.invited(app, { email, account_id: customer.accountId });
    const visitor = new Visitor(app);
    expect((await signIn(visitor, 'eve')).text).to.include('The user with your e-mail address has a password');
    expect(await isIn(visitor)).to.equal(false);

    expect((await eve.send('/console/profile/provider', { provider: 'Example', current: 'guess' })).status).to.equal(
      400,
    );
    expect((await connectProvider(eve, 'eve')).headers['location']).to.equal('/console/profile');
    await signIn(visitor, 'eve');
    expect(await isIn(visitor)).to.equal(true);

    await eve.send('/console/profile/provider/disconnect', { provider: 'Example', current: PASSWORD });
    const after = new Visitor(app);
    await signIn(after, 'eve');
    expect(await isIn(after)).to.equal(false);
  });

  it('connects to the session that started the sign-in, and to no other', async () => {
    know('fay');
    const fay = await Visitor.invited(app, { email: 'fay@example.com' });
    const attacker = await Visitor.invited(app, { email: 'attacker@example.com' });
    know('attacker', { email: 'other@example.com' });
    const back = await provider.signIn(await providerUrl(attacker), 'attacker');
    // The victim is redirected to the attacker's answer.
    expect((await fay.get(back)).status).to.equal(401);
    expect((await fay.get(back, { cookie: `${fay.cookie}; ${attemptIn(attacker)}` })).status).to.equal(401);
    expect(await app.database('user_identities').where({ subject: 'attacker' })).to.deep.equal([]);
  });

  it('refuses disabled users', async () => {
    await welcome(know('gus'));
    const visitor = new Visitor(app);
    await signIn(visitor, 'gus');
    await app.database('users').where({ email: 'gus@example.com' }).update({ disabled_at: new Date() });
    expect(await isIn(visitor)).to.equal(false);
    expect((await signIn(visitor, 'gus')).status).to.equal(401);
    expect(await isIn(visitor)).to.equal(false);
  });

  describe('an answer of the provider', () => {
    before(() => welcome(know('hal')));

    async function refuses(visitor: Visitor, path: string): Promise<void> {
      const shown = await visitor.get(path);
      expect(shown.status).to.equal(401);
      expect(shown.text).to.include('The sign-in failed. Try again.');
      expect(await isIn(visitor)).to.equal(false);
    }

    it('refuses an answer in a browser that did not start the sign-in', async () => {
      const back = await goThere(new Visitor(app), 'hal');
      await refuses(new Visitor(app), back);
    });

    it('refuses an answer in a browser that started another sign-in', async () => {
      const [mine, other] = [new Visitor(app), new Visitor(app)];
      const back = await goThere(other, 'hal');
      await mine.get('/console/sign-in/with/Example');
      await refuses(mine, back);
    });

    it('refuses an answer with another state', async () => {
      const visitor = new Visitor(app);
      const back = await goThere(visitor, 'hal');
      await refuses(visitor, back.replace(/state=[\w-]+/, 'state=guess'));
    });

    it('refuses an answer with the code of another person, whose nonce and verifier differ', async () => {
      const [mine, other] = [new Visitor(app), new Visitor(app)];
      const [back, stolen] = [await goThere(mine, 'hal'), await goThere(other, 'hal')];
      const code = /code=([\w-]+)/.exec(stolen)?.[1] ?? '';
      await refuses(mine, back.replace(/code=[\w-]+/, `code=${code}`));
    });

    it('refuses an answer whose ID token has another nonce', async () => {
      const client = createOpenIdProvider({
        ...CLIENT,
        issuer: provider.issuer,
        redirectUri: REDIRECT_URI,
      });
      const attempt = { state: 'a state', nonce: 'a nonce', codeVerifier: 'v'.repeat(43) };
      const back = await provider.signIn(await client.authorizationUrl(attempt), 'hal');
      const failure = await client
        .identityOf(back.split('?')[1] ?? '', { ...attempt, nonce: 'another' })
        .catch((error: Error) => error);
      expect(failure).to.be.instanceOf(SignInRefusedError);
    });

    it('refuses an answer a second time, with or without the cookie of the browser', async () => {
      const visitor = new Visitor(app);
      const back = await goThere(visitor, 'hal');
      const { cookie } = visitor;
      expect((await visitor.get(back)).headers['location']).to.equal('/console');
      const again = new Visitor(app);
      await refuses(again, back);
      const shown = await again.get(back, { cookie });
      expect(shown.status).to.equal(401);
    });

    it('shows a refusal by the provider', async () => {
      const visitor = new Visitor(app);
      const left = await visitor.get('/console/sign-in/with/Example');
      const state = new URL(String(left.headers['location'])).searchParams.get('state');
      await refuses(visitor, `/console/sign-in/callback?error=access_denied&state=${state}&iss=${provider.issuer}`);
    });

    it('refuses an answer without a valid code and state', async () => {
      for (const query of [
        '',
        '?code=',
        '?code=a&code=b&state=a&state=b',
        '?state[]=x',
        `?code=${'x'.repeat(5_000)}`,
      ]) {
        const visitor = new Visitor(app);
        await visitor.get('/console/sign-in/with/Example');
        await refuses(visitor, `/console/sign-in/callback${query}`);
      }
    });
  });

  it('uses PKCE, and keeps the attempt in a cookie that only this origin can set', async () => {
    const { headers } = await new Visitor(app).get('/console/sign-in/with/Example');
    const asked = new URL(String(headers['location'])).searchParams;
    expect(asked.get('code_challenge_method')).to.equal('S256');
    expect(asked.get('redirect_uri')).to.equal(REDIRECT_URI);
    expect(String(headers['set-cookie'])).to.match(
      /^__Host-genway-sign-in=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=600$/,
    );
  });

  it('lets forms go to this origin only, since the way to the provider is a link', async () => {
    const { headers } = await new Visitor(app).get('/console/sign-in');
    expect(headers['content-security-policy']).to.include("form-action 'self'; ");
  });

  const userId = async (email: string): Promise<string> =>
    (await app.database('users').where({ email }).first<{ id: string }>('id')).id;

  async function admin(method: string, path: string): Promise<{ status: number; data: Record<string, unknown> }> {
    const headers = { authorization: `Bearer ${app.adminToken}` };
    const response = await fetch(`${app.baseUrl}/admin/v1/users/${path}`, { method, headers });
    return { status: response.status, data: Object(Object(await response.json()).data) };
  }

  describe('a holder of an earlier link', () => {
    it('loses the connected identity and the sessions once a link for a new password was used', async () => {
      const email = 'victim@example.com';
      know('thief', { email: 'thief@example.org' });
      const thief = await Visitor.invited(app, { email, account_id: customer.accountId });
      await connectProvider(thief, 'thief');
      expect(await isIn(thief)).to.equal(true);

      const path = await newPasswordLink(app, email);
      const victim = new Visitor(app);
      await victim.send(path, { password: 'the victim’s own words', repeated: 'the victim’s own words' });
      expect(await isIn(victim)).to.equal(true);
      expect(await isIn(thief)).to.equal(false);
      const again = new Visitor(app);
      expect((await signIn(again, 'thief')).status).to.equal(401);
      expect(await isIn(again)).to.equal(false);
    });

    it('connects no identity when a link for a new password ended the session meanwhile', async () => {
      const email = 'raced@example.com';
      know('racer', { email: 'racer@example.org' });
      const racer = await Visitor.invited(app, { email });
      const user = await findUserByEmail(app.database, email);
      const digest = digestToken(/__Host-genway-session=([\w-]+)/.exec(racer.cookie)?.[1] ?? '');
      if (!user) throw new Error('nobody was invited');
      const session = { digest, user: user.user, secondFactorPending: false, issuer: null, signedInAt: new Date() };
      const identity = { issuer: provider.issuer, subject: 'racer', email: null, isEmailVerified: false };
      await app.database('sessions').where({ digest }).delete();
      expect(await connect(app.database, session, identity)).to.equal(null);
      expect(await app.database('user_identities').where({ subject: 'racer' })).to.deep.equal([]);
    });
  });

  it('shows the administration the identities and sessions of a user, and removes each', async () => {
    // contract 4.11:50
    const email = know('lee');
    const lee = await Visitor.invited(app, { email, account_id: customer.accountId });
    await connectProvider(lee, 'lee');
    const id = await userId(email);
    const { data } = await admin('GET', id);
    const [identity, session] = [Object(data['identities'])[0], Object(data['sessions'])[0]];
    expect(identity).to.include({ issuer: provider.issuer, subject: 'lee' });
    expect(Date.parse(identity.created_at)).to.be.above(0);
    expect(Date.parse(session.created_at)).to.be.above(0);
    expect(data['sessions']).to.have.length(1);

    const stranger = know('stranger');
    await Visitor.invited(app, { email: stranger, account_id: customer.accountId });
    const other = await userId(stranger);
    expect((await admin('DELETE', `${other}/sessions/${session.id}`)).status).to.equal(404);
    expect((await admin('DELETE', `${other}/identities/${identity.id}`)).status).to.equal(404);
    expect(await isIn(lee)).to.equal(true);
    expect((await admin('DELETE', `${id}/sessions/${session.id}`)).data).to.deep.include({ sessions: [] });
    expect((await admin('DELETE', `${id}/identities/${identity.id}`)).data).to.deep.include({ identities: [] });
    expect((await admin('DELETE', `${id}/identities/${identity.id}`)).status).to.equal(404);
    expect(await isIn(lee)).to.equal(false);
    expect((await signIn(new Visitor(app), 'lee')).status).to.equal(401);
  });

  describe('a user with a second factor', () => {
    async function connected(to: TestApp, login: string): Promise<TestSecondFactor> {
      const { accountId } = await to.createAccount();
      const visitor = await Visitor.invited(to, { email: know(login), account_id: accountId });
      await connectProvider(visitor, login);
      return addSecondFactor(visitor);
    }

    it('enters a code before the console shows anything', async () => {
      const { secret, step } = await connected(app, 'mia');
      const visitor = new Visitor(app);
      expect((await signIn(visitor, 'mia')).headers['location']).to.equal('/console/sign-in');
      expect((await visitor.get('/console/profile')).status).to.equal(303);
      await visitor.send('/console/sign-in/code', { code: codeAt(secret, step + 1) });
      expect((await visitor.get('/console/profile')).status).to.equal(200);
      expect((await visitor.send('/console/sign-out')).text).to.include('Sign out of Example as well');
    });

    it('enters no code where the operator relies on the provider to ask', async () => {
      const relying = await start(provider.issuer, { asksSecondFactor: true });
      await connected(relying, 'ned');
      const visitor = new Visitor(relying);
      expect((await signIn(visitor, 'ned')).headers['location']).to.equal('/console');
      await relying.stop();
    });
  });

  it('offers to sign out of the provider, too', async () => {
    await welcome(know('ida'));
    const visitor = new Visitor(app);
    await signIn(visitor, 'ida');
    const shown = await visitor.send('/console/sign-out');
    expect(shown.text).to.include('Sign out of Example as well').and.include(`${provider.issuer}/session/end`);
    expect(await isIn(visitor)).to.equal(false);
  });

  it('offers to sign out of the provider in the session of a registration, too', async () => {
    const site = {
      ...OWN_SITE,
      registration: { domains: null, needsApproval: false },
      providers: [{ ...CLIENT, issuer: provider.issuer }],
    };
    const other = await startTestApp({
      mountPages: mountConsole,
      site: () => site,
      settings: { publicUrl: 'http://127.0.0.1' },
    });
    know('una');
    const visitor = new Visitor(other);
    const path = String((await signIn(visitor, 'una')).headers['location']);
    expect((await visitor.send(path, { name: 'Una' })).headers['location']).to.equal('/console');
    expect((await visitor.send('/console/sign-out')).text).to.include('Sign out of Example as well');
    await other.stop();
  });

  it('works without the provider while it is down: passwords work, and the next attempt calls the provider again', async () => {
    const later = await startProvider();
    const { port } = new URL(later.issuer);
    await later.stop();
    const other = await start(`http://127.0.0.1:${port}`);
    const visitor = new Visitor(other);
    const shown = await visitor.get('/console/sign-in/with/Example');
    expect(shown.status).to.equal(503);
    expect(shown.text).to.include(' does not respond');
    const path = await invite(other, { email: 'with-password@example.com' });
    await new Visitor(other).send(path, { password: PASSWORD, repeated: PASSWORD });
    const fields = { email: 'with-password@example.com', password: PASSWORD };
    expect((await visitor.send('/console/sign-in', fields)).headers['location']).to.equal('/console');
    const restarted = await startProvider(Number(port));
    expect((await visitor.get('/console/sign-in/with/Example')).headers['location']).to.include(restarted.issuer);
    await other.stop();
    await restarted.stop();
  });

  it('reports a wrong client secret to the operator, and does not let the person try in vain', async () => {
    const other = await start(provider.issuer, { clientSecret: 'another secret' });
    know('ora');
    const shown = await signIn(new Visitor(other), 'ora');
    expect(shown.status).to.equal(503);
    expect(shown.text).to.include('sign in with your password');
    expect(other.logged()).to.include('check client_id and client_secret').and.not.include('another secret');
    await other.stop();
  });

  it('logs why the answer of the provider was refused', async () => {
    const visitor = new Visitor(app);
    const back = await goThere(visitor, 'hal');
    await visitor.get(back.replace(/code=[\w-]+/, 'code=guess'));
    expect(app.logged()).to.include('the answer is not one to this attempt: invalid_grant');
  });

  it('offers no sign-in with a provider where none is configured', async () => {
    const without = await startTestApp({ mountPages: mountConsole });
    const visitor = new Visitor(without);
    expect((await visitor.get('/console/sign-in')).text).not.to.include('/console/sign-in/with/Example');
    expect((await visitor.get('/console/sign-in/with/Example')).status).to.equal(404);
    expect((await visitor.get('/console/sign-in/callback?code=a&state=b')).status).to.equal(404);
    await without.stop();
  });

  it('leaves no secret in the log', async () => {
    expect(app.logged()).not.to.include(CLIENT.clientSecret);
  });

  function attemptIn({ cookie }: Visitor): string {
    return /__Host-genway-sign-in=[\w-]+/.exec(cookie)?.[0] ?? '';
  }
});
