import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import pino from 'pino';
import type { PricedTaskRequest } from '../../../services/tasks/create-task.ts';
import type { IdempotencyClaim } from '../../../services/tasks/idempotency.ts';
import { createAffordabilityCheck, createTaskCreator } from '../../../services/tasks/create-task.ts';
import { CATALOGUE } from '../../support/catalogue.ts';
import { SERVING_LIMITS } from '../../../db/connections.ts';
import { createDatabase, type Database } from '../../../db/database.ts';
import { Allowances } from '../../../db/text-money/allowances.ts';
import { createTextLedger } from '../../../db/text-money/ledger.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { newId } from '../../../domain/ids.ts';
import { parseUsd } from '../../../domain/money.ts';
import { createMetrics } from '../../../telemetry/metrics.ts';
import { useTestDatabase } from '../../support/database.ts';
import { createFundedKey } from '../../support/factories.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { NO_STARTER } from '../../support/starter.ts';
import { newHold, settlementOf } from '../../support/text-money.ts';
import { startTcpProxy, type TcpProxy } from '../../../lab/stack/tcp-proxy.ts';

describe('a create call whose commit is not acknowledged', () => {
  const testDatabase = useTestDatabase();
  let proxy: TcpProxy;
  let database: Database;

  beforeEach(async () => {
    proxy = await startTcpProxy(testDatabase.url);
    database = createDatabase(proxy.urlOf(testDatabase.url), 2, { ...SERVING_LIMITS, silenceMs: 1_000 });
  });
  afterEach(async () => {
    await Promise.all([proxy.close(), database.destroy()]);
  });

  /** A task creator whose one connection accepts statements and returns no answers. */
  async function createUnheard({
    claim = null,
    batchLine,
  }: { claim?: IdempotencyClaim | null } & Pick<PricedTaskRequest, 'batchLine'> = {}) {
    const createTask = createTaskCreator({
      storage: { keyOf: () => null },
      database,
      starter: NO_STARTER,
      metrics: createMetrics(),
      limits: { deadlineMs: 60_000, concurrentTasks: 10 },
      typicalSeconds: async () => null,
    });
    const key = await createFundedKey(testDatabase.database);
    const model = CATALOGUE.videoModels.get('vidone-3.0');
    if (!model) throw new Error('the catalogue has no such model');
    const request: PricedTaskRequest = {
      model,
      order: { resolution: '720p', durationSeconds: 5 },
      price: parseUsd(1),
      priceList: null,
      endUser: null,
      render: { kind: 'video', prompt: 'A test', durationSeconds: 5 },
      ...(batchLine && { batchLine }),
    };
    await database.raw('SELECT 1');
    proxy.swallowAnswers();
    const caller = {
      key,
      account: {
        id: key.accountId,
        toppedUpAt: new Date(),
        suspendedAt: null,
        prices: [],
        budgetsVersion: 0,
        responseMinutes: null,
      },
    };
    const created = createTask(caller, request, 'req_x', claim);
    const tasks = () => testDatabase.database('tasks').where({ account_id: key.accountId }).pluck('id');
    return { created, tasks };
  }

  it('is answered with the committed task, once another connection reveals it', async () => {
    const { created, tasks } = await createUnheard();
    const { status, taskId } = await created;
    expect(status).to.equal(201);
    expect(await tasks()).to.deep.equal([taskId]);
  });

  it('is answered with 503 and the id of the task, which may exist, if nothing reveals it', async () => {
    // contract 4.1:17
    const { created, tasks } = await createUnheard();
    proxy.refuseNew();
    const error = await rejectionOf(created);
    const [taskId] = await tasks();
    expect(taskId, 'here it does').to.be.a('string');
    expect(error).to.be.instanceOf(ServiceError);
    expect(error).to.include({ status: 503, code: 'processing_unavailable' });
    expect(error.message).to.include(taskId).and.to.include('may have been created');
  });

  const claim: IdempotencyClaim = { key: 'once', claimToken: randomUUID(), encrypt: (body) => Buffer.from(body) };
  for (const { how, once, isRepeatable } of [
    { how: 'without an Idempotency-Key', once: {}, isRepeatable: false },
    { how: 'under an Idempotency-Key', once: { claim }, isRepeatable: true },
    { how: 'for a line of a batch', once: { batchLine: { batchId: newId('batch'), number: 1 } }, isRepeatable: true },
  ]) {
    it(`is ${isRepeatable ? '' : 'not '}retryable ${how}`, async () => {
      // contract 4.1:17
      const { created } = await createUnheard(once);
      proxy.refuseNew();
      const error = await rejectionOf(created);
      expect(error).to.have.property('retryable', isRepeatable);
      expect(error).to.have.deep.property('headers', isRepeatable ? {} : { 'x-should-retry': 'false' });
    });
  }
});

describe('a create call that the balance does not cover', () => {
  const testDatabase = useTestDatabase();

  it('gets the money that a text process holds and does not use', async () => {
    const { database } = testDatabase;
    const key = await createFundedKey(database, 1);
    const ledger = createTextLedger({
      url: testDatabase.url,
      poolSize: 1,
      processId: randomUUID(),
      freeRequestsPerMinute: { neverToppedUp: 1, toppedUp: 10 },
    });
    const allowances = new Allowances(ledger, pino({ level: 'silent' }));
    try {
      const hold = newHold(key);
      const decided = await allowances.hold(hold);
      if (decided.refusal !== null) throw new Error('the account has enough');
      await decided.settle(settlementOf(hold, { charge: 0n }));
      const check = createAffordabilityCheck(database, { deadlineMs: 60_000, concurrentTasks: 10 });
      const caller = {
        key,
        account: {
          id: key.accountId,
          toppedUpAt: new Date(),
          suspendedAt: null,
          prices: [],
          budgetsVersion: 0,
          responseMinutes: null,
        },
      };
      const model = CATALOGUE.videoModels.get('vidone-3.0');
      if (!model) throw new Error('the catalogue has no such model');
      expect(await database('text_allowances').where({ account_id: key.accountId })).to.have.length(1);
      await check(caller, { model, price: parseUsd(1), endUser: null }, 1);
    } finally {
      await allowances.close(5_000);
      await ledger.close();
    }
  });
});
