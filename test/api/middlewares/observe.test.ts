import { connect } from 'node:net';
import { expect } from 'chai';
import { useTestApp } from '../../support/app.ts';
import { eventually } from '../../support/eventually.ts';
import { call } from '../../support/stack.ts';

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly route: string;
  readonly status: number;
  readonly request_id: string;
}

const DEBUG = 20;
const INFO = 30;

describe('observing requests', () => {
  const app = useTestApp();
  let apiKey: string;
  let accountId: string;
  let keyId: string;

  before(async () => {
    ({ apiKey, accountId, keyId } = await app.createAccount({ fundedUsd: 10 }));
  });

  function lines(): Line[] {
    const parsed = app
      .logged()
      .split('\n')
      .filter(Boolean)
      .map((line): Line => JSON.parse(line));
    return parsed.filter(({ msg }) => msg === 'request');
  }

  function lineOf(headers: Headers): Line | undefined {
    return lines().find((line) => line.request_id === headers.get('x-request-id'));
  }

  async function scrape(): Promise<string> {
    const answer = await fetch(`${app.baseUrl}/metrics`, { headers: { authorization: `Bearer ${app.metricsToken}` } });
    expect(answer.headers.get('content-type')).to.equal('text/plain; version=0.0.4; charset=utf-8');
    return answer.text();
  }

  it('writes one line about each request: the caller, the request and the outcome', async () => {
    const { headers, body } = await call<{ data: { id: string } }>(`${app.baseUrl}/v1/videos/tasks`, {
      key: apiKey,
      body: { model: 'vidone-3.0', prompt: 'x' },
    });
    const created = lineOf(headers);
    expect(created).to.include({
      level: INFO,
      method: 'POST',
      route: '/v1/videos/tasks',
      status: 201,
      account_id: accountId,
      task_id: body.data.id,
    });
    expect(created).to.have.property('duration_ms').that.is.a('number');
    const polled = await call(`${app.baseUrl}/v1/tasks/${body.data.id}`, { key: apiKey });
    expect(lineOf(polled.headers)).to.include({ route: '/v1/tasks/{task_id}', status: 200, task_id: body.data.id });
    const refused = await call(`${app.baseUrl}/v1/models`);
    expect(lineOf(refused.headers))
      .to.include({ route: '/v1/models', status: 401, error_code: 'missing_api_key' })
      .and.not.have.property('account_id');
  });

  for (const { path, body, expected } of [
    {
      path: '/v1/videos/tasks',
      body: { model: 'vidone-3.0', prompt: 'a secret wish', images: ['x'] },
      expected: { status: 400, error_code: 'bad_request', model: 'vidone-3.0' },
    },
    {
      path: '/v1/chat/completions',
      body: { model: 'made-up', messages: [{ role: 'user', content: 'a secret wish' }] },
      expected: { status: 404, error_code: 'not_found', model: 'made-up' },
    },
    {
      path: '/v1/chat/completions',
      body: { model: 'a secret wish', messages: [{ role: 'user', content: 'x' }] },
      expected: { status: 404, error_code: 'not_found' },
    },
  ]) {
    it(`writes the code, the key and the model of a refused request: ${expected.error_code} of ${body.model}`, async () => {
      const { headers } = await call(`${app.baseUrl}${path}`, { key: apiKey, body });
      const line = lineOf(headers);
      expect(line).to.include({ ...expected, account_id: accountId, api_key_id: keyId });
      expect(JSON.stringify(line)).not.to.include('wish');
    });
  }

  it('writes the account and the key of a request whose key is refused', async () => {
    const disabled = await app.createAccount();
    await app.database('api_keys').where({ id: disabled.keyId }).update({ disabled_at: new Date() });
    const { headers } = await call(`${app.baseUrl}/v1/models`, { key: disabled.apiKey });
    const { accountId: account_id, keyId: api_key_id } = disabled;
    expect(lineOf(headers)).to.include({ status: 401, account_id, api_key_id });
  });

  it('writes the status 499 for a client that leaves before its answer', async () => {
    const socket = connect(Number(new URL(app.baseUrl).port), '127.0.0.1');
    const head = `POST /v1/videos/tasks HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${apiKey}\r\n`;
    const body = 'content-type: application/json\r\ncontent-length: 100\r\n\r\n{';
    socket.write(head + body, () => socket.destroy());
    const line = await eventually(() => lines().find(({ status }) => status === 499));
    expect(line).to.include({ route: '/v1/videos/tasks', cut_off: true });
  });

  it('writes no prompt, no key, no body and no query', async () => {
    const secret = 'sk-a-key-that-is-wrong';
    await call(`${app.baseUrl}/v1/videos/tasks`, {
      key: apiKey,
      body: { model: 'vidone-3.0', prompt: 'a secret wish' },
    });
    await call(`${app.baseUrl}/v1/videos/tasks`, { key: secret, body: { prompt: 'a secret wish' } });
    await call(`${app.baseUrl}/v1/models?key=${secret}`, { headers: { 'x-api-key': secret, 'user-agent': secret } });
    await call(`${app.baseUrl}/${secret}`);
    for (const hidden of [secret, apiKey, apiKey.slice(3), app.adminToken, 'secret wish']) {
      expect(app.logged()).to.not.include(hidden);
    }
  });

  it('omits probes from the log at the default level', async () => {
    const { headers } = await call(`${app.baseUrl}/healthz`);
    expect(lineOf(headers)).to.include({ level: DEBUG, route: '/healthz' });
  });

  it('measures each request under its route, so that clients cannot invent labels', async () => {
    const before = (await scrape()).split('\n').length;
    for (let index = 0; index < 20; index += 1) {
      await call(`${app.baseUrl}/made-up-${index}`, { method: `MADEUP${index}` }).catch(() => undefined);
      await call(`${app.baseUrl}/made-up-${index}`);
      await call(`${app.baseUrl}/v1/tasks/made-up-${index}`, { key: apiKey });
      await call(`${app.baseUrl}/files/made-up-${index}`);
    }
    const scraped = await scrape();
    expect(scraped).to.include('route="/v1/tasks/{task_id}",status="404"').and.include('route="unmatched"');
    expect(scraped).to.include('route="/files/*"').and.not.include('made-up');
    const bucketsOfASeries = 18;
    expect(scraped.split('\n').length - before).to.be.at.most(5 * bucketsOfASeries);
  });

  it('hides the measurements from callers without the token', async () => {
    // contract 4.12:3
    for (const key of [undefined, apiKey, app.adminToken]) {
      const { status, body } = await call(`${app.baseUrl}/metrics`, key === undefined ? {} : { key });
      expect(status).to.equal(401);
      expect(JSON.stringify(body)).to.not.include('genway_');
    }
    const measured = await scrape();
    for (const hidden of [apiKey, accountId, app.adminToken, app.metricsToken]) expect(measured).to.not.include(hidden);
  });
});
