import { expect } from 'chai';
import { type ErrorBody, startTestApp, type TestApp } from '../../../support/app.ts';
import { call } from '../../../support/stack.ts';

describe('api/routes/admin/keys', () => {
  let app: TestApp;
  let keysOfAccount = '';

  before(async () => {
    app = await startTestApp();
    const { accountId } = await app.createAccount();
    keysOfAccount = `${app.baseUrl}/admin/v1/accounts/${accountId}/keys`;
  });
  after(() => app.stop());

  function create(body?: string): Promise<Response> {
    const headers = { authorization: `Bearer ${app.adminToken}`, 'content-type': 'application/json' };
    return fetch(keysOfAccount, { method: 'POST', headers, ...(body !== undefined && { body }) });
  }

  it('makes a key without limits of a request without a body', async () => {
    const response = await create();
    expect(response.status).to.equal(201);
    expect(await response.json())
      .to.have.property('data')
      .that.includes({ usage_limit_usd: null, models: null });
  });

  for (const body of ['null', '[]', '"key"', '7']) {
    it(`refuses the body ${body}, which is no object`, async () => {
      expect((await create(body)).status).to.equal(400);
    });
  }

  for (const expiresAt of ['0142-10-13T14:03:38.8Z', '1969-12-31T23:59:59Z', '+275760-09-13T00:00:00Z', 'soon']) {
    it(`refuses to let a key expire at ${expiresAt}`, async () => {
      const { status, body } = await call<ErrorBody>(keysOfAccount, {
        key: app.adminToken,
        body: { expires_at: expiresAt },
      });
      expect(status).to.equal(400);
      expect(body.error.message).to.equal('"expires_at" must be an ISO 8601 time from 1970 to 9999');
    });
  }
});
