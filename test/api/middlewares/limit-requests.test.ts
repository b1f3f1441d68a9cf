import { expect } from 'chai';
import { awaitRoomInMinute } from '../../support/one-minute.ts';
import { type ErrorBody, useTestApp } from '../../support/app.ts';
import type { TestCaller } from '../../support/factories.ts';
import { type Answer, call } from '../../support/stack.ts';

const LIMIT = 20;

const READ_LIMIT = 30;

/** A request that would create a task if its body were valid. */
const create = (url: string, { apiKey }: TestCaller): Promise<Answer<ErrorBody>> =>
  call(`${url}/v1/videos/tasks`, { key: apiKey, body: {} });
const poll = (url: string, { apiKey }: TestCaller): Promise<Answer<ErrorBody>> =>
  call(`${url}/v1/tasks/task_x`, { key: apiKey });

describe('the limit of requests', () => {
  let second: string;

  const app = useTestApp({ settings: { requestLimits: { requestsPerMinute: LIMIT, readsPerMinute: READ_LIMIT } } });
  before(async () => {
    second = await app.startSecond();
  });

  /** Sends this many requests at once, through both processes. */
  const burst = (send: typeof create, caller: TestCaller, count: number): Promise<Answer<ErrorBody>[]> =>
    Promise.all(Array.from({ length: count }, (_, index) => send(index % 2 ? second : app.baseUrl, caller)));

  /** Resolves early in a minute, so that the test ends within the same minute. */
  it('accepts exactly the allowed number of requests in a minute, over all processes together', async () => {
    // contract 7.2:11 8.1:1 8.1:6 8.1:8
    await awaitRoomInMinute(app.database);
    const answers = await burst(create, await app.createAccount(), LIMIT + 15);
    expect(answers.filter(({ status }) => status === 400)).to.have.length(LIMIT);
    expect(answers.filter(({ status }) => status === 429)).to.have.length(15);
  });

  it('counts reading requests separately, with a limit of their own', async () => {
    // contract 8.1:2
    await awaitRoomInMinute(app.database);
    const caller = await app.createAccount();
    const reads = await burst(poll, caller, READ_LIMIT + 5);
    expect(reads.filter(({ status }) => status === 404)).to.have.length(READ_LIMIT);
    expect(reads.filter(({ status }) => status === 429)).to.have.length(5);
    const { status, headers } = await create(app.baseUrl, caller);
    expect([status, headers.get('ratelimit-remaining')]).to.deep.equal([400, String(LIMIT - 1)]);
  });

  it('allows a key as many reads as other requests, and never fewer than the default', async () => {
    // contract 8.1:2
    const fast = await app.createAccount({ key: { rateLimitRpm: 500 } });
    const slow = await app.createAccount({ key: { rateLimitRpm: 1 } });
    const limits = await Promise.all([fast, slow].map((caller) => poll(app.baseUrl, caller)));
    expect(limits.map(({ headers }) => headers.get('ratelimit-limit'))).to.deep.equal(['500', String(READ_LIMIT)]);
  });

  it('is also sent in the headers that clients of text formats expect', async () => {
    // contract 8.1:8 8.1:10
    const { headers } = await poll(app.baseUrl, await app.createAccount());
    expect(headers.get('x-ratelimit-limit-requests')).to.equal(String(READ_LIMIT));
    expect(headers.get('x-ratelimit-remaining-requests')).to.equal(String(READ_LIMIT - 1));
    expect(headers.get('x-ratelimit-reset-requests')).to.equal(`${headers.get('ratelimit-reset')}s`);
  });

  it('reports when to retry, with the same value in header and body', async () => {
    // contract 2.3:5 7.4:3
    await awaitRoomInMinute(app.database);
    const caller = await app.createAccount({ key: { rateLimitRpm: 1 } });
    await create(app.baseUrl, caller);
    const { status, headers, body } = await create(app.baseUrl, caller);
    expect([status, body.error.code, body.error.retryable]).to.deep.equal([429, 'rate_limit_exceeded', true]);
    expect(body.error.retry_after_seconds).to.be.within(1, 60);
    expect(headers.get('retry-after')).to.equal(String(body.error.retry_after_seconds));
    expect(headers.get('ratelimit-reset')).to.equal(headers.get('retry-after'));
  });

  it('reports the remaining requests with every answer', async () => {
    // contract 8.1:9
    await awaitRoomInMinute(app.database);
    const caller = await app.createAccount({ key: { rateLimitRpm: 3 } });
    const left: unknown[] = [];
    for (let count = 0; count < 4; count += 1) {
      const { headers } = await create(app.baseUrl, caller);
      expect(headers.get('ratelimit-limit')).to.equal('3');
      left.push(headers.get('ratelimit-remaining'));
    }
    expect(left).to.deep.equal(['2', '1', '0', '0']);
  });

  it('is counted separately for each key', async () => {
    const key = { rateLimitRpm: 1 };
    const callers = [await app.createAccount({ key }), await app.createAccount({ key })];
    const answers = await Promise.all(callers.map((caller) => create(app.baseUrl, caller)));
    expect(answers.map(({ status }) => status)).to.deep.equal([400, 400]);
  });

  it('does not count requests without a usable key', async () => {
    const answers = await Promise.all(
      Array.from({ length: LIMIT + 5 }, () => call(`${app.baseUrl}/v1/models`, { key: 'sk-wrong' })),
    );
    expect(answers.every(({ status }) => status === 401)).to.equal(true);
  });
});
