import { expect } from 'chai';
import { newId } from '../../../../domain/ids.ts';
import { useTestApp } from '../../../support/app.ts';
import { call } from '../../../support/stack.ts';
import { createWebhookClient, type DeliveryBody } from '../../../support/webhooks.ts';

interface ListBody {
  readonly data: readonly (DeliveryBody & { readonly account_id: string; readonly history_url: string })[];
  readonly next_cursor: string | null;
}

const URL = 'https://hooks.example.com/genway';

describe('the delivery log', () => {
  const app = useTestApp();
  let apiKey: string;
  let accountId: string;
  let webhooks: ReturnType<typeof createWebhookClient>;

  beforeEach(async () => {
    ({ apiKey, accountId } = await app.createAccount());
    webhooks = createWebhookClient(app, apiKey);
  });

  async function fail(deliveryId: string, attempts = 1): Promise<void> {
    await app
      .database('deliveries')
      .where({ id: deliveryId })
      .update({ status: 'failed', completed_at: new Date(), attempts, workflow_started_at: new Date() });
  }

  function statusOf(path: string, options: { key?: string; body?: unknown; method?: string } = {}): Promise<number> {
    return call(app.baseUrl + path, { key: apiKey, ...options }).then(({ status }) => status);
  }

  const list = (query: string, key = app.adminToken) =>
    call<ListBody>(`${app.baseUrl}/admin/v1/webhooks/deliveries?${query}`, { key });

  it('shows deliveries newest first, page by page, and by status', async () => {
    // contract 2.4:15 4.7:8
    const { id } = await webhooks.create(URL);
    const sent = [await webhooks.test(id), await webhooks.test(id), await webhooks.test(id)]
      .map((one) => one.id)
      .sort();
    await fail(sent[0] ?? '');
    const path = `${app.baseUrl}/v1/webhooks/${id}/deliveries`;
    const first = await call<ListBody>(`${path}?limit=2`, { key: apiKey });
    const second = await call<ListBody>(`${path}?limit=2&cursor=${first.body.next_cursor}`, { key: apiKey });
    expect([...first.body.data, ...second.body.data].map((one) => one.id)).to.deep.equal(sent.toReversed());
    expect(second.body.next_cursor).to.equal(null);
    const failed = await call<ListBody>(`${path}?status=failed`, { key: apiKey });
    expect(failed.body.data.map((one) => one.id)).to.deep.equal([sent[0]]);
  });

  it('makes a delivery that failed pending again, and keeps its number of attempts', async () => {
    // contract 4.7:9
    const { id } = await webhooks.create(URL);
    const { id: deliveryId } = await webhooks.test(id);
    await fail(deliveryId, 7);
    expect(await webhooks.redeliver(id, deliveryId)).to.include({ id: deliveryId, status: 'pending' });
    const row = await app.database('deliveries').where({ id: deliveryId }).first();
    expect(row).to.include({ attempts: 7, workflow_started_at: null });
  });

  it('redelivers nothing after 100 attempts, nor to a disabled endpoint', async () => {
    // contract 4.7:14 4.7:15
    const { id } = await webhooks.create(URL);
    const { id: deliveryId } = await webhooks.test(id);
    const path = `/v1/webhooks/${id}/deliveries/${deliveryId}/redeliver`;
    await fail(deliveryId, 100);
    expect(await statusOf(path, { method: 'POST' })).to.equal(400);
    await fail(deliveryId, 1);
    await webhooks.update(id, { enabled: false });
    expect(await statusOf(path, { method: 'POST' })).to.equal(400);
  });

  it('redelivers the deliveries of a period that failed or wait for a later attempt, and nothing else', async () => {
    // contract 4.7:10 4.7:11 4.7:90
    const { id } = await webhooks.create(URL);
    const change = (delivery: DeliveryBody, changes: object) =>
      app
        .database('deliveries')
        .where({ id: delivery.id })
        .update({ workflow_started_at: new Date(), ...changes });
    const [failed, waiting, running] = [await webhooks.test(id), await webhooks.test(id), await webhooks.test(id)];
    const [arrived, unstarted] = [await webhooks.test(id), await webhooks.test(id)];
    const later = new Date(Date.now() + 3_600_000);
    await fail(failed.id);
    await change(waiting, { next_attempt_at: later, attempts: 4 });
    await change(running, { under_way_until: later });
    await change(arrived, { status: 'delivered', completed_at: new Date() });
    const now = Math.floor(Date.now() / 1000);
    expect(await webhooks.redeliverRange(id, { from: 0, to: now - 60 })).to.include({ count: 0 });
    expect(await webhooks.redeliverRange(id, { from: new Date(0).toISOString() })).to.deep.include({
      count: 2,
      has_more: false,
    });
    const toStart = await app.database('deliveries').where({ endpoint_id: id, workflow_started_at: null }).pluck('id');
    expect(toStart).to.have.members([failed.id, waiting.id, unstarted.id]);
    const statuses = (await webhooks.deliveries(id)).map(({ status }) => status);
    expect(statuses.toSorted()).to.deep.equal(['delivered', 'pending', 'pending', 'pending', 'pending']);
    expect(await webhooks.redeliverRange(id, { from: 0 })).to.include({ count: 0 });
  });

  it('reports the remaining deliveries when a period holds more than one call repeats', async () => {
    // contract 4.7:10 4.7:12
    const { id } = await webhooks.create(URL);
    const common = { account_id: accountId, created_at: new Date() };
    const events = Array.from({ length: 205 }, () => ({ ...common, id: newId('event') }));
    await app.database('events').insert(events.map((event) => ({ ...event, type: 'endpoint.test', payload: '{}' })));
    await app
      .database('deliveries')
      .insert(events.map((event) => ({ ...common, id: newId('delivery'), event_id: event.id, endpoint_id: id })));
    const started = { workflow_started_at: new Date() };
    await app.database('deliveries').where({ endpoint_id: id }).update(started);
    // The deliveries of the first call are still pending, and are not redelivered twice.
    for (const rest of [
      { count: 200, left: 5, has_more: true },
      { count: 5, left: 0, has_more: false },
      { count: 0, left: 0, has_more: false },
    ]) {
      expect(await webhooks.redeliverRange(id, { from: 0, status: 'pending' })).to.deep.include(rest);
    }
  });

  it('limits an account’s tests and redeliveries in a minute, and reports when to retry', async () => {
    // contract 4.7:13 8.1:5
    const { id } = await webhooks.create(URL);
    const { id: deliveryId } = await webhooks.test(id);
    for (const path of [`/${id}/test`, `/${id}/redeliver`, `/${id}/deliveries/${deliveryId}/redeliver`]) {
      const body = path === `/${id}/redeliver` ? { from: 0 } : {};
      const answers = await Promise.all(
        // Two minutes' worth and one more, in case a minute ends meanwhile.
        Array.from({ length: 121 }, () => call(`${app.baseUrl}/v1/webhooks${path}`, { key: apiKey, body })),
      );
      const refused = answers.filter(({ status }) => status === 429);
      expect(refused.length, path).to.be.greaterThan(0);
      expect(Number(refused[0]?.headers.get('retry-after')), path).to.be.within(1, 60);
      expect(answers.filter(({ status }) => status === 202).length, path).to.be.at.most(120);
    }
    const other = createWebhookClient(app, (await app.createAccount()).apiKey);
    expect(await other.test((await other.create(URL)).id)).to.include({ status: 'pending' });
  });

  for (const from of ['2026-11-30T10:00:00+02', '2026-11-01T00:00:00.5-03', '2026-11-30 10:00:00', '2026-11-30', 0]) {
    it(`redelivers from ${from}`, async () => {
      // contract 4.7:11 4.10:5
      const { id } = await webhooks.create(URL);
      expect(await statusOf(`/v1/webhooks/${id}/redeliver`, { body: { from } })).to.equal(202);
    });
  }

  for (const body of [
    { from: '2026-02-30' },
    {},
    { from: 'yesterday' },
    { from: -1 },
    { from: 1.5 },
    { from: '-200000-01-01T00:00:00Z' },
    { from: '2026-11-30T10:00:00+2' },
    { from: 0, to: null },
    { from: 0, status: 'x' },
  ]) {
    it(`refuses to redeliver ${JSON.stringify(body)}`, async () => {
      // contract 4.7:11
      const { id } = await webhooks.create(URL);
      expect(await statusOf(`/v1/webhooks/${id}/redeliver`, { body })).to.equal(400);
    });
  }

  it('shows operators the deliveries of one account, endpoint or task, with their histories', async () => {
    // contract 4.11:38
    const { id } = await webhooks.create(URL);
    const sent = await webhooks.test(id);
    for (const query of [`account_id=${accountId}`, `endpoint_id=${id}`, `account_id=${accountId}&endpoint_id=${id}`]) {
      const { body } = await list(query);
      expect(body.data.map((one) => [one.id, one.account_id])).to.deep.equal([[sent.id, accountId]]);
      expect(body.data[0]?.history_url).to.equal(`http://temporal.example/namespaces/default/workflows/${sent.id}`);
    }
    expect((await list(`account_id=${accountId}&task_id=task_${'0'.repeat(32)}`)).body.data).to.deep.equal([]);
  });

  it('lets operators redeliver any delivery', async () => {
    // contract 4.11:39
    const { id } = await webhooks.create(URL);
    const { id: deliveryId } = await webhooks.test(id);
    await fail(deliveryId);
    const path = `/admin/v1/webhooks/deliveries/${deliveryId}/redeliver`;
    expect(await statusOf(path, { method: 'POST', key: app.adminToken })).to.equal(202);
    expect((await webhooks.deliveries(id))[0]?.status).to.equal('pending');
    const missing = `/admin/v1/webhooks/deliveries/del_${'0'.repeat(32)}/redeliver`;
    expect(await statusOf(missing, { method: 'POST', key: app.adminToken })).to.equal(404);
  });

  it('refuses operators a malformed id, status or cursor, and refuses everybody else', async () => {
    // contract 4.11:38
    for (const query of ['account_id=x', 'endpoint_id=%00', 'task_id=1', 'status=lost', 'cursor=x', 'limit=0']) {
      expect((await list(query)).status, query).to.equal(400);
    }
    expect((await list('', apiKey)).status).to.equal(401);
  });
});
