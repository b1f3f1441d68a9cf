/** End users named in requests: their budgets, and their records. */
import { expect } from 'chai';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../../support/eventually.ts';
import { startOfPeriod } from '../../../domain/api-key.ts';
import { endUserName } from '../../../domain/end-user.ts';
import { endUserOf } from '../../../services/text/end-user.ts';
import { END_USERS } from '../../../domain/policy.ts';
import { type ErrorBody, useTestApp } from '../../support/app.ts';
import type { TestCaller } from '../../support/factories.ts';
import { connectGenway, field, type Genway } from '../../support/genway.ts';
import { call } from '../../support/stack.ts';
import type { TaskBody } from '../../support/tasks.ts';

const MODEL = 'textg-6-sol';
const MESSAGES = [{ role: 'user', content: 'Say exactly: hello there' }];
/** A process learns of a new budget within three seconds. */
const WAIT = { timeoutMs: PATIENCE_MS, pauseMs: 50 };

describe('end users', () => {
  const app = useTestApp({ simulatesText: true });
  let genway: Genway;
  let text: string;
  let caller: TestCaller;

  before(async () => {
    [genway, text] = await Promise.all([connectGenway(app), app.startText()]);
  });
  beforeEach(async () => {
    caller = await app.createAccount({ fundedUsd: 100 });
  });

  const post = (path: string, body: object) =>
    call<ErrorBody>(`${text}${path}`, { key: caller.apiKey, body, headers: { 'msgfmt-version': '2023-06-01' } });
  const chat = (fields: object) =>
    post('/v1/chat/completions', { model: MODEL, max_tokens: 50, messages: MESSAGES, ...fields });
  const namesOf = () =>
    app
      .database('text_requests')
      .where({ account_id: caller.accountId })
      .orderBy('id')
      .pluck<(string | null)[]>('end_user');
  const recordedNames = async (count: number): Promise<readonly (string | null)[]> => {
    await waitUntil(async () => expect(await namesOf()).to.have.length(count), WAIT);
    return namesOf();
  };
  const setBudget = (user: string, usd: string, period = 'day') =>
    genway('budgets', 'set', caller.accountId, '--end-user', user, '--usage-limit-usd', usd, '--limit-period', period);
  const untilRefused = (fields: object) =>
    waitUntil(async () => expect((await chat(fields)).status).to.equal(402), WAIT);

  const NAMED: readonly [what: string, path: string, body: object][] = [
    ['`user` of chat completions', '/v1/chat/completions', { messages: MESSAGES, user: 'alice' }],
    [
      '`safety_identifier` of chat completions',
      '/v1/chat/completions',
      { messages: MESSAGES, safety_identifier: 'alice' },
    ],
    ['`user` of responses', '/v1/responses', { input: 'Hello', user: 'alice' }],
    ['`safety_identifier` of responses', '/v1/responses', { input: 'Hello', safety_identifier: 'alice' }],
    [
      '`metadata.user_id` of messages',
      '/v1/messages',
      { max_tokens: 50, messages: MESSAGES, metadata: { user_id: 'alice' } },
    ],
    ['`user` of embeddings', '/v1/embeddings', { model: 'textm-embed', input: 'Hello', user: 'alice' }],
  ];
  for (const [what, sent, name] of [
    ['JSON', '{"device_id":"d1","account_uuid":"","session_id":"s1"}', 'd1'],
    ['JSON of a signed-in person', '{"device_id":"d1","account_uuid":"a1","session_id":"s1"}', 'a1'],
    ['a text', 'user_0a1b_account__session_5d2c0e0e-0000', 'user_0a1b_account_'],
    ['a text of a signed-in person', 'user_0a1b_account_7f-00_session_5d2c0e0e-0000', 'user_0a1b_account_7f-00'],
    ['JSON without a session', '{"device_id":"d1"}', '{"device_id":"d1"}'],
    ['broken JSON', '{"session_id":', '{"session_id":'],
  ] as const) {
    it(`are named by the user whom Claude Code names beside its session in ${what}`, () => {
      // contract 4.8.3:26
      expect(endUserOf({ metadata: { user_id: sent } })).to.equal(name);
    });
  }

  for (const [what, path, body] of NAMED) {
    it(`are named by ${what}, and get an error there once their budget is spent`, async () => {
      // contract 5:12 5:18
      const answer = await post(path, { model: MODEL, ...body });
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
      expect(await recordedNames(1)).to.deep.equal(['alice']);
      await setBudget('alice', '0');
      await untilRefused({ user: 'alice' });
      const refused = await post(path, { model: MODEL, ...body });
      expect(refused.status).to.equal(402);
      expect(JSON.stringify(refused.body)).to.include("the end user's budget of 0 USD a day");
    });
  }

  it('are not named by the native format, whose requests have no field for it', async () => {
    // contract 5:18
    const path = `/v1beta/models/texth-3.8-flash:generateContent`;
    expect((await post(path, { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] })).status).to.equal(200);
    expect(await recordedNames(1)).to.deep.equal([null]);
  });

  const MEDIA: readonly [path: string, body: object][] = [
    ['/v1/videos/tasks', { model: 'vidone-3.0', prompt: 'A lighthouse' }],
    ['/v1/images/tasks', { model: 'imagea-2.5-sunburst', prompt: 'A lighthouse' }],
    ['/v1/images/generations', { model: 'imagea-2.5-sunburst', prompt: 'A lighthouse' }],
    ['/v1/videos', { model: 'vidone-3.0', prompt: 'A lighthouse' }],
  ];
  for (const [path, body] of MEDIA) {
    it(`are named by \`user\` of ${path}, and are refused there at once when their budget does not cover the request`, async () => {
      // contract 2.1:20 4.2:9 4.3:9 5:12
      await setBudget('alice', '0.001', 'month');
      const create = (user: string | null) =>
        call<ErrorBody & { data: TaskBody }>(`${app.baseUrl}${path}`, { key: caller.apiKey, body: { ...body, user } });
      const { status, body: refused } = await create('alice');
      expect(status).to.equal(402);
      expect(refused.error.message).to.match(
        /^This request costs [\d.]+ USD, more than is left of the end user's budget of 0.001 USD a month, which renews at .*Z. Raise the budget.$/,
      );
      if (!path.endsWith('/tasks')) return;
      expect((await create('bob')).body.data).to.have.property('end_user', 'bob');
      for (const nobody of ['', null]) expect((await create(nobody)).body.data).to.not.have.property('end_user');
    });
  }

  it('are named by the first field if a request names several', async () => {
    // contract 5:18
    await chat({ user: 'bob', safety_identifier: 'alice' });
    await chat({ user: 'bob', safety_identifier: '' });
    expect(await recordedNames(2)).to.deep.equal(['alice', 'bob']);
  });

  it('read the remainder of their budget and its renewal, while others continue', async () => {
    // contract 5:12 4.11:19
    await setBudget('alice', '0.000001', 'month');
    await untilRefused({ user: 'alice' });
    const { body } = await chat({ user: 'alice' });
    const today = new Date();
    const renewal = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1))
      .toISOString()
      .replace('.000', '');
    expect(body.error.code).to.equal('insufficient_credits');
    expect(body.error.message).to.include(
      `USD, but 0.000001 USD is left of the end user's budget of 0.000001 USD a month, which renews at ${renewal}. ` +
        'Ask for fewer output tokens, or raise the budget.',
    );
    expect((await chat({ user: 'bob' })).status).to.equal(200);
    expect((await chat({})).status).to.equal(200);
    await setBudget('alice', '1', 'month');
    expect((await chat({ user: 'alice' })).status).to.equal(200);
  });

  it('have budgets that operators set, list and delete', async () => {
    // contract 4.11:19
    const set = await setBudget('alice', '5', 'week');
    const printed = JSON.parse(await genway('budgets', 'list', caller.accountId, '--end-user', 'alice', '--json'));
    const [budget] = printed.data;
    expect(budget).to.include({
      id: field(set, 'id'),
      object: 'end_user_budget',
      account_id: caller.accountId,
      end_user: 'alice',
      usage_limit_usd: 5,
      limit_period: 'week',
      used_of_limit_usd: 0,
      renews_at: startOfPeriod('week', new Date()).getTime() / 1000 + 7 * 86_400,
    });
    await setBudget('bob', '1');
    expect(await genway('budgets', 'list', caller.accountId, '--end-user', 'bob')).not.to.include('alice');
    await genway('budgets', 'delete', budget.id);
    expect(await genway('budgets', 'list', caller.accountId)).not.to.include('alice');
    expect(await genway('budgets', 'delete', budget.id)).to.include('There is no such budget');
  });

  it('have at most this many budgets in an account', async () => {
    // contract 4.11:19
    await app.database.raw(
      `INSERT INTO budgets (id, account_id, end_user, usage_limit, limit_period)
       SELECT 'eub_' || lpad(number::text, 32, '0'), ?, 'user-' || number, 1, 'day' FROM generate_series(1, ?) AS number`,
      [caller.accountId, END_USERS.maxBudgets],
    );
    expect(await setBudget('alice', '1')).to.include(`has ${END_USERS.maxBudgets} budgets already`);
    expect(field(await setBudget('user-7', '3'), 'usage_limit_usd')).to.equal('3');
    await untilRefused({ user: 'user-8' });
    expect((await chat({ user: 'alice' })).status).to.equal(200);
    await app.database('budgets').where({ account_id: caller.accountId }).delete();
  });

  it('whose names the database cannot store are known by the storable part', async () => {
    // contract 5:20
    const names = ['a\0b', '\ud800', 'x'.repeat(2 ** 20), '😀'.repeat(200), '"\\,(){}', `'; DROP TABLE tasks; --`];
    for (const user of names) expect((await chat({ user })).status, user.slice(0, 20)).to.equal(200);
    for (const user of ['', null]) expect((await chat({ user })).status).to.equal(200);
    expect((await chat({ user: 7 })).status).to.equal(400);
    expect(await recordedNames(8)).to.deep.equal([
      'a\ufffdb',
      '\ufffd',
      'x'.repeat(128),
      '😀'.repeat(128),
      '"\\,(){}',
      `'; DROP TABLE tasks; --`,
      null,
      null,
    ]);
  });

  it('have summed charges for the account and in an export', async () => {
    // contract 2.9:10 4.9:4 4.11:27 4.11:60
    await chat({ user: 'alice' });
    await chat({ user: 'bob' });
    await chat({ user: 'bob' });
    await chat({});
    await recordedNames(4);
    const { body } = await call<{ data: { end_user: string; requests: number; charged_usd: number }[] }>(
      `${app.baseUrl}/v1/usage/end-users`,
      { key: caller.apiKey },
    );
    expect(body.data.map(({ end_user, requests }) => [end_user, requests])).to.deep.equal([
      ['bob', 2],
      ['alice', 1],
    ]);
    const [bob, alice] = body.data;
    expect(bob?.charged_usd).to.be.closeTo(2 * (alice?.charged_usd ?? 0), 1e-12);
    const csv = await genway('accounts', 'end-users', caller.accountId, '--csv');
    expect(csv.split('\r\n')[1]).to.match(/^bob,2,0,/);
    const requests = await genway('accounts', 'requests', caller.accountId, '--json');
    expect(JSON.parse(requests).data.map(({ end_user }: { end_user: string | null }) => end_user)).to.deep.equal([
      null,
      'bob',
      'bob',
      'alice',
    ]);
  });
});

describe('the budget of an end user with a long name', () => {
  const app = useTestApp();
  const SENT = 'n'.repeat(200);

  it('applies to the requests that send the same name', async () => {
    // contract 5:20
    const genway = await connectGenway(app);
    const { accountId } = await app.createAccount({ fundedUsd: 100 });
    const budget = ['--end-user', SENT, '--usage-limit-usd', '1', '--limit-period', 'day'];
    await genway('budgets', 'set', accountId, ...budget);
    const budgets = await app.database('budgets').where({ account_id: accountId }).pluck('end_user');
    expect(budgets).to.deep.equal([endUserName(SENT)]);
    const listed = await genway('budgets', 'list', accountId, '--end-user', SENT, '--json');
    expect(JSON.parse(listed).data).to.have.length(1);
  });
});

describe('the name of an end user', () => {
  it('is stored as sent, up to its 128th character, which may be any of Unicode', () => {
    // contract 5:20
    expect(endUserName('user-1742')).to.equal('user-1742');
    expect(Array.from(endUserName('é😀'.repeat(100)))).to.have.length(128);
    expect(endUserName(`${'x'.repeat(127)}😀`)).to.equal(`${'x'.repeat(127)}😀`);
  });
});
