import { expect } from 'chai';
import { listSubmissions } from '../../db/queries/submissions.ts';
import { WorkflowNotFoundError } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { call, useTestStack, type TestStack } from '../support/stack.ts';
import { createTask, simulatorJobs, taskWhenFinal, transfersOf, type TaskBody } from '../support/tasks.ts';
import { createWebhookClient } from '../support/webhooks.ts';

describe('a media task', () => {
  let apiKey: string;
  let accountId: string;

  const stack = useTestStack();
  before(async () => {
    await Promise.all([stack.api.start(), stack.worker.start()]);
    ({ apiKey, accountId } = await stack.createAccount({ fundedUsd: 50 }));
  });

  async function restartApi(env: Readonly<Record<string, string>> = {}): Promise<void> {
    await stack.api.stop();
    await stack.api.start(env);
  }

  const create = (prompt: string): Promise<TaskBody> => createTask(stack, apiKey, prompt);
  const final = (task: TaskBody): Promise<TaskBody> => taskWhenFinal(stack, apiKey, task.id);

  it('renders, stores and charges its result', async () => {
    // contract 1:1 2.2:3 3:3 3:4
    const created = await create('A lighthouse');
    expect(created).to.include({ status: 'queued', output: null, poll_after_seconds: 8 });
    const task = await final(created);
    expect(task).to.include({ status: 'succeeded', stage: 'succeeded', error_code: null });
    expect(task.usage).to.include({
      credits_reserved: 0.5,
      credits_charged: 0.5,
      credits_settled: 0.5,
      credits_refunded: 0,
    });
    expect(task.output?.media).to.have.length(1);
    expect(task.output?.r2_url).to.equal(task.output?.media[0]?.url);
    const file = await fetch(task.output?.r2_url ?? '');
    expect(file.status).to.equal(200);
    expect(file.headers.get('content-type')).to.equal('video/mp4');
    expect((await file.arrayBuffer()).byteLength).to.be.greaterThan(1000);
    expect(await transfersOf(stack, created.id)).to.deep.equal(['reservation', 'settlement']);
  });

  it('shows one video, and stores no more, however many files the upstream created', async () => {
    // contract 2.2:1
    const task = await final(await create('A lighthouse [sim:files=3]'));
    const urls = (task.output?.media ?? []).map(({ url }) => url);
    expect(urls).to.have.length(1);
    const statuses = await Promise.all([0, 1, 2].map(async (index) => (await fetch(nth(urls[0], index))).status));
    expect(statuses).to.deep.equal([200, 404, 404]);
  });

  it('shows every picture that the upstream created', async () => {
    // contract 2.2:1 2.2:2
    const { body } = await call<{ data: TaskBody }>(`${stack.baseUrl}/v1/images/tasks`, {
      key: apiKey,
      body: { model: 'imagea-2.5-sunburst', prompt: 'A lighthouse [sim:files=3]' },
    });
    expect((await final(body.data)).output?.media).to.have.length(3);
  });

  it('ends in a full refund when the provider fails', async () => {
    // contract 1:8 3:5 7.2:16
    const task = await final(await create('A storm [sim:fail=processing_failed]'));
    expect(task).to.include({ status: 'failed', error_code: 'processing_failed', retryable: true, output: null });
    expect(task.usage).to.include({
      credits_reserved: 0.5,
      credits_charged: 0,
      credits_settled: 0,
      credits_refunded: 0.5,
    });
    expect(await transfersOf(stack, task.id)).to.deep.equal(['reservation', 'refund']);
  });

  for (const code of ['content_policy_violation', 'bad_request', 'processing_unavailable', 'processing_failed']) {
    it(`fails with ${code} when the provider refuses or fails it with this code`, async () => {
      // contract 3:5 4.2:14 7.2:1 7.2:2 7.3:2 7.3:3
      const tasks = await Promise.all([create(`x [sim:reject=${code}]`), create(`x [sim:fail=${code}]`)]);
      for (const task of await Promise.all(tasks.map(final))) {
        expect(task).to.include({ status: 'failed', error_code: code });
        expect(task.error_message).to.be.a('string').and.not.equal('');
      }
    });
  }

  it('fails with result_transfer_failed when the result is missing, truncated or of the wrong type', async () => {
    // contract 2.2:11 3:5 7.2:17
    const tasks = await Promise.all(
      ['missing', 'truncated', 'wrong_type'].map((fault) => create(`x [sim:result=${fault}]`)),
    );
    for (const task of await Promise.all(tasks.map(final))) {
      expect(task).to.include({ status: 'failed', error_code: 'result_transfer_failed', retryable: true });
    }
  });

  it('fails with processing_timeout at its deadline, ends in a refund and causes no event', async () => {
    // contract 3:6 6:2 7.2:15
    await restartApi({ GENWAY_TASK_DEADLINE_S: '6' });
    const created = await create('x [sim:stuck]');
    await restartApi();
    const task = await final(created);
    expect(task).to.include({ status: 'failed', error_code: 'processing_timeout', retryable: true });
    expect(await transfersOf(stack, task.id)).to.deep.equal(['reservation', 'refund']);
    expect(await stack.database('events').where({ task_id: task.id })).to.deep.equal([]);
    const [submission] = await listSubmissions(stack.database, task.id);
    expect(submission).to.include({ outcome: 'accepted', code: 'processing_timeout' });
    expect(submission?.detail, 'the last words of the upstream').to.contain('drawing');
  });

  it('renders once when the outcome of its submission is unknown', async () => {
    const task = await final(await create('x [sim:drop_submit]'));
    expect(task.status).to.equal('succeeded');
    expect(await simulatorJobs(stack, task.id)).to.have.length(1);
  });

  it('continues when polls fail', async () => {
    expect((await final(await create('x [sim:poll_errors=3]'))).status).to.equal('succeeded');
  });

  it('stores its result even if the result arrives slowly', async () => {
    expect((await final(await create('x [sim:result=slow]'))).status).to.equal('succeeded');
  });

  it('shows operators its progress in search attributes and ledger ids', async () => {
    const task = await final(await create('x'));
    const handle = stack.temporal.workflow.getHandle(task.id);
    const outcome = await handle.result();
    const row = await stack.database('tasks').where({ id: task.id }).first('reservation_id', 'resolution_id');
    expect(outcome).to.include({
      status: 'succeeded',
      reservationId: row.reservation_id,
      resolutionId: row.resolution_id,
    });
    const { searchAttributes } = await handle.describe();
    expect(searchAttributes).to.deep.include({
      GenwayAccount: [accountId],
      GenwayModel: ['vidone-3.0'],
      GenwayKind: ['video'],
      GenwayOutcome: ['succeeded'],
    });
  });

  it('records one step in its history for each step of the business, with its outcome', async () => {
    const webhook = await createWebhookClient(stack, apiKey).create('http://127.0.0.1:9/');
    const tasks = await Promise.all(['x', 'x [sim:fail=processing_failed]', 'x [sim:reject=bad_request]'].map(create));
    for (const task of tasks) await final(task);
    await createWebhookClient(stack, apiKey).remove(webhook.id);
    const histories = await Promise.all(tasks.map(({ id }) => stepsOf(stack, id)));
    expect(histories).to.deep.equal([
      ['reserve', 'dispatch', 'awaitResult', 'storeResult', 'settle', 'webhookDelivery'],
      ['reserve', 'dispatch', 'awaitResult: processing_failed', 'refund', 'webhookDelivery'],
      ['reserve', 'dispatch: bad_request', 'refund', 'webhookDelivery'],
    ]);
  });

  it('takes 27 events of history for a task that succeeds, as the deployment guide says', async () => {
    const { id } = await final(await create('x'));
    const handle = stack.temporal.workflow.getHandle(id);
    await handle.result();
    expect((await handle.describe()).historyLength).to.equal(27);
  });

  it('records in the history the facts about its job, and never the address of the result', async () => {
    const { id } = await final(await create('x'));
    const { events } = await stack.temporal.workflow.getHandle(id).fetchHistory();
    const results = (events ?? []).flatMap(({ activityTaskCompletedEventAttributes: completed }) =>
      (completed?.result?.payloads ?? []).map((payload) => defaultPayloadConverter.fromPayload<object>(payload)),
    );
    expect(results[1]).to.have.keys('files', 'endedAt').and.to.include({ files: 1 });
  });

  it('starts deliveries with search attributes for account, kind and task', async () => {
    const webhook = await createWebhookClient(stack, apiKey).create('http://127.0.0.1:9/');
    const { id } = await final(await create('x'));
    await createWebhookClient(stack, apiKey).remove(webhook.id);
    await stack.temporal.workflow.getHandle(id).result();
    const delivery = await stack.database('deliveries').where({ task_id: id }).first('id');
    const { searchAttributes, memo, staticSummary } = await describeWithSummary(stack, delivery.id);
    expect(searchAttributes).to.deep.include({ GenwayAccount: [accountId], GenwayKind: ['task.succeeded'] });
    expect(memo).to.deep.equal({ task_id: id });
    expect(staticSummary).to.equal('Deliver task.succeeded to a webhook endpoint');
  });

  it('exists in Temporal under no other id', async () => {
    const missing = await stack.temporal.workflow
      .getHandle('task_unknown')
      .describe()
      .catch((error: unknown) => error);
    expect(missing).to.be.instanceOf(WorkflowNotFoundError);
  });
});

