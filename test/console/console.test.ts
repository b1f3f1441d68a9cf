import { expect } from 'chai';
import { codeAt } from '../../services/people/second-factor.ts';
import { checkPassword, hashChosenPassword, pauseAfter, requestLinkMail } from '../../services/people/sign-in.ts';
import { PAGES } from '../../console/pages.ts';
import {
  addSecondFactor,
  copyableIn,
  invite,
  linkIn,
  newPasswordLink,
  PASSWORD,
  useAccount,
  useTestConsole,
  Visitor,
} from '../support/console.ts';
import { createTaskRow, keyOf, newTask } from '../support/factories.ts';

/** A page without the parts that change each time. */
function withoutIds(page: string): string {
  return page.replaceAll(/name="form_id" value="[^"]*"/g, '');
}

/** The addresses of the entries of the navigation that are marked as current. */
function currentIn(html: string): string[] {
  return Array.from(html.matchAll(/<a href="([^"]*)" aria-current="page"/g), ([, address = '']) => address);
}

describe('the console', () => {
  const app = useTestConsole();
  const customer = useAccount(app, { fundedUsd: 25 });
  let owner: Visitor;

  before(async () => {
    owner = await Visitor.invited(app, { email: 'owner@example.com', account_id: customer.accountId });
  });

  describe('signing in', () => {
    it('accepts the right password, and otherwise reports only that one of the two is wrong', async () => {
      const visitor = new Visitor(app);
      const wrong = await visitor.send('/console/sign-in', { email: 'owner@example.com', password: 'guess' });
      const nobody = await visitor.send('/console/sign-in', { email: 'nobody@example.com', password: 'guess' });
      expect([wrong.status, nobody.status]).to.deep.equal([401, 401]);
      expect(withoutIds(nobody.text).replace('nobody@', 'owner@')).to.equal(withoutIds(wrong.text));
      const right = await visitor.send('/console/sign-in', { email: 'Owner@Example.com', password: PASSWORD });
      expect([right.status, right.headers['location']]).to.deep.equal([303, '/console']);
    });

    it('sets a cookie that only this origin can set, and no script can read', async () => {
      const path = await invite(app, { email: 'cookie@example.com' });
      const { headers } = await new Visitor(app).send(path, { password: PASSWORD, repeated: PASSWORD });
      const cookie = String(headers['set-cookie']);
      expect(cookie).to.match(
        /^__Host-genway-session=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=\d+$/,
      );
    });

    it('signing in is refused after ten wrong passwords, with the right one too', async () => {
      await Visitor.invited(app, { email: 'guessed@example.com' });
      const visitor = new Visitor(app);
      const attempt = (password: string) =>
        visitor.send('/console/sign-in', { email: 'guessed@example.com', password });
      for (let count = 0; count < 10; count++) await attempt('guess');
      const shown = await attempt(PASSWORD);
      expect(shown.status).to.equal(401);
      expect(shown.text).to.include('Too many attempts');
      await app.database('sign_in_attempts').delete();
    });

    it('stays open to many people behind one address, whose right passwords do not count', async () => {
      const email = 'office@example.com';
      await Visitor.invited(app, { email });
      for (let count = 0; count < 12; count++) {
        const shown = await new Visitor(app).send('/console/sign-in', { email, password: PASSWORD });
        expect(shown.status).to.equal(303);
      }
    });

    it('also counts simultaneous guesses, and records no more than are allowed', async () => {
      await Visitor.invited(app, { email: 'at-once@example.com' });
      const guesses = Array.from({ length: 30 }, () =>
        new Visitor(app).send('/console/sign-in', { email: 'at-once@example.com', password: 'guess' }),
      );
      const shown = await Promise.all(guesses);
      expect(shown.filter(({ text }) => text.includes('Too many attempts'))).to.have.length(20);
      const recorded = app
        .database('sign_in_attempts')
        .where('subject', 'like', '%from network","at-once@example.com"%');
      expect(await recorded.pluck('attempts')).to.deep.equal([10]);
      await app.database('sign_in_attempts').delete();
    });

    it('locks out nobody with another network address than the guesser', async () => {
      const email = 'staff@example.com';
      await Visitor.invited(app, { email, staff_role: 'operator' });
      const signIn = (ip: string, password: string) =>
        checkPassword(app.database, { email, password, ip: `203.0.113.${ip}` });
      const guesses = Array.from({ length: 30 }, (_, index) => signIn(String(index % 3), 'guess'));
      expect(await Promise.all(guesses)).to.deep.equal(guesses.map(() => 'wrong'));
      expect(await signIn('1', PASSWORD)).to.equal('too many');
      expect(await signIn('200', PASSWORD)).to.have.nested.property('user.email', email);
      await app.database('sign_in_attempts').delete();
    });

    it('locks out nobody by guesses for addresses that join another address with a network', async () => {
      const [email, ip] = ['victim@example.com', '203.0.113.77'];
      await Visitor.invited(app, { email });
      const addresses = [' from ', '","', ' ', '/', ' from network '].map((between) => email + between + ip);
      for (const [index, address] of addresses.entries()) {
        const guess = () =>
          checkPassword(app.database, { email: address, password: 'guess', ip: `198.51.100.${index}` });
        for (let count = 0; count < 12; count++) expect(await guess()).to.equal('wrong');
        await requestLinkMail(app.database, { email: address, ip: `198.51.100.${index}` });
      }
      expect(await app.database('sign_in_attempts').where('subject', 'like', '%victim%')).to.deep.equal([]);
      expect(await checkPassword(app.database, { email, password: PASSWORD, ip })).to.have.nested.property(
        'user.email',
        email,
      );
      await app.database('sign_in_attempts').delete();
    });

    it('waits longer with each attempt on a user after the tenth, and never for long', () => {
      expect([1, 10, 11, 12, 1_000].map(pauseAfter)).to.deep.equal([0, 0, 200, 400, 5_000]);
    });

    it('delays and records nothing once it is refused, so that it holds no connection', async () => {
      const guess = () =>
        checkPassword(app.database, { email: 'crowd@example.com', password: 'guess', ip: '203.0.113.9' });
      await Promise.all(Array.from({ length: 10 }, guess));
      await app.database.transaction(async (transaction) => {
        await transaction.raw('SET LOCAL idle_in_transaction_session_timeout = 0');
        await transaction('sign_in_attempts').forUpdate();
        const refused = await Promise.all(Array.from({ length: 100 }, guess));
        expect(new Set(refused)).to.deep.equal(new Set(['too many']));
      });
      await app.database('sign_in_attempts').delete();
    });

    it('limits the passwords that a stranger may have hashed by a link of an invitation or a new password', async () => {
      const owner = await Visitor.invited(app, { email: 'inviting@example.com', account_id: customer.accountId });
      const members = `/console/accounts/${customer.accountId}/members`;
      const join = linkIn(await owner.send(members, { email: 'staff@example.com', role: 'developer' }));
      const fields = { name: 'Somebody', password: PASSWORD, repeated: PASSWORD };
      const shown = await Promise.all(Array.from({ length: 40 }, () => new Visitor(app).send(join, fields)));
      expect(shown.filter(({ text: page }) => page.includes('Too many attempts'))).to.have.length(30);

      const digest = Buffer.alloc(32, 1);
      const hash = (ip: string) => hashChosenPassword(app.database, { digest, password: PASSWORD, ip });
      const hashes = await Promise.all(Array.from({ length: 20 }, (_, index) => hash(`203.0.113.${index}`)));
      expect(hashes.filter((one) => one === null)).to.have.length(10);
      await app.database('sign_in_attempts').delete();
    });

    it('accepts a password of any characters, up to 200 of them', async () => {
      for (const [index, password] of [
        '🪁'.repeat(12),
        '🪁'.repeat(101),
        '🪁'.repeat(200),
        'ﷺ'.repeat(200),
      ].entries()) {
        const email = `emoji-${index}@example.com`;
        const path = await invite(app, { email });
        await new Visitor(app).send(path, { password, repeated: password });
        const signIn = (given: string) => new Visitor(app).send('/console/sign-in', { email, password: given });
        expect((await signIn(password)).headers['location'], email).to.equal('/console');
        expect((await signIn(`${password}🪁`)).status).to.equal(401);
        expect((await signIn(password.slice(0, -2))).status).to.equal(401);
        expect((await signIn('🪁'.repeat(20_000))).status).to.equal(401);
        await app.database('sign_in_attempts').delete();
      }
    });

    it('shows nothing of the user before the code of the second factor, on any page', async () => {
      const email = 'pending@example.com';
      await addSecondFactor(await Visitor.invited(app, { email, account_id: customer.accountId }));
      const names = [customer.accountId, 'Somebody', email];
      const visitor = new Visitor(app);
      await visitor.send('/console/sign-in', { email, password: PASSWORD });
      for (const { method, path } of PAGES) {
        const filled = path.replace('{account_id}', customer.accountId).replaceAll(/\{\w+\}/g, 'x');
        const address = `/console${filled}`;
        if (path === '/sign-out') continue;
        const shown = method === 'get' ? await visitor.get(address) : await visitor.send(address);
        for (const name of names) expect(shown.text, `${method} ${address}`).not.to.include(name);
      }
      const nowhere = await visitor.get('/console/nowhere');
      expect(nowhere.status).to.equal(404);
      for (const name of names) expect(nowhere.text).not.to.include(name);
    });

    it('asks for a code where there is a second factor, and accepts each code once', async () => {
      const user = await Visitor.invited(app, { email: 'second@example.com', account_id: customer.accountId });
      const { secret, step } = await addSecondFactor(user);

      const visitor = new Visitor(app);
      await visitor.send('/console/sign-in', { email: 'second@example.com', password: PASSWORD });
      expect((await visitor.get(`/console/accounts/${customer.accountId}`)).headers['location']).to.equal(
        '/console/sign-in',
      );
      const code = codeAt(secret, step + 1);
      const home = `/console/accounts/${customer.accountId}`;
      expect((await visitor.send('/console/sign-in/code', { code })).headers['location']).to.equal(home);
      expect((await visitor.get(`/console/accounts/${customer.accountId}`)).status).to.equal(200);

      const thief = new Visitor(app);
      await thief.send('/console/sign-in', { email: 'second@example.com', password: PASSWORD });
      expect((await thief.send('/console/sign-in/code', { code })).status).to.equal(401);
    });

    it('signing in is void with the end of the session: an old cookie gives no access', async () => {
      const visitor = await Visitor.invited(app, { email: 'leaving@example.com', account_id: customer.accountId });
      const { cookie } = visitor;
      await visitor.send('/console/sign-out');
      const shown = await new Visitor(app).get('/console/profile', { cookie });
      expect(shown.headers['location']).to.equal('/console/sign-in');
    });

    it('accepts an invitation once', async () => {
      const path = await invite(app, { email: 'once@example.com' });
      await new Visitor(app).send(path, { password: PASSWORD, repeated: PASSWORD });
      const again = await new Visitor(app).send(path, { password: `${PASSWORD}!`, repeated: `${PASSWORD}!` });
      expect(again.status).to.equal(410);
    });

    it('signing in is void everywhere once a new password was chosen by a link', async () => {
      // contract 4.11:49
      const before = await Visitor.invited(app, { email: 'lost@example.com' });
      await new Visitor(app).enter(await newPasswordLink(app, 'lost@example.com'));
      expect((await before.get('/console/profile')).headers['location']).to.equal('/console/sign-in');
    });
  });

  describe('forms', () => {
    it('are refused from another site', async () => {
      const fields = { email: 'owner@example.com', password: PASSWORD };
      const shown = await new Visitor(app).send('/console/sign-in', fields, { 'sec-fetch-site': 'cross-site' });
      expect(shown.status).to.equal(403);
      expect(shown.headers).not.to.have.property('set-cookie');
    });

    it('may be of any kind, and are never answered with a 500', async () => {
      const visitor = new Visitor(app);
      for (const body of ['{', '%', `email=${'x'.repeat(100_000)}&password=%00`, 'email=%ff', 'a=b&'.repeat(1_000)]) {
        const response = await fetch(`${app.baseUrl}/console/sign-in`, {
          method: 'POST',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body,
        });
        expect(response.status, body.slice(0, 20)).to.be.within(400, 499);
      }
      expect((await visitor.send('/console/sign-in', {}, { 'content-type': 'text/plain' })).status).to.equal(400);
    });
  });

  describe('access', () => {
    it('ends at once for a user who is disabled', async () => {
      const visitor = await Visitor.invited(app, { email: 'gone@example.com', account_id: customer.accountId });
      await app.database('users').where({ email: 'gone@example.com' }).update({ disabled_at: new Date() });
      expect((await visitor.get(`/console/accounts/${customer.accountId}`)).status).to.equal(303);
    });
  });

  describe('pages', () => {
    it('allow only scripts and styles from files of this origin, and cannot be framed', async () => {
      const { headers, text } = await owner.get(`/console/accounts/${customer.accountId}`);
      const policy = String(headers['content-security-policy']);
      expect(policy)
        .to.include("default-src 'none'")
        .and.include("script-src 'self';")
        .and.include("frame-ancestors 'none'");
      expect(policy).not.to.include('unsafe');
      expect(text).not.to.match(/<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=/);
    });

    it('link a new account to the playground, its keys and the reference of the API', async () => {
      const { accountId } = await app.createAccount();
      const owner = await Visitor.invited(app, { email: 'new@example.com', account_id: accountId });
      const home = `/console/accounts/${accountId}`;
      const [, main = ''] = (await owner.get(home)).text.split('<main');
      for (const path of [`${home}/playground`, `${home}/keys`, '/docs/api']) expect(main).to.include(`href="${path}"`);
      const finance = { email: 'payer@example.com', account_id: accountId, member_role: 'finance' } as const;
      const [, shown = ''] = (await (await Visitor.invited(app, finance)).get(home)).text.split('<main');
      expect(shown).to.include('No tasks yet').and.not.include(`href="${home}/keys"`);
    });

    it('mark the entry of the navigation with the longest path that their path starts with', async () => {
      const member = {
        email: 'everywhere@example.com',
        account_id: customer.accountId,
        staff_role: 'operator',
      } as const;
      const visitor = await Visitor.invited(app, member);
      const below = `/console/accounts/${customer.accountId}`;
      for (const [page, entry] of [
        ['/usage', '/usage'],
        ['/usage/requests', '/usage/requests'],
        ['/billing/ledger', '/billing'],
        ['', ''],
      ] as const) {
        const { text } = await visitor.get(below + page);
        expect(currentIn(text), page).to.deep.equal([below + entry]);
      }
      const staff = await visitor.get(`/console/staff/accounts/${customer.accountId}/keys`);
      expect(currentIn(staff.text)).to.deep.equal(['/console/staff/accounts']);
      expect(currentIn((await visitor.get('/console/profile')).text)).to.deep.equal([]);
    });

    it('have the same links when their own address ends with a slash', async () => {
      const home = `/console/accounts/${customer.accountId}`;
      const [plain, slashed] = [await owner.get(`${home}/keys`), await owner.get(`${home}/keys/`)];
      for (const { text } of [plain, slashed]) expect(text).to.include(`action="${home}/keys"`);
    });

    it('escape texts of clients', async () => {
      const { request } = newTask(keyOf(customer));
      const task = await createTaskRow(app.database, keyOf(customer), {
        request: { ...request, prompt: '<script>alert(1)</script>"\'&' },
      });
      const { text } = await owner.get(`/console/accounts/${customer.accountId}/tasks/${task.id}`);
      expect(text).to.include('&lt;script&gt;alert(1)&lt;/script&gt;').and.not.include('<script>alert');
    });

    it('create a task, with a hold on the account’s balance', async () => {
      const path = `/console/accounts/${customer.accountId}/playground`;
      const made = await owner.send(path, { model: 'vidone-3.0', prompt: 'A red kite over the sea', duration: '5' });
      expect([made.status, made.headers['location']]).to.satisfy(
        ([status, to]: unknown[]) => status === 303 && /\/tasks\/task_\w+$/.test(String(to)),
      );
      const shown = await owner.get(String(made.headers['location']));
      expect(shown.text).to.include('A red kite over the sea').and.include('Queued');
    });

    it('create no task that the balance does not cover, or that no model accepts, and give the reason', async () => {
      const poor = await app.createAccount({ fundedUsd: 0.1 });
      const visitor = await Visitor.invited(app, { email: 'poor@example.com', account_id: poor.accountId });
      const path = `/console/accounts/${poor.accountId}/playground`;
      for (const fields of [{ duration: '5' }, { duration: '1000' }, { duration: 'x' }, { model: 'none' }]) {
        const shown = await visitor.send(path, { model: 'vidone-3.0', prompt: 'A kite', ...fields });
        expect(shown.status, JSON.stringify(fields)).to.equal(400);
        expect(shown.text).to.include('role="alert"');
      }
      expect(await app.database('tasks').where({ account_id: poor.accountId })).to.deep.equal([]);
    });

    it('show a key once, and the key works', async () => {
      // contract 5:6
      const path = `/console/accounts/${customer.accountId}/keys`;
      const made = await owner.send(path, { name: 'from the console', usage_limit_usd: '2.50', all_models: 'on' });
      const apiKey = copyableIn(made);
      const balance = await fetch(`${app.baseUrl}/v1/balance`, { headers: { authorization: `Bearer ${apiKey}` } });
      expect(balance.status).to.equal(200);
      const listed = await owner.get(path);
      expect(listed.text).to.include('from the console').and.include('$2.50').and.not.include(apiKey);
    });
  });
});
