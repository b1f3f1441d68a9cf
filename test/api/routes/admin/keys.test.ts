import { expect } from 'chai';
import { type ErrorBody, useTestApp } from '../../../support/app.ts';
import { call } from '../../../support/stack.ts';

describe('api/routes/admin/keys', () => {
  const app = useTestApp();
  let keysOfAccount = '';

  before(async () => {
    const { accountId } = await app.createAccount();
    keysOfAccount = `${app.baseUrl}/admin/v1/accounts/${accountId}/keys`;
  });

  function create(body?: string): Promise<Response> {
    const headers = { authorization: `Bearer ${app.adminToken}`, 'content-type': 'application/json' };
    return fetch(keysOfAccount, { method: 'POST', headers, ...(body !== undefined && { body }) });
  }

  it('creates a key without limits from a request without a body', async () => {
    // contract 4.11:15 5:6
    const response = await create();
    expect(response.status).to.equal(201);
    expect(await response.json())
      .to.have.property('data')
      .that.includes({ usage_limit_usd: null, models: null });
  });

  it('refuses a model that is not in the catalogue, when a key is created and when it is changed', async () => {
    // contract 4.11:17
    const made = await create(JSON.stringify({ models: ['textc-M3', 'textc-m3'] }));
    expect([made.status, await made.json()])
      .to.have.nested.property('[1].error.message')
      .that.equals(
        '"models" names textc-m3, which is not in the catalogue. GET /admin/v1/models lists the models of the catalogue.',
      );
    const { keyId } = await app.createAccount();
    const changed = await call(`${app.baseUrl}/admin/v1/keys/${keyId}`, {
      key: app.adminToken,
      method: 'PATCH',
      body: { models: ['vidone-9'] },
    });
    expect([made.status, changed.status]).to.deep.equal([400, 400]);
  });

  it('rotates a key: the new one has its limits, and the old one works for the given hours', async () => {
    // contract 4.11:65
    const { accountId } = await app.createAccount({ fundedUsd: 1 });
    const base = `${app.baseUrl}/admin/v1`;
    type Key = { id: string; api_key: string; expires_at: number | null };
    const body = { models: ['textc-M3'], usage_limit_usd: 3, limit_period: 'day', rate_limit_rpm: 7, name: 'farm' };
    const made = await call<{ data: Key }>(`${base}/accounts/${accountId}/keys`, { key: app.adminToken, body });
    const { id, api_key: secret } = made.body.data;
    const rotate = (hours: number) =>
      call<{ data: Key }>(`${base}/keys/${id}/rotate`, { key: app.adminToken, body: { hours } });
    const isAccepted = async (key: string) => (await call(`${app.baseUrl}/v1/balance`, { key })).status === 200;

    const rotated = await rotate(2);
    expect(rotated.status).to.equal(201);
    expect(rotated.body.data).to.deep.include({ ...body, usage_limit_usd: 3, expires_at: null });
    expect([await isAccepted(secret), await isAccepted(rotated.body.data.api_key)]).to.deep.equal([true, true]);
    const old = await call<{ data: Key }>(`${base}/keys/${id}`, { key: app.adminToken });
    expect(old.body.data.expires_at).to.be.within(Date.now() / 1000 + 7_000, Date.now() / 1000 + 7_201);

    await rotate(0);
    expect([await isAccepted(secret), await isAccepted(rotated.body.data.api_key)]).to.deep.equal([false, true]);
    const unknown = await call(`${base}/keys/key_${'0'.repeat(32)}/rotate`, { key: app.adminToken, body: {} });
    expect([unknown.status, (await rotate(721)).status]).to.deep.equal([404, 400]);
  });

  it('lists the keys of an account without their secrets, and no deleted keys', async () => {
    // contract 4.11:16
    const { accountId, keyId } = await app.createAccount();
    const base = `${app.baseUrl}/admin/v1`;
    const made = await call<{ data: { id: string } }>(`${base}/accounts/${accountId}/keys`, {
      key: app.adminToken,
      body: { models: ['vidone-3.0'], usage_limit_usd: 3 },
    });
    const { id } = made.body.data;
    const list = () =>
      call<{ data: { id: string; api_key?: string }[] }>(`${base}/accounts/${accountId}/keys`, { key: app.adminToken });
    const { body } = await list();
    expect(body.data.map((key) => [key.id, key.api_key])).to.deep.equal([
      [id, undefined],
      [keyId, undefined],
    ]);
    await call(`${base}/keys/${id}`, { key: app.adminToken, method: 'DELETE' });
    expect((await list()).body.data.map((key) => key.id)).to.deep.equal([keyId]);
    expect((await call(`${base}/keys/${id}`, { key: app.adminToken })).status).to.equal(404);
    expect((await call(`${base}/keys/${keyId}`, { key: app.adminToken })).status).to.equal(200);
  });

  for (const body of ['null', '[]', '"key"', '7']) {
    it(`refuses the body ${body}, which is not an object`, async () => {
      expect((await create(body)).status).to.equal(400);
    });
  }

  for (const expiresAt of [
    '2027-02-30',
    '0142-10-13T14:03:38.8Z',
    '1969-12-31T23:59:59Z',
    '+275760-09-13T00:00:00Z',
    'soon',
  ]) {
    it(`refuses the expiry ${expiresAt} for a key`, async () => {
      const { status, body } = await call<ErrorBody>(keysOfAccount, {
        key: app.adminToken,
        body: { expires_at: expiresAt },
      });
      expect(status).to.equal(400);
      expect(body.error.message).to.equal('"expires_at" must be an ISO 8601 time from 1970 to 9999');
    });
  }
});
