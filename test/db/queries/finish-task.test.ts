import { expect } from 'chai';
import type { Database } from '../../../db/database.ts';
import { findApiKey } from '../../../db/queries/api-keys.ts';
import { finishTask, finishTasks } from '../../../db/queries/finish-task.ts';
import type { TaskEnding } from '../../../domain/task.ts';
import { findTransfer } from '../../../db/queries/transfers.ts';
import { deleteWebhookEndpoint, updateWebhookEndpoint } from '../../../db/queries/webhook-endpoints.ts';
import { TASK_ERROR_CODES } from '../../../domain/errors.ts';
import { newId } from '../../../domain/ids.ts';
import { parseUsd } from '../../../domain/money.ts';
import { useTestDatabase } from '../../support/database.ts';
import {
  createEndpoint,
  createFundedKey,
  createTaskRow,
  finishAsFailed,
  finishAsSucceeded,
  newEvent,
  reloadAccount,
  reloadTask,
  type TestKey,
  VIDEO,
} from '../../support/factories.ts';
import { rejectionOf } from '../../support/rejection.ts';

const SUCCESS: TaskEnding = { status: 'succeeded', output: [VIDEO] };
const FAILURE: TaskEnding = { status: 'failed', failure: { code: 'processing_timeout', message: 'Too late.' } };

