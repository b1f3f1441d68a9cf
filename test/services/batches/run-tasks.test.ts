/** The steps of a batch of media tasks in this process, over a real database: contract 4.17. */
import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../../support/eventually.ts';
import { findCallersOfKeys } from '../../../db/queries/api-keys.ts';
import { retryFailedLines } from '../../../db/queries/batch-actions.ts';
import { findAnyBatch, pauseBatch } from '../../../db/queries/batch-runs.ts';
import { findBatch, sumBatches } from '../../../db/queries/batches.ts';
import { topUp } from '../../../db/queries/credits.ts';
import { setAccountBudget } from '../../../db/queries/account-budgets.ts';
import { setEndUserBudget } from '../../../db/queries/end-user-budgets.ts';
import { listTasks } from '../../../db/queries/tasks.ts';
import { type Batch, type TaskBatchEndpoint } from '../../../domain/batch.ts';
import { newId } from '../../../domain/ids.ts';
import { formatUsd, parseUsd } from '../../../domain/money.ts';
import { BATCHES } from '../../../domain/policy.ts';
import type { Task } from '../../../domain/task.ts';
import { createBatches } from '../../../services/batches/batches.ts';
import { finalizeBatch } from '../../../services/batches/finalize-batch.ts';
import { prepareBatch } from '../../../services/batches/prepare-batch.ts';
import type { ChunkResult } from '../../../services/batches/run-chunk.ts';
import { runTasks, type TaskChunkServices } from '../../../services/batches/run-tasks.ts';
import { createLocalStorage } from '../../../storage/local.ts';
import { readStoredLines, storeBatchInput } from '../../support/batches.ts';
import { createTestDatabase } from '../../support/database.ts';
import { ENCRYPTION } from '../../support/dependencies.ts';
import {
  createAccount,
  createFundedKey,
  createKey,
  finishAsFailed,
  finishAsSucceeded,
  type TestKey,
} from '../../support/factories.ts';
import { testLineTasks } from '../../support/line-tasks.ts';
import { useStarted } from '../../support/started.ts';

const BY = { author: 'test', reason: 'a test' };
const VIDEOS = '/v1/videos/tasks';

interface OutputLine {
  readonly custom_id: string;
  readonly attempt: number;
  readonly response: {
    readonly status_code: number;
    readonly request_id: string;
    readonly body: {
      readonly data?: { readonly id: string; readonly status: string; readonly batch_id: string };
      readonly error?: { readonly code: string; readonly message: string };
    };
  } | null;
  readonly error: { readonly code: string } | null;
}

function video(customId: string, settings: object = {}): object {
  const body = { model: 'vidone-3.0', prompt: 'A kite', ...settings };
  return { custom_id: customId, method: 'POST', url: VIDEOS, body };
}

function videos(count: number): readonly object[] {
  return Array.from({ length: count }, (_, index) => video(`v${index}`));
}

