import { expect } from 'chai';
import * as fc from 'fast-check';
import type { Database } from '../../../db/database.ts';
import { areDeliveriesLate, listAvailability, type ServiceRoute } from '../../../db/queries/availability.ts';
import { insertTestDelivery } from '../../../db/queries/deliveries.ts';
import { newId } from '../../../domain/ids.ts';
import { availabilityOf } from '../../../domain/service-status.ts';
import { useTestDatabase } from '../../support/database.ts';
import { createAccount, createEndpoint } from '../../support/factories.ts';
import { casesOf } from '../../support/properties.ts';

/** The calls of one hour. */
interface Calls {
  readonly upstream: string;
  readonly hour: string;
  readonly requests: number;
  readonly failures: number;
  readonly key?: string;
}

const routeTo = (upstream: string, model = 'm'): ServiceRoute => ({
  service: 'text f',
  model,
  upstream,
  format: 'messages',
  upstreamModel: 'theirs',
});

describe('the availability by day', () => {
  const testDatabase = useTestDatabase();
  let database: Database;
  before(() => ({ database } = testDatabase));
  beforeEach(() => database('upstream_calls').delete());

  const record = (calls: readonly Calls[]) =>
    database('upstream_calls').insert(
      calls.map(({ hour, key = '1111', ...call }) => {
        const start = `2026-11-${hour}:00Z`;
        return { span: 'hour', start, format: 'messages', model: 'theirs', key, durations: [], ...call };
      }),
    );
  const days = async (routes: readonly ServiceRoute[]) => {
    const listed = await listAvailability(database, routes, { from: '2026-11-20', to: '2026-11-23' });
    const inOrder = listed.toSorted((one, other) => one.day.localeCompare(other.day));
    return inOrder.map(({ day, availability }) => [day, Math.round(availability * 1e9) / 1e9]);
  };

  it('is the mean of the hours that have calls, in UTC, without the days outside', async () => {
    // contract 4.12:9
    await record([
      { upstream: 'a', hour: '19 23:00', requests: 10, failures: 10 },
      { upstream: 'a', hour: '20 00:00', requests: 1000, failures: 0 },
      { upstream: 'a', hour: '20 23:00', requests: 10, failures: 10 },
      { upstream: 'a', hour: '22 12:00', requests: 10, failures: 1 },
      { upstream: 'a', hour: '23 00:00', requests: 10, failures: 10 },
    ]);
    expect(await days([routeTo('a')])).to.deep.equal([
      ['2026-11-20', 0.5],
      ['2026-11-22', 0.9],
    ]);
  });

  it('adds up the keys of a route, and takes the mean of models', async () => {
    await record([
      { upstream: 'a', hour: '20 00:00', requests: 5, failures: 5, key: '1111' },
      { upstream: 'a', hour: '20 00:00', requests: 15, failures: 0, key: '2222' },
      { upstream: 'b', hour: '20 00:00', requests: 1, failures: 0 },
    ]);
    expect(await days([routeTo('a', 'one'), routeTo('b', 'two')])).to.deep.equal([['2026-11-20', 0.875]]);
  });

  it('follows the rule of the current status for a model with several routes', async () => {
    // contract 4.12:9
    const calls = fc
      .tuple(fc.integer({ min: 5, max: 1000 }), fc.double({ min: 0, max: 1, noNaN: true }))
      .map(([requests, share]) => ({ requests, failures: Math.round(requests * share) }));
    await fc.assert(
      fc.asyncProperty(fc.array(calls, { minLength: 1, maxLength: 4 }), async (routes) => {
        await database('upstream_calls').delete();
        await record(routes.map((route, index) => ({ upstream: `u${index}`, hour: '21 05:00', ...route })));
        const [day] = await days(routes.map((_, index) => routeTo(`u${index}`)));
        expect(day?.[1]).to.be.closeTo(availabilityOf(routes.map((route) => ({ isOpen: false, ...route }))), 1e-8);
      }),
      { numRuns: casesOf(30) },
    );
  });
});

describe('webhooks', () => {
  const testDatabase = useTestDatabase();

  it('are late when a delivery has been due for minutes, unless its endpoint hangs', async () => {
    const { database } = testDatabase;
    const account = await createAccount(database);
    const endpoint = await createEndpoint(database, account);
    const event = { id: newId('event'), payload: '{}', createdAt: new Date() };
    await insertTestDelivery(database, endpoint, event);
    expect(await areDeliveriesLate(database)).to.equal(false);
    const long = database.raw(`now() - interval '6 minutes'`);
    for (const times of [
      { next_start_at: long, workflow_started_at: null },
      { workflow_started_at: long, next_attempt_at: null },
      { workflow_started_at: long, next_attempt_at: long },
    ]) {
      await database('deliveries').update(times);
      expect(await areDeliveriesLate(database), Object.keys(times).join()).to.equal(true);
    }
    await database('deliveries').update({ next_attempt_at: database.raw(`now() + interval '1 hour'`) });
    expect(await areDeliveriesLate(database), 'waits for its next attempt').to.equal(false);
    await database('deliveries').update({ next_attempt_at: long });
    await database('webhook_endpoints').update({ timeouts: 1 });
    expect(await areDeliveriesLate(database), 'hangs').to.equal(false);
  });
});
