import { expect } from 'chai';
import { describeInBrowser, type Tab } from '../support/browser.ts';
import { addSecondFactor, PASSWORD, useTestConsole, Visitor } from '../support/console.ts';
import { codeAt } from '../../services/people/second-factor.ts';
import { createTaskRow, keyOf } from '../support/factories.ts';

const PROMPT = 'A red kite over the sea, seen from the harbour at dusk';

describe('an ended session of the console', () => {
  const app = useTestConsole();
  beforeEach(() => app.database('sign_in_attempts').delete());

  /** A visitor whose session has just ended. */
  async function visitorWithout(email: string): Promise<Visitor> {
    const visitor = await Visitor.invited(app, { email });
    await visitor.get('/console/profile');
    await app.database('sessions').delete();
    return visitor;
  }

  it('returns to the page and its filters after the next sign-in', async () => {
    const visitor = await visitorWithout('filters@example.com');
    expect((await visitor.get('/console/profile?part=2')).headers['location']).to.equal('/console/sign-in');
    const signedIn = await visitor.send('/console/sign-in', { email: 'filters@example.com', password: PASSWORD });
    expect(signedIn.headers['location']).to.equal('/console/profile?part=2');
    await app.database('sessions').delete();
    const again = await visitor.send('/console/sign-in', { email: 'filters@example.com', password: PASSWORD });
    expect(again.headers['location'], 'the next sign-in').to.equal('/console');
  });

  it('returns there after the second factor, too', async () => {
    const email = 'factor@example.com';
    const visitor = await Visitor.invited(app, { email });
    const { secret, step } = await addSecondFactor(visitor);
    await app.database('sessions').delete();
    await visitor.get('/console/profile?part=2');
    await visitor.send('/console/sign-in', { email, password: PASSWORD });
    const signedIn = await visitor.send('/console/sign-in/code', { code: codeAt(secret, step + 1) });
    expect(signedIn.headers['location']).to.equal('/console/profile?part=2');
  });

  it('opens the sign-in instead of the page when a part of the page is requested, and returns to the page', async () => {
    const visitor = await visitorWithout('part@example.com');
    const open = `${app.baseUrl}/console/profile?part=3`;
    const shown = await visitor.get('/console/staff/live/state', { 'hx-request': 'true', 'hx-current-url': open });
    expect([shown.status, shown.headers['hx-redirect'], shown.text]).to.deep.equal([204, '/console/sign-in', '']);
    const signedIn = await visitor.send('/console/sign-in', { email: 'part@example.com', password: PASSWORD });
    expect(signedIn.headers['location']).to.equal('/console/profile?part=3');
  });

  for (const [what, address] of [
    ['another site', 'https://attacker.example/console/../elsewhere'],
    ['what is no address', 'javascript:alert(1)'],
    ['a header of its own', 'https://attacker.example/x\\r\\nSet-Cookie: a=b'],
    ['an address that is too long', `https://attacker.example/console/${'x'.repeat(2_000)}`],
  ] as const) {
    it(`returns to no page for ${what}`, async () => {
      const visitor = await visitorWithout(`${what.replaceAll(' ', '-')}@example.com`);
      await visitor.get('/console/profile', { 'hx-request': 'true', 'hx-current-url': address });
      const email = `${what.replaceAll(' ', '-')}@example.com`;
      const signedIn = await visitor.send('/console/sign-in', { email, password: PASSWORD });
      expect(signedIn.headers['location']).to.equal('/console');
    });
  }

  it('returns only below the console, whatever the cookie holds', async () => {
    await Visitor.invited(app, { email: 'cookie@example.com' });
    const path = encodeURIComponent('//attacker.example');
    const signedIn = await new Visitor(app).send(
      '/console/sign-in',
      { email: 'cookie@example.com', password: PASSWORD },
      { cookie: `__Host-genway-back=${path}` },
    );
    expect(signedIn.headers['location']).to.equal('/console//attacker.example');
  });
});

