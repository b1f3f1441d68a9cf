import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { describeInBrowser, type Tab } from '../support/browser.ts';
import { useAccount, useTestConsole, useVisitor, type Visitor } from '../support/console.ts';

const CORRECTIONS = '/console/staff/corrections';

/** A form that a browser refills when it returns to the form's page. */
interface Refilled {
  readonly what: string;
  readonly table: string;
  readonly page: () => string;
  readonly by: Visitor;
  readonly fill: (page: Page) => Promise<void>;
  /** Makes another entry, which the second sending has. */
  readonly change: (page: Page) => Promise<void>;
  /** The path to which the form is sent; by default, that of its page. */
  readonly action?: () => string;
  readonly said: string;
}

describeInBrowser('a form to which the browser returns', (browser) => {
  const app = useTestConsole({ settings: { allowPrivateAddresses: true } });
  const customer = useAccount(app, { fundedUsd: 25 });
  const owner = useVisitor(app, () => ({ email: 'owner@example.com', account_id: customer.accountId }));
  const finance = useVisitor(app, () => ({ email: 'finance@example.com', staff_role: 'finance' }));
  let tab: Tab;

  beforeEach(async () => {
    tab = await browser.open(app.baseUrl);
    tab.page.setDefaultTimeout(5_000);
  });
  afterEach(() => tab.close());

  const amountField = (page: Page) => page.locator('[name=amount_usd]');
  const account = (): string => `/console/accounts/${customer.accountId}`;

  async function fillCorrection(page: Page): Promise<void> {
    await page.locator('[name=account_id]').fill(customer.accountId);
    await amountField(page).fill('1.11');
    await page.locator('[name=reason]').fill('A render was late.');
  }

  const FORMS: readonly Refilled[] = [
    {
      what: 'a correction',
      table: 'transfers',
      page: () => CORRECTIONS,
      by: finance,
      fill: fillCorrection,
      change: (page) => amountField(page).fill('1.12'),
      said: '$1.11 booked.',
    },
    {
      what: 'an adjustment of an account',
      table: 'transfers',
      page: () => `/console/staff/accounts/${customer.accountId}?tab=money`,
      by: finance,
      fill: async (page) => {
        await amountField(page).fill('2.11');
        await page.locator('#adjustment-reason').fill('A render was late.');
      },
      change: (page) => amountField(page).fill('2.12'),
      action: () => `/console/staff/accounts/${customer.accountId}/adjust`,
      said: 'took effect',
    },
    {
      what: 'a key',
      table: 'api_keys',
      page: () => `${account()}/keys`,
      by: owner,
      fill: async (page) => {
        await page.getByLabel('Name').fill('first');
        await page.getByLabel('No limit').check();
      },
      change: (page) => page.getByLabel('Name').fill('second'),
      said: 'took effect',
    },
    {
      what: 'an invitation',
      table: 'account_invitations',
      page: () => `${account()}/members`,
      by: owner,
      fill: (page) => page.locator('#field-email').fill('first@example.com'),
      change: (page) => page.locator('#field-email').fill('second@example.com'),
      said: 'took effect',
    },
  ];

  async function send(page: Page, action: string): Promise<void> {
    const answered = page.waitForResponse((response) => response.request().method() === 'POST');
    await page.locator(`form[action='${action}'] [type=submit]`).click();
    await answered;
    await page.waitForLoadState();
  }

  const countOf = async (table: string): Promise<number> =>
    (await app.database(table).where({ account_id: customer.accountId })).length;

  for (const { what, table, page: path, by, fill, change, action = path, said } of FORMS) {
    it(`creates ${what} once, says so when it is sent with other entries, and offers a new form`, async () => {
      await tab.signIn(by);
      const { page } = tab;
      await page.goto(path());
      await fill(page);
      const before = await countOf(table);
      await send(page, action());
      expect(await countOf(table)).to.equal(before + 1);
      for (let times = 0; times < 2; times++) {
        await page.goBack();
        await fill(page);
        await change(page);
        await send(page, action());
        await page.getByRole('heading', { name: 'Form already submitted' }).waitFor();
        expect(await page.getByRole('alert').innerText()).to.include(said);
        expect(await countOf(table)).to.equal(before + 1);
      }
      await page.getByRole('link', { name: 'Open a new form' }).click();
      await fill(page);
      await change(page);
      await send(page, action());
      expect(await countOf(table)).to.equal(before + 2);
    });
  }

  it('creates an object once when a refusal was corrected before', async () => {
    await tab.signIn(finance);
    const { page } = tab;
    await page.goto(CORRECTIONS);
    await fillCorrection(page);
    await amountField(page).fill('much');
    await send(page, CORRECTIONS);
    await amountField(page).fill('3.11');
    const before = await countOf('transfers');
    await send(page, CORRECTIONS);
    await page.goBack();
    await page.goBack();
    await fillCorrection(page);
    await send(page, CORRECTIONS);
    expect(await page.getByRole('heading', { level: 1 }).innerText()).to.equal('Form already submitted');
    expect(await countOf('transfers')).to.equal(before + 1);
  });

  it('can be sent for other work after a reload of its page', async () => {
    await tab.signIn(finance);
    const { page } = tab;
    await page.goto(CORRECTIONS);
    const before = await countOf('transfers');
    for (let times = 1; times <= 2; times++) {
      await fillCorrection(page);
      await send(page, CORRECTIONS);
      expect(await countOf('transfers')).to.equal(before + times);
      await page.goBack();
      await page.reload();
    }
  });
});
