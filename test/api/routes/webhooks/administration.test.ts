import { expect } from 'chai';
import { listDeliveries } from '../../../../db/queries/deliveries.ts';
import { type ErrorBody, useTestApp } from '../../../support/app.ts';
import { createEndpoint, createTaskRow, finishAsSucceeded } from '../../../support/factories.ts';
import { connectGenway, field, type Genway } from '../../../support/genway.ts';
import { call } from '../../../support/stack.ts';

describe('api/routes/webhooks/administration', () => {
  let genway: Genway;

  const app = useTestApp({ settings: { allowPrivateAddresses: true } });
  before(async () => {
    genway = await connectGenway(app);
  });

  it('registers an endpoint for an account, which its owner then sees without the secret', async () => {
    // contract 4.11:35
    const { accountId, apiKey } = await app.createAccount();
    const created = await genway('webhooks', 'create', accountId, 'http://127.0.0.1:9/hook', '--events', 'task.failed');
    expect(field(created, 'secret')).to.match(/^whsec_/);
    const { body } = await call<{ data: { id: string; events: string[] }[] }>(`${app.baseUrl}/v1/webhooks`, {
      key: apiKey,
    });
    expect(body.data.map(({ id, events }) => [id, events])).to.deep.equal([[field(created, 'id'), ['task.failed']]]);
    expect(body.data[0]).to.not.have.property('secret');
    expect(await genway('webhooks', 'list', '--account-id', accountId)).to.include('http://127.0.0.1:9/hook');
  });

  it('refuses an address that its owner could not register either, and an account that does not exist', async () => {
    // contract 4.11:35
    const { accountId } = await app.createAccount();
    const create = (account: string, url: string) =>
      call<ErrorBody>(`${app.baseUrl}/admin/v1/accounts/${account}/webhooks`, { key: app.adminToken, body: { url } });
    expect((await create(accountId, 'ftp://receiver.test/')).status).to.equal(400);
    const nobody = accountId.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'));
    expect((await create(nobody, 'http://127.0.0.1:9/hook')).status).to.equal(404);
  });

  it('lists the failing endpoints of all accounts, and only those', async () => {
    // contract 4.11:36
    const { accountId } = await app.createAccount();
    const failing = await createEndpoint(app.database, { id: accountId });
    const healthy = await createEndpoint(app.database, { id: accountId });
    await app.database('webhook_endpoints').where({ id: failing.id }).update({ failing_since: new Date() });
    const listed = await genway('webhooks', 'list', '--failing');
    expect(listed).to.include(failing.id).and.include(accountId);
    expect(listed).to.not.include(healthy.id);
  });

  it('redelivers the missed deliveries of an endpoint, and none of others', async () => {
    // contract 4.11:37
    const { accountId, keyId } = await app.createAccount({ fundedUsd: 10 });
    const [one, other] = [
      await createEndpoint(app.database, { id: accountId }),
      await createEndpoint(app.database, { id: accountId }),
    ];
    const { id: taskId } = await createTaskRow(app.database, { id: keyId, accountId });
    await finishAsSucceeded(app.database, { id: taskId });
    await app.database('deliveries').where({ task_id: taskId }).update({ status: 'failed', completed_at: new Date() });
    const redelivered = await genway('webhooks', 'redeliver-all', one.id, '--from', '2026-01-01');
    expect(field(redelivered, 'count')).to.equal('1');
    const deliveries = await listDeliveries(app.database, { taskId, limit: 10 });
    expect(Object.fromEntries(deliveries.map(({ endpointId, status }) => [endpointId, status]))).to.deep.equal({
      [one.id]: 'pending',
      [other.id]: 'failed',
    });
    const left = deliveries.find(({ endpointId }) => endpointId === other.id);
    expect(field(await genway('webhooks', 'redeliver', left?.id ?? ''), 'status')).to.equal('pending');
    expect(await genway('webhooks', 'deliveries', '--account-id', accountId, '--status', 'failed')).to.not.include(
      'del_',
    );
  });
});
