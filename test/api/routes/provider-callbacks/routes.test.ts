import { expect } from 'chai';
import { createHmac } from 'node:crypto';
import { waitUntil } from '../../../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../../../support/eventually.ts';
import { listSubmissions, settleSubmission } from '../../../../db/queries/submissions.ts';
import { findTask } from '../../../../db/queries/tasks.ts';
import { ServiceError } from '../../../../domain/errors.ts';
import { newId } from '../../../../domain/ids.ts';
import { type ErrorBody, startTestApp, useTestApp } from '../../../support/app.ts';
import {
  createTaskRow,
  finishAsFailed,
  finishAsSucceeded,
  openTaskSubmission,
  type TestCaller,
} from '../../../support/factories.ts';
import { callbackReaders } from '../../../support/media.ts';
import { useLocalServer } from '../../../support/receiver.ts';
import { type Answer, call, useTestStack } from '../../../support/stack.ts';
import { createTask, simulatorJobs, taskWhenFinal } from '../../../support/tasks.ts';

const SECRET = 'the-secret-of-the-studio';

describe('POST /v1/provider-callbacks/{provider}/{task_id}', () => {
  const announced: string[] = [];
  /** The paths of cancellations. */
  const cancelled: string[] = [];
  let isTemporalDown = false;
  let isVendorDown = false;
  let caller: TestCaller;

  const vendor = useLocalServer((request, response) => {
    cancelled.push(request.url ?? '');
    response.writeHead(isVendorDown ? 500 : 200).end('{}');
  });
  const app = useTestApp(() => ({
    providerCallbacks: {
      readers: new Map([
        ...callbackReaders('studio', SECRET, vendor.url),
        ...callbackReaders('other', 'the-secret-of-another'),
        ...callbackReaders('third', 'the-secret-of-a-third'),
      ]),
      announce: async (taskId) => {
        if (isTemporalDown) throw new ServiceError('processing_unavailable', 'Send it again.');
        announced.push(taskId);
      },
    },
  }));
  before(async () => {
    caller = await app.createAccount({ fundedUsd: 100 });
  });
  beforeEach(() => {
    announced.splice(0);
    cancelled.splice(0);
  });

  const newTask = async (): Promise<string> =>
    (await createTaskRow(app.database, { id: caller.keyId, accountId: caller.accountId }, { provider: 'studio' })).id;

  function announce(
    taskId: string,
    {
      provider = 'studio',
      secret = SECRET,
      body = JSON.stringify({ id: 'job_1', key: taskId, status: 'succeeded' }),
      ageSeconds = 0,
    }: { provider?: string; secret?: string; body?: string; ageSeconds?: number } = {},
  ): Promise<Answer<ErrorBody>> {
    const timestamp = String(Math.floor(Date.now() / 1000) - ageSeconds);
    const signature = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
    return call(`${app.baseUrl}/v1/provider-callbacks/${provider}/${taskId}`, {
      body,
      headers: { 'x-job-timestamp': timestamp, 'x-job-signature': signature },
    });
  }

  function expectRefusal({ status, body }: Answer<ErrorBody>, expected: readonly [number, string]): void {
    expect([status, body.error.code]).to.deep.equal(expected);
    expect(announced).to.deep.equal([]);
  }

  it('passes the provider’s announcement on to the task, without a key', async () => {
    // contract 4.12:5
    const taskId = await newTask();
    expect((await announce(taskId)).status).to.equal(204);
    expect(announced).to.deep.equal([taskId]);
  });

  it('reveals the outcome of a submission whose outcome was unknown', async () => {
    const taskId = await newTask();
    await openTaskSubmission(app.database, { id: taskId }, { provider: 'studio' });
    expect((await announce(taskId)).status).to.equal(204);
    expect(await findTask(app.database, taskId)).to.include({ status: 'processing', providerJobId: 'job_1' });
    const [submission] = await listSubmissions(app.database, taskId);
    expect(submission).to.include({ outcome: 'accepted', evidence: 'the callback' });
    expect(announced).to.deep.equal([taskId]);
  });

  it('changes nothing about a known job', async () => {
    const taskId = await newTask();
    const submission = await openTaskSubmission(app.database, { id: taskId }, { provider: 'studio' });
    const settlement = { outcome: 'accepted', evidence: 'the answer', jobId: 'job_0' } as const;
    await settleSubmission(app.database, submission, settlement);
    expect((await announce(taskId)).status).to.equal(204);
    expect(await findTask(app.database, taskId)).to.include({ providerJobId: 'job_0' });
  });

  it('gives a task no job that belongs to another, whichever upstream of the vendor announces it', async () => {
    const [owner, other] = [await newTask(), await newTask()];
    for (const [id, provider, secret] of [
      [owner, 'studio', SECRET],
      [other, 'other', 'the-secret-of-another'],
    ] as const) {
      await openTaskSubmission(app.database, { id }, { provider });
      const body = JSON.stringify({ id: 'job_of_one', key: id });
      expect((await announce(id, { provider, secret, body })).status).to.equal(204);
    }
    expect(await findTask(app.database, owner)).to.include({ providerJobId: 'job_of_one' });
    expect(await findTask(app.database, other)).to.include({ providerJobId: null });
  });

  describe('about a job that no task waits for', () => {
    const GIVEN_UP = { outcome: 'unknown', evidence: 'nothing' } as const;

    /** A task of `studio` whose submission was abandoned. */
    async function givenUp(): Promise<string> {
      const id = await newTask();
      await settleSubmission(
        app.database,
        await openTaskSubmission(app.database, { id }, { provider: 'studio' }),
        GIVEN_UP,
      );
      return id;
    }

    const announceJob = (id: string, jobId: string): Promise<Answer<ErrorBody>> =>
      announce(id, { body: JSON.stringify({ id: jobId, key: id }) });

    it('cancels the job, if its submission was abandoned and the task refunded', async () => {
      const id = await givenUp();
      await finishAsFailed(app.database, { id });
      expect((await announceJob(id, 'job_refunded')).status).to.equal(204);
      expect(cancelled).to.deep.equal(['/v1/jobs/job_refunded/cancel']);
      expect(announced).to.deep.equal([]);
    });

    it('cancels the job, if the task has another job by now, also at another upstream', async () => {
      for (const provider of ['studio', 'other']) {
        const id = await givenUp();
        const second = await openTaskSubmission(app.database, { id }, { attempt: 2, provider });
        const jobId = `second_job_at_${provider}`;
        await settleSubmission(app.database, second, { outcome: 'accepted', evidence: 'the answer', jobId });
        expect((await announceJob(id, `first_of_${jobId}`)).status).to.equal(204);
        expect(cancelled.splice(0)).to.deep.equal([`/v1/jobs/first_of_${jobId}/cancel`]);
        expect((await announceJob(id, jobId)).status).to.equal(204);
        expect(cancelled).to.deep.equal([]);
      }
    });

    it('cancels the job, if the task failed before the outcome of its submission was known, and records the outcome', async () => {
      const id = await newTask();
      await openTaskSubmission(app.database, { id }, { provider: 'studio' });
      await finishAsFailed(app.database, { id });
      expect((await announceJob(id, 'job_of_the_failed')).status).to.equal(204);
      expect(cancelled).to.deep.equal(['/v1/jobs/job_of_the_failed/cancel']);
      expect((await listSubmissions(app.database, id))[0]).to.include({ jobId: 'job_of_the_failed' });
    });

    it('does not cancel a job that belongs to another task', async () => {
      const owner = await newTask();
      await openTaskSubmission(app.database, { id: owner }, { provider: 'studio' });
      await announceJob(owner, 'job_of_the_owner');
      expect((await announceJob(await givenUp(), 'job_of_the_owner')).status).to.equal(204);
      expect(cancelled).to.deep.equal([]);
    });

    it('answers 503 while the job cannot be cancelled, so that the provider repeats the callback', async () => {
      const id = await givenUp();
      await finishAsFailed(app.database, { id });
      isVendorDown = true;
      expectRefusal(await announceJob(id, 'job_that_goes_on'), [503, 'processing_unavailable']);
      isVendorDown = false;
      expect((await announceJob(id, 'job_that_goes_on')).status).to.equal(204);
    });
  });

  it('answers 401 when the signature is wrong, missing, too old or of another provider', async () => {
    // contract 4.12:5 7.2:24
    const taskId = await newTask();
    expectRefusal(await announce(taskId, { secret: 'guessed' }), [401, 'invalid_signature']);
    expectRefusal(await announce(taskId, { ageSeconds: 301 }), [401, 'invalid_signature']);
    expectRefusal(await announce(taskId, { provider: 'other' }), [401, 'invalid_signature']);
    expectRefusal(await call(`${app.baseUrl}/v1/provider-callbacks/studio/${taskId}`, { body: '{}' }), [
      401,
      'invalid_signature',
    ]);
  });

  for (const body of ['', 'x', '[]', '{}', '{"id": 1, "key": 2}', '['.repeat(100_000)]) {
    it(`answers 401 to a signed body that names no job: ${body.slice(0, 20)}`, async () => {
      expectRefusal(await announce(await newTask(), { body }), [401, 'invalid_signature']);
    });
  }

  it('answers 404 for providers without callbacks, and for tasks of other providers', async () => {
    const taskId = await newTask();
    expectRefusal(await announce(taskId, { provider: 'nobody' }), [404, 'not_found']);
    expectRefusal(await announce(taskId, { provider: 'other', secret: 'the-secret-of-another' }), [404, 'not_found']);
    expectRefusal(await announce(newId('task')), [404, 'not_found']);
    expectRefusal(await announce('%00', { body: JSON.stringify({ id: 'job_1', key: '\0' }) }), [404, 'not_found']);
  });

  it('answers 404 when the body names another task than the address', async () => {
    const [taskId, other] = [await newTask(), await newTask()];
    const body = JSON.stringify({ id: 'job_1', key: other });
    expectRefusal(await announce(taskId, { body }), [404, 'not_found']);
  });

  it('has no effect on a final task', async () => {
    const taskId = await newTask();
    await finishAsSucceeded(app.database, { id: taskId });
    expect((await announce(taskId)).status).to.equal(204);
    expect(announced).to.deep.equal([]);
  });

  it('answers 503 while the callback cannot be passed on, so that the provider repeats it', async () => {
    const taskId = await newTask();
    isTemporalDown = true;
    expectRefusal(await announce(taskId), [503, 'processing_unavailable']);
    isTemporalDown = false;
    expect((await announce(taskId)).status).to.equal(204);
  });

  it('callbacks are counted by outcome, under the names of upstreams only', async () => {
    await announce(await newTask(), { provider: 'third', secret: 'wrong' });
    await announce(await newTask(), { provider: 'third', secret: 'the-secret-of-a-third' });
    await announce(await newTask(), { provider: 'stranger' });
    const scraped = await fetch(`${app.baseUrl}/metrics`, { headers: { authorization: `Bearer ${app.metricsToken}` } });
    const counted = (await scraped.text()).match(/^genway_provider_callbacks_total\{upstream="(third|stranger)".*$/gm);
    expect(counted?.map((line) => /outcome="(\w+)"\} \d+$/.exec(line)?.[1])).to.have.members([
      'refused',
      'unknown_task',
    ]);
  });

  it('answers 413 to a body that no provider sends', async () => {
    const body = JSON.stringify({ id: 'job_1', key: 'x'.repeat(300_000) });
    expectRefusal(await announce(await newTask(), { body }), [413, 'read_request_body_failed']);
  });
});

