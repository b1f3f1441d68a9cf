import { expect } from 'chai';
import { parseUsd } from '../../../../domain/money.ts';
import { type ErrorBody, useTestApp } from '../../../support/app.ts';
import { reloadAccount } from '../../../support/factories.ts';
import { call } from '../../../support/stack.ts';

interface Merge {
  readonly data: Readonly<Record<string, unknown>>;
}

const BY = { reason: 'registered twice', author: 'ada' };

describe('/admin/v1/accounts/{account_id}/merge', () => {
  const app = useTestApp();
  const strict = useTestApp({ settings: { secondApprovalAbove: parseUsd(100) } });

  it('merges an account, whose key stops to work, lists the merge, and refuses another merge with the reasons', async () => {
    // contract 4.11:77
    const [source, target] = [await app.createAccount({ fundedUsd: 3 }), await app.createAccount()];
    const path = `${app.baseUrl}/admin/v1/accounts/${source.accountId}/merge`;
    const body = { target_account_id: target.accountId, ...BY };
    const made = await call<Merge>(path, { key: app.adminToken, body });
    expect([made.status, made.body.data['object'], made.body.data['merge_status']]).to.deep.equal([
      201,
      'account_merge',
      'moving',
    ]);
    expect((await call(`${app.baseUrl}/v1/balance`, { key: source.apiKey })).status).to.equal(401);
    const listed = await call<{ data: readonly Merge['data'][] }>(
      `${app.baseUrl}/admin/v1/account-merges?account_id=${target.accountId}`,
      { key: app.adminToken },
    );
    expect(listed.body.data.map(({ id }) => id)).to.deep.equal([made.body.data['id']]);
    const again = await call<ErrorBody>(path, { key: app.adminToken, body });
    expect([again.status, again.body.error.message]).to.deep.equal([
      400,
      'The accounts cannot be merged now: the account was merged before',
    ]);
    const { mergedInto } = await reloadAccount(app.database, { id: source.accountId });
    expect(mergedInto).to.equal(target.accountId);
  });

  it('refuses to merge alone where two people decide', async () => {
    const [source, target] = [await strict.createAccount(), await strict.createAccount()];
    const path = `${strict.baseUrl}/admin/v1/accounts/${source.accountId}/merge`;
    const body = { target_account_id: target.accountId, ...BY };
    const { status, body: refused } = await call<ErrorBody>(path, { key: strict.adminToken, body });
    expect(status).to.equal(403);
    expect(refused.error.message).to.include(`/console/staff/accounts/${source.accountId}/merge`);
  });
});