/** The steps of a task in order, each with the code of its failure, and the deliveries. */
async function stepsOf({ temporal }: TestStack, taskId: string): Promise<readonly string[]> {
  const handle = temporal.workflow.getHandle(taskId);
  await handle.result();
  const events = (await handle.fetchHistory()).events ?? [];
  return events.flatMap((event) => {
    const scheduled = event.activityTaskScheduledEventAttributes;
    const [local] = event.markerRecordedEventAttributes?.details?.['data']?.payloads ?? [];
    const failure = events
      .map(({ activityTaskFailedEventAttributes: failed }) => failed)
      .find((failed) => String(failed?.scheduledEventId) === String(event.eventId))?.failure;
    const name =
      scheduled?.activityType?.name ??
      (local && defaultPayloadConverter.fromPayload<{ activity_type: string }>(local).activity_type) ??
      event.startChildWorkflowExecutionInitiatedEventAttributes?.workflowType?.name;
    return name ? [failure ? `${name}: ${failure.applicationFailureInfo?.type}` : name] : [];
  });
}

async function describeWithSummary({ temporal }: TestStack, workflowId: string) {
  const description = await temporal.workflow.getHandle(workflowId).describe();
  return { ...description, staticSummary: await description.staticSummary() };
}

/** The link of another file of the same task. */
function nth(url: string | undefined, index: number): string {
  return (url ?? '').replace(/\/0\.(?=\w+$)/, `/${index}.`);
}
