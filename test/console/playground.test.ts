import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { setAccountBudget } from '../../db/queries/account-budgets.ts';
import { CONTENT_SWEEPS, eraseContent } from '../../db/queries/content.ts';
import { recordPlanPeriod, storeSubscription } from '../../db/queries/plans.ts';
import { findSentForm } from '../../db/queries/sent-forms.ts';
import { suspendAccount } from '../../db/queries/accounts.ts';
import { newId } from '../../domain/ids.ts';
import { bytesPerSecond, USUAL_PCM, wavHeader } from '../../domain/wav.ts';
import { describeInBrowser } from '../support/browser.ts';
import { useAccount, useTestConsole, useVisitor, Visitor } from '../support/console.ts';
import { createTaskRow, keyOf, type TestCaller } from '../support/factories.ts';
import { pngFile } from '../support/media-files.ts';

const run = promisify(execFile);
const PROMPT = `A kite's shadow: "$HOME" \\ and 风筝`;

function wavOf(seconds: number): Buffer {
  const samples = Buffer.alloc(bytesPerSecond(USUAL_PCM) * seconds);
  return Buffer.concat([wavHeader(USUAL_PCM, samples.byteLength), samples]);
}

/** The code of the examples that a page shows, in the order of curl, Python and TypeScript. */
function examplesIn(html: string): string[] {
  const entities: Readonly<Record<string, string>> = { quot: '"', '#39': "'", amp: '&', lt: '<', gt: '>' };
  return [...html.matchAll(/data-copy="([^"]*)"/g)].map(([, code = '']) =>
    code.replaceAll(/&([#\w]+);/g, (entity, name: string) => entities[name] ?? entity),
  );
}

describe('the playground', () => {
  const app = useTestConsole({ simulatesText: true });
  const customer = useAccount(app, { fundedUsd: 25 });
  const other = useAccount(app, { fundedUsd: 25 });
  const owner = useVisitor(app, () => ({ email: 'owner@example.com', account_id: customer.accountId }));
  let path: string;

  before(() => {
    path = `/console/accounts/${customer.accountId}/playground`;
  });

  function tasksOf({ accountId }: TestCaller): Promise<unknown[]> {
    return app.database('tasks').where({ account_id: accountId });
  }

  async function consoleKey(): Promise<string> {
    const [key] = await app.database('api_keys').where({ account_id: customer.accountId, name: 'Console' });
    return Object(key).id;
  }

  async function sendFile(file: Buffer, { at = path, token }: { at?: string; token?: string } = {}) {
    const { text } = await owner.get(path);
    const formToken = token ?? /name="form_token" value="([^"]+)"/.exec(text)?.[1] ?? '';
    const body = new FormData();
    body.append('file', new Blob([new Uint8Array(file)]), 'kite.png');
    const headers = {
      cookie: owner.cookie,
      'x-form-token': formToken,
      'x-form-id': newId('form'),
      'hx-request': 'true',
    };
    return fetch(`${app.baseUrl}${at}/files`, { method: 'POST', headers, body });
  }

  it('says on the pages of a suspended account that it is suspended, and to whom to write', async () => {
    const suspended = await app.createAccount({ fundedUsd: 1 });
    const member = await Visitor.invited(app, { email: 'late@example.com', account_id: suspended.accountId });
    const page = `/console/accounts/${suspended.accountId}/playground`;
    expect((await member.get(page)).text).not.to.include('This account is suspended');
    await suspendAccount(app.database, suspended.accountId);
    expect((await member.get(page)).text)
      .to.include('This account is suspended')
      .and.include('Write to the operator');
  });

  it('shows the price beside the button, before a picture or video is created', async () => {
    const { text } = await owner.get(`/console/accounts/${customer.accountId}/playground?model=vidone-3.0`);
    expect(text).to.match(
      /<button type="submit">Create<\/button><span id="order-price"><span class="money"[^>]*>\$0\.\d+/,
    );
  });

  it('offers no form for a disabled model, and marks the model in the list', async () => {
    const page = `/console/accounts/${customer.accountId}/playground?model=imageb-2`;
    const operator = await Visitor.invited(app, { email: 'op@example.com', staff_role: 'operator' });
    await operator.send('/console/staff/models/imageb-2/disable', { reason: 'a test' });
    const { text } = await owner.get(page);
    await operator.send('/console/staff/models/imageb-2/enable', { reason: 'a test' });
    expect(text).to.include('imageb-2 is disabled at the moment').and.include('imageb-2 (disabled)');
    expect(text).not.to.include('id="playground"');
    expect((await owner.get(page)).text).to.include('id="playground"');
  });

  it('shows every model that can be tried, with its own fields', async () => {
    const video = await owner.get(`${path}?model=vidone-3.0`);
    expect(video.text).to.include('Seconds (2 to 30)').and.include('value="textc-M3"').and.include('value="imageb-2"');
    const text = await owner.get(`${path}?model=textc-M3`);
    expect(text.text).to.include('System instructions').and.include('per million tokens in');
    expect((await owner.get(`${path}?model=%27--&model=x`)).status).to.equal(200);
  });

  it('keeps answers that show content for the account, until its content is erased', async () => {
    const fields = { model: 'textc-M3', prompt: PROMPT };
    expect((await owner.send(path, fields)).status).to.equal(200);
    const kept = () => app.database('sent_forms').where({ content_of: customer.accountId }).pluck('form_id');
    const [formId = ''] = await kept();
    expect((await findSentForm(app.database, formId))?.encryptedAnswer).to.be.instanceOf(Buffer);
    await app.database.transaction((transaction) => eraseContent(transaction, customer.accountId));
    expect((await findSentForm(app.database, formId))?.encryptedAnswer).to.equal(null);
    expect(await CONTENT_SWEEPS['answers to forms'](app.database, 10)).to.equal(1);
    expect(await kept()).to.deep.equal([]);
  });

  it('shows the price, and the same call for programs, which works unchanged', async () => {
    const fields = { model: 'vidone-3.0', prompt: PROMPT, duration: '5', resolution: '720p' };
    const { text } = await owner.send(`${path}/price`, fields, { 'hx-request': 'true' });
    expect(text).to.include('$0.50');
    const [curl = '', python = '', typeScript = ''] = examplesIn(text);
    const env = { ...process.env, API_KEY: customer.apiKey };
    const answer: unknown = JSON.parse((await run('sh', ['-c', curl], { env })).stdout);
    expect(Object(answer).data.id).to.match(/^task_/);
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', typeScript], { env });
    expect(stdout.trim()).to.match(/^task_/);
    expect(python).to.include('"duration": 5').and.include(JSON.stringify(PROMPT));
    const prompts = await app.database('tasks').where({ account_id: customer.accountId }).select('request');
    expect(prompts.map(({ request }) => Object(request).prompt)).to.deep.equal([PROMPT, PROMPT]);
  });

  it('shows the whole answer of a text model where there is no script, with its tokens and its price', async () => {
    const shown = await owner.send(path, {
      model: 'textc-M3',
      prompt: 'Name <three> lighthouses.',
      system: 'Be short.',
    });
    expect(shown.status).to.equal(200);
    expect(shown.text)
      .to.match(/data-text="?[^>]*>[^<]+</)
      .and.match(/\d+ tokens in, \d+ tokens out:/);
    const [request] = await app.database('text_requests').where({ account_id: customer.accountId });
    expect(Object(request)).to.include({ api_key_id: await consoleKey(), streamed: false, model: 'textc-M3' });
  });

  it('streams to its script the output of the API, and charges the account', async () => {
    const shown = await owner.send(path, { model: 'textc-M3', prompt: 'Hello' }, { accept: 'text/event-stream' });
    expect(shown.headers['content-type']).to.include('text/event-stream');
    expect(shown.text).to.include('"chat.completion.chunk"').and.include('data: [DONE]');
    const cost = await owner.get(`${path}/cost/${String(shown.headers['x-request-id'])}`);
    expect(cost.text).to.match(/\d+ tokens in, \d+ tokens out:/);
  });

  it('shows nobody the costs of another account’s requests', async () => {
    const shown = await owner.send(path, { model: 'textc-M3', prompt: 'Hello' }, { accept: 'text/event-stream' });
    const visitor = await Visitor.invited(app, { email: 'curious@example.com', account_id: other.accountId });
    const theirs = `/console/accounts/${other.accountId}/playground`;
    expect((await visitor.get(`${theirs}/cost/${String(shown.headers['x-request-id'])}`)).status).to.equal(404);
    expect((await visitor.get(`${theirs}/cost/%27--`)).status).to.equal(404);
  });

  it('refuses requests as the API does, in the same words, and holds nothing', async () => {
    const poor = await app.createAccount({ fundedUsd: 0 });
    const visitor = await Visitor.invited(app, { email: 'poor@example.com', account_id: poor.accountId });
    const theirs = `/console/accounts/${poor.accountId}/playground`;
    const fields = { model: 'textc-M3', prompt: 'Hello' };
    const shown = await visitor.send(theirs, fields);
    expect([shown.status, shown.text.includes('role="alert"')]).to.deep.equal([400, true]);
    const streamed = await visitor.send(theirs, fields, { accept: 'text/event-stream' });
    expect(streamed.status).to.be.within(402, 403);
    expect(JSON.parse(streamed.text).error.message).to.include('op up');
    expect(await app.database('text_allowances').where({ account_id: poor.accountId })).to.deep.equal([]);
  });

  it('answers any input with a status below 500', async () => {
    for (const model of ['vidone-3.0', 'imageb-2', 'textc-M3', 'none', '', '__proto__']) {
      for (const junk of ['\0', '-1', '1e999', '{}', "'; --", 'x'.repeat(20_000)]) {
        const fields = { model, prompt: junk, duration: junk, max_tokens: junk, images: junk, resolution: junk };
        const [made, priced] = [await owner.send(path, fields), await owner.send(`${path}/price`, fields)];
        expect([made.status, priced.status], `${model} ${junk.slice(0, 9)}`).to.satisfy((statuses: number[]) =>
          statuses.every((status) => status < 500),
        );
      }
    }
  });

  it('counts links of pictures before it processes them, and shows a long call to nobody', async () => {
    for (const [field, text] of [
      ['images', 'a '.repeat(97_000)],
      ['images', 'https://example.com/a.png\n'.repeat(4_000)],
      ['prompt', '"'.repeat(80_000)],
      ['system', '<'.repeat(80_000)],
    ] as const) {
      for (const model of ['vidone-3.0', 'textc-M3']) {
        const fields = { model, prompt: 'A kite', duration: '5', [field]: text };
        const shown = await owner.send(`${path}/price`, fields, { 'hx-request': 'true' });
        expect(shown.status).to.equal(200);
        expect(shown.text.length, `${model} with ${field}`).to.be.below(20_000);
        if (field !== 'images' || model === 'textc-M3') continue;
        expect(shown.text).to.match(/Choose at most \d+/);
        const made = await owner.send(path, fields);
        expect([made.status, made.text.length < 600_000], made.text.slice(0, 500)).to.deep.equal([400, true]);
      }
    }
  });

  it('prices 200 forms a minute for an account', async () => {
    const { accountId } = await app.createAccount();
    const visitor = await Visitor.invited(app, { email: 'typing@example.com', account_id: accountId });
    const theirs = `/console/accounts/${accountId}/playground`;
    const statuses = new Set<number>();
    // More than two minutes' worth, in case a minute ends meanwhile.
    for (let count = 0; count < 402 && !statuses.has(429); count++) {
      statuses.add((await visitor.send(`${theirs}/price`, { model: 'vidone-3.0' }, { 'hx-request': 'true' })).status);
    }
    expect([...statuses]).to.deep.equal([200, 429]);
  });

  it('stores dropped pictures as the API stores uploads, and shows them', async () => {
    const response = await sendFile(pngFile());
    const html = await response.text();
    const [, url = ''] = /name="images" value="([^"]+)"/.exec(html) ?? [];
    expect([response.status, (await fetch(url)).headers.get('content-type')]).to.deep.equal([200, 'image/png']);
    expect(html).to.include('alt="kite.png"');
    expect(await app.database('uploads').where({ account_id: customer.accountId })).to.have.length(1);
  });

  it('stores no files that are not pictures, forged, or sent to another account', async () => {
    const storedBefore = (await app.storedFiles()).length;
    expect((await sendFile(Buffer.from('no picture'))).status).to.equal(400);
    expect((await sendFile(pngFile(), { token: 'guess' })).status).to.equal(403);
    const theirs = `/console/accounts/${other.accountId}/playground`;
    expect((await sendFile(pngFile(), { at: theirs })).status).to.equal(404);
    const stranger = { method: 'POST', redirect: 'manual', headers: { 'x-form-id': newId('form') } } as const;
    expect((await fetch(`${app.baseUrl}${path}/files`, stranger)).status).to.equal(303);
    expect(await app.storedFiles()).to.have.length(storedBefore);
  });

  it('shows the latest results of the console, to be used again, and no results of programs', async () => {
    const ofProgram = await createTaskRow(app.database, keyOf(customer));
    await owner.send(path, { model: 'vidone-3.0', prompt: 'The latest <kite>', duration: '5' });
    const { text } = await owner.get(path);
    const [, latest = ''] = text.split('id="latest"');
    expect(latest)
      .to.include('The latest &lt;kite&gt;')
      .and.match(/playground\?task=task_\w+">Use again/);
    expect(text).not.to.include(ofProgram.id);
    const strangers = await Visitor.invited(app, { email: 'new@example.com', account_id: other.accountId });
    expect((await strangers.get(path.replace(customer.accountId, other.accountId))).text).not.to.include(
      'Latest results',
    );
  });

  it('refuses text beyond the budgets of its account', async () => {
    const { accountId } = await app.createAccount({ fundedUsd: 25 });
    await setAccountBudget(app.database, {
      accountId,
      models: null,
      isCeiling: true,
      usageLimit: 1n,
      limitPeriod: 'month',
    });
    const member = await Visitor.invited(app, { email: 'thrifty@example.com', account_id: accountId });
    const theirs = `/console/accounts/${accountId}/playground`;
    const fields = { model: 'textc-M3', prompt: 'Hello' };
    const { status, text } = await member.send(theirs, fields, { accept: 'text/event-stream' });
    expect([status, JSON.parse(text).error.code]).to.deep.equal([402, 'insufficient_credits']);
    expect(text).to.include('budget');
  });

  it('refuses models that the plan of its account lacks', async () => {
    const { accountId } = await app.createAccount({ fundedUsd: 25 });
    const subscription = { id: 'sub_playground', accountId, customer: 'cus_1', status: 'active', item: 'si_1' };
    await storeSubscription(app.database, async () => ({ ...subscription, price: 'price_1', endsAt: null }));
    const endsAt = new Date(Date.now() + 86_400_000);
    await recordPlanPeriod(app.database, {
      invoiceId: 'in_playground',
      subscriptionId: subscription.id,
      accountId,
      plan: 'small',
      included: 0n,
      models: ['textd-*'],
      rateLimitRpm: null,
      seats: null,
      invoicedAt: new Date(),
      startsAt: new Date(),
      endsAt,
      limitsUntil: endsAt,
      paid: 0n,
      payments: [],
    });
    const member = await Visitor.invited(app, { email: 'subscriber@example.com', account_id: accountId });
    const theirs = `/console/accounts/${accountId}/playground`;
    const ask = (model: string) =>
      member.send(theirs, { model, prompt: 'Hello' }, { accept: 'text/event-stream' }).then(({ status }) => status);
    expect([await ask('textc-M3'), await ask('textd-v2.5')]).to.deep.equal([403, 200]);
  });

  it('is used only from addresses in the allowlist of its key', async () => {
    const id = await consoleKey();
    const setAllowlist = (ipAllowlist: string[] | null) =>
      app.database('api_keys').where({ id }).update({ ip_allowlist: ipAllowlist });
    const fields = { model: 'vidone-3.0', prompt: 'A kite', duration: '5' };
    const question = { model: 'textc-M3', prompt: 'A kite?' };
    const tasksBefore = (await tasksOf(customer)).length;
    await setAllowlist(['203.0.113.0/24']);
    const stream = await owner.send(path, question, { accept: 'text/event-stream' });
    const refused = [
      await owner.send(path, fields),
      await owner.send(path, question),
      stream,
      { text: await (await sendFile(pngFile())).text() },
    ];
    for (const { text } of refused) expect(text).to.include('may not be used from the address 127.0.0.1');
    expect(await tasksOf(customer)).to.have.length(tasksBefore);
    await setAllowlist(['127.0.0.0/8']);
    expect((await owner.send(path, fields)).status).to.equal(303);
    await setAllowlist(null);
  });

  it('applies the rate limit of its key, and the state of the key', async () => {
    const id = await consoleKey();
    const tasksBefore = (await tasksOf(customer)).length;
    await app.database('api_keys').where({ id }).update({ rate_limit_rpm: 1 });
    const fields = { model: 'vidone-3.0', prompt: 'A kite', duration: '5' };
    const answers = [];
    // Two of three are in the same minute, even if a minute ends meanwhile.
    for (let count = 0; count < 3; count++) answers.push((await owner.send(path, fields)).text);
    expect(answers.join()).to.include('requests a minute');
    expect((await tasksOf(customer)).length).to.be.below(tasksBefore + 3);
    await app.database('api_keys').where({ id }).update({ rate_limit_rpm: null, disabled_at: new Date() });
    const refused = await owner.send(path, fields);
    expect([refused.status, refused.text.includes('The API key is disabled')]).to.deep.equal([400, true]);
  });
});

