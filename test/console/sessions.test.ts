import { expect } from 'chai';
import { codeAt } from '../../services/people/second-factor.ts';
import { openSession } from '../../services/people/sessions.ts';
import {
  addSecondFactor,
  invite,
  newPasswordLink,
  PASSWORD,
  type Shown,
  useTestConsole,
  Visitor,
} from '../support/console.ts';

const BROWSER = { issuer: null, userAgent: 'a browser', ip: '203.0.113.7' };
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

describe('sessions of the console', () => {
  const app = useTestConsole();
  let count = 0;

  beforeEach(() => app.database('sign_in_attempts').delete());

  const newEmail = (): string => `somebody-${++count}@example.com`;
  const userId = async (email: string): Promise<string> =>
    (await app.database('users').where({ email }).first<{ id: string }>('id')).id;
  const isIn = async (visitor: Visitor): Promise<boolean> => (await visitor.get('/console/profile')).status === 200;

  async function signIn(email: string, password = PASSWORD, visitor = new Visitor(app)): Promise<Visitor> {
    await visitor.send('/console/sign-in', { email, password }, { 'user-agent': FIREFOX });
    return visitor;
  }

  describe('a new session', () => {
    it('gets a new token with each sign-in: an earlier token gives no access', async () => {
      const email = newEmail();
      const visitor = await Visitor.invited(app, { email });
      const { cookie } = visitor;
      await signIn(email, PASSWORD, visitor);
      expect(visitor.cookie).not.to.equal(cookie);
      expect((await new Visitor(app).get('/console/profile', { cookie })).status).to.equal(303);
    });

    it('never takes a token that the browser sent', async () => {
      const email = newEmail();
      await Visitor.invited(app, { email });
      const fixed = '__Host-genway-session=chosen-by-an-attacker';
      const shown = await new Visitor(app).send('/console/sign-in', { email, password: PASSWORD }, { cookie: fixed });
      expect(String(shown.headers['set-cookie'])).not.to.include('chosen-by-an-attacker');
      expect((await new Visitor(app).get('/console/profile', { cookie: fixed })).status).to.equal(303);
    });

    it('gets a new token after the second factor: the token of the first step gives no access', async () => {
      const email = newEmail();
      const { secret, step } = await addSecondFactor(await Visitor.invited(app, { email }));
      const visitor = await signIn(email);
      const { cookie } = visitor;
      await visitor.send('/console/sign-in/code', { code: codeAt(secret, step + 1) });
      expect(await isIn(visitor)).to.equal(true);
      expect((await new Visitor(app).get('/console/profile', { cookie })).status).to.equal(303);
    });

    it('starts by an invitation also where another user is signed in, and ends the session of that user', async () => {
      const visitor = await Visitor.invited(app, { email: newEmail() });
      const { cookie } = visitor;
      const path = await invite(app, { email: newEmail() });
      const entered = await visitor.send(path, { password: PASSWORD, repeated: PASSWORD });
      expect(entered.headers['location']).to.equal('/console');
      expect((await new Visitor(app).get('/console/profile', { cookie })).status).to.equal(303);
    });
  });

  describe('a session', () => {
    it('ends after seven days without use, and after thirty days in any case', async () => {
      const email = newEmail();
      const visitor = await Visitor.invited(app, { email });
      const session = app.database('sessions').where({ user_id: await userId(email) });
      const { expires_at: end } = await session.clone().first<{ expires_at: Date }>('expires_at');
      expect((end.getTime() - Date.now()) / 86_400_000).to.be.within(29.9, 30);
      const daysAgo = (days: number): Date => new Date(Date.now() - days * 86_400_000);
      await session.clone().update({ last_used_at: daysAgo(6.9) });
      expect(await isIn(visitor)).to.equal(true);
      await session.clone().update({ last_used_at: daysAgo(7.1) });
      expect(await isIn(visitor)).to.equal(false);
      await session.clone().update({ last_used_at: new Date(), expires_at: new Date() });
      expect(await isIn(visitor)).to.equal(false);
    });

    it('ends on the profile, which lists each session with its device', async () => {
      const email = newEmail();
      const [here, there] = [await Visitor.invited(app, { email }), await signIn(email)];
      const { text } = await here.get('/console/profile');
      expect(text).to.include('Firefox, Linux').and.include('This session');
      const [session = ''] = sessionsIn(text);
      await here.send('/console/profile/sessions/end', { session });
      expect([await isIn(here), await isIn(there)]).to.deep.equal([true, false]);
    });

    it('ends together with all others when its user ends the sessions everywhere else', async () => {
      const email = newEmail();
      const [here, ...others] = [await Visitor.invited(app, { email }), await signIn(email), await signIn(email)];
      await here.send('/console/profile/sessions/end-others');
      expect(await isIn(here)).to.equal(true);
      for (const other of others) expect(await isIn(other)).to.equal(false);
    });

    it('ends for no user through another user', async () => {
      const [mine, theirs] = [newEmail(), newEmail()];
      const victim = await Visitor.invited(app, { email: theirs });
      await signIn(theirs);
      const attacker = await Visitor.invited(app, { email: mine });
      const [session = ''] = sessionsIn((await victim.get('/console/profile')).text);
      expect(session).not.to.equal('');
      await attacker.send('/console/profile/sessions/end', { session });
      expect(await app.database('sessions').where({ user_id: await userId(theirs) })).to.have.length(2);
    });

    it('ends everywhere else when the password changes, as pending links do', async () => {
      const email = newEmail();
      const [here, there] = [await Visitor.invited(app, { email }), await signIn(email)];
      const link = await newPasswordLink(app, email);
      const password = 'another kite over the sea';
      await here.send('/console/profile/password', { current: PASSWORD, password, repeated: password });
      expect([await isIn(here), await isIn(there)]).to.deep.equal([true, false]);
      expect((await new Visitor(app).get(link)).status).to.equal(410);
      expect(await isIn(await signIn(email, password))).to.equal(true);
    });
  });

  it('at most fifty sessions of a user exist: the least recently used end first, and none by attempts without the code', async () => {
    const email = newEmail();
    const first = await Visitor.invited(app, { email });
    const user_id = await userId(email);
    const open = (secondFactorPending = false) =>
      openSession(app.database, { user: { id: user_id, email }, ...BROWSER, secondFactorPending });
    for (let opened = 0; opened < 49; opened++) await open();
    for (let opened = 0; opened < 60; opened++) await open(true);
    expect(await isIn(first)).to.equal(true);
    await open();
    const rows = app.database('sessions').where({ user_id });
    expect(await rows.clone().where({ second_factor_pending: false })).to.have.length(50);
    expect(await rows.clone().where({ second_factor_pending: true })).to.have.length(50);
    expect(await isIn(first)).to.equal(false);
  });

  describe('a person at an open session', () => {
    it('cannot guess the password more than ten times', async () => {
      const thief = await Visitor.invited(app, { email: newEmail() });
      const guess = (current: string): Promise<Shown> =>
        thief.send('/console/profile/password', { current, password: 'x'.repeat(20), repeated: 'x'.repeat(20) });
      for (let guesses = 0; guesses < 10; guesses++) expect((await guess('guess')).status).to.equal(400);
      expect((await guess(PASSWORD)).text).to.include('Too many attempts');
    });

    const NEEDS_PASSWORD = [
      '/console/profile/password',
      '/console/profile/second-factor',
      '/console/profile/second-factor/remove',
    ];
    for (const path of NEEDS_PASSWORD) {
      it(`cannot use ${path} without the password`, async () => {
        const email = newEmail();
        const thief = await Visitor.invited(app, { email });
        const shown = await thief.send(path, { current: '', password: 'x'.repeat(20), repeated: 'x'.repeat(20) });
        expect(shown.status).to.equal(400);
        expect(await isIn(await signIn(email))).to.equal(true);
      });
    }

    it('cannot create recovery codes without the password', async () => {
      const email = newEmail();
      const thief = await Visitor.invited(app, { email });
      await addSecondFactor(thief);
      expect((await thief.send('/console/profile/recovery-codes', { current: 'guess' })).status).to.equal(400);
    });
  });

  describe('the second factor', () => {
    it('accepts only a secret that was created for this session', async () => {
      const [user, other] = [
        await Visitor.invited(app, { email: newEmail() }),
        await Visitor.invited(app, { email: newEmail() }),
      ];
      const { text } = await other.get('/console/profile');
      const secret = /<code[^>]*>([A-Z2-7]{32})<\/code>/.exec(text)?.[1] ?? '';
      const code = codeAt(secret, Math.floor(Date.now() / 30_000));
      const foreign = /name="offer" value="([^"]+)"/.exec(text)?.[1] ?? '';
      for (const offer of [foreign, secret, '', 'AAAA', foreign.slice(0, -2)]) {
        const shown = await user.send('/console/profile/second-factor', { offer, secret, code, current: PASSWORD });
        expect(shown.status, offer).to.equal(400);
      }
      expect((await user.get('/console/profile')).text).to.include('name="offer"');
    });

    it('accepts the displayed secret also after a mistyped code', async () => {
      const user = await Visitor.invited(app, { email: newEmail() });
      const { text } = await user.get('/console/profile');
      const secret = /<code[^>]*>([A-Z2-7]{32})<\/code>/.exec(text)?.[1] ?? '';
      const offer = /name="offer" value="([^"]+)"/.exec(text)?.[1] ?? '';
      const shown = await user.send('/console/profile/second-factor', { offer, code: '0', current: PASSWORD });
      expect(shown.text).to.include(secret);
    });

    it('accepts no code twice, not even the one that enabled it', async () => {
      const email = newEmail();
      const { secret, step } = await addSecondFactor(await Visitor.invited(app, { email }));
      const visitor = await signIn(email);
      expect((await visitor.send('/console/sign-in/code', { code: codeAt(secret, step) })).status).to.equal(401);
    });

    it('accepts at most ten codes in a quarter of an hour, and thirty in a day, including the right one', async () => {
      const email = newEmail();
      const { secret, step } = await addSecondFactor(await Visitor.invited(app, { email }));
      const visitor = await signIn(email);
      for (let round = 0; round < 3; round++) {
        for (let guesses = 0; guesses < 10; guesses++) await visitor.send('/console/sign-in/code', { code: '1' });
        await app
          .database('sign_in_attempts')
          .where({ subject: JSON.stringify(['code of user', await userId(email)]) })
          .delete();
      }
      const shown = await visitor.send('/console/sign-in/code', { code: codeAt(secret, step + 1) });
      expect(shown.text).to.include('Too many attempts');
    });

    it('accepts ten recovery codes, shown once, once each', async () => {
      const email = newEmail();
      const owner = await Visitor.invited(app, { email });
      const { recoveryCodes } = await addSecondFactor(owner);
      expect(new Set(recoveryCodes)).to.have.property('size', 10);
      const [first = ''] = recoveryCodes;
      expect((await owner.get('/console/profile')).text)
        .to.include('10 codes are left')
        .and.not.include(first);
      expect(JSON.stringify(await app.database('recovery_codes'))).not.to.include(first.replaceAll('-', ''));
      const withCode = async (code: string): Promise<Visitor> => {
        const visitor = await signIn(email);
        await visitor.send('/console/sign-in/code', { code });
        return visitor;
      };
      expect(await isIn(await withCode(first.toLowerCase().replaceAll('-', ' ')))).to.equal(true);
      expect(await isIn(await withCode(first))).to.equal(false);
      expect((await owner.get('/console/profile')).text).to.include('9 codes are left');
    });

    it('accepts none of the earlier recovery codes, once there are new ones or the second factor is off', async () => {
      const email = newEmail();
      const owner = await Visitor.invited(app, { email });
      const { recoveryCodes } = await addSecondFactor(owner);
      const made = await owner.send('/console/profile/recovery-codes', { current: PASSWORD });
      expect(made.text).to.include('<li><code>').and.not.include(recoveryCodes[0]);
      await owner.send('/console/profile/second-factor/remove', { current: PASSWORD });
      expect(await app.database('recovery_codes').where({ user_id: await userId(email) })).to.deep.equal([]);
      expect(await isIn(await signIn(email))).to.equal(true);
    });

    it('lets a user who starts over try the first step again', async () => {
      const email = newEmail();
      await addSecondFactor(await Visitor.invited(app, { email }));
      const visitor = await signIn(email);
      expect((await visitor.get('/console/sign-in')).text).to.include('Start over');
      await visitor.send('/console/sign-out');
      expect((await visitor.get('/console/sign-in')).text).to.include('name="password"');
    });
  });

  function sessionsIn(text: string): string[] {
    return Array.from(text.matchAll(/name="session" value="([^"]+)"/g), ([, found = '']) => found);
  }
});
