import { expect } from 'chai';
import type { RequestListener } from 'node:http';
import { parseUsd } from '../../../domain/money.ts';
import { ProviderUnreachableError } from '../../../providers/media/outcomes.ts';
import type { ModerationInput } from '../../../providers/moderation.ts';
import { png } from '../../storage/images.ts';
import { awaitRoomInMinute } from '../../support/one-minute.ts';
import { type ErrorBody, startTestApp, useTestApp } from '../../support/app.ts';
import { reloadAccount, type TestCaller } from '../../support/factories.ts';
import { type Answer, call } from '../../support/stack.ts';
import type { TaskBody } from '../../support/tasks.ts';
import { useLocalServer } from '../../support/receiver.ts';

type CreateAnswer = Answer<{ data: TaskBody & Record<string, unknown> } & ErrorBody>;

const VIDEO = { model: 'vidone-3.0', prompt: 'A lighthouse' };
const IMAGE = { model: 'imagea-2.5-sunburst', prompt: 'A lighthouse' };
const CONCURRENT_TASKS = 10;

describe('a create call', () => {
  let caller: TestCaller;

  const app = useTestApp({
    settings: { allowPrivateAddresses: true, tasks: { deadlineMs: 60_000, concurrentTasks: CONCURRENT_TASKS } },
  });
  beforeEach(async () => {
    caller = await app.createAccount({ fundedUsd: 10 });
  });

  const create = (
    path: 'videos' | 'images',
    body: unknown,
    { apiKey } = caller,
    baseUrl = app.baseUrl,
  ): Promise<CreateAnswer> => call(`${baseUrl}/v1/${path}/tasks`, { key: apiKey, body });
  const tasksOf = async ({ accountId } = caller): Promise<unknown[]> =>
    app.database('tasks').where({ account_id: accountId });

  /** Asserts that a refused call leaves neither a task nor a hold. */
  async function expectNothingOf(who: TestCaller): Promise<void> {
    expect(await tasksOf(who)).to.deep.equal([]);
    expect((await reloadAccount(app.database, { id: who.accountId })).fundedReserved).to.equal(0n);
  }

  it('answers 503 with Retry-After while the disk of the database is full, and stores nothing', async () => {
    await app.database.raw(`
      CREATE FUNCTION fill_disk() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
      CREATE TRIGGER tasks_fill_disk BEFORE INSERT ON tasks FOR EACH STATEMENT EXECUTE FUNCTION fill_disk()`);
    const refused = await create('videos', VIDEO);
    await app.database.raw('DROP FUNCTION fill_disk CASCADE');
    expect([refused.status, refused.body.error.code]).to.deep.equal([503, 'processing_unavailable']);
    expect(Number(refused.headers.get('retry-after'))).to.be.above(0);
    await expectNothingOf(caller);
  });

  it('answers 201 with the queued task of a video and reserves its price', async () => {
    // contract 1:1 1:5 1:6 1:13 2:1 2:2 2.1:1 2.1:2 2.1:3 2.1:4 2.1:5 2.1:8 2.1:13 2.1:15 2.1:16 2.1:17 2.1:19 3:1 4.1:2 8.5:4 9:2
    const { status, headers, body } = await create('videos', VIDEO);
    expect(status).to.equal(201);
    expect(headers.get('content-type')).to.match(/^application\/json/);
    const { id, created_at: createdAt, ...task } = body.data;
    expect(id).to.match(/^task_[0-9a-z]{32}$/);
    expect(createdAt).to.be.closeTo(Date.now() / 1000, 60);
    expect(task).to.deep.equal({
      object: 'task',
      task_kind: 'video',
      capability_id: 'vidone-3.0',
      capability_version: 1,
      media_type: 'video',
      model: 'vidone-3.0',
      status: 'queued',
      stage: 'queued',
      updated_at: createdAt,
      completed_at: null,
      poll_after_seconds: 8,
      output: null,
      usage: {
        credits_reserved: 0.5,
        credits_charged: 0.5,
        credits_settled: 0,
        credits_refunded: 0,
        billable_duration_seconds: 5,
      },
      request_id: headers.get('x-request-id'),
      error_code: null,
      error_message: null,
    });
    const account = await reloadAccount(app.database, { id: caller.accountId });
    expect([account.fundedAvailable, account.fundedReserved]).to.deep.equal([parseUsd('9.5'), parseUsd('0.5')]);
  });

  it('answers 201 with the queued task of an image, which has no contract version and no duration', async () => {
    // contract 2.1:3 2.1:5 4.1:2
    const { status, body } = await create('images', { ...IMAGE, resolution: '2K' });
    expect(status).to.equal(201);
    expect(body.data).to.include({
      task_kind: 'image',
      media_type: 'image',
      capability_version: null,
      poll_after_seconds: 5,
    });
    expect(body.data.usage).to.deep.equal({
      credits_reserved: 0.08,
      credits_charged: 0.08,
      credits_settled: 0,
      credits_refunded: 0,
    });
  });

  it('is 400 and costs nothing when a field is not accepted', async () => {
    // contract 2.3:2 3:2 4.1:6 4.1:7 7.1:1 7.2:1 7.3:1
    const { status, body } = await create('videos', { ...VIDEO, seed: 7 });
    expect([status, body.error.code, body.error.message, body.error.retryable]).to.deep.equal([
      400,
      'bad_request',
      'field "seed" is not supported by model vidone-3.0',
      false,
    ]);
    await expectNothingOf(caller);
  });

  it('reports the first of its faults in the order key, requests a minute, body, Idempotency-Key, fields, rights, money', async () => {
    // contract 4.1:3
    const path = `${app.baseUrl}/v1/videos/tasks`;
    const free = await app.createAccount({ signupUsd: 1, key: { rateLimitRpm: 1 } });
    const poor = await app.createAccount({ fundedUsd: 0.1, key: { models: ['vidone-3.0'] } });
    const used = { 'idempotency-key': 'used' };
    expect((await call(path, { key: caller.apiKey, body: VIDEO, headers: used })).status).to.equal(201);
    await awaitRoomInMinute(app.database);
    await call(path, { key: free.apiKey, body: '{' });
    const large = 'x'.repeat(2 ** 20 + 1);
    const answers = [
      await call<ErrorBody>(path, { key: 'sk-wrong', body: '{' }),
      await call<ErrorBody>(path, { key: free.apiKey, body: '{' }),
      await call<ErrorBody>(path, { key: caller.apiKey, body: large, headers: used }),
      await call<ErrorBody>(path, { key: caller.apiKey, body: '{', headers: used }),
      await call<ErrorBody>(path, { key: caller.apiKey, body: { model: 'none' }, headers: used }),
      await call<ErrorBody>(path, { key: poor.apiKey, body: { model: 'vidtwo-1.1' } }),
      await call<ErrorBody>(path, { key: poor.apiKey, body: { ...VIDEO, model: 'vidone-3.0-prime' } }),
      await call<ErrorBody>(path, { key: poor.apiKey, body: VIDEO }),
    ];
    expect(answers.map(({ status, body }) => [status, body.error.code])).to.deep.equal([
      [401, 'invalid_api_key'],
      [429, 'rate_limit_exceeded'],
      [413, 'read_request_body_failed'],
      [400, 'bad_request'],
      [409, 'idempotency_conflict'],
      [400, 'bad_request'],
      [403, 'forbidden'],
      [402, 'insufficient_credits'],
    ]);
  });

  it('is 402 insufficient_credits when the balance is zero or below the price', async () => {
    // contract 3:2 7.2:5
    for (const fundedUsd of [0.49, 0.5]) {
      const poor = await app.createAccount({ fundedUsd });
      if (fundedUsd === 0.5) expect((await create('videos', VIDEO, poor)).status).to.equal(201);
      const { status, body } = await create('videos', VIDEO, poor);
      expect([status, body.error.code, body.error.retryable]).to.deep.equal([402, 'insufficient_credits', false]);
    }
  });

  it('is 403 forbidden on an account that never topped up, however much signup credit it has', async () => {
    // contract 5:15 7.2:6
    const free = await app.createAccount({ signupUsd: 5 });
    for (const answer of [await create('videos', VIDEO, free), await create('images', IMAGE, free)]) {
      expect([answer.status, answer.body.error.code]).to.deep.equal([403, 'forbidden']);
      expect(answer.body.error.message).to.match(/Top up/);
    }
    await expectNothingOf(free);
  });

  it('is 429 user_concurrency_exceeded beyond exactly the limit of running tasks, through two processes', async () => {
    // contract 7.2:12 7.4:3 8.1:4
    const rich = await app.createAccount({ fundedUsd: 1000 });
    const second = await app.startSecond();
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => create('videos', VIDEO, rich, index % 2 ? second : app.baseUrl)),
    );
    expect(answers.filter(({ status }) => status === 201)).to.have.length(CONCURRENT_TASKS);
    const refused = answers.filter(({ status }) => status !== 201);
    for (const { status, headers, body } of refused) {
      expect([status, body.error.code, body.error.retryable]).to.deep.equal([429, 'user_concurrency_exceeded', true]);
      expect(headers.get('retry-after')).to.equal(String(body.error.retry_after_seconds));
    }
    expect(await tasksOf(rich)).to.have.length(CONCURRENT_TASKS);
  });

  describe('for an image with links', () => {
    let counted = 0;

    const PAGES: Readonly<Record<string, RequestListener>> = {
      '/a.png': (_incoming, answer) => answer.end(png(64, 64)),
      '/missing.png': (_incoming, answer) => answer.writeHead(404).end('Not found'),
      '/counted.png': (_incoming, answer) => {
        counted += 1;
        answer.end(png(64, 64));
      },
    };

    const server = useLocalServer((incoming, answer) => PAGES[incoming.url ?? '']?.(incoming, answer));

    it('answers 201 when each link leads to an image', async () => {
      // contract 4.3:15
      const images = Array.from({ length: 16 }, () => `${server.url}/a.png`);
      expect((await create('images', { ...IMAGE, images })).status).to.equal(201);
    });

    it('answers 201 to a link to an uploaded file, even if private addresses are refused', async () => {
      // contract 1:4 2.7:2 4.3:18 8.4:4
      const form = new FormData();
      form.append('file', new Blob([png(64, 64)]), 'input.png');
      const headers = { authorization: `Bearer ${caller.apiKey}` };
      const upload = await fetch(`${app.baseUrl}/v1/files`, { method: 'POST', headers, body: form });
      // The tests of uploads check the shape.
      const { data } = (await upload.json()) as { data: { url: string } };
      expect((await create('images', { ...IMAGE, images: [data.url] })).status).to.equal(201);
      const strict = await startTestApp({ storage: app.storage });
      const rich = await strict.createAccount({ fundedUsd: 10 });
      const post = (kind: string, body: object): Promise<CreateAnswer> =>
        call(`${strict.baseUrl}/v1/${kind}/tasks`, { key: rich.apiKey, body });
      try {
        expect((await post('images', { ...IMAGE, images: [data.url] })).status).to.equal(201);
        expect((await post('videos', { ...VIDEO, images: [data.url] })).status).to.equal(201);
        expect((await post('videos', { ...VIDEO, reference_videos: [data.url] })).status).to.equal(201);
        const others = [`${app.baseUrl}/v1/models`, `${app.baseUrl}/files/../v1/models`, `${server.url}/a.png`];
        for (const url of others) {
          expect((await post('videos', { ...VIDEO, images: [url] })).status, url).to.equal(400);
        }
        const gone = data.url.replace(/\w(?=\.png$)/, (letter) => (letter === 'a' ? 'b' : 'a'));
        const { status, body } = await post('images', { ...IMAGE, images: [gone] });
        expect([status, body.error.code]).to.deep.equal([400, 'bad_request']);
        expect(body.error.message).to.contain('there is no such file');
      } finally {
        await strict.stop();
      }
    });

    it('answers 400 and charges nothing when a link leads to no image', async () => {
      // contract 4.3:4 4.3:15
      const images = [`${server.url}/a.png`, `${server.url}/missing.png`];
      const { status, body } = await create('images', { ...IMAGE, images });
      expect([status, body.error.code]).to.deep.equal([400, 'bad_request']);
      expect(body.error.message).to.match(/^"images\[1\]" /);
      await expectNothingOf(caller);
    });

    it('answers 403 forbidden before any link is requested, on an account that never topped up', async () => {
      const free = await app.createAccount({ signupUsd: 5 });
      const { status, body } = await create('images', { ...IMAGE, images: [`${server.url}/missing.png`] }, free);
      expect([status, body.error.code]).to.deep.equal([403, 'forbidden']);
    });

    it('requests no link when the key, its limit, the balance or the running tasks do not allow the call', async () => {
      // contract 4.1:4 4.3:16
      const images = [`${server.url}/counted.png`];
      const busy = await app.createAccount({ fundedUsd: 1000 });
      await Promise.all(Array.from({ length: CONCURRENT_TASKS }, () => create('videos', VIDEO, busy)));
      const spent = await app.createAccount({ fundedUsd: 5, key: { usageLimit: 0n } });
      const limited = await app.createAccount({ fundedUsd: 5, key: { usageLimit: 1n } });
      const other = await app.createAccount({ fundedUsd: 5, key: { models: ['vidone-3.0'] } });
      const poor = await app.createAccount({ fundedUsd: 0.000_001 });
      const codes: unknown[] = [];
      for (const who of [spent, other, limited, poor, busy]) {
        const { status, body } = await create('images', { ...IMAGE, images }, who);
        codes.push([status, body.error.code]);
      }
      expect(codes).to.deep.equal([
        [401, 'invalid_api_key'],
        [403, 'forbidden'],
        [402, 'insufficient_credits'],
        [402, 'insufficient_credits'],
        [429, 'user_concurrency_exceeded'],
      ]);
      expect(counted).to.equal(0);
    });

    it('answers 400 rather than 403 when a field is wrong', async () => {
      const free = await app.createAccount({ signupUsd: 5 });
      expect((await create('images', { ...IMAGE, images: [] }, free)).status).to.equal(400);
    });

    it('fetches no link for a video: the model judges the content later', async () => {
      // contract 4.2:13
      const { status } = await create('videos', { ...VIDEO, images: [`${server.url}/missing.png`] });
      expect(status).to.equal(201);
    });
  });
});