describeInBrowser('the playground in a browser', (browser) => {
  const app = useTestConsole({ simulatesText: true });

  it('keeps the questions of the tab with their answers, until a user signs in', async () => {
    const { accountId } = await app.createAccount({ fundedUsd: 25 });
    const tab = await browser.open(app.baseUrl);
    try {
      const { page } = tab;
      await tab.signIn(await Visitor.invited(app, { email: 'owner@example.com', account_id: accountId }));
      const playground = `/console/accounts/${accountId}/playground?model=textc-M3`;
      await page.goto(playground);
      expect(await page.getByText('History').isVisible()).to.equal(false);
      await page.getByLabel('Prompt').fill('Name a <kite>.');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText('textc-M3: Name a <kite>.').waitFor();
      await page.reload();
      await page.getByText('textc-M3: Name a <kite>.').click();
      expect(await page.locator('#asked .answer').innerText()).not.to.equal('');
      await page.getByLabel('Prompt').fill('');
      await page.getByRole('button', { name: 'Use again' }).click();
      expect(await page.getByLabel('Prompt').inputValue()).to.equal('Name a <kite>.');
      await page.getByLabel('Model').selectOption('vidone-3.0');
      await page.getByLabel('Seconds').waitFor();
      expect(await page.getByText('History').isVisible()).to.equal(true);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
      expect(await page.evaluate('sessionStorage.getItem("asked")')).to.equal(null);
      expect(tab.complaints).to.deep.equal([]);
    } finally {
      await tab.close();
    }
  });

  it('speaks a text, and transcribes a file, with the price of each', async () => {
    const { accountId } = await app.createAccount({ fundedUsd: 25 });
    const tab = await browser.open(app.baseUrl);
    try {
      const { page } = tab;
      await tab.signIn(await Visitor.invited(app, { email: 'voice@example.com', account_id: accountId }));
      await page.goto(`/console/accounts/${accountId}/playground`);
      await page.getByRole('link', { name: 'Speech and transcripts' }).click();
      await page.getByLabel('Text to speak').fill('Good morning');
      await page.getByRole('button', { name: 'Speak' }).click();
      await page.getByText('12 characters: $0.00018').waitFor();
      expect(await page.locator('audio').getAttribute('src')).to.match(/^blob:/);
      const file = { name: 'said.wav', mimeType: 'audio/wav', buffer: wavOf(1.5) };
      await page.getByLabel('Audio file').setInputFiles(file);
      await page.getByRole('button', { name: 'Transcribe' }).click();
      await page.getByText('2 s of audio: $0.0002').waitFor();
      expect(await page.locator('.answer').innerText()).to.contain('here is a reply');
      await page.getByLabel('Text to speak').fill('a'.repeat(5_000));
      await page.getByRole('button', { name: 'Speak' }).click();
      await page.getByText('accepts at most 4096 characters').waitFor();
      tab.forgive(/400/);
      expect(tab.complaints).to.deep.equal([]);
    } finally {
      await tab.close();
    }
  });
});
