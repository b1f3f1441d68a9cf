import axe from 'axe-core';
import { expect } from 'chai';
import type { Page } from '../../console/page.ts';
import { ACCOUNT_TABS } from '../../console/pages/staff/accounts/account.tsx';
import { OWN_SITE, type Site } from '../../catalogue/site.ts';
import { PAGES } from '../../console/pages.ts';
import { PUBLIC_PAGES } from '../../console/public/serve.tsx';
import type { CheckoutPages } from '../../providers/checkout.ts';
import { PlayedBilling } from '../support/plan-billing.ts';
import { newId } from '../../domain/ids.ts';
import { CATALOGUE } from '../support/catalogue.ts';
import type { TestApp } from '../support/app.ts';
import { describeInBrowser, type Screen, type Tab } from '../support/browser.ts';
import { invite, startTestConsole, Visitor } from '../support/console.ts';
import { CLIENT, startProvider, type TestProvider } from '../support/open-id.ts';
import { runsAll } from '../support/properties.ts';
import { makeSamples, type Samples } from '../support/samples.ts';

const CONTRAST = 'color-contrast';
/** Half of the processor time: {@link findNewColors} finds the elements to check, unless with `--all` axe checks all. */
const AXE_CONTRAST_OPTIONS = { runOnly: [CONTRAST], resultTypes: ['violations'], preload: false };
/** WCAG 2.2, levels A and AA: https://www.deque.com/axe/core-documentation/api-documentation/ */
const AXE_OPTIONS = {
  ...AXE_CONTRAST_OPTIONS,
  runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] },
  rules: { [CONTRAST]: { enabled: runsAll } },
};

/** The colors do not depend on the width: axe checks each color scheme once, and each width once. */
const WIDE = { width: 1280, colorScheme: 'light' } as const;
const NARROW = { width: 390, colorScheme: 'dark' } as const;
type Variant = typeof WIDE | typeof NARROW;

/** One page of each layout. With `--all`, axe checks every page on the narrow, dark screen, too. */
const ALSO_NARROW = [
  '/sign-in',
  '',
  '/accounts/{account_id}/playground',
  '/accounts/{account_id}/tasks/{task_id}',
  '/accounts/{account_id}/usage',
  '/staff/accounts/{account_id}?tab=money',
  '/staff/live',
  '/models',
  '/models/{model}',
  '/docs',
];

/** Refuses anybody who does not come from the provider: test/console/open-id.test.ts tests the page. */
const CALLBACK = '/sign-in/callback';

const MAX_PAGE_BYTES = 100_000;

interface Checked extends Pick<Page, 'path' | 'access'> {
  /** What stands before the path; the console by default. */
  readonly prefix?: string;
}

const CHECKED: readonly Checked[] = [
  ...PAGES.filter(({ method, path }) => method === 'get' && path !== CALLBACK),
  ...ACCOUNT_TABS.map((tab) => ({ path: `/staff/accounts/{account_id}?tab=${tab}`, access: 'staff' }) as const),
  ...[...PUBLIC_PAGES.map((page) => page.path), '/status'].map(
    (path) => ({ path: path.replace(':model', '{model}'), access: 'everybody', prefix: '' }) as const,
  ),
];

const BOTH = { en: 'Maintenance on Sunday', zh: '周日维护' };

/** Every page has what the operator's file gives it. */
const SITE: Site = {
  ...OWN_SITE,
  name: 'Acme',
  color: '#0f766e',
  support: 'help@acme.example',
  links: [{ label: { en: 'Blog', zh: '博客' }, url: 'https://acme.example/blog' }],
  announcement: BOTH,
  documents: (['terms', 'privacy'] as const).map((name) => ({ name, version: '1', text: BOTH })),
  isPublic: true,
  plans: [
    {
      id: 'basic',
      name: BOTH,
      usdPerMonth: 10n ** 13n,
      included: 10n ** 13n,
      models: ['textg-*'],
      rateLimitRpm: 60,
      seats: 5,
      stripePrice: 'price_1',
    },
  ],
  registration: { domains: null, needsApproval: false },
};

/** A violation of a rule of accessibility. */
interface Finding {
  readonly rule: string;
  readonly elements: readonly string[];
}

