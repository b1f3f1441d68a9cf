import { expect } from 'chai';
import { waitUntilFinal } from '../../../api/routes/tasks/task-of-request.ts';
import { createReadWaitedTask } from '../../../services/tasks/waited-task.ts';
import { useTestDatabase } from '../../support/database.ts';
import { createFundedKey, createTaskRow, finishAsFailed, reloadTask } from '../../support/factories.ts';
import { rejectionOf } from '../../support/rejection.ts';

const CALLS = 500;

describe('calls that wait for a task', () => {
  const testDatabase = useTestDatabase();

  it('share the reads of their process, and each gets the final task', async () => {
    const { database } = testDatabase;
    const { id } = await createTaskRow(database, await createFundedKey(database));
    const task = await reloadTask(database, { id });
    let reads = 0;
    database.on('query', () => (reads += 1));
    const startedAtMs = performance.now();
    const wait = { untilMs: startedAtMs + 60_000, socket: { destroyed: false } };
    const services = { readWaitedTask: createReadWaitedTask(database) };
    const calls = Array.from({ length: CALLS }, () => waitUntilFinal(task, wait, services));
    await services.readWaitedTask(task);
    await finishAsFailed(database, { id });
    const ended = await Promise.all(calls);
    expect(new Set(ended.map((one) => one?.status))).to.deep.equal(new Set(['failed']));
    // The end of the task, and five reads a second.
    expect(reads).to.be.below(20 + (performance.now() - startedAtMs) / 100);
  });

  it('read no task of another account', async () => {
    const { database } = testDatabase;
    const [own, other] = [await createFundedKey(database), await createFundedKey(database)];
    const { id } = await createTaskRow(database, own);
    const read = createReadWaitedTask(database);
    expect((await read({ accountId: own.accountId, id })).id).to.equal(id);
    const refusal = await rejectionOf(read({ accountId: other.accountId, id }));
    expect(refusal).to.have.property('code', 'not_found');
  });
});
