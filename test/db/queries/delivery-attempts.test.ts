import { expect } from 'chai';
import type { Database } from '../../../db/database.ts';
import {
  claimDeliveriesToStart,
  claimOverdueDeliveries,
  insertTestDelivery,
  markDeliveriesStarted,
  requestRedeliveries,
  restartDelivery,
} from '../../../db/queries/deliveries.ts';
import { ATTEMPT_LIMITS } from '../../../db/queries/attempt-limits.ts';
import { startAttempt, recordAttempt } from '../../../db/queries/delivery-attempts.ts';
import { deleteWebhookEndpoint, updateWebhookEndpoint } from '../../../db/queries/webhook-endpoints.ts';
import { newId } from '../../../domain/ids.ts';
import { useTestDatabase } from '../../support/database.ts';
import { createAccount, createEndpoint } from '../../support/factories.ts';

interface Endpoint {
  readonly id: string;
  readonly accountId: string;
}

describe('the admission of attempts', () => {
  let database: Database;

  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });
  // Removes the rows of other tests.
  beforeEach(() => database('deliveries').update({ status: 'failed', completed_at: new Date() }));

  const newEndpoint = async (accountId?: string): Promise<Endpoint> =>
    createEndpoint(database, accountId === undefined ? await createAccount(database) : { id: accountId });

  async function createDeliveries(endpoint: Endpoint, count: number): Promise<string[]> {
    const ids: string[] = [];
    for (let made = 0; made < count; made += 1) {
      const event = { id: newId('event'), payload: '{}', createdAt: new Date() };
      ids.push((await insertTestDelivery(database, endpoint, event)).id);
    }
    return ids;
  }

  async function createDelivery(endpoint: Endpoint): Promise<string> {
    const [id = ''] = await createDeliveries(endpoint, 1);
    return id;
  }

  const claim = (limit = 1_000) => claimDeliveriesToStart(database, { limit, retryAfterSeconds: 3600 });
  const verdictOf = async (id: string, number = 1) => (await startAttempt(database, id, { number }))?.verdict;
  const rowOf = (id: string) => database('deliveries').where({ id }).first();

  /** Makes an admitted attempt. */
  function record(id: string, outcome: 'delivered' | 'failed' | 'timed out', number = 1) {
    const error = outcome === 'delivered' ? null : outcome;
    const status = error === null ? 200 : null;
    const attempt = { number, startedAt: new Date(), latencyMs: 1, status, error, answer: null };
    const nextAttemptAt = new Date(Date.now() + 3_600_000);
    return recordAttempt(
      database,
      id,
      attempt,
      outcome === 'delivered'
        ? { delivered: true }
        : { delivered: false, timedOut: outcome === 'timed out', nextAttemptAt, disabledReason: null },
    );
  }

  async function timeOut(endpoint: Endpoint, times: number): Promise<void> {
    const ids = await createDeliveries(endpoint, times);
    for (const id of ids) await record(id, 'timed out');
    // Their workflows wait for the next attempt.
    await database('deliveries').whereIn('id', ids).update({ workflow_started_at: new Date() });
  }

  const endPause = (endpoint: Endpoint) =>
    database('webhook_endpoints').where({ id: endpoint.id }).update({ paused_until: new Date() });

  it('limits an endpoint’s concurrent attempts over all processes', async () => {
    // contract 6:19
    const ids = await createDeliveries(await newEndpoint(), ATTEMPT_LIMITS.perEndpoint + 4);
    const verdicts = await Promise.all(ids.map((id) => verdictOf(id)));
    expect(verdicts.filter((verdict) => verdict === 'admitted')).to.have.length(ATTEMPT_LIMITS.perEndpoint);
    expect(verdicts.filter((verdict) => verdict === 'deferred')).to.have.length(4);
    const admitted = ids[verdicts.indexOf('admitted')] ?? '';
    const deferred = ids[verdicts.indexOf('deferred')] ?? '';
    expect(await verdictOf(admitted), 'again, after its worker died').to.equal('admitted');
    await record(admitted, 'delivered');
    expect(await verdictOf(deferred)).to.equal('admitted');
  });

  it('limits an account’s concurrent attempts, over all its endpoints', async () => {
    // contract 6:19
    const { accountId, id } = await newEndpoint();
    const endpoints = [{ accountId, id }];
    while (endpoints.length < 6) endpoints.push(await newEndpoint(accountId));
    const ids = (await Promise.all(endpoints.map((one) => createDeliveries(one, 6)))).flat();
    const verdicts = await Promise.all(ids.map((one) => verdictOf(one)));
    expect(verdicts.filter((verdict) => verdict === 'admitted')).to.have.length(ATTEMPT_LIMITS.perAccount);
    expect(await verdictOf(await createDelivery(await newEndpoint())), 'of another account').to.equal('admitted');
  });

  it('returns a delivery that has to wait to the relay, with its number and its schedule', async () => {
    const endpoint = await newEndpoint();
    const waiting = await createDelivery(endpoint);
    await verdictOf(waiting);
    await record(waiting, 'failed');
    const busy = await createDeliveries(endpoint, ATTEMPT_LIMITS.perEndpoint);
    for (const id of busy) await verdictOf(id);
    expect(await verdictOf(waiting, 2)).to.equal('deferred');
    expect(await rowOf(waiting)).to.include({ status: 'pending', attempts: 1, workflow_started_at: null });

    await database('deliveries')
      .where({ id: waiting })
      .update({ next_start_at: new Date(0) });
    expect(await claim(), 'while there is no room').to.deep.equal([]);
    await record(busy[0] ?? '', 'delivered');
    const claimed = (await claim()).find(({ id }) => id === waiting);
    expect(claimed).to.include({ accountId: endpoint.accountId, eventType: 'endpoint.test', firstAttempt: 2 });
    const admission = await startAttempt(database, waiting, { number: 2 });
    expect(admission).to.have.property('verdict', 'admitted');
    expect(admission).to.have.nested.property('delivery.scheduled', 2);
  });

  it('frees the room of an attempt whose worker died', async () => {
    const endpoint = await newEndpoint();
    for (const id of await createDeliveries(endpoint, ATTEMPT_LIMITS.perEndpoint)) await verdictOf(id);
    const next = await createDelivery(endpoint);
    expect(await verdictOf(next)).to.equal('deferred');
    await database('deliveries').where({ endpoint_id: endpoint.id }).update({ under_way_until: new Date() });
    expect(await verdictOf(next)).to.equal('admitted');
  });

  it('pauses an endpoint that does not answer in time, then probes it with one attempt until it answers', async () => {
    // contract 6:20
    const endpoint = await newEndpoint();
    await timeOut(endpoint, ATTEMPT_LIMITS.timeoutsUntilPause - 1);
    const ids = await createDeliveries(endpoint, 8);
    expect(await claim(1)).to.have.length(1);
    await database('deliveries').update({ under_way_until: null });
    await timeOut(endpoint, 1);
    expect([await verdictOf(ids[4] ?? ''), await claim()]).to.deep.equal(['deferred', []]);
    const waiting = await rowOf(ids[4] ?? '');
    expect(waiting.next_start_at.getTime() - Date.now()).to.be.greaterThan((ATTEMPT_LIMITS.pauseSeconds - 10) * 1000);

    await endPause(endpoint);
    const probes = await claim();
    expect([probes.length, await claim()]).to.deep.equal([1, []]);
    await record(probes[0]?.id ?? '', 'timed out');
    expect(await claim(), 'it still does not answer').to.deep.equal([]);

    await endPause(endpoint);
    const [probe] = await claim();
    await record(probe?.id ?? '', 'failed');
    expect((await claim()).length, 'it answers, if only with an error').to.be.greaterThan(1);
  });

  it('probes an endpoint at once when its owner changes the address', async () => {
    const endpoint = await newEndpoint();
    await timeOut(endpoint, ATTEMPT_LIMITS.timeoutsUntilPause);
    const id = await createDelivery(endpoint);
    expect(await verdictOf(id)).to.equal('deferred');
    await updateWebhookEndpoint(database, endpoint.accountId, endpoint.id, { url: 'https://other.example.com/' });
    expect(await verdictOf(id)).to.equal('admitted');
  });

  it('admits healthy endpoints of all accounts before an endpoint that hangs with a long backlog', async () => {
    const hanging = await newEndpoint();
    const backlog = await createDeliveries(hanging, 60);
    await database('deliveries')
      .whereIn('id', backlog)
      .update({ next_start_at: new Date(0) });
    const healthy: string[] = [];
    for (let made = 0; made < 10; made += 1) healthy.push(await createDelivery(await newEndpoint()));
    const first = (await claim(16)).map(({ id }) => id);
    expect(first).to.include.members(healthy);
    expect(first).to.have.length(16);
    expect(await claim(), 'no more of it than it may have at once').to.have.length(ATTEMPT_LIMITS.perEndpoint - 6);
  });

  it('admits as many attempts of a busy account as of each other account in turn', async () => {
    const busy = await newEndpoint();
    await createDeliveries(busy, 6);
    const modest = await newEndpoint();
    const [one = ''] = await createDeliveries(modest, 1);
    expect((await claim(2)).map(({ id }) => id)).to.include(one);
  });

  it('fails the waiting deliveries of an endpoint that accepts no more, without a workflow', async () => {
    const endpoint = await newEndpoint();
    const ids = await createDeliveries(endpoint, 3);
    await deleteWebhookEndpoint(database, endpoint.accountId, endpoint.id);
    expect(await claim()).to.deep.equal([]);
    const statuses = await database('deliveries').whereIn('id', ids).pluck('status');
    expect(new Set(statuses)).to.deep.equal(new Set(['failed']));
  });

  it('restarts the schedule for a redelivery, after a running attempt', async () => {
    const endpoint = await newEndpoint();
    const id = await createDelivery(endpoint);
    await verdictOf(id);
    await record(id, 'failed');
    await requestRedeliveries(database, { deliveryId: id, limit: 1 });
    expect(await startAttempt(database, id, { number: 2 })).to.have.nested.property('delivery.scheduled', 1);
    await requestRedeliveries(database, { deliveryId: id, limit: 1 });
    await record(id, 'failed', 2);
    expect(await startAttempt(database, id, { number: 3 })).to.have.nested.property('delivery.scheduled', 1);
  });

  it('frees the room of a delivery that Temporal did not accept', async () => {
    const endpoint = await newEndpoint();
    const ids = await createDeliveries(endpoint, ATTEMPT_LIMITS.perEndpoint + 1);
    const claimed = await claim();
    await markDeliveriesStarted(
      database,
      claimed.map((delivery, index) => ({ delivery, isStarted: index > 0 })),
    );
    const left = ids.filter((id) => !claimed.some((delivery) => delivery.id === id));
    expect((await claim()).map(({ id }) => id)).to.deep.equal(left);
    expect(await rowOf(claimed[0]?.id ?? '')).to.include({ workflow_started_at: null, under_way_until: null });
  });

  it('misses an attempt whose time has passed, and can return it to the relay', async () => {
    const endpoint = await newEndpoint();
    const [inTime = '', due = '', underWay = ''] = await createDeliveries(endpoint, 3);
    for (const id of [inTime, due])
      await database('deliveries').where({ id }).update({ workflow_started_at: new Date() });
    await verdictOf(underWay);
    const longAgo = new Date(Date.now() - 3_600_000);
    await database('deliveries').whereIn('id', [due, underWay]).update({ next_attempt_at: longAgo });
    const overdue = () => claimOverdueDeliveries(database, { graceSeconds: 60, againSeconds: 300, limit: 10 });
    expect(await overdue()).to.deep.equal([due]);
    expect(await overdue(), 'not at once').to.deep.equal([]);
    expect(await restartDelivery(database, due)).to.equal(true);
    expect((await claim()).map(({ id }) => id)).to.deep.equal([due]);
  });
});
