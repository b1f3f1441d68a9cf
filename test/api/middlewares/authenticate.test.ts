import { expect } from 'chai';
import { endpointsFor } from '../../../api/endpoints.ts';
import { isAddressIn } from '../../../services/people/allowed-address.ts';
import { deleteApiKey, type KeySettings, updateApiKey } from '../../../db/queries/api-keys.ts';
import { parseUsd } from '../../../domain/money.ts';
import { type ErrorBody, useTestApp } from '../../support/app.ts';
import { finishAsSucceeded, type TestCaller } from '../../support/factories.ts';
import { type Answer, call } from '../../support/stack.ts';

const VIDEO = { model: 'vidone-3.0', prompt: 'A lighthouse' };

interface TaskEnvelope {
  readonly data: { readonly id: string };
}

const bearer = ({ apiKey }: TestCaller) => ({ authorization: `Bearer ${apiKey}` });

describe('an API key', () => {
  const app = useTestApp({ settings: { trustedProxies: 1 } });

  /** Lists models, which needs only a usable key. */
  const use = (headers: Record<string, string>): Promise<Answer<ErrorBody>> =>
    call(`${app.baseUrl}/v1/balance`, { headers });
  const withKey = (key: KeySettings = {}): Promise<TestCaller> => app.createAccount({ fundedUsd: 10, key });

  it('works with and without its sk- prefix', async () => {
    // contract 5:1 5:7
    const { apiKey } = await withKey();
    for (const key of [apiKey, apiKey.replace(/^sk-/, '')]) {
      expect((await use({ authorization: `Bearer ${key}` })).status).to.equal(200);
    }
  });

  it('is found in an Authorization header whose scheme is in any case', async () => {
    const { apiKey } = await withKey();
    expect((await use({ authorization: `bearer ${apiKey}` })).status).to.equal(200);
  });

  for (const [what, headers] of [
    ['no header', {}],
    ['an empty header', { authorization: '' }],
    ['a scheme without a key', { authorization: 'Bearer ' }],
    ['another scheme', { authorization: 'Basic c2stYTpi' }],
    ['no scheme', { authorization: 'sk-abc' }],
    ['the header of another format', { 'x-api-key': 'sk-abc' }],
    ['the header of the native format', { 'x-native-api-key': 'sk-abc' }],
  ] as const) {
    it(`counts as missing with ${what}`, async () => {
      // contract 5:1 5:8 7.2:3
      const { status, body } = await use(headers);
      expect([status, body.error.code, body.error.retryable]).to.deep.equal([401, 'missing_api_key', false]);
      expect(body.error.request_id).to.match(/^req_/);
    });
  }

  for (const [what, key] of [
    ['that nobody has', 'sk-abc'],
    ['that is far too long', `sk-${'a'.repeat(5000)}`],
    ['in another case', undefined],
  ] as const) {
    it(`is refused as wrong: one ${what}`, async () => {
      // contract 5:9 7.2:4
      const { apiKey } = await withKey();
      const { status, body } = await use({ authorization: `Bearer ${key ?? apiKey.toUpperCase()}` });
      expect([status, body.error.code, body.error.retryable]).to.deep.equal([401, 'invalid_api_key', false]);
      expect(body.error.message).to.contain('wrong');
    });
  }

  for (const [word, settings] of [
    ['disabled', { disabled: true }],
    ['expired', { expiresAt: new Date(Date.now() - 1000) }],
  ] as const) {
    it(`is refused when it is ${word}, and the message names the reason`, async () => {
      // contract 5:9 7.2:4
      const { status, body } = await use(bearer(await withKey(settings)));
      expect([status, body.error.code]).to.deep.equal([401, 'invalid_api_key']);
      expect(body.error.message).to.contain(word);
    });
  }

  it('is refused when it is deleted, and the message names the reason', async () => {
    // contract 5:9
    const { keyId, apiKey } = await withKey();
    await deleteApiKey(app.database, keyId);
    const { status, body } = await use({ authorization: `Bearer ${apiKey}` });
    expect([status, body.error.code]).to.deep.equal([401, 'invalid_api_key']);
    expect(body.error.message).to.contain('deleted');
  });

  it('works until it expires', async () => {
    expect((await use(bearer(await withKey({ expiresAt: new Date(Date.now() + 60_000) })))).status).to.equal(200);
  });

  it('stops working at once when it is deleted or disabled, in every process', async () => {
    // contract 4.11:18 5:16
    const second = await app.startSecond();
    for (const stop of [
      (keyId: string) => deleteApiKey(app.database, keyId),
      (keyId: string) => updateApiKey(app.database, keyId, { disabled: true }),
    ]) {
      const { keyId, apiKey } = await withKey();
      const statuses = () =>
        Promise.all([app.baseUrl, second].map(async (url) => (await call(`${url}/v1/models`, { key: apiKey })).status));
      expect(await statuses()).to.deep.equal([200, 200]);
      await stop(keyId);
      expect(await statuses()).to.deep.equal([401, 401]);
    }
  });

  it('with a limit gets 402 for a request that exceeds the remaining limit, and is exhausted once all of it is spent', async () => {
    // contract 5:10 5:11 7.2:4
    const { apiKey } = await withKey({ usageLimit: parseUsd('0.5') });
    const create = (duration: number): Promise<Answer<ErrorBody & TaskEnvelope>> =>
      call(`${app.baseUrl}/v1/videos/tasks`, { key: apiKey, body: { ...VIDEO, duration } });
    const codeOf = ({ status, body }: Answer<ErrorBody>) => [status, body.error.code];
    expect(codeOf(await create(6))).to.deep.equal([402, 'insufficient_credits']);
    const { status, body } = await create(5);
    expect(status).to.equal(201);
    expect(codeOf(await create(2)), 'only reserved').to.deep.equal([402, 'insufficient_credits']);
    await finishAsSucceeded(app.database, body.data);
    const exhausted = await create(2);
    expect(codeOf(exhausted)).to.deep.equal([401, 'invalid_api_key']);
    expect(exhausted.body.error.message).to.contain('exhausted');
  });

  it('with a spent budget gets 402, which names the budget and its renewal', async () => {
    const { apiKey } = await withKey({ usageLimit: parseUsd('0.5'), limitPeriod: 'month' });
    const create = (duration: number): Promise<Answer<ErrorBody & TaskEnvelope>> =>
      call(`${app.baseUrl}/v1/videos/tasks`, { key: apiKey, body: { ...VIDEO, duration } });
    const budget = /key's budget of 0\.5 USD a month, which renews at \d{4}-\d\d-01T00:00:00Z\./;
    const tooDear = await create(6);
    expect(tooDear.status).to.equal(402);
    expect(tooDear.body.error.message).to.match(budget);
    await finishAsSucceeded(app.database, (await create(5)).body.data);
    const spent = await create(2);
    expect([spent.status, spent.body.error.code]).to.deep.equal([402, 'insufficient_credits']);
    expect(spent.body.error.message).to.match(budget);
  });

  it('may change nothing once its limit is spent, and still read everything', async () => {
    const { apiKey } = await withKey({ usageLimit: 0n });
    const ofKeys = endpointsFor({ canTakePayments: false }).filter(({ access }) => access.endsWith('key'));
    expect(ofKeys).to.have.length.above(15);
    for (const { method, path, access, isRead = method === 'get' } of ofKeys) {
      const { status, body } = await call<ErrorBody>(app.baseUrl + path.replaceAll(/\{\w+\}/g, 'x'), {
        method: method.toUpperCase(),
        key: apiKey,
        ...(method !== 'get' && { body: {} }),
      });
      const isRefused = status === 401 && body.error.message.includes('exhausted');
      expect(isRefused, `${method} ${path} ${access} ${status}`).to.equal(!isRead);
      const missing = path.includes('{') ? [404] : [];
      // 426: opens only as a WebSocket.
      if (!isRefused) expect(status, path).to.be.oneOf([200, 426, method === 'get' ? 404 : 400, ...missing]);
    }
  });

  it('reads, polls, lists and replays paid results once its limit is spent', async () => {
    // contract 5:10
    const { apiKey } = await withKey({ usageLimit: parseUsd('0.5') });
    const create = (idempotencyKey: string): Promise<Answer<ErrorBody & TaskEnvelope>> =>
      call(`${app.baseUrl}/v1/videos/tasks`, {
        key: apiKey,
        body: VIDEO,
        headers: { 'idempotency-key': idempotencyKey },
      });
    const created = await create('first');
    await finishAsSucceeded(app.database, created.body.data);
    expect((await create('second')).status).to.equal(401);
    const { id } = created.body.data;
    for (const path of [`tasks/${id}`, 'tasks', 'models', 'balance', 'usage', 'webhooks']) {
      expect((await call(`${app.baseUrl}/v1/${path}`, { key: apiKey })).status, path).to.equal(200);
    }
    const replayed = await create('first');
    expect([replayed.status, replayed.headers.get('idempotent-replayed')]).to.deep.equal([201, 'true']);
    expect(replayed.body).to.deep.equal(created.body);
  });

  it('may be used only from the addresses of its allowlist', async () => {
    // contract 5:13 7.2:6
    const caller = await withKey({ ipAllowlist: ['203.0.113.7', '2001:db8::/32'] });
    const from = (address: string) => use({ ...bearer(caller), 'x-forwarded-for': address });
    expect((await from('203.0.113.7')).status).to.equal(200);
    expect((await from('2001:db8:1::1')).status).to.equal(200);
    const refused = await from('203.0.113.8');
    expect([refused.status, refused.body.error.code]).to.deep.equal([403, 'forbidden']);
    expect(refused.body.error.message).to.contain('203.0.113.8');
  });

  it('is not fooled by addresses that the client claims', async () => {
    const caller = await withKey({ ipAllowlist: ['203.0.113.7'] });
    const { status } = await use({ ...bearer(caller), 'x-forwarded-for': '203.0.113.7, 198.51.100.1' });
    expect(status).to.equal(403);
  });

  it('may call only the models of its group', async () => {
    // contract 5:14
    const { apiKey } = await withKey({ models: ['vidone-3.0-prime'] });
    const create = (model: string): Promise<Answer<ErrorBody>> =>
      call(`${app.baseUrl}/v1/videos/tasks`, { key: apiKey, body: { ...VIDEO, model } });
    const { status, body } = await create('vidone-3.0');
    expect([status, body.error.code]).to.deep.equal([403, 'forbidden']);
    expect(body.error.message).to.contain('vidone-3.0');
    expect((await create('vidone-3.0-prime')).status).to.equal(201);
  });
});

describe('an allowlist', () => {
  for (const [address, entry, isIn] of [
    ['10.1.2.3', '10.0.0.0/8', true],
    ['11.1.2.3', '10.0.0.0/8', false],
    ['10.1.2.3', '10.1.2.3', true],
    ['::ffff:10.1.2.3', '10.1.2.3', true],
    ['2001:db8::1', '2001:0db8:0::1', true],
    ['2001:db8::1', '10.0.0.0/8', false],
    ['10.1.2.3', '::/0', false],
    ['not an address', '0.0.0.0/0', false],
  ] as const) {
    it(`with ${entry} ${isIn ? 'holds' : 'does not hold'} ${address}`, () => {
      expect(isAddressIn(address, [entry])).to.equal(isIn);
    });
  }
});
