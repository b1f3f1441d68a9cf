import { expect } from 'chai';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { ensurePartitions } from '../../db/partitions.ts';
import { createPriceList } from '../../db/queries/price-lists.ts';
import { findTask } from '../../db/queries/tasks.ts';
import { newId } from '../../domain/ids.ts';
import { make } from '../../lab/stack/accounts.ts';
import { invite, PASSWORD, Visitor } from '../support/console.ts';
import { createEndpoint } from '../support/factories.ts';
import { pngFile } from '../support/media-files.ts';
import type { Page } from 'playwright-core';
import { describeInBrowser, type Tab } from '../support/browser.ts';
import { type RecordingReceiver, startRecordingReceiver } from '../support/receiver.ts';
import { writeReport } from '../support/reconciliation.ts';
import { useTestStack } from '../support/stack.ts';
import { createTask, taskWhenFinal } from '../support/tasks.ts';
import { CUSTOMER_EMAIL, FAILED_PROMPT, Hand, HOOK_PATH, JOBS, OLDEST_MONTH, type Person } from './jobs.ts';

const WAIT_MS = 60_000;

describeInBrowser('the console in a browser', (browser) => {
  const stack = useTestStack();
  let accountId: string;
  let tab: Tab;
  let invitations = 0;

  before(async () => {
    await Promise.all([stack.api.start(), stack.worker.start()]);
    ({ accountId } = await stack.createAccount({ fundedUsd: 100 }));
  });

  beforeEach(async () => {
    tab = await browser.open(stack.baseUrl);
  });
  afterEach(async () => {
    const { complaints } = tab;
    await tab.close();
    expect(complaints).to.deep.equal([]);
  });

  function newOwner() {
    invitations += 1;
    return { email: `person-${invitations}@example.com`, account_id: accountId, member_role: 'owner' } as const;
  }

  /** Signs a new owner of the account in, in the open tab unless another is given. */
  async function signUp(where: Tab = tab): Promise<void> {
    await where.signIn(await Visitor.invited(stack, newOwner()));
  }

  async function openFromMenu(name: string): Promise<void> {
    await tab.page.goto('/console');
    await tab.page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name }).click();
  }

  it('signs an invited person in, who sees the account', async () => {
    await tab.page.goto(await invite(stack, newOwner()));
    await tab.page.getByLabel('New password').fill(PASSWORD);
    await tab.page.getByLabel('Repeat password').fill(PASSWORD);
    await tab.page.getByRole('button', { name: 'Save and sign in' }).click();
    await tab.page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    expect(await tab.page.getByText('$100.00').first().isVisible()).to.equal(true);
  });

  it('breaks words of 200 characters, which neither widen the page nor hide the columns beside them', async () => {
    await signUp();
    const { page } = tab;
    const word = 'W'.repeat(180);
    const account = { id: accountId };
    const { id } = await createEndpoint(stack.database, account, {
      url: `https://receiver.test/${word}`,
      description: word,
    });
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(`/console/accounts/${accountId}/webhooks`);
    const cutOff = `[...document.querySelectorAll('.table')].some((table) => table.scrollWidth > table.clientWidth)`;
    expect(await page.evaluate<boolean>(cutOff)).to.equal(false);
    await page.setViewportSize({ width: 390, height: 900 });
    await page.goto(`/console/accounts/${accountId}/webhooks/${id}`);
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).to.equal(390);
  });

  it('makes a video in the playground, shows its price before, and plays it', async () => {
    await signUp();
    const { page } = tab;
    await openFromMenu('Playground');
    await page.getByLabel('Prompt').fill('A red kite over the sea');
    await page.getByLabel('Model').selectOption('vidone-3.0-prime');
    await page.waitForURL(/model=vidone-3.0-prime/);
    // The price follows the fields only after htmx has settled the new form.
    await page.locator('.htmx-settling').waitFor({ state: 'detached' });
    await page.getByLabel('Seconds').fill('7');
    await page.locator('#order-price').getByText('$0.70').waitFor();
    expect(await page.getByLabel('Prompt').inputValue()).to.equal('A red kite over the sea');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.locator('video[controls]').waitFor({ timeout: WAIT_MS });
    await page.evaluate('document.querySelector("video").play()');
    expect(await page.evaluate<number>('document.querySelector("video").readyState')).to.be.above(0);
    expect(await page.evaluate<number>('document.querySelector("video").videoWidth')).to.be.above(0);
    expect(await page.locator('#result').getByText('Succeeded').isVisible()).to.equal(true);
  });

  it('holds a conversation by voice with a function, and shows what the model says', async () => {
    await signUp();
    const { page } = tab;
    await openFromMenu('Playground');
    await page.getByRole('link', { name: 'Voice conversation' }).click();
    await page.getByLabel('Instructions').fill('[sim:tool=local_time]');
    await page.getByRole('button', { name: 'Start the conversation' }).click();
    const conversation = page.locator('#conversation');
    // The microphone beeps once a second.
    await conversation.getByText('Function: local_time').first().waitFor({ timeout: WAIT_MS });
    await conversation
      .getByText(/Model: local_time => .*GMT/)
      .first()
      .waitFor({ timeout: WAIT_MS });
    expect(await conversation.getByText('You: (speech)').first().isVisible()).to.equal(true);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('The conversation has ended.').waitFor();
    expect(await conversation.getByRole('alert').count()).to.equal(0);
    await waitUntil(
      async () => {
        const rows = await stack.database('text_requests').where({ account_id: accountId, format: 'realtime' });
        expect(rows).not.to.have.length(0);
      },
      { timeoutMs: WAIT_MS },
    );
  });

  it('shows that the connection failed when a conversation by voice breaks off', async () => {
    await signUp();
    const { page } = tab;
    await page.routeWebSocket(/\/v1\/realtime/, (socket) => socket.onMessage(() => socket.close({ code: 1011 })));
    await page.goto(`/console/accounts/${accountId}/playground/realtime`);
    await page.getByRole('button', { name: 'Start the conversation' }).click();
    await page.getByRole('alert').getByText('The connection failed.').waitFor({ timeout: WAIT_MS });
    expect(await page.getByRole('button', { name: 'Start the conversation' }).isEnabled()).to.equal(true);
  });

  /** Waits for the new task to appear beside the form. @returns its id */
  async function taskBesideForm(page: Page): Promise<string> {
    const address = await page.locator('#result a[href*="/tasks/task_"]').getAttribute('href', { timeout: WAIT_MS });
    return address?.split('/').at(-1) ?? '';
  }

  it('shows results beside the form on a wide screen, and below it on a narrow one, without leaving the page', async () => {
    await signUp();
    const { page } = tab;
    await page.goto(`/console/accounts/${accountId}/playground?model=imageb-2`);
    const made: string[] = [];
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 });
      await page.getByLabel('Prompt').fill(`A lighthouse, seen on ${width} pixels`);
      await page.getByRole('button', { name: 'Create' }).click();
      const picture = page.locator('#result').getByRole('img', { name: `A lighthouse, seen on ${width} pixels` });
      await picture.waitFor({ timeout: WAIT_MS });
      const [form, result] = [await page.locator('#order').boundingBox(), await picture.boundingBox()];
      if (!form || !result) throw new Error('the form or its result cannot be seen');
      const isBeside = result.x >= form.x + form.width && result.y < form.y + form.height;
      const isBelow = result.y >= form.y + form.height;
      expect([isBeside, isBelow], `${width} pixels`).to.deep.equal([width === 1440, width === 390]);
      made.push(await taskBesideForm(page));
    }
    await page.evaluate('document.querySelector(".result img").decode()');
    expect(await page.evaluate<number>('document.querySelector(".result img").naturalWidth')).to.be.above(0);
    expect(new URL(page.url()).pathname).to.match(/\/playground$/);
    expect(new Set(made).size).to.equal(2);
    await page.getByLabel('Model').selectOption('imagea-2.5-sunburst');
    await page.waitForURL(/model=imagea-2.5-sunburst/);
    expect(await taskBesideForm(page)).to.equal(made[1]);
  });

  it('follows a task on every open page, from its creation to its delivery: playground, task and home', async () => {
    let accept = (): void => undefined;
    const accepted = new Promise<void>((resolve) => (accept = resolve));
    const receiver = await startRecordingReceiver((response) => accepted.then(() => response.writeHead(204).end()));
    const caller = await stack.createAccount({ fundedUsd: 10 });
    await make(`${stack.baseUrl}/v1/webhooks`, caller.apiKey, { url: receiver.url });
    const person = await Visitor.invited(stack, { email: 'live@example.com', account_id: caller.accountId });
    const [task, home] = [await browser.open(stack.baseUrl), await browser.open(stack.baseUrl)];
    for (const where of [tab, task, home]) await where.signIn(person);
    const account = `/console/accounts/${caller.accountId}`;
    // Without a worker, the task waits until all pages are open.
    await stack.worker.stop();

    await tab.page.goto(`${account}/playground?model=imageb-2`);
    await tab.page.getByLabel('Prompt').fill('A harbour');
    await tab.page.getByRole('button', { name: 'Create' }).click();
    const id = await taskBesideForm(tab.page);
    const tile = tab.page.locator(`#latest #tile-${id}`);
    await tile.locator('.row').getByText('Queued').waitFor();
    await task.page.goto(`${account}/tasks/${id}`);
    await task.page.locator('dd').getByText('Queued').waitFor();
    await home.page.goto(account);
    const running = home.page.locator('.card').filter({ hasText: 'Running now' });
    await running.getByText('1', { exact: true }).waitFor();
    const held = home.page.locator('#balance').getByText('$0.00 held');
    expect(await held.count()).to.equal(0);

    await stack.worker.start();
    const withinWait = { timeout: WAIT_MS };
    await tab.page.locator('#result').getByText('Succeeded').waitFor(withinWait);
    await tile.locator('.row').getByText('Succeeded').waitFor(withinWait);
    await tile.locator('img').waitFor();
    await running.getByText('Nothing is running.').waitFor(withinWait);
    await held.waitFor();
    await home.page.locator(`#tile-${id} img`).waitFor(withinWait);
    await task.page.locator('dd').getByText('Succeeded').waitFor(withinWait);
    await task.page.locator('#sent').getByText('Pending').waitFor(withinWait);
    accept();
    await task.page.locator('#sent').getByText('Delivered').waitFor(withinWait);

    for (const { page } of [tab, task, home]) {
      expect(await page.locator('[hx-trigger^=every]').count(), `${page.url()} still polls`).to.equal(0);
    }
    for (const other of [task, home]) {
      expect(other.complaints).to.deep.equal([]);
      await other.close();
    }
    await receiver.close();
  });

  it('marks the wrong field of a refused form, keeps the input, and accepts the corrected form', async () => {
    await signUp();
    const { page } = tab;
    await page.goto(`/console/accounts/${accountId}/playground?model=vidone-3.0`);
    await page.getByLabel('Prompt').fill('A boat');
    await page.getByLabel('Seconds').fill('1000');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.locator('[name=duration][aria-invalid=true]').waitFor();
    expect(await page.getByLabel('Seconds').getAttribute('aria-describedby')).to.include('field-duration-fault');
    expect(await page.getByRole('alert').innerText()).to.match(/^Seconds: Enter \d+ or less\.$/);
    expect(await page.getByLabel('Prompt').inputValue()).to.equal('A boat');
    await page.getByLabel('Seconds').fill('5');
    await page.getByRole('button', { name: 'Create' }).click();
    await taskBesideForm(page);
    expect(await page.locator('[aria-invalid]').count()).to.equal(0);
    tab.forgive(/status of 400/);
  });

  it('reports that no answer arrived, and creates one task when the form is sent again', async () => {
    await signUp();
    const { page } = tab;
    await page.goto(`/console/accounts/${accountId}/playground?model=imageb-2`);
    await page.getByLabel('Prompt').fill('A boat whose answer is lost');
    await page.route('**/playground', async (route) => {
      await route.fetch();
      await route.abort('connectionreset');
    });
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByText('No answer arrived.').waitFor();
    await page.unroute('**/playground');
    await page.getByRole('button', { name: 'Create' }).click();
    await taskBesideForm(page);
    const tasks = stack.database('tasks').whereRaw(`request->>'prompt' = ?`, ['A boat whose answer is lost']);
    expect(await tasks).to.have.length(1);
    tab.forgive(/ERR_CONNECTION_RESET|sendError|htmx/);
  });

  /** Delays each answer, and clicks again before it arrives. */
  async function clickTwice(page: Page, name: string): Promise<void> {
    const network = await page.context().newCDPSession(page);
    await network.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 1_000,
      downloadThroughput: -1,
      uploadThroughput: -1,
    });
    const place = await page.getByRole('button', { name }).boundingBox();
    if (!place) throw new Error(`there is no button ${name}`);
    const [x, y] = [place.x + place.width / 2, place.y + place.height / 2];
    await page.mouse.click(x, y);
    await page.mouse.click(x, y);
  }

  for (const hasScript of [true, false]) {
    it(`creates one task from two clicks over a slow network ${hasScript ? 'with' : 'without'} script`, async () => {
      const other = await browser.open(stack.baseUrl, { hasScript });
      await signUp(other);
      const { page } = other;
      await page.goto(`/console/accounts/${accountId}/playground?model=imageb-2`);
      const prompt = `Two clicks, ${hasScript}`;
      await page.getByLabel('Prompt').fill(prompt);
      await clickTwice(page, 'Create');
      if (hasScript) await taskBesideForm(page);
      else await waitUntil(async () => expect(page.url()).to.match(/\/tasks\/task_\w+$/), { timeoutMs: WAIT_MS });
      const tasks = stack
        .database('tasks')
        .where({ account_id: accountId })
        .whereRaw(`request->>'prompt' = ?`, [prompt]);
      expect(await tasks).to.have.length(1);
      if (!hasScript) await page.goBack();
      await page.getByRole('heading', { level: 1, name: 'Playground' }).waitFor();
      await other.close();
    });
  }

  it('disables a form while it is sent, and enables it when the page is shown again', async () => {
    await signUp();
    const { page } = tab;
    await page.goto(`/console/accounts/${accountId}/keys`);
    await page.getByLabel('Name').fill('slow');
    await page.getByLabel('No limit').check();
    const busy = await page.evaluate<string[]>(`(() => {
      const form = document.querySelector('form:has([name=unlimited])');
      const attribute = () => String(form.getAttribute('aria-busy'));
      const before = attribute();
      form.querySelector('[type=submit]').click();
      return [before, attribute()];
    })()`);
    expect(busy).to.deep.equal(['null', 'true']);
    await page.getByLabel('Your new API key').waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'Create' }).waitFor();
    expect(await page.locator('form[aria-busy]').count()).to.equal(0);
  });

  it('creates one key, and shows it again when the page is reloaded or returned to', async () => {
    await signUp();
    const { page } = tab;
    await page.goto(`/console/accounts/${accountId}/keys`);
    await page.getByLabel('Name').fill('reloaded');
    await page.getByLabel('No limit').check();
    await page.getByRole('button', { name: 'Create' }).click();
    const key = await page.getByLabel('Your new API key').innerText();
    for (let reloads = 0; reloads < 2; reloads++) await page.reload();
    expect(await page.getByLabel('Your new API key').innerText()).to.equal(key);
    await page.getByRole('link', { name: 'Done' }).click();
    await page.getByText('reloaded').first().waitFor();
    await page.goBack();
    expect(await page.getByLabel('Your new API key').innerText()).to.equal(key);
    expect(await stack.database('api_keys').where({ account_id: accountId, name: 'reloaded' })).to.have.length(1);
  });

  it('uploads chosen pictures, shows them, and sends them along', async () => {
    await signUp();
    const { page } = tab;
    await page.goto(`/console/accounts/${accountId}/playground?model=vidtwo-1.1`);
    await page.getByText('Picture links: Fill this in.').waitFor();
    const buffer = pngFile({ width: 400, height: 300 });
    const picture = { name: 'harbour.png', mimeType: 'image/png', buffer };
    await page.getByLabel('Drop pictures here').setInputFiles([picture, { ...picture, name: 'pier.png' }]);
    await page.getByRole('img', { name: 'pier.png' }).waitFor();
    await page.getByRole('button', { name: 'Remove pier.png' }).click();
    await page.locator('#order-price').getByText('$0.40').waitFor();
    await page.getByLabel('Drop pictures here').setInputFiles([{ ...picture, buffer: Buffer.from('no picture') }]);
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Prompt').fill('Boats leave');
    await page.getByRole('button', { name: 'Create' }).click();
    const task = await findTask(stack.database, await taskBesideForm(page));
    expect(task?.request.images).to.have.length(1);
    tab.forgive(/status of 400/);
  });

  it('shows the answer of a text model as it streams, then its tokens and its price', async () => {
    await signUp();
    const { page } = tab;
    await page.goto(`/console/accounts/${accountId}/playground?model=textc-M3`);
    await page.getByLabel('Prompt').fill('Name three lighthouses. [sim:tokens=30,chunk_ms=100]');
    await page.getByRole('button', { name: 'Send' }).click();
    const text = page.locator('#answer [data-text]:not(:empty)');
    const begun = await text.innerText();
    await page.getByText(/\d+ tokens in, \d+ tokens out: \$0\.0/).waitFor();
    const whole = await text.innerText();
    expect(whole.length).to.be.above(begun.length);
    expect(whole.startsWith(begun)).to.equal(true);
  });

  it('shows why a text model refuses, and the remedy', async () => {
    await signUp();
    const { page } = tab;
    await page.goto(`/console/accounts/${accountId}/playground?model=textc-M3`);
    await page.getByLabel('Prompt').fill('Name three lighthouses.');
    await page.getByLabel('Maximum output tokens').fill('-1');
    await page.getByRole('button', { name: 'Send' }).click();
    expect(await page.getByRole('alert').innerText()).to.include('max_tokens');
    tab.forgive(/status of 400/);
  });

  it('adds a webhook endpoint, tests it, shows the accepted delivery, and redelivers it', async () => {
    const receiver = await startRecordingReceiver((response) => response.writeHead(204).end());
    await signUp();
    const { page } = tab;
    await openFromMenu('Webhooks');
    await page.getByLabel('URL').fill(`${receiver.url}/hooks`);
    await page.getByRole('button', { name: 'Create' }).click();
    expect(await page.getByLabel('Signing secret of your endpoint').innerText()).to.match(/^whsec_/);
    await page.getByRole('link', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Send test event' }).click();
    await page.getByText('Attempt 1').waitFor({ timeout: WAIT_MS });
    expect(await page.getByRole('cell', { name: 'Delivered' }).isVisible()).to.equal(true);
    await page.getByRole('button', { name: 'Redeliver' }).click();
    await page.getByText('Attempt 2').waitFor({ timeout: WAIT_MS });
    expect(receiver.requests.map(({ headers }) => headers['x-svc-event'])).to.deep.equal([
      'endpoint.test',
      'endpoint.test',
    ]);
    await receiver.close();
  });

  it('works with the keyboard alone, from signing in to a task', async () => {
    const owner = newOwner();
    await tab.signIn(await Visitor.invited(stack, owner));
    const { page } = tab;
    await page.goto('/console');
    await tab.tabTo('.who button');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await tab.tabTo('[name=email]');
    await page.keyboard.type(owner.email);
    await tab.tabTo('[name=password]');
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    await tab.tabTo('nav a[href$="/playground"]');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Playground' }).waitFor();
    await tab.tabTo('[name=prompt]');
    await page.keyboard.type('A boat in the rain');
    await tab.tabTo('#playground button[type=submit]');
    await page.keyboard.press('Enter');
    await taskBesideForm(page);
  });

  describe('for the jobs of a day:', () => {
    const people = new Map<Person, Visitor>();
    let receiver: RecordingReceiver;

    before(async () => {
      receiver = await startRecordingReceiver((response) => response.writeHead(204).end());
      const customerId = await makeCustomer(receiver.url + HOOK_PATH);
      for (const [by, role] of [
        ['owner', { account_id: customerId }],
        ['operator', { staff_role: 'operator' }],
        ['finance', { staff_role: 'finance' }],
      ] as const) {
        people.set(by, await Visitor.invited(stack, { email: `${by}@people.example`, ...role }));
      }
    });
    after(() => receiver.close());

    /** The data of a day: an account with tasks, an endpoint and a price list; an account in arrears; an open month. */
    async function makeCustomer(hookUrl: string): Promise<string> {
      const { baseUrl, adminToken, database } = stack;
      const accounts = `${baseUrl}/admin/v1/accounts`;
      await make(accounts, adminToken, { name: 'Late payers' });
      const { id: accountId } = await make(accounts, adminToken, { name: 'Kites', email: CUSTOMER_EMAIL });
      await make(`${accounts}/${accountId}/topups`, adminToken, { amount_usd: 25, reference: 'invoice-2031' });
      const { api_key: apiKey } = await make(`${accounts}/${accountId}/keys`, adminToken, {});
      const tasks = [await createTask(stack, apiKey, FAILED_PROMPT), await createTask(stack, apiKey, 'A kite')];
      for (const { id } of tasks) await taskWhenFinal(stack, apiKey, id);
      await make(`${baseUrl}/v1/webhooks`, apiKey, { url: hookUrl });
      await createPriceList(database, 'partners', {
        factor: '0.9',
        rules: [],
        author: 'Ada',
        reason: 'They buy much.',
      });
      await ensurePartitions(database, OLDEST_MONTH);
      const oldest = { id: newId('account', OLDEST_MONTH.getTime()), name: 'Oldest', created_at: OLDEST_MONTH };
      await database('accounts').insert(oldest);
      await writeReport(database);
      return accountId;
    }

    for (const { by, job, most, steps, seen } of JOBS) {
      it(`${by === 'finance' ? by : `an ${by}`} ${job} in at most ${most} ${most === 1 ? 'click' : 'clicks'}`, async () => {
        const { page } = tab;
        await page.context().route('**/namespaces/**', (route) => route.fulfill({ body: 'A history of Temporal' }));
        await tab.signIn(people.get(by) ?? expect.fail(`nobody is ${by}`));
        await page.goto('/console');
        const hand = new Hand(page);
        for (const step of steps) await step(hand);
        await seen(hand.page).first().waitFor({ timeout: WAIT_MS });
        expect(hand.clicks).to.be.at.most(most);
      });
    }
  });
});