describe('a task whose provider announces the end of its job', () => {
  const stack = useTestStack({ env: { GENWAY_PROVIDER_CALLBACKS: 'true', GENWAY_POLL_MS: '600000' } });
  before(async () => {
    await Promise.all([stack.api.start(), stack.worker.start()]);
  });

  it('completes at that moment, and not at the next poll', async () => {
    const { apiKey } = await stack.createAccount();
    // Polls come 3 s and 6 s after the start; the job ends between them.
    const { id } = await createTask(stack, apiKey, 'A lighthouse [sim:render_ms=4500]');
    expect((await taskWhenFinal(stack, apiKey, id)).status).to.equal('succeeded');
    const { events } = await stack.temporal.workflow.getHandle(id).fetchHistory();
    const steps = events?.flatMap((event) => [
      event.workflowExecutionSignaledEventAttributes?.signalName ?? [],
      event.activityTaskScheduledEventAttributes?.activityType?.name ?? [],
    ]);
    expect(steps?.flat()).to.deep.equal(['dispatch', 'awaitResult', 'jobEnded', 'awaitResult', 'storeResult']);
  });

  it('sends the provider its callback address', async () => {
    const { apiKey } = await stack.createAccount();
    const { id } = await createTask(stack, apiKey, 'A lighthouse');
    await waitUntil(async () => expect(await simulatorJobs(stack, id)).to.have.length(1), { timeoutMs: PATIENCE_MS });
    const requests = await call<{ data: { path: string; headers: Record<string, string>; body: unknown }[] }>(
      `${stack.simulatorUrl}/_sim/requests?limit=50`,
    );
    const submission = requests.body.data.find(({ headers }) => headers['idempotency-key'] === id);
    expect(JSON.stringify(submission?.body)).to.contain(`${stack.baseUrl}/v1/provider-callbacks/simulator/${id}`);
  });

  it('refuses an announcement that is not signed', async () => {
    const { apiKey } = await stack.createAccount();
    const { id } = await createTask(stack, apiKey, 'A lighthouse');
    const { status } = await call(`${stack.baseUrl}/v1/provider-callbacks/simulator/${id}`, {
      body: { id: 'x', key: id },
    });
    expect(status).to.equal(401);
  });
});

describe('a task without callbacks', () => {
  it('has no address for them', async () => {
    const app = await startTestApp();
    const answer = await call(`${app.baseUrl}/v1/provider-callbacks/simulator/${newId('task')}`, { body: {} });
    await app.stop();
    expect(answer.status).to.equal(404);
  });
});
