import { Readable } from 'node:stream';
import axe from 'axe-core';
import { expect } from 'chai';
import { inviteMember } from '../../api/services/people/members.ts';
import { PAGES } from '../../console/pages.ts';
import type { Database } from '../../db/database.ts';
import { listDocuments, recordSeller } from '../../db/queries/billing-documents.ts';
import { topUp } from '../../db/queries/credits.ts';
import { finishTask } from '../../db/queries/finish-task.ts';
import { finishReconciliation, insertReconciliation } from '../../db/queries/reconciliations.ts';
import { findUserByEmail } from '../../db/queries/users.ts';
import { newId } from '../../domain/ids.ts';
import { parseUsd } from '../../domain/money.ts';
import { createPriceList } from '../../db/queries/price-lists.ts';
import { createOpenIdProvider } from '../../net/openid-provider.ts';
import type { CheckoutPages } from '../../providers/checkout.ts';
import type { TestApp } from '../support/app.ts';
import { describeInBrowser, type Screen, type Tab } from '../support/browser.ts';
import { invite, startTestConsole, Visitor } from '../support/console.ts';
import {
  createEndpoint,
  createTaskRow,
  createTextRequestRow,
  finishAsFailed,
  importSampleBill,
  newEvent,
  newTask,
  type TestCaller,
} from '../support/factories.ts';
import { pngFile } from '../support/media-files.ts';
import { CLIENT, REDIRECT_URI, startProvider, type TestProvider } from '../support/open-id.ts';

/** WCAG 2.2, levels A and AA: https://www.deque.com/axe/core-documentation/api-documentation/ */
const WCAG_TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

/** The colors do not depend on the width: axe checks each color scheme once, and each width once. */
const SCREENS: readonly Omit<Screen, 'hasScript'>[] = [
  { width: 1440, colorScheme: 'light' },
  { width: 390, colorScheme: 'dark' },
];

/** Refuses anybody who does not come from the provider: test/console/open-id.test.ts tests the page. */
const CALLBACK = '/sign-in/callback';

const MAX_PAGE_BYTES = 100_000;

/** A violation of a rule of accessibility. */
interface Finding {
  readonly rule: string;
  readonly elements: readonly string[];
}

/** Its checkout pages belong to this account. */
let payer = '';

/** Its pages are Stripe's, and are not checked here. */
const PAYING: CheckoutPages = {
  origin: 'https://checkout.stripe.com',
  open: async () => 'cs_1',
  find: async () => ({ accountId: payer, url: 'https://checkout.stripe.com/c/pay/cs_1' }),
  openCard: async () => 'cs_1',
  findCard: async () => null,
  chargeCard: async () => ({ id: 'pi_1' }),
};