/** Its checkout pages belong to this account. */
let payer = '';

/** Its pages are Stripe's, and are not checked here. */
const PAYING: CheckoutPages = {
  ...new PlayedBilling('pages').pages,
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
  let samples: Samples;
  let stranger: Tab;
  /** An owner of an account who is also an operator of the gateway. */
  let user: Tab;
  const screens: Variant[] = [WIDE, NARROW];

  before(async () => {
    provider = await startProvider();
    const site = { ...SITE, providers: [{ ...CLIENT, issuer: provider.issuer }] };
    app = await startTestConsole({
      site: () => site,
      settings: { canSendMail: true, checkout: PAYING },
    });
    const customer = await app.createAccount({ fundedUsd: 25 });
    const invitation = await invite(app, { email: 'invited@example.com' });
    samples = {
      ...(await makeSamples(app, customer)),
      form_id: await sendForm(app),
      model: [...CATALOGUE.videoModels.keys()][0] ?? '',
      token: invitation.split('/').at(-1) ?? '',
    };
    payer = customer.accountId;
    [stranger, user] = await Promise.all([open(), open()]);
    const person = { email: 'all@example.com', account_id: customer.accountId, staff_role: 'operator' } as const;
    await user.signIn(await Visitor.invited(app, person));
  });
  async function open(screen: Partial<Screen> = {}): Promise<Tab> {
    const tab = await browser.open(app.baseUrl, { ...WIDE, ...screen });
    await tab.page.addInitScript(axe.source);
    return tab;
  }
  after(async () => {
    await Promise.all([stranger?.close(), user?.close()]);
    await app?.stop();
    await provider?.stop();
  });

  for (const { path, access, prefix = '/console' } of CHECKED) {
    it(`the page is accessible, small, and violates no policy: ${prefix}${path}`, async () => {
      const tab = access === 'everybody' ? stranger : user;
      const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => sampleOf(samples, name));
      const address = `${prefix}${filled}${path.endsWith('/export') ? '?format=csv' : ''}`;
      const answer = await tab.page.request.get(address, { maxRedirects: 0 });
      expect(answer.status(), `GET ${address}`).to.be.below(400);
      // Redirects, files, and parts of other pages are not checked on their own.
      if (!(await answer.text()).startsWith('<!doctype html>')) return;

      await tab.takeBytes();
      const complaintsBefore = tab.complaints.length;
      await tab.page.goto(address);
      expect(await tab.takeBytes(), 'bytes of the page with its styles and scripts').to.be.within(1, MAX_PAGE_BYTES);
      for (const screen of screens) {
        await tab.page.setViewportSize({ width: screen.width, height: 900 });
        if (screen === WIDE) expect(await cutOffTablesOf(tab), 'tables that are cut off').to.deep.equal([]);
        else expect(await overflowOf(tab), 'pixels that are wider than a narrow screen').to.be.at.most(0);
        if (runsAll || screen === WIDE || ALSO_NARROW.includes(path))
          expect(await findingsOn(tab, screen)).to.deep.equal([]);
      }
      // The next page opens on the screen of this one, because resizing draws a page again.
      screens.reverse();
      const withoutId = `document.querySelectorAll('form[method=post]:not(:has([name=form_id]))').length`;
      expect(await tab.page.evaluate<number>(withoutId), 'forms that act twice when they are sent twice').to.equal(0);
      expect(tab.complaints.slice(complaintsBefore)).to.deep.equal([]);
    });
  }

  it('the pages for everybody are accessible in Chinese', async () => {
    const reader = await open({ language: 'zh' });
    try {
      for (const path of ['/', '/models', `/models/${samples['model']}`, '/pricing', '/docs', '/status']) {
        await reader.page.goto(path);
        expect(await reader.page.locator('html').getAttribute('lang'), path).to.equal('zh');
        for (const screen of screens) {
          await reader.page.setViewportSize({ width: screen.width, height: 900 });
          expect(await overflowOf(reader), path).to.be.at.most(0);
          // The language changes texts alone: each layout is checked in English.
          if (runsAll || screen === WIDE) expect(await findingsOn(reader, screen), path).to.deep.equal([]);
        }
        screens.reverse();
      }
    } finally {
      await reader.close();
    }
  });

  it('would not pass with an inline script, without labels, or with pale text', async () => {
    const { page } = stranger;
    await page.goto('/console/sign-in');
    const complaintsBefore = stranger.complaints.length;
    await page.evaluate(`
      document.body.append(Object.assign(document.createElement('script'), { textContent: '1' }));
      document.querySelectorAll('label').forEach((label) => label.remove());
      document.querySelector('h1').style.color = '#eee';
    `);
    const rules = (await findingsOn(stranger, WIDE)).map(({ rule }) => rule);
    expect(rules).to.include.members(['1280 light: label', '1280 light: color-contrast']);
    expect(stranger.complaints.slice(complaintsBefore).join()).to.include('Content Security Policy');
  });
});

