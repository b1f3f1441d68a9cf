import { expect } from 'chai';
import { invite, PASSWORD } from '../support/console.ts';
import { describeInBrowser, type Tab } from '../support/browser.ts';
import { call, startTestStack, type TestStack } from '../support/stack.ts';

const WAIT_MS = 20_000;

describeInBrowser('the console in a browser', (browser) => {
  let stack: TestStack;
  let accountId: string;
  let tab: Tab;
  let invitations = 0;

  before(async function () {
    this.timeout(120_000);
    stack = await startTestStack();
    await Promise.all([stack.api.start(), stack.worker.start()]);
    ({ accountId } = await stack.createAccount({ fundedUsd: 100 }));
  });
  after(() => stack.stop());

  beforeEach(async () => {
    tab = await browser.open(stack.baseUrl);
  });
  afterEach(async () => {
    const { complaints } = tab;
    await tab.close();
    expect(complaints).to.deep.equal([]);
  });

  /** Follows an invitation and chooses a password. @returns the e-mail address */
  async function signUp(): Promise<string> {
    invitations += 1;
    const email = `person-${invitations}@example.com`;
    await tab.page.goto(await invite(stack, { email, account_id: accountId, member_role: 'owner' }));
    await tab.page.getByLabel('New password').fill(PASSWORD);
    await tab.page.getByLabel('Once more').fill(PASSWORD);
    await tab.page.getByRole('button', { name: 'Save and sign in' }).click();
    await tab.page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    return email;
  }

  it('lets somebody who is invited in, to what the account has', async () => {
    await signUp();
    expect(await tab.page.getByText('$100.00').first().isVisible()).to.equal(true);
  });

  it('makes a key that programs can use', async () => {
    await signUp();
    await tab.page.getByRole('link', { name: 'API keys' }).click();
    await tab.page.getByLabel('Name').fill('for the tests');
    await tab.page.getByRole('button', { name: 'Create' }).click();
    const key = await tab.page.getByLabel('Your new key').innerText();
    expect((await call(`${stack.baseUrl}/v1/balance`, { key })).status).to.equal(200);
  });

  it('makes a video in the playground, says before what it costs, and plays it', async () => {
    await signUp();
    const { page } = tab;
    await page.getByRole('link', { name: 'Playground' }).click();
    await page.getByLabel('Model').selectOption('vidone-3.0');
    await page.getByRole('button', { name: 'Choose' }).click();
    await page.getByLabel('Prompt').fill('A red kite over the sea');
    await page.getByText('$0.50').waitFor();
    await page.getByRole('button', { name: 'Create' }).click();
    await page.locator('video[controls]').waitFor({ timeout: WAIT_MS });
    await page.waitForFunction('document.querySelector("video").readyState > 0', null, { timeout: WAIT_MS });
    await page.evaluate('document.querySelector("video").play()');
    expect(await page.evaluate<number>('document.querySelector("video").videoWidth')).to.be.above(0);
    expect(await page.getByText('Succeeded').isVisible()).to.equal(true);
  });

  it('makes a picture in the playground, and shows it', async () => {
    await signUp();
    const { page } = tab;
    await page.goto(`/console/accounts/${accountId}/playground?model=imageb-2`);
    await page.getByLabel('Prompt').fill('A lighthouse at dusk');
    await page.getByRole('button', { name: 'Create' }).click();
    const picture = page.getByRole('img', { name: 'A lighthouse at dusk' });
    await picture.waitFor({ timeout: WAIT_MS });
    await page.waitForFunction('document.querySelector(".result img").naturalWidth > 0', null, { timeout: WAIT_MS });
  });

  it('is used by the keyboard alone, from signing in to a task', async () => {
    const email = await signUp();
    const { page } = tab;
    await tab.tabTo('.who button');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await tab.tabTo('[name=email]');
    await page.keyboard.type(email);
    await tab.tabTo('[name=password]');
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    await tab.tabTo('nav a[href$="/playground"]');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Playground' }).waitFor();
    await tab.tabTo('[name=prompt]');
    await page.keyboard.type('A boat in the rain');
    await tab.tabTo('#playground > button[type=submit]');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/tasks\/task_\w+$/);
  });
});