describe('the steps of a batch of media tasks', () => {
  const parts = useStarted(async () => {
    const test = await createTestDatabase();
    const directory = await mkdtemp(join(tmpdir(), 'genway-batches-'));
    const storage = createLocalStorage({ directory, publicUrl: 'http://files.test' });
    const { database } = test;
    return {
      database,
      storage,
      services: { database, storage, encryption: ENCRYPTION, tasks: testLineTasks(database, storage) },
      stop: async () => {
        await test.drop();
        await rm(directory, { recursive: true });
      },
    };
  });

  async function create(key: TestKey, lines: readonly object[], endpoint: TaskBatchEndpoint = VIDEOS): Promise<Batch> {
    const [caller] = await findCallersOfKeys(parts.database, [key.id]);
    if (caller === undefined) throw new Error('there is no such key');
    const inputFileId = await storeBatchInput(parts, key.accountId, lines);
    const order = { inputFileId, endpoint, metadata: null };
    const batch = await createBatches(parts.database).create(caller, newId('request'), order);
    await prepareBatch(batch.id, parts.services, () => {});
    return batch;
  }

  function run(
    { id }: Batch,
    services: TaskChunkServices = parts.services,
    signal = new AbortController().signal,
  ): Promise<ChunkResult> {
    return runTasks(id, services, { signal, pollMs: 10 });
  }

  async function finalize({ id }: Batch): Promise<Batch> {
    await finalizeBatch(id, parts.services, () => {});
    const batch = await findAnyBatch(parts.database, id);
    if (batch === null) throw new Error('there is no such batch');
    return batch;
  }

  function tasksOf({ id, accountId }: Batch): Promise<readonly Task[]> {
    return listTasks(parts.database, { accountId, batchId: id, limit: 100 });
  }

  async function runningOf(batch: Batch): Promise<readonly Task[]> {
    return (await tasksOf(batch)).filter(({ status }) => status === 'queued');
  }

  /** Resolves once so many tasks of the batch run. */
  function whenRunning(batch: Batch, count: number): Promise<readonly Task[]> {
    return waitUntil(
      async () => {
        const running = await runningOf(batch);
        if (running.length !== count) throw new Error(`${running.length} tasks run`);
        return running;
      },
      { timeoutMs: PATIENCE_MS },
    );
  }

  /** Resolves at the next query for a batch. */
  function whenLooked(): Promise<void> {
    return new Promise((resolve) => {
      parts.database.on('query', ({ sql }: { sql: string }) => sql.includes('from "batches"') && resolve());
    });
  }

  /** Ends each task of the batch as soon as it runs, until the step ends. @returns the most tasks that ran at once */
  async function renderWhile(batch: Batch, step: Promise<unknown>): Promise<number> {
    const over = new AbortController();
    void step.finally(() => over.abort()).catch(() => {});
    let most = 0;
    while (!over.signal.aborted) {
      const running = await runningOf(batch);
      most = Math.max(most, running.length);
      for (const task of running) await finishAsSucceeded(parts.database, task);
    }
    return most;
  }

  async function linesOf({ accountId }: Batch, fileId: string | null): Promise<readonly OutputLine[]> {
    return readStoredLines<OutputLine>(parts, accountId, fileId);
  }

  /** Everything that must hold of a final batch, whatever happened to it. Returns its lines. */
  async function check(batch: Batch, count: number) {
    const results = await linesOf(batch, batch.outputFileId);
    const failures = await linesOf(batch, batch.errorFileId);
    const ids = [...results, ...failures].map(({ custom_id: id }) => id);
    expect([new Set(ids).size, ids.length], 'each line in exactly one file').to.deep.equal([count, count]);
    const tasks = await tasksOf(batch);
    const shown = [...results, ...failures].flatMap(({ response }) => response?.body.data?.id ?? []);
    expect(shown, 'each task in exactly one line').to.have.members(tasks.map(({ id }) => id));
    expect(tasks.filter(({ completedAt }) => completedAt === null)).to.deep.equal([]);
    const succeeded = tasks.filter(({ status }) => status === 'succeeded');
    expect(results.map(({ response }) => response?.body.data?.id)).to.have.members(succeeded.map(({ id }) => id));
    const sums = await sumBatches(parts.database, [batch]);
    expect(sums.get(batch.id)?.charged ?? 0n).to.equal(succeeded.reduce((sum, { price }) => sum + price, 0n));
    expect(await parts.database('batch_lines').where({ batch_id: batch.id })).to.have.length(0);
    return { results, failures };
  }

  it('list each task with its result, and failures of tasks and creates in their own file', async () => {
    // contract 2.1:24 4.17:26 4.17:27 4.17:21 4.17:25
    const key = await createFundedKey(parts.database);
    const batch = await create(key, [video('a'), video('b'), video('c', { duration: 500 }), video('d', { user: 'u' })]);
    expect((await findBatch(parts.database, key.accountId, batch.id))?.counts).to.include({ failed: 1, succeeded: 0 });
    expect(await tasksOf(batch), 'a wrong line is refused before any task').to.deep.equal([]);
    const step = run(batch);
    const running = await whenRunning(batch, 3);
    const [first, ...others] = running;
    if (first === undefined) throw new Error('no task runs');
    await finishAsFailed(parts.database, first);
    for (const task of others) await finishAsSucceeded(parts.database, task);
    expect(await step).to.deep.equal({ kind: 'done' });
    const final = await finalize(batch);
    expect(final.status).to.equal('completed');
    const { results, failures } = await check(final, 4);
    for (const { attempt, response } of results) {
      expect([attempt, response?.status_code]).to.deep.equal([1, 200]);
      expect(response?.body.data).to.include({ status: 'succeeded', batch_id: batch.id });
      expect(JSON.stringify(response?.body)).to.include('"url":"');
    }
    const wrong = failures.find(({ custom_id: id }) => id === 'c');
    const direct = await Promise.resolve()
      .then(() =>
        parts.services.tasks.endpoints[VIDEOS].parse({ model: 'vidone-3.0', prompt: 'A kite', duration: 500 }),
      )
      .catch((error: Error) => error.message);
    expect(wrong?.response?.body.error).to.include({ code: 'bad_request', message: direct });
    const failed = failures.find(({ custom_id: id }) => id !== 'c');
    expect(failed?.response?.body.data).to.include({ status: 'failed', error_code: 'processing_failed' });
  });

  it('create images, too', async () => {
    // contract 4.17:26
    const key = await createFundedKey(parts.database);
    const body = { model: 'imagea-2.5-sunburst', prompt: 'A kite' };
    const line = { custom_id: 'a', method: 'POST', url: '/v1/images/tasks', body };
    const batch = await create(key, [line], '/v1/images/tasks');
    const step = run(batch);
    await renderWhile(batch, step);
    expect((await tasksOf(batch)).map(({ kind }) => kind)).to.deep.equal(['image']);
    await check(await finalize(batch), 1);
  });

  it('create as many tasks at once as the account may have', async () => {
    // contract 4.17:22
    const account = await createAccount(parts.database, { fundedUsd: 100 });
    await parts.database('accounts').where({ id: account.id }).update({ max_concurrent_tasks: 2 });
    const key = await createKey(parts.database, account);
    const batch = await create(key, videos(10));
    const step = run(batch);
    expect(await renderWhile(batch, step)).to.equal(2);
    expect(await step).to.deep.equal({ kind: 'done' });
    const { results } = await check(await finalize(batch), 10);
    expect(results).to.have.length(10);
  });

  it('create one task for each line although a worker dies, and two others run the batch', async () => {
    // contract 4.17:23
    const key = await createFundedKey(parts.database);
    const batch = await create(key, videos(8));
    const { database, encryption, tasks } = parts.services;
    // Dies after the task was created, and before the worker knows.
    const createTask: typeof tasks.tasks.createTask = async (...call) => {
      await tasks.tasks.createTask(...call);
      throw new Error('Connection terminated');
    };
    const lost = { database, encryption, tasks: { ...tasks, tasks: { ...tasks.tasks, createTask } } };
    const death = await run(batch, lost).catch((error: Error) => error.message);
    expect(death).to.equal('Connection terminated');
    const steps = Promise.all([run(batch), run(batch)]);
    await renderWhile(batch, steps);
    for (const { kind } of await steps) expect(kind).to.be.oneOf(['done', 'stopped']);
    const { results } = await check(await finalize(batch), 8);
    expect(results).to.have.length(8);
  });

  it('await the tasks of a worker that died', async () => {
    // contract 4.17:23
    const key = await createFundedKey(parts.database);
    const batch = await create(key, videos(3));
    const dying = new AbortController();
    const first = run(batch, parts.services, dying.signal);
    await whenRunning(batch, 3);
    dying.abort();
    await first;
    const second = run(batch);
    await renderWhile(batch, second);
    const { results } = await check(await finalize(batch), 3);
    expect(results.map(({ attempt }) => attempt)).to.deep.equal([1, 1, 1]);
  });

  it('wait while the balance is too low for the next task, and go on after a top-up', async () => {
    // contract 4.17:4 4.17:27
    const { database } = parts;
    const account = await createAccount(database, { fundedUsd: 1 });
    const key = await createKey(database, account);
    const batch = await create(key, videos(4));
    expect(await run(batch)).to.deep.equal({ kind: 'paused', reason: 'insufficient_credits' });
    await pauseBatch(database, batch.id, 'insufficient_credits');
    const running = await runningOf(batch);
    expect(running.map(({ price }) => formatUsd(price))).to.deep.equal(['0.5', '0.5']);
    await topUp(database, { accountId: account.id, amount: parseUsd(5), reference: batch.id });
    const step = run(batch);
    await renderWhile(batch, step);
    expect(await step).to.deep.equal({ kind: 'done' });
    const final = await finalize(batch);
    expect(final).to.include({ status: 'completed', pausedReason: null });
    const { results } = await check(final, 4);
    expect(results).to.have.length(4);
  });

  it('let a task that exceeds the budget of its end user fail alone', async () => {
    // contract 4.17:27
    const { database } = parts;
    const key = await createFundedKey(database);
    await setEndUserBudget(database, {
      accountId: key.accountId,
      endUser: 'poor',
      usageLimit: parseUsd(0.1),
      limitPeriod: 'month',
    });
    const batch = await create(key, [video('a', { user: 'poor' }), video('b')]);
    const step = run(batch);
    await renderWhile(batch, step);
    const { failures } = await check(await finalize(batch), 2);
    expect(failures.map(({ custom_id: id, response }) => [id, response?.status_code])).to.deep.equal([['a', 402]]);
  });

  it('let a task fail alone that exceeds the budget of its models, and pause at the budget of the account', async () => {
    // contract 5:29
    const { database } = parts;
    const key = await createFundedKey(database);
    const budget = { accountId: key.accountId, isCeiling: false, limitPeriod: 'month' } as const;
    await setAccountBudget(database, { ...budget, models: ['vidone-*'], usageLimit: parseUsd(0.1) });
    const batch = await create(key, [video('a')]);
    expect(await run(batch)).to.deep.equal({ kind: 'done' });
    const { failures } = await check(await finalize(batch), 1);
    expect(failures.map(({ response }) => response?.status_code)).to.deep.equal([402]);
    const other = await createFundedKey(database);
    await setAccountBudget(database, {
      ...budget,
      accountId: other.accountId,
      models: null,
      usageLimit: parseUsd(0.1),
    });
    const paused = await create(other, [video('a')]);
    expect(await run(paused)).to.deep.include({ kind: 'paused' });
  });

  for (const [status, code, end] of [
    ['cancelled', 'batch_cancelled', { status: 'cancelling', cancelling_at: new Date() }],
    ['expired', 'batch_expired', { expires_at: new Date() }],
  ] as const) {
    it(`start no further task once the batch is ${status}, and await those that run`, async () => {
      // contract 4.17:8 4.17:10 4.17:24
      const account = await createAccount(parts.database, { fundedUsd: 100 });
      await parts.database('accounts').where({ id: account.id }).update({ max_concurrent_tasks: 2 });
      const batch = await create(await createKey(parts.database, account), videos(5));
      const asked: string[] = [];
      const { tasks, ...services } = parts.services;
      const cancelTask = async ({ id }: Task): Promise<void> => void asked.push(id);
      const step = run(batch, { ...services, tasks: { ...tasks, cancelTask } });
      const running = await whenRunning(batch, 2);
      await parts.database('batches').where({ id: batch.id }).update(end);
      // Until the next look at the batch, the step may use a place that becomes free.
      await whenLooked();
      if (status === 'cancelled')
        await waitUntil(async () => expect(asked).to.have.length(2), { timeoutMs: PATIENCE_MS });
      await renderWhile(batch, step);
      expect(await step).to.deep.equal({ kind: 'stopped' });
      expect(asked).to.have.members(status === 'cancelled' ? running.map(({ id }) => id) : []);
      const final = await finalize(batch);
      expect(final.status).to.equal(status);
      const { results, failures } = await check(final, 5);
      expect(results).to.have.length(2);
      expect(new Set(failures.map(({ error }) => error?.code))).to.deep.equal(new Set([code]));
    });
  }

  it('run a failed task again when an operator asks for it, as often as any line may start', async () => {
    const { database } = parts;
    const key = await createFundedKey(database);
    const batch = await create(key, videos(1));
    const lineOf = (number: number) => database('batch_lines').where({ batch_id: batch.id, number });
    await lineOf(1).update({ attempt: BATCHES.maxAttempts - 2 });
    // The last task ends the batch, so a line is kept from it.
    await database('batch_lines').insert({ batch_id: batch.id, number: 9, custom_id: 'kept' });
    const step = run(batch);
    const failFirst = async (): Promise<void> => {
      for (const task of await whenRunning(batch, 1)) await finishAsFailed(database, task);
      await waitUntil(async () => expect(await lineOf(1).first('status')).to.deep.equal({ status: 'failed' }), {
        timeoutMs: PATIENCE_MS,
      });
    };
    await failFirst();
    expect(await retryFailedLines(database, batch.id, BY)).to.equal(1);
    await failFirst();
    expect(await retryFailedLines(database, batch.id, BY), 'it was started too often').to.equal(0);
    const sums = await sumBatches(database, [batch]);
    expect(sums.get(batch.id)?.errors).to.deep.equal([{ code: 'processing_failed', count: 1 }]);
    await lineOf(9).delete();
    await step;
    const { errorFileId } = await finalize(batch);
    const [failed, ...others] = await linesOf(batch, errorFileId);
    expect([failed?.custom_id, failed?.attempt, others]).to.deep.equal(['v0', BATCHES.maxAttempts, []]);
  });

  it('keep a batch from its end while one of its tasks runs', async () => {
    // contract 4.17:24
    const key = await createFundedKey(parts.database);
    const batch = await create(key, videos(1));
    const dying = new AbortController();
    const step = run(batch, parts.services, dying.signal);
    const [task] = await whenRunning(batch, 1);
    dying.abort();
    await step;
    const early = await finalize(batch).catch((error: Error) => error.message);
    expect(early).to.match(/have not ended/);
    if (task) await finishAsSucceeded(parts.database, task);
    await check(await finalize(batch), 1);
  });
});
