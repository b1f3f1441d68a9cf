import { expect } from 'chai';
import { finishTask } from '../../../../db/queries/finish-task.ts';
import { newId } from '../../../../domain/ids.ts';
import { type ErrorBody, useTestApp } from '../../../support/app.ts';
import {
  createTaskRow,
  finishAsFailed,
  finishAsSucceeded,
  newEvent,
  submitTask,
  VIDEO,
  type TestCaller,
} from '../../../support/factories.ts';
import { call } from '../../../support/stack.ts';
import type { TaskBody } from '../../../support/tasks.ts';
import type { Task } from '../../../../domain/task.ts';

type TaskObject = TaskBody & Readonly<Record<string, unknown>>;

describe('GET /v1/tasks/{task_id}', () => {
  const app = useTestApp();
  let caller: TestCaller;

  beforeEach(async () => {
    caller = await app.createAccount({ fundedUsd: 100 });
  });

  const owner = () => ({ id: caller.keyId, accountId: caller.accountId });
  const newTask = (settings: Parameters<typeof createTaskRow>[2] = {}): Promise<Task> =>
    createTaskRow(app.database, owner(), settings);

  async function poll(id: string): Promise<TaskObject> {
    const { status, body } = await call<{ data: TaskObject }>(`${app.baseUrl}/v1/tasks/${id}`, { key: caller.apiKey });
    expect(status).to.equal(200);
    return body.data;
  }

  it('shows a queued task', async () => {
    // contract 2:4 2.1:2 2.1:6 2.1:7 2.1:9 2.1:10 2.1:12 2.1:21 2.1:22 4.4:1
    const { id } = await newTask();
    expect(await poll(id)).to.deep.include({
      id,
      object: 'task',
      status: 'queued',
      stage: 'queued',
      output: null,
      completed_at: null,
      poll_after_seconds: 8,
      error_code: null,
      error_message: null,
    });
  });

  it('tells clients to poll an image after 5 seconds', async () => {
    // contract 2.1:10 2.1:17
    const { id } = await newTask({ kind: 'image', model: 'imagea-2.5-sunburst', billableDurationSeconds: null });
    const task = await poll(id);
    expect(task).to.include({ poll_after_seconds: 5, media_type: 'image' });
    expect(task.usage).to.not.have.property('billable_duration_seconds');
  });

  it('shows a task that is being processed', async () => {
    // contract 2.1:6 2.1:7 3:3 4.4:1
    const { id } = await newTask();
    await submitTask(app.database, { id }, 'job_1');
    expect(await poll(id)).to.include({ status: 'processing', stage: 'processing', poll_after_seconds: 8 });
  });

  it('shows a task that succeeded, without a polling interval', async () => {
    // contract 2.1:6 2.1:7 2.1:9 2.1:10 2.1:12 2.1:13 2.1:14 2.1:15 2.1:16 2.1:23 2.2:2 2.2:3 2.2:4 2.2:5 2.2:6 4.4:1
    const { id } = await newTask();
    await finishAsSucceeded(app.database, { id });
    const task = await poll(id);
    expect(task).to.deep.include({
      status: 'succeeded',
      stage: 'succeeded',
      output: { media: [{ type: 'video', url: VIDEO.url, mime_type: 'video/mp4' }], r2_url: VIDEO.url },
      error_code: null,
    });
    expect(task.usage).to.deep.equal({
      credits_reserved: 1,
      credits_charged: 1,
      credits_settled: 1,
      credits_refunded: 0,
      billable_duration_seconds: 5,
    });
    expect(task['completed_at']).to.be.a('number');
    for (const field of ['poll_after_seconds', 'typical_seconds', 'retryable'])
      expect(task).to.not.have.property(field);
  });

  it('shows when it was created, when it last changed and when it became final', async () => {
    // contract 2.1:8
    const { id } = await newTask({ id: newId('task', Date.now() - 60_000) });
    const created = await poll(id);
    expect(created['updated_at']).to.equal(created['created_at']);
    await submitTask(app.database, { id }, 'job_2');
    const changed = await poll(id);
    expect(changed['updated_at']).to.be.greaterThan(Number(created['updated_at']));
    await finishAsSucceeded(app.database, { id });
    const { updated_at, completed_at, created_at } = await poll(id);
    expect(updated_at).to.equal(completed_at).and.to.be.at.least(Number(changed['updated_at']));
    expect(created_at).to.equal(created['created_at']);
  });

  it('shows the pixels of each picture, and the link of the first again', async () => {
    // contract 2.2:5
    const { id } = await newTask({ kind: 'image', model: 'imagea-2.5-sunburst', billableDurationSeconds: null });
    const pictures = ['a', 'b'].map(
      (name) =>
        ({
          type: 'image',
          url: `https://files.example.com/${name}.png`,
          mimeType: 'image/png',
          width: 1024,
          height: 640,
        }) as const,
    );
    await finishTask(app.database, id, { status: 'succeeded', output: pictures }, newEvent('task.succeeded'));
    expect((await poll(id)).output).to.deep.equal({
      media: pictures.map(({ mimeType, ...picture }) => ({ ...picture, mime_type: mimeType })),
      r2_url: pictures[0]?.url,
    });
  });

  for (const [code, retryable] of [
    ['content_policy_violation', false],
    ['bad_request', false],
    ['processing_unavailable', true],
    ['processing_timeout', true],
    ['processing_failed', true],
    ['result_transfer_failed', true],
  ] as const) {
    it(`answers 200 for a task that failed with ${code}, refunded in full`, async () => {
      // contract 2.1:6 2.1:7 2.1:10 2.1:12 2.1:13 2.1:14 2.1:15 2.1:16 2.1:21 2.1:22 2.1:23 4.4:1 7.3:2 7.3:3
      const { id } = await newTask();
      await finishAsFailed(app.database, { id }, code);
      const task = await poll(id);
      expect(task).to.include({ status: 'failed', stage: 'failed', output: null, error_code: code, retryable });
      expect(task.error_message).to.be.a('string').and.not.equal('');
      expect(task.usage).to.include({
        credits_reserved: 1,
        credits_charged: 0,
        credits_settled: 0,
        credits_refunded: 1,
      });
      expect(task).to.not.have.property('poll_after_seconds');
    });
  }

  it('shows the usual duration of such tasks, once enough have completed', async () => {
    // contract 2.1:11
    const model = `model-${caller.accountId}`;
    const running = await newTask({ model });
    expect(await poll(running.id)).to.not.have.property('typical_seconds');
    const other = `${model}-ended`;
    for (let count = 0; count < 10; count += 1) await finishAsSucceeded(app.database, await newTask({ model: other }));
    const { id } = await newTask({ model: other });
    expect((await poll(id))['typical_seconds']).to.deep.equal({ p50: 1, p90: 1, samples: 10 });
  });

  it('answers 404 not_found for another account’s task, and for an unknown one', async () => {
    // contract 4.4:2 7.1:7 7.2:8
    const { id } = await newTask();
    const stranger = await app.createAccount({ fundedUsd: 1 });
    for (const path of [
      id,
      newId('task'),
      'task_x',
      'x',
      `${id}x`,
      id.toUpperCase(),
      '%00',
      '%F0%9F%98%80',
      "task_'--",
    ]) {
      const { status, body } = await call<ErrorBody>(`${app.baseUrl}/v1/tasks/${path}`, { key: stranger.apiKey });
      expect([status, body.error.code, body.error.retryable], path).to.deep.equal([404, 'not_found', false]);
      expect(body.error).to.not.have.property('docs');
    }
  });

  it('every key of the account may read a task, whatever the models of the key', async () => {
    const { id } = await newTask();
    await app
      .database('api_keys')
      .where({ id: caller.keyId })
      .update({ models: ['textc-M3'] });
    expect((await poll(id)).id).to.equal(id);
  });
});

