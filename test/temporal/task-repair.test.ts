import { Client, Connection } from '@temporalio/client';
import { expect } from 'chai';
import { pino } from 'pino';
import { createTaskRepair, type TaskRepair } from '../../temporal/task-repair.ts';
import { createWorkflowAccess } from '../../temporal/workflow-access.ts';
import { claimTasksToStart, markWorkflowsStarted } from '../../db/queries/tasks.ts';
import { newId } from '../../domain/ids.ts';
import type { Task } from '../../domain/task.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import {
  createFundedKey,
  createTaskRow,
  openTaskSubmission,
  reloadAccount,
  reloadTask,
  submitTask,
  type TestKey,
} from '../support/factories.ts';
import { claimTestNamespace, testTemporalAddress } from '../support/services.ts';

const HOUR_MS = 3_600_000;
const silent = pino({ level: 'silent' });

describe('the repair of abandoned tasks', function () {
  this.timeout(180_000);
  let testDatabase: TestDatabase;
  let connection: Connection;
  let client: Client;
  let key: TestKey;

  before(async () => {
    testDatabase = await createTestDatabase();
    connection = await Connection.connect({ address: await testTemporalAddress() });
    client = new Client({ connection, namespace: claimTestNamespace() });
    key = await createFundedKey(testDatabase.database);
  });
  after(() => Promise.all([testDatabase.drop(), connection.close()]));

  /** A task whose deadline has passed, and whose workflow was started. */
  async function overdueTask(settings: Parameters<typeof createTaskRow>[2] = {}): Promise<Task> {
    const { database } = testDatabase;
    const id = newId('task', Date.now() - HOUR_MS);
    const task = await createTaskRow(database, key, { id, ...settings });
    await markWorkflowsStarted(database, [id]);
    return task;
  }

  /** No worker takes it, so it runs until somebody ends it. */
  async function startWorkflow({ id }: Task): Promise<void> {
    await client.workflow.start('mediaTask', { workflowId: id, taskQueue: 'nobody' });
  }

  function repair(settings: { graceSeconds?: number; client?: Client } = {}): TaskRepair {
    const workflows = createWorkflowAccess(settings.client ?? client);
    return createTaskRepair({
      database: testDatabase.database,
      workflows,
      metrics: createMetrics(),
      log: silent,
      ...settings,
    });
  }

  const stand = async (task: Task): Promise<unknown> => {
    const { status, failure } = await reloadTask(testDatabase.database, task);
    return failure ? `${status}: ${failure.code}` : status;
  };

  it('refunds a task whose workflow was terminated or is missing, without an event', async () => {
    const [terminated, missing] = await Promise.all([overdueTask(), overdueTask()]);
    await startWorkflow(terminated);
    await client.workflow.getHandle(terminated.id).terminate();
    await repair().repairSome();
    expect(await stand(terminated)).to.equal('failed: processing_timeout');
    expect(await stand(missing)).to.equal('failed: processing_timeout');
    const account = await reloadAccount(testDatabase.database, { id: key.accountId });
    expect([account.fundedReserved, account.signupReserved]).to.deep.equal([0n, 0n]);
    expect(await testDatabase.database('events')).to.deep.equal([]);
  });

  it('leaves the refund of a task that an upstream may render to a workflow, which cancels the job', async () => {
    const [rendering, unclear] = await Promise.all([overdueTask(), overdueTask()]);
    await submitTask(testDatabase.database, rendering, 'job_1');
    await openTaskSubmission(testDatabase.database, unclear);
    await repair().repairSome();
    expect([await stand(rendering), await stand(unclear)]).to.deep.equal(['processing', 'queued']);
    const started = await claimTasksToStart(testDatabase.database, { limit: 10, retryAfterSeconds: 60 });
    expect(started.map(({ id }) => id).toSorted()).to.deep.equal([rendering.id, unclear.id].toSorted());
  });

  it('leaves a task alone whose workflow runs, and looks again later', async () => {
    const task = await overdueTask();
    await startWorkflow(task);
    await repair().repairSome();
    expect(await stand(task)).to.equal('queued');
    await client.workflow.getHandle(task.id).terminate();
    await repair().repairSome();
    expect(await stand(task), 'not at once').to.equal('queued');
    await testDatabase.database('tasks').where({ id: task.id }).update({ next_start_at: new Date() });
    await repair().repairSome();
    expect(await stand(task)).to.equal('failed: processing_timeout');
  });

  it('leaves a task to its workflow until the grace has passed, and a task that was never started to the relay', async () => {
    const inTime = await overdueTask({ deadlineAt: new Date(Date.now() - 1_000) });
    const notStarted = await createTaskRow(testDatabase.database, key, { id: newId('task', Date.now() - HOUR_MS) });
    await repair().repairSome();
    expect([await stand(inTime), await stand(notStarted)]).to.deep.equal(['queued', 'queued']);
    await repair({ graceSeconds: 0 }).repairSome();
    expect([await stand(inTime), await stand(notStarted)]).to.deep.equal(['failed: processing_timeout', 'queued']);
  });

  it('decides nothing while Temporal does not answer', async () => {
    const task = await overdueTask();
    const nowhere = Connection.lazy({ address: '127.0.0.1:9' });
    const failure = await repair({ client: new Client({ connection: nowhere }) })
      .repairSome()
      .catch((error: unknown) => error);
    await nowhere.close();
    expect(failure).to.have.property('code', 'processing_unavailable');
    expect(await stand(task)).to.equal('queued');
  });
});
