/** The jobs of a day in the console, and the steps of each: `browser.test.ts` does them. */
import { expect } from 'chai';
import type { Locator, Page } from 'playwright-core';
import { monthName } from '../../console/html/months.ts';

export const CUSTOMER_EMAIL = 'billing@kites.example';
export const FAILED_PROMPT = 'A kite that tears [sim:fail=processing_failed]';
export const HOOK_PATH = '/hooks';

const now = new Date();
export const OLDEST_MONTH = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 2, 15));
const nameOf = (month: Date) => monthName(month.toISOString().slice(0, 7), 'en');

/** The mouse and keyboard of a user. Typing is free, and so are the keys that lead to a field; Enter is a click. */
export class Hand {
  /** The page that the user sees. */
  page: Page;
  clicks = 0;

  constructor(page: Page) {
    this.page = page;
  }

  async click(what: Locator): Promise<void> {
    this.clicks += 1;
    await what.first().click();
  }
}

type Step = (hand: Hand) => Promise<void>;

const follow =
  (name: string | RegExp): Step =>
  (hand) =>
    hand.click(hand.page.getByRole('link', { name, exact: true }));

/** Follows a link that opens a tab of its own. */
const followInNewTab =
  (name: string): Step =>
  async (hand) => {
    const [opened] = await Promise.all([hand.page.waitForEvent('popup'), follow(name)(hand)]);
    hand.page = opened;
  };

const press =
  (name: string): Step =>
  (hand) =>
    hand.click(hand.page.getByRole('button', { name, exact: true }));

/** @param button of the form that has the field */
const fill =
  (label: string, text: string, button: string): Step =>
  ({ page }) => {
    const form = page.locator('form', { has: page.getByRole('button', { name: button, exact: true }) });
    return form.getByLabel(label, { exact: true }).fill(text);
  };

const search =
  (text: string): Step =>
  async (hand) => {
    await hand.page.getByRole('searchbox', { name: 'Search' }).fill(text);
    hand.clicks += 1;
    await hand.page.keyboard.press('Enter');
  };

const download =
  (name: string): Step =>
  async (hand) => {
    const [file] = await Promise.all([hand.page.waitForEvent('download'), follow(name)(hand)]);
    expect(await file.failure()).to.equal(null);
  };

export type Person = 'owner' | 'operator' | 'finance';

interface Job {
  readonly by: Person;
  readonly job: string;
  /** The maximum of clicks from the page that opens after the sign-in. */
  readonly most: number;
  readonly steps: readonly Step[];
  /** Text that shows that the job is done. */
  readonly seen: (page: Page) => Locator;
}

// oxfmt-ignore
export const JOBS: readonly Job[] = [
  { by: 'owner', job: 'makes a video', most: 2,
    steps: [follow('Playground'), fill('Prompt', 'A red kite over the sea', 'Create'), press('Create')],
    seen: (page) => page.locator('video[controls]') },
  { by: 'owner', job: 'makes a key with a limit', most: 3,
    steps: [follow('API keys'), fill('Name', 'shop', 'Create'), fill('Spending limit in USD', '25', 'Create'), press('Create')],
    seen: (page) => page.getByLabel('Your new API key') },
  { by: 'owner', job: 'finds why a task failed', most: 3,
    steps: [follow('Tasks'), follow('Failed'), follow(FAILED_PROMPT)],
    seen: (page) => page.getByText(' refunded') },
  { by: 'operator', job: 'finds why a task failed', most: 3,
    steps: [follow('All tasks'), follow('Failed'), follow(/^task_/)],
    seen: (page) => page.getByRole('heading', { name: 'Timeline' }) },
  { by: 'owner', job: 'reads what each model cost', most: 1,
    steps: [follow('Usage')],
    seen: (page) => page.getByRole('rowheader', { name: 'vidone-3.0' }) },
  { by: 'owner', job: 'downloads the usage as CSV', most: 2,
    steps: [follow('Usage'), download('Download CSV')],
    seen: (page) => page.getByRole('heading', { name: 'Usage' }) },
  { by: 'owner', job: 'tests a webhook', most: 3,
    steps: [follow('Webhooks'), follow(new RegExp(HOOK_PATH)), press('Send test event')],
    seen: (page) => page.getByRole('cell', { name: 'Delivered' }) },
  { by: 'owner', job: 'reads the statement of a month', most: 2,
    steps: [follow('Billing'), follow(nameOf(now))],
    seen: (page) => page.getByText('Opening balance') },
  { by: 'owner', job: 'finds why the balance is what it is', most: 2,
    steps: [follow('Billing'), follow('Full ledger')],
    seen: (page) => page.getByRole('columnheader', { name: 'Balance after' }) },
  { by: 'operator', job: 'finds a customer by e-mail', most: 2,
    steps: [search(CUSTOMER_EMAIL)],
    seen: (page) => page.getByRole('heading', { name: 'Kites' }) },
  { by: 'operator', job: 'finds why a balance is what it is', most: 2,
    steps: [search(CUSTOMER_EMAIL), follow('Full ledger')],
    seen: (page) => page.getByRole('columnheader', { name: 'Balance after' }) },
  { by: 'operator', job: 'follows a task into Temporal', most: 4,
    steps: [follow('All tasks'), follow(/^task_/), followInNewTab('Open in Temporal')],
    seen: (page) => page.getByText('A history of Temporal') },
  { by: 'operator', job: 'disables a model', most: 3,
    steps: [follow('Models and prices'), follow('imageb-2'), fill('Reason', 'It draws no kites.', 'Disable'), press('Disable')],
    seen: (page) => page.getByRole('button', { name: 'Enable' }) },
  { by: 'operator', job: 'suspends an account', most: 3,
    steps: [search('Late payers'), follow('Suspend or erase'), fill('Reason', 'They have not paid.', 'Suspend'), press('Suspend')],
    seen: (page) => page.getByText('Account suspended.') },
  { by: 'finance', job: 'changes a price', most: 4,
    steps: [
      follow('Price lists'), follow('partners'),
      fill('Factor', '0.8', 'Create new version'), fill('Reason', 'They buy more.', 'Create new version'),
      press('Create new version'),
    ],
    seen: (page) => page.getByRole('rowheader', { name: '2', exact: true }) },
  { by: 'finance', job: 'closes a month', most: 3,
    steps: [follow(nameOf(OLDEST_MONTH)), follow('Close month'), press('Close month')],
    seen: (page) => page.getByText('Closed by') },
];