function sampleOf(samples: Samples, name: string): string {
  const sample = samples[name];
  if (sample !== undefined) return sample;
  throw new Error(`A page has {${name}} in its path: let makeSamples in test/support/samples.ts make one.`);
}

/** @returns the id of the form */
async function sendForm(app: TestApp): Promise<string> {
  const form_id = newId('form');
  await new Visitor(app).send('/console/lost-password', { form_id, email: 'lost@example.com' });
  return form_id;
}

/** The pixels by which the open page is wider than its screen: success criterion 1.4.10, which axe does not check. */
const overflowOf = ({ page }: Tab): Promise<number> =>
  page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');

const cutOffTablesOf = ({ page }: Tab): Promise<string[]> =>
  page.evaluate<string[]>(
    `[...document.querySelectorAll('.table')].filter((table) => table.scrollWidth > table.clientWidth).map((table) => table.ariaLabel)`,
  );

/** The colors of texts, with all below them, that axe has checked. */
const checkedColors = new Set<string>();

/**
 * Finds the first text in each combination of colors that is not known yet. Runs in the browser.
 *
 * @returns the combinations with their elements
 */
const findNewColors = `(known) => {
  const shown = new Map();
  const below = (element) => {
    if (element === null) return '';
    const { backgroundColor, backgroundImage, opacity } = getComputedStyle(element);
    const own = [backgroundColor, backgroundImage, opacity].join();
    return (own === 'rgba(0, 0, 0, 0),none,1' ? '' : own + ';') + below(element.parentElement);
  };
  for (const element of document.body.querySelectorAll('*')) {
    const hasText = 'value' in element || [...element.childNodes].some(({ nodeType, data }) => nodeType === Node.TEXT_NODE && data.trim() !== '');
    if (!hasText || !element.checkVisibility()) continue;
    const { color, fontSize, fontWeight } = getComputedStyle(element);
    const isDisabled = element.closest(':disabled, [aria-disabled=true]') !== null;
    const colors = [color, fontSize, fontWeight, isDisabled, below(element)].join();
    if (!known.includes(colors) && !shown.has(colors)) shown.set(colors, element);
  }
  return shown;
}`;

/** The violations that axe finds on the open page. */
async function findingsOn({ page }: Tab, { width, colorScheme }: Variant): Promise<Finding[]> {
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
  const { colors, violations } = await page.evaluate<{ readonly colors: string[]; readonly violations: Finding[] }>(`
    (async () => {
      const found = await axe.run(${JSON.stringify(AXE_OPTIONS)});
      const fresh = ${runsAll ? 'new Map()' : `(${findNewColors})(${JSON.stringify([...checkedColors])})`};
      const contrast = fresh.size === 0 ? null : await axe.run({ include: [...fresh.values()] }, ${JSON.stringify(AXE_CONTRAST_OPTIONS)});
      return {
        colors: [...fresh.keys()],
        violations: [...found.violations, ...(contrast?.violations ?? [])].map(({ id, nodes }) => ({
          rule: id,
          elements: nodes.map(({ html, any }) => html + ': ' + any.map(({ message }) => message)),
        })),
      };
    })()
  `);
  for (const combination of colors) checkedColors.add(combination);
  return violations.map(({ rule, elements }) => ({ rule: `${width} ${colorScheme}: ${rule}`, elements }));
}