describe('a create call that is moderated', () => {
  const asked: ModerationInput[] = [];
  let caller: TestCaller;

  const app = useTestApp({
    moderator: {
      check: async (input) => {
        asked.push(input);
        if (input.text.includes('unreachable')) throw new ProviderUnreachableError('no answer');
        return input.text.includes('flag me')
          ? { flagged: true, categories: ['violence'] }
          : { flagged: false, categories: [] };
      },
      judge: async () => [],
    },
  });
  before(async () => {
    caller = await app.createAccount({ fundedUsd: 10 });
  });

  const create = (body: object, headers: Record<string, string> = {}): Promise<CreateAnswer> =>
    call(`${app.baseUrl}/v1/videos/tasks`, { key: caller.apiKey, body: { ...VIDEO, ...body }, headers });
  const tasks = async (): Promise<unknown[]> => app.database('tasks').where({ account_id: caller.accountId });

  it('goes ahead when nothing is flagged, and was judged by its prompt and its images', async () => {
    // contract 4.1:18
    const images = ['https://images.example.com/a.png'];
    expect((await create({ prompt: 'A lighthouse', images })).status).to.equal(201);
    expect(asked.at(-1)).to.deep.equal({ text: 'A lighthouse', images });
  });

  it('is 400 content_policy_violation when something is flagged, and costs nothing', async () => {
    // contract 4.1:19 7.2:2 7.3:3
    const before = await tasks();
    const { status, body } = await create({ prompt: 'flag me' });
    expect([status, body.error.code, body.error.retryable]).to.deep.equal([400, 'content_policy_violation', false]);
    expect(body.error.message).to.contain('violence');
    expect(await tasks()).to.deep.equal(before);
  });

  it('is 503 processing_unavailable, which permits a retry, without a verdict', async () => {
    // contract 4.1:20 7.2:14
    const before = await tasks();
    const headers = { 'idempotency-key': 'again' };
    const { status, headers: received, body } = await create({ prompt: 'unreachable' }, headers);
    expect([status, body.error.code, body.error.retryable]).to.deep.equal([503, 'processing_unavailable', true]);
    expect(received.get('retry-after')).to.equal(String(body.error.retry_after_seconds));
    expect(await tasks()).to.deep.equal(before);
    expect((await create({}, headers)).status).to.equal(201);
  });

  it('is counted and logged with the cause, but without its prompt, when there is no verdict', async () => {
    await create({ prompt: 'unreachable zebrafish' });
    const scraped = await fetch(`${app.baseUrl}/metrics`, { headers: { authorization: `Bearer ${app.metricsToken}` } });
    expect(await scraped.text()).to.match(/^genway_moderations_total\{outcome="unavailable"\} [1-9]/m);
    expect(app.logged())
      .to.match(/"message":"no answer"[^\n]*the moderation service gave no verdict/)
      .and.not.include('zebrafish');
  });

  it('is not judged when it is invalid', async () => {
    const before = asked.length;
    expect((await create({ prompt: 'flag me', duration: 99 })).body.error.code).to.equal('bad_request');
    expect(asked).to.have.length(before);
  });

  it('is not moderated if the balance does not cover it', async () => {
    // contract 4.1:4
    const before = asked.length;
    const { apiKey } = await app.createAccount({ fundedUsd: 0.1 });
    const { body } = await call<ErrorBody>(`${app.baseUrl}/v1/videos/tasks`, { key: apiKey, body: VIDEO });
    expect(body.error.code).to.equal('insufficient_credits');
    expect(asked).to.have.length(before);
  });

  it('is not judged when the account never topped up', async () => {
    const before = asked.length;
    const { apiKey } = await app.createAccount({ signupUsd: 5 });
    const { body } = await call<ErrorBody>(`${app.baseUrl}/v1/videos/tasks`, { key: apiKey, body: VIDEO });
    expect(body.error.code).to.equal('forbidden');
    expect(asked).to.have.length(before);
  });
});
