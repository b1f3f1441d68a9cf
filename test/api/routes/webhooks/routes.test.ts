import { expect } from 'chai';
import { type ErrorBody, useTestApp } from '../../../support/app.ts';
import { type Answer, call } from '../../../support/stack.ts';
import type { DeliveryBody, EndpointBody } from '../../../support/webhooks.ts';

const URL = 'https://hooks.example.com/genway';

describe('webhook endpoints', () => {
  const app = useTestApp();
  let apiKey: string;

  beforeEach(async () => {
    ({ apiKey } = await app.createAccount());
  });

  function send<Body = { data: EndpointBody }>(
    path: string,
    options: { body?: unknown; method?: string; headers?: Record<string, string>; key?: string } = {},
  ): Promise<Answer<Body>> {
    return call<Body>(app.baseUrl + path, { key: apiKey, ...options });
  }

  async function create(body: unknown = { url: URL }): Promise<EndpointBody> {
    const answer = await send('/v1/webhooks', { body });
    expect(answer.status).to.equal(201);
    return answer.body.data;
  }

  it('are created with a secret that is shown once, kept encrypted and never logged', async () => {
    // contract 2.4:7 4.7:1 4.7:3
    const { id, secret } = await create({ url: URL, description: 'Orders' });
    expect(secret).to.match(/^whsec_/);
    for (const [path, options] of [
      [`/v1/webhooks/${id}`, {}],
      ['/v1/webhooks', {}],
      [`/v1/webhooks/${id}`, { method: 'PATCH', body: { description: null } }],
      [`/v1/webhooks/${id}`, { method: 'DELETE' }],
    ] as const) {
      const { status, body } = await send(path, options);
      expect(status).to.equal(200);
      expect(JSON.stringify(body)).to.not.include('whsec_');
    }
    const row = await app.database('webhook_endpoints').where({ id }).first('encrypted_secret');
    expect(row.encrypted_secret.includes(secret)).to.equal(false);
    expect(app.logged()).to.not.include(secret);
  });

  it('subscribe to both task events by default, each once', async () => {
    // contract 2.4:3
    expect(await create()).to.deep.include({ events: ['task.succeeded', 'task.failed'], enabled: true });
    expect(await create({ url: URL, events: ['task.failed', 'task.failed'] })).to.deep.include({
      events: ['task.failed'],
    });
  });

  for (const [what, body, message] of [
    ['no url', {}, '"url" is required'],
    ['a url that is no string', { url: 1 }, '"url" must be a string'],
    ['a plain http url', { url: 'http://example.com/' }, '"url" must be a public HTTPS URL'],
    ['a url of this machine', { url: 'https://localhost/' }, '"url" must be a public HTTPS URL'],
    ['a private address', { url: 'https://10.0.0.1/' }, '"url" must be a public HTTPS URL'],
    ['an address in another spelling', { url: 'https://0x7f000001/' }, '"url" must be a public HTTPS URL'],
    ['a url that is too long', { url: `${URL}/${'x'.repeat(2048)}` }, '"url" has an unsupported length'],
    [
      'an unknown event',
      { url: URL, events: ['task.done'] },
      '"events[0]" must be one of: [task.succeeded task.failed task.late_result account.balance_low ' +
        'batch.completed batch.failed batch.expired batch.cancelled batch.paused]',
    ],
    ['no event at all', { url: URL, events: [] }, '"events" requires at least 1 item'],
    ['events that are no list', { url: URL, events: 'task.failed' }, '"events" must be an array'],
    ['a description that is no text', { url: URL, description: 7 }, '"description" must be a string'],
    [
      'a NUL in the description',
      { url: URL, description: 'a\0' },
      '"description" must not contain NUL characters or unpaired surrogates',
    ],
    ['an unknown field', { url: URL, secret: 'mine' }, 'unknown field: secret'],
    ['a state at its creation', { url: URL, enabled: false }, 'unknown field: enabled'],
    [
      'a description that is too long',
      { url: URL, description: 'x'.repeat(1001) },
      '"description" has an unsupported length',
    ],
    ['a list', [], 'The request body must be a JSON object'],
  ] as const) {
    it(`are refused with ${what}`, async () => {
      // contract 2.4:1 2.4:2 2.4:3 4.1:9 8.4:1
      const { status, body: answer } = await send<ErrorBody>('/v1/webhooks', { body });
      expect([status, answer.error.code, answer.error.message]).to.deep.equal([400, 'bad_request', message]);
    });
  }

  it('are created once for one Idempotency-Key, which replays the secret', async () => {
    // contract 4.1:1 4.7:1
    const headers = { 'idempotency-key': 'first' };
    const first = await send('/v1/webhooks', { body: { url: URL }, headers });
    const second = await send('/v1/webhooks', { body: { url: URL }, headers });
    expect(second.body).to.deep.equal(first.body);
    expect(second.headers.get('idempotent-replayed')).to.equal('true');
    const other = await send<ErrorBody>('/v1/webhooks', { body: { url: `${URL}/other` }, headers });
    expect([other.status, other.body.error.code]).to.deep.equal([409, 'idempotency_conflict']);
    const list = await send<{ data: unknown[] }>('/v1/webhooks');
    expect(list.body.data).to.have.length(1);
  });

  it('are at most 20 for an account, however many are created at once', async () => {
    // contract 4.7:13
    const answers = await Promise.all(Array.from({ length: 25 }, () => send('/v1/webhooks', { body: { url: URL } })));
    expect(answers.filter(({ status }) => status === 201)).to.have.length(20);
    expect(answers.filter(({ status }) => status === 400)).to.have.length(5);
    const [first] = answers.filter(({ status }) => status === 201);
    await send(`/v1/webhooks/${first?.body.data.id}`, { method: 'DELETE' });
    await create();
  });

  it('are listed newest first, page by page', async () => {
    // contract 4.7:2 4.10:1
    const created: string[] = [];
    for (let count = 0; count < 3; count += 1) created.push((await create()).id);
    const seen: string[][] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const path: string = `/v1/webhooks?limit=2&cursor=${cursor}`;
      const { body }: Answer<{ data: EndpointBody[]; next_cursor: string | null }> = await send(path);
      seen.push(body.data.map(({ id }) => id));
      cursor = body.next_cursor;
    }
    expect(seen).to.have.length(2);
    expect(seen.flat()).to.deep.equal(created.toReversed().sort().toReversed());
  });

  it('change the given fields and keep the rest', async () => {
    // contract 2.4:2 2.4:6 4.7:4
    const { id, ...created } = await create({ url: URL, description: 'Orders' });
    const changed = await send(`/v1/webhooks/${id}`, { method: 'PATCH', body: { events: ['task.failed'] } });
    expect(changed.body.data).to.deep.include({ url: created.url, description: 'Orders', events: ['task.failed'] });
    const refused = await send<ErrorBody>(`/v1/webhooks/${id}`, { method: 'PATCH', body: { url: 'https://[::1]/' } });
    expect(refused.body.error.message).to.equal('"url" must be a public HTTPS URL');
  });

  it('are disabled and enabled by their owner, and send no test while disabled', async () => {
    // contract 2.4:4 2.4:6 2.4:8 4.7:15
    const { id } = await create();
    const disabled = await send(`/v1/webhooks/${id}`, { method: 'PATCH', body: { enabled: false } });
    expect(disabled.body.data).to.include({ enabled: false, disabled_reason: 'disabled by its owner' });
    expect((await send(`/v1/webhooks/${id}/test`, { body: {} })).status).to.equal(400);
    expect((await send(`/v1/webhooks/${id}/redeliver`, { body: { from: 0 } })).status).to.equal(400);
    const enabled = await send(`/v1/webhooks/${id}`, { method: 'PATCH', body: { enabled: true } });
    expect(enabled.body.data).to.include({ enabled: true, disabled_reason: null });
  });

  it('get a new secret', async () => {
    // contract 2.4:7 4.7:6
    const { id, secret } = await create();
    const rotated = await send(`/v1/webhooks/${id}/rotate-secret`, { method: 'POST' });
    expect(rotated.body.data.secret)
      .to.match(/^whsec_/)
      .and.not.equal(secret);
  });

  it('are not found once deleted', async () => {
    // contract 4.7:5
    const { id } = await create();
    const deleted = await send<unknown>(`/v1/webhooks/${id}`, { method: 'DELETE' });
    expect(deleted.body).to.deep.equal({ data: { id, object: 'webhook_endpoint', deleted: true } });
    expect((await send(`/v1/webhooks/${id}`)).status).to.equal(404);
    expect((await send(`/v1/webhooks/${id}`, { method: 'DELETE' })).status).to.equal(404);
  });

  it('do not exist for other accounts, nor do their deliveries', async () => {
    // contract 4.7:3
    const { id } = await create();
    const { body } = await send<{ data: DeliveryBody }>(`/v1/webhooks/${id}/test`, { body: {} });
    const { apiKey: stranger } = await app.createAccount();
    for (const { path, ...options } of callsOn(id, body.data.id)) {
      expect((await send(path, { ...options, key: stranger })).status, `${options.method} ${path}`).to.equal(404);
    }
    const { body: own } = await call<{ data: EndpointBody }>(`${app.baseUrl}/v1/webhooks`, {
      key: stranger,
      body: { url: URL },
    });
    const crossed = `/v1/webhooks/${own.data.id}/deliveries/${body.data.id}/redeliver`;
    expect((await send(crossed, { method: 'POST', key: stranger })).status).to.equal(404);
    expect((await send(`/v1/webhooks/${id}`)).body.data.enabled).to.equal(true);
  });

  it('are not found under invalid ids', async () => {
    for (const id of ['x', '%00', 'we_', "we_'--", '%F0%9F%98%80']) {
      for (const { path, ...options } of callsOn(id, id)) {
        expect((await send(path, options)).status, `${options.method} ${path}`).to.equal(404);
      }
    }
  });

  it('need a key', async () => {
    for (const { path, ...options } of callsOn('x', 'x')) {
      const answer = await call<ErrorBody>(app.baseUrl + path, options);
      expect([answer.status, answer.body.error.code]).to.deep.equal([401, 'missing_api_key']);
    }
  });
});

/** Every call on an endpoint and on one of its deliveries. */
const callsOn = (endpointId: string, deliveryId: string) =>
  [
    { path: `/v1/webhooks/${endpointId}`, method: 'GET' },
    { path: `/v1/webhooks/${endpointId}`, method: 'PATCH', body: { enabled: false } },
    { path: `/v1/webhooks/${endpointId}`, method: 'DELETE' },
    { path: `/v1/webhooks/${endpointId}/rotate-secret`, method: 'POST' },
    { path: `/v1/webhooks/${endpointId}/test`, method: 'POST' },
    { path: `/v1/webhooks/${endpointId}/deliveries`, method: 'GET' },
    { path: `/v1/webhooks/${endpointId}/redeliver`, method: 'POST', body: { from: 0 } },
    { path: `/v1/webhooks/${endpointId}/deliveries/${deliveryId}/redeliver`, method: 'POST' },
  ] as const;
