import { expect } from 'chai';
import { startTestApp, type TestApp } from '../../../support/app.ts';
import { createTaskRow } from '../../../support/factories.ts';

describe('GET /v1/balance', () => {
  let app: TestApp;

  before(async () => {
    app = await startTestApp();
  });

  after(() => app.stop());

  it('shows what the account has, what is held of it, and what is left of the key', async () => {
    const caller = await app.createAccount({ fundedUsd: 3, signupUsd: 2, key: { usageLimit: 4n * 10n ** 12n } });
    await createTaskRow(app.database, { id: caller.keyId, accountId: caller.accountId });
    const response = await fetch(`${app.baseUrl}/v1/balance`, {
      headers: { authorization: `Bearer ${caller.apiKey}` },
    });
    expect(await response.json()).to.deep.equal({
      data: {
        object: 'balance',
        available_usd: 4,
        funded_usd: 3,
        signup_usd: 1,
        reserved_usd: 1,
        topped_up: true,
        key: { id: caller.keyId, used_usd: 1, usage_limit_usd: 4 },
      },
    });
  });

  it('needs a key', async () => {
    expect((await fetch(`${app.baseUrl}/v1/balance`)).status).to.equal(401);
  });
});
