import { expect } from 'chai';
import { useTestApp } from '../../../support/app.ts';
import { createTaskRow } from '../../../support/factories.ts';
import { call } from '../../../support/stack.ts';

type Envelope = { readonly data: Readonly<Record<string, unknown>> };

describe('/v1/balance', () => {
  const app = useTestApp();

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
        promo_usd: 0,
        promo_expires_at: null,
        reserved_usd: 1,
        low_balance_usd: null,
        topped_up: true,
        key: { id: caller.keyId, used_usd: 1, usage_limit_usd: 4 },
      },
    });
  });

  it('shows what of it expires, and when', async () => {
    const caller = await app.createAccount({ fundedUsd: 3, signupUsd: 2 });
    const expiresAt = Math.floor(Date.now() / 1000) + 86_400;
    const { status } = await call(`${app.baseUrl}/admin/v1/accounts/${caller.accountId}/promo-grants`, {
      key: app.adminToken,
      body: {
        amount_usd: '1.5',
        expires_at: new Date(expiresAt * 1000).toISOString(),
        reference: 'launch',
        reason: 'a test',
      },
    });
    expect(status).to.equal(201);
    const { body } = await call<Envelope>(`${app.baseUrl}/v1/balance`, { key: caller.apiKey });
    expect(body.data).to.include({
      available_usd: 6.5,
      signup_usd: 3.5,
      promo_usd: 1.5,
      promo_expires_at: expiresAt,
    });
  });

  it('lets clients set and remove the amount below which they are notified', async () => {
    const { apiKey } = await app.createAccount({ fundedUsd: 3 });
    const set = (low_balance_usd: unknown) =>
      call<Envelope>(`${app.baseUrl}/v1/balance`, { key: apiKey, method: 'PATCH', body: { low_balance_usd } });
    expect((await set('2.50')).body.data).to.include({ low_balance_usd: 2.5 });
    for (const wrong of [0, -1, 'much', undefined]) expect((await set(wrong)).status, String(wrong)).to.equal(400);
    expect((await set(null)).body.data).to.include({ low_balance_usd: null });
  });

  it('needs a key', async () => {
    expect((await fetch(`${app.baseUrl}/v1/balance`)).status).to.equal(401);
  });
});
