import { expect } from 'chai';
import type { Database } from '../../../db/database.ts';
import {
  claimTasksToStart,
  findTaskStartTimes,
  findTask,
  findExpiredTasks,
  listTasks,
  markTaskStarted,
  markWorkflowsStarted,
  type NewTask,
} from '../../../db/queries/tasks.ts';
import { restartTask } from '../../../db/queries/recovery.ts';
import { settleSubmission } from '../../../db/queries/submissions.ts';
import { newId } from '../../../domain/ids.ts';
import type { Task } from '../../../domain/task.ts';
import { useTestDatabase } from '../../support/database.ts';
import {
  createFundedKey,
  createTaskRow,
  finishAsFailed,
  finishAsSucceeded,
  openTaskSubmission,
  submitTask,
  type TestKey,
} from '../../support/factories.ts';

const ids = (tasks: readonly { readonly id: string }[]): string[] => tasks.map(({ id }) => id);

describe('db/queries/tasks', () => {
  let database: Database;
  let key: TestKey;

  useTestDatabase({ onOpen: ({ database: opened }) => (database = opened) });

  beforeEach(async () => {
    key = await createFundedKey(database);
  });

  const create = (settings: Partial<NewTask> = {}): Promise<Task> => createTaskRow(database, key, settings);

  /** Tasks created a second apart. */
  async function createSeries(count: number): Promise<readonly Task[]> {
    const now = Date.now();
    const tasks: Task[] = [];
    for (let index = 0; index < count; index += 1) {
      tasks.push(await create({ id: newId('task', now - (count - index) * 1_000) }));
    }
    return tasks;
  }

  const claim = (limit = 10): ReturnType<typeof claimTasksToStart> =>
    claimTasksToStart(database, { limit, retryAfterSeconds: 60 });

  describe('listing tasks', () => {
    it('applies each filter', async () => {
      const [oldest, middle, newest] = await createSeries(3);
      if (!oldest || !middle || !newest) throw new Error('three were created');
      const image = await create({ kind: 'image', model: 'imagea-2.5-sunburst' });
      await finishAsFailed(database, middle);
      const list = async (filter: object): Promise<string[]> =>
        ids(await listTasks(database, { accountId: key.accountId, limit: 10, ...filter }));
      expect(await list({ status: 'failed' })).to.deep.equal([middle.id]);
      expect(await list({ kind: 'image' })).to.deep.equal([image.id]);
      expect(await list({ model: 'vidone-3.0' })).to.deep.equal([newest.id, middle.id, oldest.id]);
      expect(await list({ from: middle.createdAt }), 'from is inclusive').to.deep.equal([
        image.id,
        newest.id,
        middle.id,
      ]);
      expect(await list({ to: middle.createdAt }), 'to is exclusive').to.deep.equal([oldest.id]);
      expect(await list({ accountId: newId('account') })).to.deep.equal([]);
    });
  });

  describe('starting workflows', () => {
    beforeEach(() =>
      database('tasks')
        .whereNull('workflow_started_at')
        .whereNull('completed_at')
        .update({ workflow_started_at: new Date() }),
    );

    it('claims due tasks, with the data that their workflows need', async () => {
      const task = await create({ nextStartAt: new Date(Date.now() - 1_000) });
      const { id, accountId, model, kind, deadlineAt, requestId, price } = task;
      expect(await claim()).to.deep.equal([{ id, accountId, model, kind, deadlineAt, requestId, price }]);
    });

    it('skips tasks that are not due, started, final, or claimed a moment ago', async () => {
      const due = { nextStartAt: new Date(Date.now() - 1_000) };
      const [started, ended, taken] = [await create(due), await create(due), await create(due)];
      await create({ nextStartAt: new Date(Date.now() + 60_000) });
      await markWorkflowsStarted(database, [started.id]);
      await finishAsSucceeded(database, ended);
      expect(ids(await claim())).to.deep.equal([taken.id]);
      expect(await claim()).to.deep.equal([]);
    });

    it('offers a task again if its claimant has not started it in time', async () => {
      const task = await create({ nextStartAt: new Date(Date.now() - 1_000) });
      await claimTasksToStart(database, { limit: 1, retryAfterSeconds: 0 });
      expect(ids(await claim())).to.deep.equal([task.id]);
    });

    it('claims at most the requested number, the longest due first', async () => {
      const tasks = await createSeries(5);
      expect(ids(await claim(2)).toSorted()).to.deep.equal(ids(tasks.slice(0, 2)));
    });

    it('alternates between accounts, however many tasks one of them has', async () => {
      await createSeries(5);
      const other = await createFundedKey(database);
      const task = await createTaskRow(database, other, { nextStartAt: new Date(Date.now() - 1_000) });
      expect(ids(await claim(2))).to.include(task.id);
    });

    it('starts tasks of the account that was served least recently, however long others have waited', async () => {
      const greedy = await createSeries(5);
      const other = await createFundedKey(database);
      const task = await createTaskRow(database, other, { nextStartAt: new Date(Date.now() - 1_000) });
      const claimOne = (served: readonly string[]): ReturnType<typeof claimTasksToStart> =>
        claimTasksToStart(database, { limit: 1, retryAfterSeconds: 60, served });
      expect(ids(await claimOne([key.accountId]))).to.deep.equal([task.id]);
      expect(ids(await claimOne([key.accountId, other.accountId]))).to.deep.equal(ids(greedy.slice(0, 1)));
    });

    it('reports which tasks were started, when first, and which are final', async () => {
      const [running, waiting, over] = await createSeries(3);
      if (!running || !waiting || !over) throw new Error('three were created');
      expect(await markTaskStarted(database, running.id)).to.deep.equal(await findTask(database, running.id));
      await finishAsFailed(database, over);
      expect((await markTaskStarted(database, over.id))?.status).to.equal('failed');
      const first = await findTaskStartTimes(database, ids([running, waiting, over]));
      await markTaskStarted(database, running.id);
      expect(await findTaskStartTimes(database, ids([running, waiting, over]))).to.deep.equal(first);
      expect([...first.keys()].toSorted()).to.deep.equal([running.id, over.id].toSorted());
      expect(first.get(running.id)).to.be.a('number');
      expect(first.get(over.id)).to.equal(null);
    });

    it('claims different tasks for two relays, even while one has not committed', async () => {
      const tasks = await createSeries(6);
      const [first, second] = await database.transaction(async (transaction) => {
        const mine = await claimTasksToStart(transaction, { limit: 3, retryAfterSeconds: 60 });
        return [mine, await claim(10)] as const;
      });
      expect([first.length, second.length]).to.deep.equal([3, 3]);
      expect(ids([...first, ...second]).toSorted()).to.deep.equal(ids(tasks).toSorted());
    });

    it('claims each task once for many relays', async () => {
      const tasks = await createSeries(12);
      const claims = await Promise.all(Array.from({ length: 8 }, () => claim(2)));
      expect(ids(claims.flat()).toSorted()).to.deep.equal(ids(tasks).toSorted());
    });

    it('claims a task past its deadline if an upstream may render it or a recovery restarted it, and fails the others', async () => {
      const past = { deadlineAt: new Date(Date.now() - 1_000), nextStartAt: new Date(Date.now() - 1_000) };
      const rendering = await createTaskRow(database, key, past);
      const unclear = await createTaskRow(database, key, past);
      const refused = await createTaskRow(database, key, past);
      await submitTask(database, rendering, 'job_1');
      await openTaskSubmission(database, unclear);
      const submission = await openTaskSubmission(database, refused);
      await settleSubmission(database, submission, { outcome: 'not_taken', evidence: 'the answer' });
      const restarted = await createTaskRow(database, key, past);
      await restartTask(database, restarted.id);
      expect(ids(await claim()).toSorted()).to.deep.equal(ids([rendering, unclear, restarted]).toSorted());
      expect(await findExpiredTasks(database, 10)).to.deep.equal([refused.id]);
    });

    it('finds tasks that can no longer start before their deadline, and none that has started', async () => {
      const past = { deadlineAt: new Date(Date.now() - 1_000), nextStartAt: new Date(Date.now() - 1_000) };
      const late = await createTaskRow(database, key, past);
      const begun = await createTaskRow(database, key, past);
      await createSeries(1);
      await markWorkflowsStarted(database, [begun.id]);
      expect(await findExpiredTasks(database, 10)).to.deep.equal([late.id]);
    });

    it('records starts, even if one of the tasks has become final meanwhile', async () => {
      const due = { nextStartAt: new Date(Date.now() - 1_000) };
      const [ended, running] = [await create(due), await create(due)];
      await finishAsSucceeded(database, ended);
      await markWorkflowsStarted(database, [ended.id, running.id]);
      expect(await claim()).to.deep.equal([]);
    });
  });
});