describe('GET /v1/tasks', () => {
  const app = useTestApp();
  let caller: TestCaller;

  before(async () => {
    caller = await app.createAccount({ fundedUsd: 100 });
    const owner = { id: caller.keyId, accountId: caller.accountId };
    for (const kind of ['video', 'image', 'video'] as const) await createTaskRow(app.database, owner, { kind });
    await createTaskRow(app.database, owner, { model: 'vidtwo-1.1' }).then((task) =>
      finishAsSucceeded(app.database, task),
    );
    const stranger = await app.createAccount({ fundedUsd: 1 });
    await createTaskRow(app.database, { id: stranger.keyId, accountId: stranger.accountId });
  });

  type Page = { data: TaskBody[]; next_cursor: string | null };

  async function list(query = ''): Promise<Page> {
    const { status, body } = await call<Page>(`${app.baseUrl}/v1/tasks${query}`, { key: caller.apiKey });
    expect(status).to.equal(200);
    return body;
  }

  it('lists the tasks of the account, newest first, page by page', async () => {
    // contract 2:4 4.4:3 4.10:1 4.10:2
    const all = await list();
    expect(all.next_cursor).to.equal(null);
    const ids = all.data.map(({ id }) => id);
    expect(ids).to.have.length(4).and.deep.equal(ids.toSorted().toReversed());
    const first = await list('?limit=3');
    const second = await list(`?limit=3&cursor=${first.next_cursor}`);
    expect([...first.data, ...second.data].map(({ id }) => id)).to.deep.equal(ids);
    expect(second.next_cursor).to.equal(null);
  });

  it('has 50 in a page by default, and at most 500', async () => {
    // contract 4.10:2 4.10:4
    const busy = await app.createAccount({ fundedUsd: 100 });
    const owner = { id: busy.keyId, accountId: busy.accountId };
    for (let count = 0; count < 51; count += 1) await createTaskRow(app.database, owner, { price: 1n });
    const ask = (query: string) => call<Page>(`${app.baseUrl}/v1/tasks${query}`, { key: busy.apiKey });
    expect((await ask('')).body.data).to.have.length(50);
    expect((await ask('?limit=500')).body.data).to.have.length(51);
    for (const limit of ['0', '501', 'x', '1.5']) expect((await ask(`?limit=${limit}`)).status, limit).to.equal(400);
  });

  for (const [query, count] of [
    ['?status=succeeded', 1],
    ['?status=queued', 3],
    ['?task_kind=image', 1],
    ['?model=vidtwo-1.1', 1],
    ['?model=unknown', 0],
    ['?from=0', 4],
    ['?to=2020-01-01T00:00:00Z', 0],
    ['?status=&cursor=', 4],
  ] as const) {
    it(`lists ${count} for ${query}`, async () => {
      // contract 4.4:4 4.10:3
      expect((await list(query)).data).to.have.length(count);
    });
  }

  for (const query of [
    '?limit=0',
    '?limit=501',
    '?limit=x',
    '?limit=1&limit=2',
    '?status=done',
    '?task_kind=text',
    '?from=yesterday',
    '?from=999999999999',
    '?to=%00',
    '?cursor=x',
    `?cursor=${Buffer.from('["x"]').toString('base64url')}`,
    `?cursor=${Buffer.from('{}').toString('base64url')}`,
    '?model=%00',
    '?model=%FF',
  ]) {
    it(`never fails by ${query}`, async () => {
      const { status } = await call(`${app.baseUrl}/v1/tasks${query}`, { key: caller.apiKey });
      expect(status).to.be.oneOf([200, 400]);
    });
  }
});
