import { connect } from 'node:net';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { waitUntil } from '../../../../bin/stack/wait-until.ts';
import { sumRefunds } from '../../../../db/queries/statements.ts';
import { findTask } from '../../../../db/queries/tasks.ts';
import { ServiceError } from '../../../../domain/errors.ts';
import { reasonOf } from '../../../../domain/task.ts';
import { eventually, PATIENCE_MS } from '../../../support/eventually.ts';
import { useTestApp } from '../../../support/app.ts';
import { type Answer, call, useTestStack, type TestStack } from '../../../support/stack.ts';
import {
  createTask,
  simulatorJobs,
  type TaskBody,
  taskWhen,
  taskWhenFinal,
  transfersOf,
} from '../../../support/tasks.ts';
import { type RecordingReceiver, startRecordingReceiver } from '../../../support/receiver.ts';
import { createWebhookClient } from '../../../support/webhooks.ts';

interface Action {
  readonly id: string;
  readonly task: TaskBody;
  readonly count: number;
}

interface Explanation {
  readonly verdict: string;
  readonly lines: readonly string[];
  readonly workflow: { readonly status: string; readonly pending: readonly string[] } | null;
  readonly transfers: readonly { readonly kind: string }[];
  readonly deliveries: readonly { readonly status: string }[];
  readonly operator_actions: readonly { readonly kind: string; readonly author: string }[];
  readonly events: readonly { readonly source: string; readonly text: string }[];
}