describeInBrowser('a session that ends while a page of the console is open', (browser) => {
  const app = useTestConsole();
  let account: string;
  let tab: Tab;
  let count = 0;
  let email: string;

  beforeEach(async () => {
    const { accountId } = await createTaskRow(app.database, keyOf(await app.createAccount({ fundedUsd: 25 })));
    account = `/console/accounts/${accountId}`;
    tab = await browser.open(app.baseUrl);
    email = `person-${++count}@example.com`;
    await tab.signIn(await Visitor.invited(app, { email, account_id: accountId, member_role: 'owner' }));
  });
  afterEach(() => tab.close());

  async function signInAgain(): Promise<void> {
    await tab.page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    expect(await tab.page.getByRole('heading', { level: 1 }).count()).to.equal(1);
    await tab.page.getByLabel('E-mail address').fill(email);
    await tab.page.getByLabel('Password').fill(PASSWORD);
    await tab.page.getByRole('button', { name: 'Sign in' }).click();
  }

  /** The price of what is typed is asked for a moment later, and would meet the ended session before the form does. */
  const withoutPrices = () => tab.page.route(/\/price$/, (request) => request.fulfill({ status: 204 }));

  it('keeps the prompt of the playground, which is sent after the sign-in', async () => {
    const { page } = tab;
    await withoutPrices();
    await page.goto(`${account}/playground?model=vidone-3.0`);
    await page.getByLabel('Prompt').fill(PROMPT);
    await page.getByLabel('Seconds').fill('7');
    await app.database('sessions').delete();
    await page.getByRole('button', { name: 'Create' }).click();
    await signInAgain();
    await page.waitForURL(/playground\?model=vidone-3\.0$/);
    expect(await page.getByLabel('Prompt').inputValue()).to.equal(PROMPT);
    expect(await page.getByLabel('Seconds').inputValue()).to.equal('7');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.locator('#result a[href*="/tasks/task_"]').waitFor();
    expect(await app.database('tasks').whereRaw(`request->>'prompt' = ?`, [PROMPT])).to.have.length(1);
  });

  it('keeps the question for a text model, whose answer is streamed', async () => {
    const { page } = tab;
    await withoutPrices();
    await page.goto(`${account}/playground?model=textc-M3`);
    await page.getByLabel('Prompt').fill(PROMPT);
    await app.database('sessions').delete();
    await page.getByRole('button', { name: 'Send' }).click();
    await signInAgain();
    await page.waitForURL(/playground\?model=textc-M3$/);
    expect(await page.getByLabel('Prompt').inputValue()).to.equal(PROMPT);
  });

  it('opens the sign-in where the tiles of the page are requested again, and puts no form in their place', async () => {
    const { page } = tab;
    await page.goto(`${account}/tasks`);
    const poll = page.locator('[hx-get][hx-trigger]').first();
    await poll.waitFor({ state: 'attached' });
    await app.database('sessions').delete();
    await signInAgain();
    await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor();
    expect(new URL(page.url()).pathname).to.equal(`${account}/tasks`);
  });

  it('discards the input once another page opens', async () => {
    const { page } = tab;
    await page.goto(`${account}/playground?model=vidone-3.0`);
    await page.getByLabel('Prompt').fill(PROMPT);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signInAgain();
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    await page.goto(`${account}/playground?model=vidone-3.0`);
    expect(await page.getByLabel('Prompt').inputValue()).to.equal('');
  });

  it('shows what a form did once after the form, and not after a sign-in', async () => {
    const { page } = tab;
    await app.database('sessions').delete();
    await page.goto(`${account}/keys`);
    await signInAgain();
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
    expect(await page.getByRole('status').count()).to.equal(0);
    await page.getByRole('button', { name: 'Disable' }).first().click();
    await page.getByRole('button', { name: 'Enable' }).first().waitFor();
    expect(await page.getByRole('status').innerText()).to.equal('Disabled.');
    await page.reload();
    expect(await page.getByRole('status').count()).to.equal(0);
  });

  it('does not show what a form did on the page after one that shows a new key', async () => {
    const { page } = tab;
    await page.goto(`${account}/keys`);
    await page.getByLabel('Name').fill('shown once');
    await page.getByLabel('No limit').check();
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { level: 1, name: 'Your new API key' }).waitFor();
    await page.goto(`${account}/usage`);
    expect(await page.getByRole('status').count()).to.equal(0);
  });
});