describeInBrowser('every page of the console', (browser) => {
  let provider: TestProvider;
  let app: TestApp;
  let samples: Readonly<Record<string, string>>;
  let stranger: Tab;
  /** An owner of an account who is also an operator of the gateway. */
  let user: Tab;

  before(async function () {
    this.timeout(120_000);
    provider = await startProvider();
    const { issuer } = provider;
    app = await startTestConsole({
      settings: { canSendMail: true, checkout: PAYING },
      openIdProvider: createOpenIdProvider({ ...CLIENT, issuer, redirectUri: REDIRECT_URI }),
      simulatesText: true,
    });
    const customer = await app.createAccount({ fundedUsd: 25 });
    samples = await makeSamples(app, customer);
    payer = customer.accountId;
    [stranger, user] = await Promise.all([browser.open(app.baseUrl), browser.open(app.baseUrl)]);
    const person = { email: 'all@example.com', account_id: customer.accountId, staff_role: 'operator' } as const;
    await user.signIn(await Visitor.invited(app, person));
  });
  after(async () => {
    await Promise.all([stranger?.close(), user?.close()]);
    await app?.stop();
    await provider?.stop();
  });

  for (const { path, access } of PAGES.filter(({ method, path }) => method === 'get' && path !== CALLBACK)) {
    it(`the page is accessible on every screen, small, and violates no policy: ${path || '/'}`, async function () {
      this.timeout(180_000);
      const tab = access === 'everybody' ? stranger : user;
      const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => sampleOf(samples, name));
      const address = `/console${filled}${path.endsWith('/export') ? '?format=csv' : ''}`;
      const answer = await tab.page.request.get(address, { maxRedirects: 0 });
      expect(answer.status(), `GET ${address}`).to.be.below(400);
      // Redirects, files, and parts of other pages are not checked on their own.
      if (!(await answer.text()).startsWith('<!doctype html>')) return;

      await tab.takeBytes();
      const complaintsBefore = tab.complaints.length;
      await tab.page.goto(address);
      expect(await tab.takeBytes(), 'bytes of the page with its styles and scripts').to.be.within(1, MAX_PAGE_BYTES);
      await tab.page.setViewportSize({ width: 1280, height: 900 });
      const cutOff = `[...document.querySelectorAll('.table')].filter((table) => table.scrollWidth > table.clientWidth).map((table) => table.ariaLabel)`;
      expect(await tab.page.evaluate<string[]>(cutOff), 'tables that are cut off at 1280 pixels').to.deep.equal([]);
      expect(await findingsOn(tab)).to.deep.equal([]);
      const withoutId = `document.querySelectorAll('form[method=post]:not(:has([name=form_id]))').length`;
      expect(await tab.page.evaluate<number>(withoutId), 'forms that act twice when they are sent twice').to.equal(0);
      expect(tab.complaints.slice(complaintsBefore)).to.deep.equal([]);
    });
  }

  it('would not pass with an inline script, or without labels', async () => {
    const { page } = stranger;
    await page.goto('/console/sign-in');
    const complaintsBefore = stranger.complaints.length;
    await page.evaluate(`
      document.body.append(Object.assign(document.createElement('script'), { textContent: '1' }));
      document.querySelectorAll('label').forEach((label) => label.remove());
    `);
    expect((await findingsOn(stranger)).map(({ rule }) => rule)).to.include('1440 light: label');
    expect(stranger.complaints.slice(complaintsBefore).join()).to.include('Content Security Policy');
  });
});

function sampleOf(samples: Readonly<Record<string, string>>, name: string): string {
  const sample = samples[name];
  if (sample !== undefined) return sample;
  throw new Error(`A page has {${name}} in its path: let makeSamples in test/console/every-page.test.ts make one.`);
}

/** One of each object that pages show, and the ids for their paths. */
async function makeSamples(app: TestApp, customer: TestCaller): Promise<Readonly<Record<string, string>>> {
  const { accountId, keyId } = customer;
  const { database, storage } = app;
  const key = { accountId, id: keyId };
  const picture = await storage.put('results/sample.png', Readable.from([pngFile()]), {
    contentType: 'image/png',
    maxBytes: 1_000_000,
  });
  const { request } = newTask(key);
  const succeeded = await createTaskRow(database, key, { request: { ...request, prompt: 'A lighthouse at dusk' } });
  const output = [{ type: 'image', url: picture.url, mimeType: 'image/png' }] as const;
  await finishTask(database, succeeded.id, { status: 'succeeded', output }, newEvent('task.succeeded'));
  await finishAsFailed(database, await createTaskRow(database, key));
  await createTaskRow(database, key);
  const endpoint = await createEndpoint(database, { id: accountId });
  const { list } = await createPriceList(database, 'partners', {
    factor: '0.9',
    rules: [{ model: 'vidone-3.0', prices: { '720p': '0.08' } }],
    author: 'Ada',
    reason: 'a sample',
  });
  return {
    price_list: list,
    account_id: accountId,
    task_id: succeeded.id,
    key_id: keyId,
    file_id: await uploadPicture(app, customer),
    request_id: await askText(app, customer),
    webhook_id: endpoint.id,
    model_id: 'vidone-3.0',
    text_request_id: (await createTextRequestRow(database, key)).id,
    reconciliation_id: await makeReport(database, accountId),
    ...(await makeMember(app, accountId)),
    ...(await importSampleBill(database)),
    document_id: await issueReceipt(database, accountId),
    checkout_id: 'cs_1',
    form_id: await sendForm(app),
    token: (await invite(app, { email: 'invited@example.com' })).split('/').at(-1) ?? '',
  };
}