describe('operators', () => {
  const stack = useTestStack();
  let apiKey: string;

  before(async () => {
    await Promise.all([stack.api.start(), stack.worker.start()]);
    ({ apiKey } = await stack.createAccount());
  });

  function act(
    taskId: string,
    action: string,
    body: unknown = { reason: 'a test' },
  ): Promise<Answer<{ data: Action }>> {
    return call(`${stack.baseUrl}/admin/v1/tasks/${taskId}/${action}`, { key: stack.adminToken, body });
  }

  async function explain(taskId: string): Promise<Explanation> {
    const url = `${stack.baseUrl}/admin/v1/tasks/${taskId}/explanation`;
    return (await call<{ data: Explanation }>(url, { key: stack.adminToken })).body.data;
  }

  async function stuckTask(): Promise<TaskBody> {
    const { id } = await createTask(stack, apiKey, 'A hidden prompt [sim:stuck]');
    return taskWhen(stack, apiKey, id, 'processing');
  }

  async function succeededTask(key = apiKey): Promise<TaskBody> {
    const task = await taskWhenFinal(stack, key, (await createTask(stack, key, 'A hidden prompt')).id);
    await stack.temporal.workflow.getHandle(task.id).result();
    return task;
  }

  it('cancel a task: its job is cancelled, its price refunded, and its failure announced', async () => {
    // contract 3:5 3:13 4.11:33
    const { id } = await stuckTask();
    const { status, body } = await act(id, 'cancel', { reason: 'the provider has lost it', author: 'Ada' });
    expect(status).to.equal(202);
    expect(body.data).to.include({ object: 'operator_action', kind: 'cancel', task_id: id, author: 'Ada' });
    const task = await taskWhenFinal(stack, apiKey, id);
    expect(task).to.include({ status: 'failed', error_code: 'processing_failed', retryable: true });
    expect(task.error_message).to.equal('The task was cancelled by an operator. Nothing was charged.');
    expect(await transfersOf(stack, id)).to.deep.equal(['reservation', 'refund']);
    await expectReason(id, 'cancelled_by_operator');
    await stack.temporal.workflow.getHandle(id).result();
    expect(await stack.database('events').where({ task_id: id }).pluck('type')).to.deep.equal(['task.failed']);
    expect(await simulatorJobs(stack, id))
      .to.have.length(1)
      .and.to.have.nested.property('[0].status', 'cancelled');
  });

  /** Checks that the task, the ledger and the refunds have the same reason. */
  async function expectReason(taskId: string, reason: string): Promise<void> {
    const task = await findTask(stack.database, taskId);
    expect(task?.failure && reasonOf(task.failure)).to.equal(reason);
    const entries = await call(`${stack.baseUrl}/v1/balance/entries`, { key: apiKey });
    expect(JSON.stringify(entries.body)).to.include(`"failure_reason":"${reason}"`);
    const refunds = await sumRefunds(stack.database, {});
    expect(refunds.map(({ cause }) => cause)).to.include(reason);
  }

  it('cancel a task once, however often they request it', async () => {
    const { id } = await stuckTask();
    const answers = await Promise.all([act(id, 'cancel'), act(id, 'cancel', { reason: 'another' })]);
    await taskWhenFinal(stack, apiKey, id);
    const late = await act(id, 'cancel');
    expect(new Set([...answers, late].map(({ body }) => body.data.id)).size).to.equal(1);
    expect(late.status).to.equal(202);
    expect(await stack.database('operator_actions').where({ task_id: id })).to.have.length(1);
    expect(await transfersOf(stack, id)).to.deep.equal(['reservation', 'refund']);
  });

  it('cannot cancel a final task, act without a reason, or act on a task that does not exist', async () => {
    // contract 4.11:33 4.11:34
    const { id } = await succeededTask();
    const refusals = await Promise.all([
      act(id, 'cancel'),
      act(id, 'redeliver'),
      act(id, 'cancel', {}),
      act(id, 'cancel', { reason: '' }),
      act('task_unknown', 'cancel'),
      act('task_unknown', 'redeliver'),
      call(`${stack.baseUrl}/admin/v1/tasks/task_unknown/explanation`, { key: stack.adminToken }),
      call(`${stack.baseUrl}/admin/v1/tasks/${id}/cancel`, { key: apiKey, body: { reason: 'mine' } }),
    ]);
    expect(refusals.map(({ status }) => status)).to.deep.equal([400, 400, 400, 400, 404, 404, 404, 401]);
    expect(await stack.database('operator_actions').where({ task_id: id })).to.deep.equal([]);
  });

  describe('with a webhook', () => {
    let receiver: RecordingReceiver;
    let ownKey: string;
    let task: TaskBody;

    before(async () => {
      receiver = await startRecordingReceiver((response, number) => response.writeHead(number === 1 ? 410 : 200).end());
      ({ apiKey: ownKey } = await stack.createAccount());
      const webhooks = createWebhookClient(stack, ownKey);
      const { id } = await webhooks.create(receiver.url);
      task = await succeededTask(ownKey);
      await waitUntil(async () => expect((await webhooks.get(id)).enabled).to.equal(false), { timeoutMs: PATIENCE_MS });
      await webhooks.update(id, { enabled: true });
    });
    after(() => receiver.close());

    it('send the events of a task again', async () => {
      // contract 4.11:34
      const { status, body } = await act(task.id, 'redeliver');
      expect(status).to.equal(202);
      expect(body.data).to.include({ kind: 'redeliver', count: 1 });
      await receiver.received(2);
      const ids = receiver.requests.map(({ headers }) => headers['webhook-id']);
      expect(ids[1]).to.equal(ids[0]);
    });

    it('read its timeline in order, from every source of events', async () => {
      // contract 4.11:32
      await waitUntil(
        async () => expect((await explain(task.id)).deliveries[0]).to.have.property('status', 'delivered'),
        { timeoutMs: PATIENCE_MS },
      );
      const { verdict, events, transfers, operator_actions, workflow } = await explain(task.id);
      expect(verdict).to.equal('Succeeded; $0.50 charged.');
      expect(transfers.map(({ kind }) => kind)).to.deep.equal(['reservation', 'settlement']);
      expect(operator_actions).to.have.length(1);
      expect(workflow).to.include({ status: 'COMPLETED' });
      const story = events.map(({ source, text }) => `${source}: ${text}`).join('\n');
      expect(story).to.match(
        new RegExp(
          [
            'task: Created by request req_',
            'ledger: .*0.50?.*: tr_',
            'workflow: The workflow started: Render a video with vidone-3.0',
            'workflow: Reserved \\$0.50',
            'workflow: Submit the job to the provider: done',
            'workflow: Wait for the provider: done',
            'workflow: Store and check the result: done',
            'ledger: .*0.50?.*: tr_',
            'workflow: Charged \\$0.50',
            'workflow: Deliver task.succeeded to a webhook endpoint: del_',
            'delivery: del_.+, attempt 1: HTTP 410',
            'operator: redeliver by admin: a test',
            'delivery: del_.+, attempt 2: HTTP 200',
          ].join('[^]*'),
        ),
      );
      expect(story).to.include('task: Ended as succeeded').and.not.include('hidden');
    });

    it('read it as text when they request text', async () => {
      // contract 4.11:32
      const answer = await fetch(`${stack.baseUrl}/admin/v1/tasks/${task.id}/explanation`, {
        headers: { authorization: `Bearer ${stack.adminToken}`, accept: 'text/plain' },
      });
      expect(answer.headers.get('content-type')).to.match(/^text\/plain/);
      const { lines } = await explain(task.id);
      expect(await answer.text()).to.equal(`${lines.join('\n')}\n`);
      expect(lines[0]).to.equal(`${task.id}: Succeeded; $0.50 charged.`);
      expect(lines[1]).to.match(/^\d{4}-\d\d-\d\dT[\d:.]+Z {2}task {6}Created by request req_/);
    });
  });

  it('read the current step of a task, here and in the Temporal UI', async () => {
    const { id } = await stuckTask();
    await waitUntil(async () => expect((await explain(id)).workflow?.pending[0]).to.include('heartbeat'), {
      timeoutMs: PATIENCE_MS,
    });
    const { verdict, workflow } = await explain(id);
    expect(verdict).to.equal('In progress; $0.50 on hold.');
    expect(workflow?.pending[0]).to.match(
      /^Wait for the provider: in progress, attempt 1; heartbeat of .+"state":"running"/,
    );
    expect(await currentDetailsOf(id)).to.match(/^Waiting for job .+ until 20.+Z at the latest/);
    await act(id, 'cancel');
    await stack.temporal.workflow.getHandle(id).result();
    expect(await currentDetailsOf(id)).to.match(/^Ended: the task is failed\. Ledger row: tr_/);
  });

  describe('who terminate or reset a workflow', () => {
    it('move no money a second time by a reset of a task that succeeded', async () => {
      const { id } = await succeededTask();
      const [before] = await stack.database('tasks').where({ id });
      for (const from of ['last', 'first'] as const) {
        expect(await resetWorkflow(stack, id, from)).to.have.property('reservationId', before.reservation_id);
        expect(await transfersOf(stack, id)).to.deep.equal(['reservation', 'settlement']);
        expect((await stack.database('tasks').where({ id }))[0]).to.deep.equal(before);
      }
      expect(await simulatorJobs(stack, id)).to.have.length(1);
    });

    it('move no money a second time by a reset of a task that failed', async () => {
      const { id } = await createTask(stack, apiKey, 'x [sim:fail=bad_request]');
      const task = await taskWhenFinal(stack, apiKey, id);
      await stack.temporal.workflow.getHandle(id).result();
      for (const from of ['last', 'first'] as const) {
        await resetWorkflow(stack, id, from);
        expect(await transfersOf(stack, id)).to.deep.equal(['reservation', 'refund']);
        expect((await taskWhenFinal(stack, apiKey, id)).error_code).to.equal(task.error_code);
      }
    });

    it('leave a task with its hold by a termination, and complete it by a reset', async () => {
      const { id } = await createTask(stack, apiKey, 'x [sim:render_ms=1500]');
      await taskWhen(stack, apiKey, id, 'processing');
      await stack.temporal.workflow.getHandle(id).terminate('a test');
      const { verdict, lines } = await explain(id);
      expect(verdict).to.match(
        /^In progress; \$0\.50 on hold, but the workflow of the task is closed \(TERMINATED\)\. Genway refunds/,
      );
      expect(lines.at(-1)).to.include('The workflow was terminated by').and.to.include('a test');
      expect(await transfersOf(stack, id)).to.deep.equal(['reservation']);
      await resetWorkflow(stack, id, 'first');
      expect((await taskWhenFinal(stack, apiKey, id)).status).to.equal('succeeded');
      expect(await transfersOf(stack, id)).to.deep.equal(['reservation', 'settlement']);
      expect(await simulatorJobs(stack, id)).to.have.length(1);
    });

    it('can refund a task at once after a termination, by cancelling it', async () => {
      const { id } = await stuckTask();
      await stack.temporal.workflow.getHandle(id).terminate('a test');
      const { body } = await act(id, 'cancel');
      expect(body.data.task).to.include({ status: 'failed', error_code: 'processing_failed' });
      expect(await transfersOf(stack, id)).to.deep.equal(['reservation', 'refund']);
      await stack.temporal.workflow.getHandle(id).result();
      expect((await simulatorJobs(stack, id))[0], 'nobody pays for its render').to.include({ status: 'cancelled' });
    });
  });

  /** The last of all, since nothing starts the process again. */
  describe('who stop the api process', () => {
    it('have the request in progress answered first, and no new one accepted', async () => {
      const { hostname, port } = new URL(stack.baseUrl);
      const body = JSON.stringify({ model: 'vidone-3.0', prompt: 'x' });
      const socket = connect(Number(port), hostname);
      await once(socket, 'connect');
      const answer = text(socket);
      socket.write(
        `POST /v1/videos/tasks HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${apiKey}\r\n` +
          `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 10)}`,
      );
      // The first connection is accepted before the next one is.
      await call(`${stack.baseUrl}/healthz`);
      const stopped = stack.api.stop();
      await eventually(async () => (await fetch(`${stack.baseUrl}/healthz`).catch(() => null)) === null);
      socket.write(body.slice(10));
      expect(await answer).to.match(/^HTTP\/1\.1 201 Created\r\n/);
      await stopped;
    });
  });

  async function currentDetailsOf(workflowId: string): Promise<string> {
    const handle = stack.temporal.workflow.getHandle(workflowId);
    const { currentDetails } = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
    return currentDetails;
  }
});

