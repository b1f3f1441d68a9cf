import { expect } from 'chai';
import { useTestAppBehindProxy } from '../../../support/app.ts';
import { whenOneWaitsForLock } from '../../../support/database.ts';
import { call } from '../../../support/stack.ts';

interface Answer {
  readonly data?: { readonly id: string };
  readonly error?: { readonly message: string };
}

describe('an adjustment whose connection to the database is lost', () => {
  const { app, proxy } = useTestAppBehindProxy();

  /** Starts an adjustment, and cuts its connection before its commit. */
  async function adjustCut(accountId: string): Promise<{ answer: ReturnType<typeof call<Answer>> }> {
    return app.database.transaction(async (transaction) => {
      await transaction('accounts').where({ id: accountId }).forNoKeyUpdate();
      const answer = call<Answer>(`${app.baseUrl}/admin/v1/accounts/${accountId}/adjustments`, {
        key: app.adminToken,
        body: { amount_usd: 1, reason: 'courtesy', author: 'ada' },
      });
      await whenOneWaitsForLock(app.database);
      proxy().reset();
      return { answer };
    });
  }

  const adjustmentsOf = (accountId: string) =>
    app.database('transfers').where({ account_id: accountId, kind: 'adjustment' }).pluck('id');

  it('is made once', async () => {
    const { accountId } = await app.createAccount({ fundedUsd: 10 });
    const { answer } = await adjustCut(accountId);
    const { status, body } = await answer;
    expect(status, JSON.stringify(body)).to.equal(201);
    expect(await adjustmentsOf(accountId)).to.deep.equal([body.data?.id]);
  });

  it('is named, and may not be repeated, while the database is away', async () => {
    const { accountId } = await app.createAccount({ fundedUsd: 10 });
    proxy().refuseNew();
    const { answer } = await adjustCut(accountId);
    const { status, body, headers } = await answer;
    proxy().refuseNew(false);
    expect(status).to.equal(503);
    expect(body.error?.message).to.match(/did not confirm the adjustment tr_[0-9a-z]+\./);
    expect(headers.get('x-should-retry')).to.equal('false');
  });
});
