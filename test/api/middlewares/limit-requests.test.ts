import { expect } from 'chai';
import { type ErrorBody, startTestApp, type TestApp, type TestCaller } from '../../support/app.ts';
import { type Answer, call } from '../../support/stack.ts';

const LIMIT = 20;

const poll = (url: string, { apiKey }: TestCaller): Promise<Answer<ErrorBody>> =>
  call(`${url}/v1/tasks/task_x`, { key: apiKey });

describe('the limit of requests', () => {
  let app: TestApp;
  let second: string;

  before(async () => {
    app = await startTestApp({ settings: { requestsPerMinute: LIMIT } });
    second = await app.startSecond();
  });
  after(() => app.stop());

  /** So many requests at once, through both processes. */
  const burst = (caller: TestCaller, count: number): Promise<Answer<ErrorBody>[]> =>
    Promise.all(Array.from({ length: count }, (_, index) => poll(index % 2 ? second : app.baseUrl, caller)));

  /** Resolves early in a minute, so that what follows does not run into the next. */
  async function awaitRoomInMinute(): Promise<void> {
    const { rows } = await app.database.raw<{ rows: { left: number }[] }>(
      'SELECT 60 - extract(second FROM now())::float8 AS left',
    );
    const left = rows[0]?.left ?? 60;
    if (left < 8) await new Promise((resolve) => setTimeout(resolve, left * 1000 + 100));
  }

  it('lets through exactly as many as allowed in a minute, over all processes together', async () => {
    await awaitRoomInMinute();
    const answers = await burst(await app.createAccount(), LIMIT + 15);
    expect(answers.filter(({ status }) => status === 404)).to.have.length(LIMIT);
    expect(answers.filter(({ status }) => status === 429)).to.have.length(15);
  }).timeout(60_000);

  it('says when to come back, alike in header and body', async () => {
    await awaitRoomInMinute();
    const caller = await app.createAccount({ key: { rateLimitRpm: 1 } });
    await poll(app.baseUrl, caller);
    const { status, headers, body } = await poll(app.baseUrl, caller);
    expect([status, body.error.code, body.error.retryable]).to.deep.equal([429, 'rate_limit_exceeded', true]);
    expect(body.error.retry_after_seconds).to.be.within(1, 60);
    expect(headers.get('retry-after')).to.equal(String(body.error.retry_after_seconds));
    expect(headers.get('ratelimit-reset')).to.equal(headers.get('retry-after'));
  }).timeout(60_000);

  it('tells on every answer how much is left', async () => {
    await awaitRoomInMinute();
    const caller = await app.createAccount({ key: { rateLimitRpm: 3 } });
    const left: unknown[] = [];
    for (let count = 0; count < 4; count += 1) {
      const { headers } = await poll(app.baseUrl, caller);
      expect(headers.get('ratelimit-limit')).to.equal('3');
      left.push(headers.get('ratelimit-remaining'));
    }
    expect(left).to.deep.equal(['2', '1', '0', '0']);
  }).timeout(60_000);

  it('is counted for each key by itself', async () => {
    const key = { rateLimitRpm: 1 };
    const callers = [await app.createAccount({ key }), await app.createAccount({ key })];
    const answers = await Promise.all(callers.map((caller) => poll(app.baseUrl, caller)));
    expect(answers.map(({ status }) => status)).to.deep.equal([404, 404]);
  });

  it('does not count requests without a usable key', async () => {
    const answers = await Promise.all(
      Array.from({ length: LIMIT + 5 }, () => call(`${app.baseUrl}/v1/models`, { key: 'sk-wrong' })),
    );
    expect(answers.every(({ status }) => status === 401)).to.equal(true);
  });
});