describe('operators without Temporal', () => {
  let isDown = true;

  const app = useTestApp({
    workflows: {
      isReachable: async () => !isDown,
      describe: async () => null,
      read: async () => unlessDown(null),
      readEnding: async () => unlessDown(null),
      cancel: async () => unlessDown(false),
      cancelByCustomer: async () => null,
    },
  });

  function unlessDown<Value>(value: Value): Value {
    if (isDown) throw new ServiceError('processing_unavailable', 'Temporal does not answer. Try again.');
    return value;
  }

  it('receive a retryable error, and refund a task that never started when they retry', async () => {
    const { apiKey } = await app.createAccount({ fundedUsd: 10 });
    const created = await call<{ data: TaskBody }>(`${app.baseUrl}/v1/videos/tasks`, {
      key: apiKey,
      body: { model: 'vidone-3.0', prompt: 'x' },
    });
    const { id } = created.body.data;
    const cancel = (): Promise<Answer<{ data: Action }>> =>
      call(`${app.baseUrl}/admin/v1/tasks/${id}/cancel`, { key: app.adminToken, body: { reason: 'a test' } });
    const explain = (): Promise<Answer<{ data: Explanation }>> =>
      call(`${app.baseUrl}/admin/v1/tasks/${id}/explanation`, { key: app.adminToken });

    expect((await explain()).body.data.verdict).to.match(/Temporal does not answer/);
    expect((await cancel()).status).to.equal(503);
    isDown = false;
    expect((await explain()).body.data.verdict).to.match(
      /Temporal has no workflow for the task yet\. Genway refunds the price soon after/,
    );
    const { status, body } = await cancel();
    expect(status).to.equal(202);
    expect(body.data.task).to.include({ status: 'failed', error_code: 'processing_failed' });
    expect(await app.database('operator_actions').where({ task_id: id })).to.have.length(1);
    expect((await explain()).body.data.verdict).to.match(
      /^Failed \(cancelled by an operator\): .+ \$0\.50 refunded in full/,
    );
  });
});

/** Resets the workflow to its first decision, or to the one before its last step. @returns its outcome */
async function resetWorkflow({ temporal }: TestStack, taskId: string, from: 'first' | 'last'): Promise<unknown> {
  const { events } = await temporal.workflow.getHandle(taskId).fetchHistory();
  const decisions = (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes);
  const point = from === 'first' ? decisions[0] : decisions.at(-2);
  await temporal.workflowService.resetWorkflowExecution({
    namespace: temporal.options.namespace,
    workflowExecution: { workflowId: taskId },
    workflowTaskFinishEventId: point?.eventId ?? null,
    requestId: `${taskId}-${from}`,
    reason: 'a test',
  });
  return temporal.workflow.getHandle(taskId).result();
}
