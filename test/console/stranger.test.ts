import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import pino from 'pino';
import { OWN_SITE, type Site } from '../../catalogue/site.ts';
import { startMails } from '../../console/mails/sender.ts';
import type { Repetition } from '../../domain/background-loop.ts';
import { createStripeCheckout } from '../../providers/stripe-checkout.ts';
import { createMailer } from '../../services/people/mailer.ts';
import type { TestApp } from '../support/app.ts';
import { describeInBrowser, type Tab } from '../support/browser.ts';
import { CATALOGUE } from '../support/catalogue.ts';
import { PASSWORD, startTestConsole } from '../support/console.ts';
import { announcePaymentEvent } from '../support/payments.ts';
import { startMailServer, type TestMailServer } from '../support/smtp.ts';
import { call } from '../support/stack.ts';
import { SimulatedStripe } from '../support/stripe.ts';

const run = promisify(execFile);

const SECRET = 'whsec_of_a_test';
const EMAIL = 'ada@example.com';
const SITE: Site = {
  ...OWN_SITE,
  name: 'Acme',
  color: '#0f766e',
  isPublic: true,
  documents: [{ name: 'terms', version: '2026-11-01', text: { en: 'Be kind.', zh: '友善。' } }],
  registration: { domains: null, needsApproval: false },
};

describeInBrowser('a stranger', (browser) => {
  const stripe = new SimulatedStripe();
  let app: TestApp;
  let mailServer: TestMailServer;
  let mails: Repetition;
  let tab: Tab;

  before(async () => {
    await stripe.start();
    mailServer = await startMailServer();
    app = await startTestConsole({
      site: () => SITE,
      simulatesText: true,
      settings: {
        canSendMail: true,
        checkout: createStripeCheckout({ secretKey: 'sk_test_1', apiUrl: stripe.url, origin: stripe.url }),
        paymentWebhookSecret: SECRET,
      },
    });
    mails = startMails({
      database: app.database,
      mailer: createMailer({ smtpUrl: `smtp://127.0.0.1:${mailServer.port}`, from: 'acme@example.com' }),
      publicUrl: app.baseUrl,
      site: () => SITE,
      catalogue: () => CATALOGUE,
      log: pino({ level: 'silent' }),
    });
    tab = await browser.open(app.baseUrl);
  });
  after(async () => {
    await tab?.close();
    await mails?.stop();
    await mailServer?.stop();
    await app?.stop();
    await stripe.stop();
  });

  /** Finds a free model on the public pages. @returns its first call, which is with curl */
  async function findModel(): Promise<string> {
    const { page } = tab;
    await page.goto('/');
    await page.getByRole('link', { name: 'Models and prices' }).click();
    await page.getByLabel('Capability').selectOption('free');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.locator('main section h2 a').first().click();
    await page.getByRole('heading', { name: 'Prices' }).waitFor();
    expect(await page.locator('main').innerText()).to.contain('$0');
    return page.locator('pre.example').first().innerText();
  }

  async function register(): Promise<void> {
    const { page } = tab;
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Create an account' }).click();
    await page.locator('[name=email]').fill(EMAIL);
    await page.locator('[name=name]').fill('Ada');
    await page.locator('[name=password]').fill(PASSWORD);
    await page.locator('[name=repeated]').fill(PASSWORD);
    await page.locator('[name=terms]').check();
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByText('We send a link to your e-mail address.').waitFor();
    const mail = await mailServer.next();
    expect(mail.to).to.deep.equal([EMAIL]);
    await page.goto(/http\S+/.exec(mail.text)?.[0] ?? '');
    await page.locator('[name=password]').fill(PASSWORD);
    await page.getByRole('button', { name: 'Verify and sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
  }

  const open = (name: string): Promise<void> =>
    tab.page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name }).click();

  /** @returns the new key */
  async function createKey(): Promise<string> {
    const { page } = tab;
    await open('API keys');
    await page.getByLabel('No limit').check();
    await page.getByLabel('All current and future models').check();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name: 'Your new API key' }).waitFor();
    return (await page.locator('[data-copy^="sk-"]').first().getAttribute('data-copy')) ?? '';
  }

  async function pay(): Promise<void> {
    const { page } = tab;
    await open('Billing');
    await page.getByLabel('Amount', { exact: true }).fill('25.50');
    await page.getByRole('button', { name: 'Add funds' }).click();
    await page.getByRole('heading', { name: 'Pay here' }).waitFor();
    const [session] = stripe.sessions;
    const paid = { payment_intent: 'pi_1', payment_status: 'paid', amount_total: session?.cents, currency: 'usd' };
    const event = { type: 'checkout.session.completed', data: { object: { ...paid, ...session?.session } } };
    expect((await announcePaymentEvent(app.baseUrl, SECRET, event)).status).to.equal(200);
    await page.goto('/console');
    await page.getByText('$25.50').first().waitFor();
  }

  async function redeem(): Promise<void> {
    const expires_at = new Date(Date.now() + 86_400_000).toISOString();
    const body = { label: 'Fair', kind: 'funds', amount_usd: 10, count: 1, expires_at, author: 'ada' };
    const path = `${app.baseUrl}/admin/v1/gift-batches`;
    const issued = await call<{ data: { codes: string[] } }>(path, { key: app.adminToken, body });
    await open('Billing');
    await tab.page.locator('[name=code]').fill(issued.body.data.codes[0] ?? '');
    await tab.page.getByRole('button', { name: 'Redeem' }).click();
    await tab.page.getByText('Code redeemed').waitFor();
  }

  it('finds a model and its price, registers, makes a key, runs the page’s call, pays and redeems a code', async () => {
    const curl = await findModel();
    await register();
    const apiKey = await createKey();
    const { stdout } = await run('sh', ['-c', curl], { env: { ...process.env, API_KEY: apiKey } });
    expect(JSON.parse(stdout).choices[0].message.content).to.contain('Why is the sea salty?');
    await pay();
    await redeem();
    await tab.page.goto('/console');
    await tab.page.getByText('$35.50').first().waitFor();
    expect(tab.complaints).to.deep.equal([]);
  });
});