/** @returns the id of the receipt */
async function issueReceipt(database: Database, accountId: string): Promise<string> {
  const taxes = [{ name: 'VAT', percent: '19' }];
  await recordSeller(database, { name: 'Acme', address: ['Street 1'], taxId: 'DE1', taxes, taxPoint: 'paid' });
  await topUp(database, { accountId, amount: parseUsd(5), reference: 'wire 1' });
  const [document] = await listDocuments(database, { accountId, limit: 1 });
  return document?.id ?? '';
}

/** @returns the id of the form */
async function sendForm(app: TestApp): Promise<string> {
  const form_id = crypto.randomUUID();
  await new Visitor(app).send('/console/lost-password', { form_id, email: 'lost@example.com' });
  return form_id;
}

/** @returns the id of the file */
async function uploadPicture({ baseUrl }: TestApp, { apiKey }: TestCaller): Promise<string> {
  const body = new FormData();
  body.append('file', new Blob([new Uint8Array(pngFile())]), 'kite.png');
  const answer = await fetch(`${baseUrl}/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
    body,
  });
  const created: unknown = await answer.json();
  return String(Object(Object(created).data).id);
}

/** @returns the id of the request */
async function askText({ baseUrl }: TestApp, { apiKey }: TestCaller): Promise<string> {
  const { headers } = await fetch(`${baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'textc-M3', messages: [{ role: 'user', content: 'Name three lighthouses.' }] }),
  });
  return headers.get('x-request-id') ?? '';
}

/** An owner who invites another person. */
async function makeMember(app: TestApp, accountId: string): Promise<{ user_id: string; invitation_token: string }> {
  const email = 'owner@example.com';
  await invite(app, { email, account_id: accountId });
  const found = await findUserByEmail(app.database, email);
  const ownerId = found?.user.id ?? '';
  const joining = { email: 'joining@example.com', role: 'developer', canSendMail: false } as const;
  const made = await inviteMember(app.database, { accountId, ownerId }, joining);
  if (typeof made === 'string' || !('path' in made)) throw new Error('nobody was invited');
  return { user_id: ownerId, invitation_token: made.path.split('/').at(-1) ?? '' };
}

/** The report of a reconciliation with a finding. */
async function makeReport(database: Database, accountId: string): Promise<string> {
  const id = newId('reconciliation');
  await insertReconciliation(database, { id, requestedBy: 'operator' });
  await finishReconciliation(database, id, {
    checks: [{ check: 'account_balances', question: 'Is every balance right?', findings: 1, durationMs: 3 }],
    findings: [
      { check: 'account_balances', subject: accountId, detail: 'is 1', remedy: 'Set the balance to the sum.' },
    ],
  });
  return id;
}

/** The violations that axe finds on the open page, on each of the screens. */
async function findingsOn({ page }: Tab): Promise<Finding[]> {
  await page.evaluate(axe.source);
  const findings: Finding[] = [];
  for (const { width, colorScheme } of SCREENS) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const found = await page.evaluate<Finding[]>(`
      axe.run({ runOnly: { type: 'tag', values: ${JSON.stringify(WCAG_TAGS)} } }).then(({ violations }) =>
        violations.map(({ id, nodes }) => ({ rule: id, elements: nodes.map(({ html, any }) => html + ': ' + any.map(({ message }) => message)) })))
    `);
    // Reflow, success criterion 1.4.10, which axe does not check.
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');
    if (overflow > 0)
      findings.push({ rule: `${width} ${colorScheme}: wider than the screen`, elements: [`${overflow} px`] });
    findings.push(...found.map(({ rule, elements }) => ({ rule: `${width} ${colorScheme}: ${rule}`, elements })));
  }
  return findings;
}