describe('finishTask', () => {
  let database: Database;
  let key: TestKey;

  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });

  beforeEach(async () => {
    key = await createFundedKey(database);
  });

  const balances = () => reloadAccount(database, { id: key.accountId });

  it('charges a task that succeeded, and keeps its output', async () => {
    // contract 1:6 3:4 3:11
    const task = await createTaskRow(database, key);
    const finished = await finishAsSucceeded(database, task);
    expect(finished.applied).to.equal(true);
    expect(finished.task).to.deep.equal(await reloadTask(database, task));
    expect(finished.task).to.include({ status: 'succeeded', resolutionId: finished.resolutionId, failure: null });
    expect(finished.task.output).to.deep.equal([VIDEO]);
    expect(await findTransfer(database, finished.resolutionId, task.createdAt)).to.include({
      kind: 'settlement',
      amount: task.price,
      pendingId: task.reservationId,
      taskId: task.id,
      apiKeyId: key.id,
    });
    expect(await balances()).to.include({ fundedAvailable: parseUsd(99), fundedReserved: 0n });
    expect(await findApiKey(database, key.id)).to.include({ used: parseUsd(1) });
  });

  for (const code of TASK_ERROR_CODES) {
    it(`refunds a task that failed with ${code} in full`, async () => {
      // contract 1:6 3:5 3:11 8.5:4
      const task = await createTaskRow(database, key);
      const finished = await finishAsFailed(database, task, code);
      expect(finished.task).to.deep.include({ status: 'failed', failure: { code, message: 'It failed. Try again.' } });
      expect(finished.task.output).to.equal(null);
      expect(await findTransfer(database, finished.resolutionId, task.createdAt)).to.include({
        kind: 'refund',
        amount: task.price,
      });
      expect(await balances()).to.include({ fundedAvailable: parseUsd(100), fundedReserved: 0n });
      expect(await findApiKey(database, key.id)).to.include({ used: 0n });
    });
  }

  for (const [first, second] of [
    [SUCCESS, SUCCESS],
    [SUCCESS, FAILURE],
    [FAILURE, SUCCESS],
    [FAILURE, FAILURE],
  ] as const) {
    it(`changes nothing when a task that ${first.status} is finished again as ${second.status}`, async () => {
      // contract 3:10
      const { id } = await createTaskRow(database, key);
      const ended = await finishTask(database, id, first, null);
      const before = await balances();
      const again = await finishTask(database, id, second, newEvent(`task.${second.status}`));
      expect(again).to.deep.equal({ ...ended, applied: false });
      expect(await balances()).to.deep.equal(before);
      expect(await database('events').where({ task_id: id })).to.deep.equal([]);
    });
  }

  it('lets one of two different outcomes win, with its money, when they race', async () => {
    // contract 3:10 3:11
    const tasks = await Promise.all(Array.from({ length: 20 }, () => createTaskRow(database, key)));
    const races = await Promise.all(
      tasks.map((task) =>
        Promise.all([
          finishTask(database, task.id, SUCCESS, newEvent('task.succeeded')),
          finishTask(database, task.id, FAILURE, null),
        ]),
      ),
    );
    for (const [success, failure] of races) {
      expect(success.applied).to.equal(!failure.applied);
      expect(success.resolutionId).to.equal(failure.resolutionId);
      expect(success.task).to.deep.equal(failure.task);
    }
    const succeeded = races.filter(([success]) => success.applied).length;
    expect(await balances()).to.include({ fundedAvailable: parseUsd(100 - succeeded), fundedReserved: 0n });
    const events = await database('events').whereIn(
      'task_id',
      tasks.map(({ id }) => id),
    );
    expect(events.length).to.equal(succeeded);
  });

  it('finishes many tasks of many accounts in one transaction, with the same result as for each alone', async () => {
    const others = await Promise.all([createFundedKey(database), createFundedKey(database)]);
    const keys = [key, ...others, key];
    const tasks = await Promise.all(keys.map((one) => createTaskRow(database, one)));
    const ended = await finishAsFailed(database, { id: tasks[1]?.id ?? '' });
    const unknown = { taskId: newId('task'), ending: SUCCESS, event: null };
    const finishes = tasks.map(({ id }, index) => ({
      taskId: id,
      ending: index === 0 ? FAILURE : SUCCESS,
      event: newEvent(index === 0 ? 'task.failed' : 'task.succeeded'),
    }));
    const finished = await finishTasks(database, [...finishes, unknown, ...finishes.slice(0, 1)]);
    expect(finished.map((one) => one && [one.task.id, one.task.status, one.applied])).to.deep.equal([
      [tasks[0]?.id, 'failed', true],
      [ended.task.id, 'failed', false],
      [tasks[2]?.id, 'succeeded', true],
      [tasks[3]?.id, 'succeeded', true],
      null,
      [tasks[0]?.id, 'failed', false],
    ]);
    expect(await balances()).to.include({ fundedAvailable: parseUsd(99), fundedReserved: 0n });
  });

  it('never deadlocks when batches with the same accounts race', async () => {
    const keys = await Promise.all(Array.from({ length: 4 }, () => createFundedKey(database)));
    const batches = await Promise.all(
      Array.from({ length: 6 }, async (_, index) => {
        const tasks = await Promise.all(keys.map((one) => createTaskRow(database, one)));
        const finishes = tasks.map(({ id }) => ({ taskId: id, ending: SUCCESS, event: null }));
        return index % 2 === 0 ? finishes : finishes.toReversed();
      }),
    );
    const finished = await Promise.all(batches.map((finishes) => finishTasks(database, finishes)));
    expect(finished.flat().every((one) => one?.applied)).to.equal(true);
  });

  it('finishes a task that was never started', async () => {
    const task = await createTaskRow(database, key);
    expect((await finishTask(database, task.id, FAILURE, null)).task.status).to.equal('failed');
  });

  it('rejects for a task that does not exist', async () => {
    const id = newId('task');
    expect((await rejectionOf(finishTask(database, id, SUCCESS, null))).message).to.include(id);
  });

  it('leaves the task running when its event cannot be created', async () => {
    const task = await createTaskRow(database, key);
    const event = {
      ...newEvent('task.succeeded'),
      payload: () => {
        throw new Error('no payload');
      },
    };
    await rejectionOf(finishTask(database, task.id, SUCCESS, event));
    expect(await reloadTask(database, task)).to.deep.equal(task);
    expect(await balances()).to.include({ fundedReserved: parseUsd(1) });
  });

  describe('with its event', () => {
    it('writes the event with the final task, and one delivery for each endpoint that subscribed', async () => {
      // contract 3:4 6:1
      const account = { id: key.accountId };
      const both = await createEndpoint(database, account);
      const failures = await createEndpoint(database, account, { events: ['task.failed'] });
      await createEndpoint(database, account, { events: ['task.succeeded'] });
      await createEndpoint(database, { id: (await createFundedKey(database)).accountId });
      const disabled = await createEndpoint(database, account);
      await updateWebhookEndpoint(database, account.id, disabled.id, { enabled: false });
      const deleted = await createEndpoint(database, account);
      await deleteWebhookEndpoint(database, account.id, deleted.id);

      const task = await createTaskRow(database, key);
      const event = { ...newEvent('task.failed'), payload: (ended: object) => JSON.stringify(ended, bigintAsText) };
      const finished = await finishTask(database, task.id, FAILURE, event);

      const row = await database('events').where({ task_id: task.id }).first();
      expect(row).to.include({ id: event.id, type: 'task.failed', account_id: account.id });
      expect(row.payload).to.equal(JSON.stringify(finished.task, bigintAsText));
      const deliveries = await database('deliveries').where({ event_id: event.id });
      expect(deliveries.map(({ endpoint_id }) => endpoint_id)).to.have.members([both.id, failures.id]);
      expect(finished.deliveryIds).to.have.members(deliveries.map(({ id }) => id));
    });

    it('returns unstarted deliveries again when the call is repeated', async () => {
      await createEndpoint(database, { id: key.accountId });
      await createEndpoint(database, { id: key.accountId });
      const task = await createTaskRow(database, key);
      const { deliveryIds } = await finishAsSucceeded(database, task);
      const [started, ...left] = deliveryIds;
      await database('deliveries').where({ id: started }).update({ workflow_started_at: new Date() });
      expect((await finishAsSucceeded(database, task)).deliveryIds).to.deep.equal(left);
    });

    it('writes no event for an outcome without one', async () => {
      await createEndpoint(database, { id: key.accountId });
      const task = await createTaskRow(database, key);
      expect((await finishTask(database, task.id, FAILURE, null)).deliveryIds).to.deep.equal([]);
      expect(await database('events').where({ task_id: task.id })).to.deep.equal([]);
    });
  });
});

function bigintAsText(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
