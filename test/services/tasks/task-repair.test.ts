import type { Client } from '@temporalio/client';
import { expect } from 'chai';
import { pino } from 'pino';
import { recoverTasks } from '../../../services/tasks/recovery/recover-tasks.ts';
import { startRelay } from '../../../services/tasks/relay.ts';
import { repairTasks } from '../../../services/tasks/task-repair.ts';
import { createTaskStarter } from '../../../services/tasks/task-starter.ts';
import { createWorkflowAccess } from '../../../services/tasks/workflow-access.ts';
import { markWorkflowsStarted } from '../../../db/queries/tasks.ts';
import { newId } from '../../../domain/ids.ts';
import { ENDING_MEMO, type RecordedEnding, type Task } from '../../../domain/task.ts';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../../support/eventually.ts';
import { createMetrics } from '../../../telemetry/metrics.ts';
import { useTestDatabase } from '../../support/database.ts';
import { createFundedKey, createTaskRow, reloadTask, type TestKey } from '../../support/factories.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { useTestTemporal } from '../../support/temporal.ts';

const HOUR_MS = 3_600_000;
const silent = pino({ level: 'silent' });

describe('the repair of abandoned tasks', () => {
  const testDatabase = useTestDatabase();
  const temporal = useTestTemporal();
  let client: Client;
  let key: TestKey;

  before(async () => {
    ({ client } = temporal);
    key = await createFundedKey(testDatabase.database);
  });

  /** A task whose deadline has passed, and whose workflow was started. */
  async function overdueTask(settings: Parameters<typeof createTaskRow>[2] = {}): Promise<Task> {
    const { database } = testDatabase;
    const id = newId('task', Date.now() - HOUR_MS);
    const task = await createTaskRow(database, key, { id, ...settings });
    await markWorkflowsStarted(database, [id]);
    return task;
  }

  /** No worker executes the workflow, so it runs until it is ended from outside. */
  async function startWorkflow({ id }: Task, memo: Record<string, unknown> = {}): Promise<void> {
    await client.workflow.start('mediaTask', { workflowId: id, taskQueue: 'nobody', memo });
  }

  function repair({ at = client, graceSeconds }: { graceSeconds?: number; at?: Client } = {}) {
    const common = { database: testDatabase.database, metrics: createMetrics(), log: silent };
    const starter = createTaskStarter({ ...common, client: at });
    return repairTasks({ ...common, workflows: createWorkflowAccess(at), starter }, graceSeconds);
  }

  /** The state of the latest workflow of a task, or undefined. */
  const workflowOf = ({ id }: Task): Promise<string> =>
    client.workflow
      .getHandle(id)
      .describe()
      .then(
        ({ status }) => status.name,
        () => 'missing',
      );

  const stand = async (task: Task): Promise<unknown> => {
    const { status, failure } = await reloadTask(testDatabase.database, task);
    return failure ? `${status}: ${failure.code}` : status;
  };

  it('restarts the workflow of a task whose workflow was terminated or is missing', async () => {
    const [terminated, missing] = await Promise.all([overdueTask(), overdueTask()]);
    await startWorkflow(terminated);
    await client.workflow.getHandle(terminated.id).terminate();
    await repair();
    expect(await Promise.all([terminated, missing].map(workflowOf))).to.deep.equal(['RUNNING', 'RUNNING']);
    expect(await Promise.all([terminated, missing].map(stand))).to.deep.equal(['queued', 'queued']);
  });

  it('skips a task whose workflow runs, and checks again later', async () => {
    const task = await overdueTask();
    await startWorkflow(task);
    await repair();
    await client.workflow.getHandle(task.id).terminate();
    await repair();
    expect(await workflowOf(task), 'not at once').to.equal('TERMINATED');
    await testDatabase.database('tasks').where({ id: task.id }).update({ next_start_at: new Date() });
    await repair();
    expect(await workflowOf(task)).to.equal('RUNNING');
  });

  it('leaves a task to its workflow until the grace has passed, and a task without a started workflow to the relay', async () => {
    const inTime = await overdueTask({ deadlineAt: new Date(Date.now() - 1_000) });
    const notStarted = await createTaskRow(testDatabase.database, key, { id: newId('task', Date.now() - HOUR_MS) });
    await repair();
    expect(await Promise.all([inTime, notStarted].map(workflowOf))).to.deep.equal(['missing', 'missing']);
    await repair({ graceSeconds: 0 });
    expect(await Promise.all([inTime, notStarted].map(workflowOf))).to.deep.equal(['RUNNING', 'missing']);
  });

  it('leaves a task with a running workflow to it even without a recorded start, and refunds a task without a workflow, without an event', async () => {
    const { database } = testDatabase;
    const past = { nextStartAt: new Date(Date.now() - 1_000) };
    const row = () => createTaskRow(database, key, { id: newId('task', Date.now() - HOUR_MS), ...past });
    const [begun, notBegun] = await Promise.all([row(), row()]);
    await startWorkflow(begun);
    const common = { database, metrics: createMetrics(), log: silent };
    const relay = startRelay({
      ...common,
      starter: createTaskStarter({ ...common, client }),
      deliveryStarter: { startDue: async () => 0 },
      batchStarter: { startDue: async () => 0 },
      workflows: createWorkflowAccess(client),
    });
    await waitUntil(
      async () => {
        expect(await stand(notBegun)).to.equal('failed: processing_timeout');
        expect(await database('tasks').where({ id: begun.id }).pluck('workflow_started_at')).to.not.deep.equal([null]);
      },
      { timeoutMs: PATIENCE_MS },
    );
    await relay.stop();
    expect(await stand(begun)).to.equal('queued');
    expect(await database('transfers').where({ task_id: notBegun.id }).pluck('kind')).to.have.members([
      'reservation',
      'refund',
    ]);
    expect(await database('events')).to.deep.equal([]);
  });

  it('decides nothing while Temporal does not answer', async () => {
    const task = await overdueTask();
    expect(await rejectionOf(repair({ at: temporal.unreachable }))).to.have.property('code', 'processing_unavailable');
    expect(await stand(task)).to.equal('queued');
  });

  it('completes a task whose workflow is still running, if the workflow recorded a refund', async () => {
    const { database } = testDatabase;
    const task = await overdueTask();
    const failure = { code: 'processing_failed', message: 'It failed. Try again.' } as const;
    const recorded: RecordedEnding = {
      ending: { status: 'failed', failure },
      resolutionId: newId('transfer'),
      deliveryIds: [],
    };
    await startWorkflow(task, { [ENDING_MEMO]: recorded });
    const decisions = new Map<string, string>();
    const workflows = createWorkflowAccess(client);
    for await (const { taskId, decision } of recoverTasks({ database, client, workflows }, false)) {
      decisions.set(taskId, decision);
    }
    expect(decisions.get(task.id)).to.equal('failed');
    const { status, resolutionId } = await reloadTask(database, task);
    expect({ status, resolutionId }).to.deep.equal({ status: 'failed', resolutionId: recorded.resolutionId });
  });
});
