/** Chromium on this machine, as a user of the console has it: with a screen, a keyboard and a list of errors. */
import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';
import { PATIENCE_MS } from './eventually.ts';

/** The headless shell draws a page with half of the processor time. */
const PLACES = [
  process.env['CHROMIUM_PATH'] ?? '',
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

const MISSING =
  'skipped, as there is no Chromium here: install the package chromium-headless-shell, or say in CHROMIUM_PATH where one is';

/**
 * Without these, every window loads two pages for its address bar, which take a third of the processor time. Chromium
 * reads only the last list, so the list also has the features that Playwright disables and console pages could use.
 */
const DISABLED_FEATURES = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'MediaRouter',
  'PaintHolding',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
];

/** The maximum of elements between two elements that a user tabs through. */
const MAX_TABS = 80;

export interface Screen {
  readonly width: number;
  readonly colorScheme: 'light' | 'dark';
  /** Whether scripts run. */
  readonly hasScript: boolean;
  /** The language that the browser prefers. */
  readonly language: 'en' | 'zh';
}

/** One tab of a browser, isolated from every other. */
export interface Tab {
  readonly page: Page;
  /** The errors in the browser's console, including violations of the Content-Security-Policy. */
  readonly complaints: readonly string[];
  /** Removes a complaint that the test causes itself. @throws Error if there was no such complaint */
  forgive(complaint: RegExp): void;
  /** The transferred bytes of all answers of the console since the last call. */
  takeBytes(): Promise<number>;
  /** Presses Tab until a matching element has the focus. @throws Error if none gets it */
  tabTo(selector: string): Promise<void>;
  /** Signs a user in by the cookies of an existing session. */
  signIn(somebody: { readonly cookie: string }): Promise<void>;
  close(): Promise<void>;
}

export interface TestBrowser {
  open(baseUrl: string, screen?: Partial<Screen>): Promise<Tab>;
}

/** A suite with a browser; without a browser it is skipped and its title gives the reason. */
export function describeInBrowser(title: string, suite: (browser: TestBrowser) => void): void {
  const executablePath = PLACES.find((place) => place !== '' && existsSync(place));
  if (executablePath === undefined) return void describe.skip(`${title} (${MISSING})`, () => suite({ open: missing }));
  describe(title, () => {
    let running: Browser | undefined;
    before(async () => {
      // Chromium's own sandbox needs rights that containers seldom have.
      running = await chromium.launch({
        executablePath,
        args: [
          '--no-sandbox',
          `--disable-features=${DISABLED_FEATURES.join()}`,
          // No page of a test lives long enough to repay the compilation: a fifth of the renderers' processor time.
          '--js-flags=--no-opt --no-maglev',
          // A microphone that beeps, which every page may use.
          '--use-fake-device-for-media-stream',
          '--use-fake-ui-for-media-stream',
        ],
      });
    });
    after(() => running?.close());
    suite({ open: (baseUrl, screen) => (running ? openTab(running, baseUrl, screen) : missing()) });
  });
}

async function missing(): Promise<never> {
  throw new Error('no browser is running');
}

async function openTab(browser: Browser, baseURL: string, screen: Partial<Screen> = {}): Promise<Tab> {
  const { width = 1440, colorScheme = 'light', hasScript = true, language = 'en' } = screen;
  const context = await browser.newContext({
    baseURL,
    colorScheme,
    locale: language,
    viewport: { width, height: 900 },
    javaScriptEnabled: hasScript,
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  let loads: Promise<number>[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('response', (response) => {
    const isOfConsole = new URL(response.url()).pathname.startsWith('/console') && response.status() === 200;
    // Requests in progress when a page is left never complete.
    if (isOfConsole)
      loads.push(
        response
          .body()
          .then(({ byteLength }) => Number(response.headers()['content-length'] ?? byteLength))
          .catch(() => 0),
      );
  });
  return {
    page,
    complaints,
    forgive: (complaint) => {
      const kept = complaints.filter((text) => !complaint.test(text));
      if (kept.length === complaints.length) throw new Error(`nobody complained of ${complaint.source}`);
      complaints.splice(0, complaints.length, ...kept);
    },
    takeBytes: async () => {
      const taken = loads;
      loads = [];
      const sizes = await Promise.all(taken);
      return sizes.reduce((sum, bytes) => sum + bytes, 0);
    },
    tabTo: async (selector) => {
      const arrived = `document.activeElement.matches(${JSON.stringify(selector)})`;
      for (let tabs = 0; tabs < MAX_TABS; tabs++) {
        await page.keyboard.press('Tab');
        if (await page.evaluate<boolean>(arrived)) return;
      }
      throw new Error(`${MAX_TABS} times Tab never lead to ${selector} on ${page.url()}`);
    },
    signIn: async ({ cookie }) => {
      const { hostname: domain } = new URL(baseURL);
      const cookies = cookie.split('; ').map((one) => {
        const [name = '', value = ''] = one.split('=');
        return { name, value, domain, path: '/', secure: true, httpOnly: true };
      });
      await context.addCookies(cookies);
    },
    close: () => context.close(),
  };
}
