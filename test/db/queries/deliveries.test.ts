import { expect } from 'chai';
import type { Database } from '../../../db/database.ts';
import { insertAccount } from '../../../db/queries/accounts.ts';
import {
  claimDeliveriesToStart,
  type DeliveryToStart,
  findDelivery,
  findDeliveryContent,
  insertTestDelivery,
  markDeliveriesStarted,
  requestRedeliveries,
} from '../../../db/queries/deliveries.ts';
import { ATTEMPT_LIMITS } from '../../../db/queries/attempt-limits.ts';
import { type AttemptOutcome, startAttempt, recordAttempt } from '../../../db/queries/delivery-attempts.ts';
import { insertWebhookEndpoint } from '../../../db/queries/webhook-endpoints.ts';
import { newId } from '../../../domain/ids.ts';
import { useTestDatabase } from '../../support/database.ts';

const CLAIM = { limit: 10, retryAfterSeconds: 3600 };
const DELIVERED: AttemptOutcome = { delivered: true };

describe('db/queries/deliveries', () => {
  let database: Database;
  let endpoint: { id: string; accountId: string };

  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });
  beforeEach(async () => {
    // The relay ignores the rows of other tests.
    await database('deliveries').update({ workflow_started_at: new Date() });
    endpoint = await createEndpoint();
  });

  async function createEndpoint(): Promise<{ id: string; accountId: string }> {
    const accountId = newId('account');
    const id = newId('webhookEndpoint');
    await insertAccount(database, { id: accountId, name: 'Test' });
    await database.transaction((transaction) =>
      insertWebhookEndpoint(
        transaction,
        {
          id,
          accountId,
          url: 'https://hooks.example.com/',
          description: null,
          events: ['task.failed'],
          encryptedSecret: Buffer.from('encrypted'),
          createdAt: new Date(),
        },
        1,
      ),
    );
    return { id, accountId };
  }

  async function createDelivery(): Promise<string> {
    const event = { id: newId('event'), payload: '{}', createdAt: new Date() };
    return (await insertTestDelivery(database, endpoint, event)).id;
  }

  const rowOf = (id: string) => database('deliveries').where({ id }).first();
  const markAsStarted = (claimed: readonly DeliveryToStart[]): Promise<void> =>
    markDeliveriesStarted(
      database,
      claimed.map((delivery) => ({ delivery, isStarted: true })),
    );
  const claim = async (): Promise<string[]> => (await claimDeliveriesToStart(database, CLAIM)).map(({ id }) => id);

  const record = (id: string, number: number, outcome: AttemptOutcome) =>
    recordAttempt(
      database,
      id,
      {
        number,
        startedAt: new Date(),
        latencyMs: 1,
        status: outcome.delivered ? 200 : 500,
        error: outcome.delivered ? null : 'HTTP 500',
        answer: null,
      },
      outcome,
    );

  async function failingSince(): Promise<unknown> {
    return (await database('webhook_endpoints').where({ id: endpoint.id }).first()).failing_since;
  }

  it('shows what a delivery sent to its own account alone', async () => {
    const id = await createDelivery();
    expect((await findDeliveryContent(database, { ...endpoint, id }))?.payload).to.equal('{}');
    const { accountId } = await createEndpoint();
    expect(await findDeliveryContent(database, { id, accountId })).to.equal(null);
  });

  describe('the relay', () => {
    it('receives each due delivery once, however many relays claim at once', async () => {
      const created = await Promise.all(Array.from({ length: 8 }, createDelivery));
      const claimed = await Promise.all(Array.from({ length: 4 }, claim));
      expect(claimed.flat()).to.have.members(created);
    });

    it('receives a delivery again when its start was not acknowledged', async () => {
      const id = await createDelivery();
      const [claimed] = await claimDeliveriesToStart(database, { limit: 10, retryAfterSeconds: 0 });
      expect(claimed).to.include({ id, accountId: endpoint.accountId, eventType: 'endpoint.test', firstAttempt: 1 });
      expect(await claim()).to.deep.equal([id]);
    });

    it('skips a delivery that is marked or whose workflow was started by other means', async () => {
      await createDelivery();
      await markAsStarted(await claimDeliveriesToStart(database, CLAIM));
      const begun = await createDelivery();
      await startAttempt(database, begun, { number: 1 });
      await database('deliveries').update({ next_start_at: new Date(0) });
      expect(await claim()).to.deep.equal([]);
    });

    it('leaves a new delivery of a task to the workflow of the task for a while', async () => {
      const id = await createDelivery();
      await database('deliveries')
        .where({ id })
        .update({ next_start_at: database.raw('DEFAULT') });
      expect(await claim()).to.deep.equal([]);
    });

    it('does not lose a redelivery that is requested between its claim and its mark', async () => {
      const id = await createDelivery();
      const claimed = await claimDeliveriesToStart(database, CLAIM);
      await requestRedeliveries(database, { deliveryId: id, limit: 1 });
      await markAsStarted(claimed);
      await database('deliveries').update({ under_way_until: null });
      expect(await claim()).to.deep.equal([id]);
    });

    it('does not lose a delivery whose workflow found no room between its start and its mark', async () => {
      const id = await createDelivery();
      const claimed = await claimDeliveriesToStart(database, CLAIM);
      // The claim is so old that its room was given to others, who use all of it.
      await database('deliveries')
        .where({ id })
        .update({ under_way_until: new Date(0) });
      for (let busy = 0; busy < ATTEMPT_LIMITS.perEndpoint; busy += 1) {
        await startAttempt(database, await createDelivery(), { number: 1 });
      }
      expect((await startAttempt(database, id, { number: 1 }))?.verdict).to.equal('deferred');
      await markAsStarted(claimed);
      expect(await rowOf(id)).to.include({ workflow_started_at: null });
    });

    it('does not start a delivery that a later claim holds', async () => {
      const id = await createDelivery();
      const earlier = await claimDeliveriesToStart(database, { limit: 10, retryAfterSeconds: 0 });
      const later = await claimDeliveriesToStart(database, CLAIM);
      await markDeliveriesStarted(
        database,
        earlier.map((delivery) => ({ delivery, isStarted: false })),
      );
      expect((await rowOf(id)).under_way_until).to.not.equal(null);
      await markAsStarted(later);
      expect((await rowOf(id)).workflow_started_at).to.not.equal(null);
    });

    it('continues the numbers of attempts in a redelivery', async () => {
      const id = await createDelivery();
      await record(id, 1, DELIVERED);
      await requestRedeliveries(database, { deliveryId: id, limit: 1 });
      expect((await claimDeliveriesToStart(database, CLAIM))[0]).to.include({ id, firstAttempt: 2 });
    });
  });

  describe('an attempt', () => {
    it('is recorded once under its number, with its first outcome', async () => {
      const id = await createDelivery();
      const states = await Promise.all([1, 2, 3].map(() => record(id, 1, DELIVERED)));
      states.push(
        await record(id, 1, { delivered: false, timedOut: false, nextAttemptAt: null, disabledReason: null }),
      );
      for (const state of states)
        expect(state).to.deep.equal({ status: 'delivered', attempts: 1, nextAttemptAt: null });
      expect((await findDelivery(database, { deliveryId: id }))?.attempts).to.have.length(1);
    });

    it('leaves the delivery pending until the next attempt, or failed after the last one', async () => {
      const id = await createDelivery();
      await startAttempt(database, id, { number: 1 });
      const nextAttemptAt = new Date(Date.now() + 60_000);
      const failed = { delivered: false, timedOut: false, disabledReason: null } as const;
      expect(await record(id, 1, { ...failed, nextAttemptAt })).to.deep.equal({
        status: 'pending',
        attempts: 1,
        nextAttemptAt,
      });
      expect(await record(id, 2, { ...failed, nextAttemptAt: null })).to.deep.equal({
        status: 'failed',
        attempts: 2,
        nextAttemptAt: null,
      });
    });

    it('leaves a redelivery that was requested meanwhile pending when it is the last one and fails', async () => {
      const id = await createDelivery();
      await startAttempt(database, id, { number: 1 });
      await requestRedeliveries(database, { deliveryId: id, limit: 1 });
      const state = await record(id, 1, {
        delivered: false,
        timedOut: false,
        disabledReason: null,
        nextAttemptAt: null,
      });
      expect(state).to.deep.equal({ status: 'pending', attempts: 1, nextAttemptAt: null });
      expect(await claim()).to.deep.equal([id]);
    });

    it('keeps the time of the first failure when it fails again', async () => {
      // contract 2.4:9
      const [first, second] = [await createDelivery(), await createDelivery()];
      const failed = { delivered: false, timedOut: false, disabledReason: null, nextAttemptAt: null } as const;
      expect(await failingSince()).to.equal(null);
      await record(first, 1, failed);
      const since = await failingSince();
      expect(since).to.be.instanceOf(Date);
      await record(second, 1, failed);
      expect(await failingSince()).to.deep.equal(since);
    });
  });
});
