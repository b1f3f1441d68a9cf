import { expect } from 'chai';
import { TASK_QUEUES } from '../../domain/task-queues.ts';
import { ATTEMPT_LIMITS } from '../../db/queries/attempt-limits.ts';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../support/eventually.ts';
import { useTestStack } from '../support/stack.ts';
import { createTask, taskWhenFinal } from '../support/tasks.ts';
import { type RecordingReceiver, startRecordingReceiver } from '../support/receiver.ts';
import { createWebhookClient } from '../support/webhooks.ts';

interface Tenant {
  readonly accountId: string;
  readonly apiKey: string;
}

describe('an account beside a greedy account', () => {
  const stack = useTestStack();
  let greedy: Tenant;
  let modest: Tenant;
  const receivers: RecordingReceiver[] = [];

  before(async () => {
    await Promise.all([stack.api.start(), stack.worker.start()]);
    [greedy, modest] = await Promise.all([stack.createAccount(), stack.createAccount()]);
  });
  after(() => Promise.all(receivers.map((receiver) => receiver.close())));

  async function receiver(answer: Parameters<typeof startRecordingReceiver>[0]): Promise<RecordingReceiver> {
    const started = await startRecordingReceiver(answer);
    receivers.push(started);
    return started;
  }

  async function deliveryOf(taskId: string): Promise<string> {
    const { id } = await stack.database('deliveries').where({ task_id: taskId }).first('id');
    return id;
  }

  it('gets its task finished and delivered while few attempts of the greedy account run and the others wait', async () => {
    const silent = await receiver(() => undefined);
    const theirs = createWebhookClient(stack, greedy.apiKey);
    const flooded = await theirs.create(silent.url);
    for (let count = 0; count < 40; count += 10) {
      await Promise.all(Array.from({ length: 10 }, () => theirs.test(flooded.id)));
    }
    await silent.received(ATTEMPT_LIMITS.perEndpoint);

    const hook = await receiver((response) => response.end());
    await createWebhookClient(stack, modest.apiKey).create(hook.url);
    const { id } = await createTask(stack, modest.apiKey, 'x');
    await taskWhenFinal(stack, modest.apiKey, id);
    await hook.received(1);

    expect(silent.requests.length).to.be.within(ATTEMPT_LIMITS.perEndpoint, 2 * ATTEMPT_LIMITS.perEndpoint);
    const waiting = await stack
      .database('deliveries')
      .where({ endpoint_id: flooded.id, attempts: 0 })
      .whereNull('workflow_started_at');
    expect(waiting.length).to.be.at.least(40 - 2 * ATTEMPT_LIMITS.perEndpoint);
    await theirs.remove(flooded.id);
  });

  it('gets its task finished long before all tasks of the greedy account, which wait in PostgreSQL', async () => {
    // A quick machine would finish the tasks of the greedy account as fast as they are created.
    await stack.worker.stop();
    const flood = Array.from({ length: 60 }, () => createTask(stack, greedy.apiKey, 'x'));
    await Promise.all(flood);
    const { id } = await createTask(stack, modest.apiKey, 'x');
    await stack.worker.start();
    await taskWhenFinal(stack, modest.apiKey, id);
    await waitUntil(
      async () => {
        const [left] = await stack.database('tasks').whereNull('completed_at').count('* as tasks');
        if (Number(left?.['tasks']) > 0) throw new Error(`${left?.['tasks']} tasks are not done`);
      },
      { timeoutMs: PATIENCE_MS, pauseMs: 250 },
    );
    const { completed_at: doneAt } = await stack.database('tasks').where({ id }).first('completed_at');
    const theirs = await stack
      .database('tasks')
      .where({ account_id: greedy.accountId })
      .where('completed_at', '>', doneAt);
    expect(theirs.length).to.be.above(30);
    expect(theirs.filter((task) => task.workflow_started_at > doneAt)).to.not.be.empty;
  });

  it('takes turns with the greedy account in every task queue', async () => {
    const hook = await receiver((response) => response.end());
    const { id: endpointId } = await createWebhookClient(stack, modest.apiKey).create(hook.url);
    const { id } = await createTask(stack, modest.apiKey, 'x');
    await taskWhenFinal(stack, modest.apiKey, id);
    await hook.received(1);
    const test = await createWebhookClient(stack, modest.apiKey).test(endpointId);
    await hook.received(2);
    const shares: unknown[] = [];
    for (const workflowId of [id, await deliveryOf(id), test.id]) {
      const { priority } = await stack.temporal.workflow.getHandle(workflowId).describe();
      shares.push([priority?.fairnessKey, priority?.priorityKey]);
    }
    expect(shares).to.deep.equal([
      [modest.accountId, 3],
      [modest.accountId, 3],
      [modest.accountId, 4],
    ]);
  });

  it('gets its deliveries attempted in other slots than test events', async () => {
    const hook = await receiver((response) => response.end());
    const webhooks = createWebhookClient(stack, greedy.apiKey);
    const test = await webhooks.test((await webhooks.create(hook.url)).id);
    const { id } = await createTask(stack, greedy.apiKey, 'x');
    await taskWhenFinal(stack, greedy.apiKey, id);
    await hook.received(2);
    expect(await attemptQueue(test.id)).to.equal(TASK_QUEUES.webhookTests);
    expect(await attemptQueue(await deliveryOf(id))).to.equal(TASK_QUEUES.webhooks);
  });

  async function attemptQueue(deliveryId: string): Promise<unknown> {
    const { events } = await stack.temporal.workflow.getHandle(deliveryId).fetchHistory();
    const scheduled = events?.find((event) => event.activityTaskScheduledEventAttributes);
    return scheduled?.activityTaskScheduledEventAttributes?.taskQueue?.name;
  }
});
