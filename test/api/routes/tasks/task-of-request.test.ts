import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { waitForSucceeded, waitUntilFinal } from '../../../../api/routes/tasks/task-of-request.ts';
import { ServiceError } from '../../../../domain/errors.ts';
import type { Task } from '../../../../domain/task.ts';
import { type ErrorBody, useTestAppBehindProxy } from '../../../support/app.ts';
import { eventually } from '../../../support/eventually.ts';
import {
  createFundedKey,
  createTaskRow,
  finishAsFailed,
  finishAsSucceeded,
  reloadTask,
  type TestCaller,
} from '../../../support/factories.ts';
import { rejectionOf } from '../../../support/rejection.ts';
import { call } from '../../../support/stack.ts';

const PICTURE = { model: 'imagea-2.5-sunburst', prompt: 'A lighthouse', response_format: 'url' };
const RUN = { capability_id: 'vidone-3.0', inputs: { prompt: 'A lighthouse' } };

describe('a call that waits for its task', () => {
  let caller: TestCaller;
  const { app, proxy } = useTestAppBehindProxy();
  beforeEach(async () => {
    caller = await app.createAccount({ fundedUsd: 10 });
  });

  const socket = { destroyed: false };
  const unreachable = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  const tasks = (): Promise<string[]> => app.database('tasks').where({ account_id: caller.accountId }).pluck('id');
  const createOne = async () => createTaskRow(app.database, await createFundedKey(app.database));

  /** Makes the database unavailable to the call once its task exists, until `meanwhile` is done. */
  async function callThroughOutage(path: string, body: object, meanwhile: (id: string) => Promise<unknown>) {
    const answer = call<{ data: unknown }>(`${app.baseUrl}${path}`, { key: caller.apiKey, body });
    const id = await eventually(async () => (await tasks())[0]);
    proxy().refuseNew();
    proxy().reset();
    try {
      await meanwhile(id);
    } finally {
      proxy().refuseNew(false);
    }
    return { id, ...(await answer) };
  }

  it('answers with the picture of its one task after an outage of the database', async () => {
    // contract 4.14:17
    const { status, body } = await callThroughOutage('/v1/images/generations', PICTURE, (id) =>
      finishAsSucceeded(app.database, { id }),
    );
    expect(status).to.equal(200);
    expect(body.data).to.have.length(1);
    expect(await tasks()).to.have.length(1);
  });

  it('creates new tasks under the key of a call whose pictures all failed, and none under that of another', async () => {
    // contract 4.14:19
    const body = { ...PICTURE, n: 2 };
    const headers = { 'idempotency-key': 'k'.repeat(255) };
    const create = () =>
      call<{ data?: unknown[] } & Partial<ErrorBody>>(`${app.baseUrl}/v1/images/generations`, {
        key: caller.apiKey,
        body,
        headers,
      });
    const isCreated = async (count: number) => (await tasks()).length === count;

    const answers = [create(), create()];
    await eventually(() => isCreated(2));
    for (const id of await tasks()) await finishAsFailed(app.database, { id });
    for (const { status, body: refusal } of await Promise.all(answers)) {
      if (status !== 409) expect([status, refusal.error?.retryable]).to.deep.equal([503, true]);
    }
    const failed = await tasks();
    const again = create();
    await eventually(() => isCreated(4));
    const [succeeding, failing] = (await tasks()).filter((id) => !failed.includes(id));
    await finishAsSucceeded(app.database, { id: succeeding ?? '' });
    await finishAsFailed(app.database, { id: failing ?? '' });
    for (const { status, body: pictures } of [await again, await create()]) {
      expect([status, pictures.data?.length]).to.deep.equal([200, 1]);
    }
    expect(await tasks()).to.have.length(4);
  });

  it('answers with the task as created if it cannot read it in time', async () => {
    // contract 4.15:7
    const waiting = { ...RUN, wait_seconds: 1 };
    const { id, status, body } = await callThroughOutage('/v1/capabilities/run', waiting, () => sleep(1_500));
    expect(status).to.equal(200);
    expect(body.data).to.include({ id, status: 'queued' });
  });

  for (const { fails, error, code } of [
    { fails: 'is unavailable', error: unreachable, code: 'processing_timeout' },
    { fails: 'returns nonsense', error: new TypeError('no such column'), code: 'internal_error' },
  ]) {
    it(`names the task and forbids a repetition if the database ${fails} until the end`, async () => {
      // contract 4.14:17
      const task = await createOne();
      const reads = { readWaitedTask: async () => Promise.reject(error) };
      const wait = { untilMs: performance.now() + 300, socket };
      const refusal = await rejectionOf(waitForSucceeded([task], wait, reads));
      expect(refusal).to.be.instanceOf(ServiceError).and.include({ code, retryable: false });
      expect(refusal).to.have.deep.property('headers', { 'x-should-retry': 'false' });
      expect(refusal.message).to.include(`GET /v1/tasks/${task.id}`);
    });
  }

  it('reads a task again after failures, and not after its end', async () => {
    const task = await createOne();
    await finishAsSucceeded(app.database, task);
    const final = await reloadTask(app.database, task);
    const failures = [unreachable, unreachable];
    let reads = 0;
    const readWaitedTask = async (): Promise<Task> => {
      reads += 1;
      const failure = failures.pop();
      if (failure !== undefined) throw failure;
      return final;
    };
    const wait = { untilMs: performance.now() + 60_000, socket };
    expect(await waitUntilFinal(task, wait, { readWaitedTask })).to.equal(final);
    expect(reads).to.equal(3);
  });
});
