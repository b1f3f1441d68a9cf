/** The steps of a batch in this process, over a real database and the simulator: contract 4.17. */
import { expect } from 'chai';
import * as fc from 'fast-check';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from '../../../db/database.ts';
import { findCallersOfKeys } from '../../../db/queries/api-keys.ts';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import { objectOf } from '../../../domain/json.ts';
import { PATIENCE_MS } from '../../support/eventually.ts';
import { cancelBatch, sumBatches } from '../../../db/queries/batches.ts';
import { findEncryptedRequest } from '../../../db/queries/batch-jobs.ts';
import { claimBatchLines, contentId } from '../../../db/queries/batch-lines.ts';
import { liftOperatorPause, pauseByOperator, retryFailedLines } from '../../../db/queries/batch-actions.ts';
import { findAnyBatch, pauseBatch, readFunds } from '../../../db/queries/batch-runs.ts';
import { streamMonth } from '../../../db/queries/month-export.ts';
import { recordLiveOverload } from '../../../db/queries/live-overload.ts';
import { topUp } from '../../../db/queries/credits.ts';
import { listBatchActions } from '../../../db/queries/operator-actions.ts';
import { streamTextUsage } from '../../../db/queries/usage.ts';
import type { Batch, BatchEndpoint } from '../../../domain/batch.ts';
import { newId } from '../../../domain/ids.ts';
import { formatUsd, parseUsd } from '../../../domain/money.ts';
import { createBatches } from '../../../services/batches/batches.ts';
import { finalizeBatch } from '../../../services/batches/finalize-batch.ts';
import { prepareBatch } from '../../../services/batches/prepare-batch.ts';
import { type ChunkResult, type ChunkServices, runChunk } from '../../../services/batches/run-chunk.ts';
import { createAnswerStore } from '../../../services/batches/store-answers.ts';
import { createLocalStorage } from '../../../storage/local.ts';
import type { Storage } from '../../../storage/storage.ts';
import { parseJson } from '../../../text/json/parse.ts';
import { readStoredLines, storeBatchInput, type TextLine } from '../../support/batches.ts';
import { CATALOGUE } from '../../support/catalogue.ts';
import { createTestDatabase } from '../../support/database.ts';
import { ENCRYPTION, testTextService } from '../../support/dependencies.ts';
import {
  createAccount,
  createFundedKey,
  createKey,
  createTextRequestRow,
  type TestKey,
} from '../../support/factories.ts';
import { testLineTasks } from '../../support/line-tasks.ts';
import { casesOf } from '../../support/properties.ts';
import { startTextSimulator } from '../../support/simulator.ts';
import { startTextParts } from '../../support/text-parts.ts';
import { useStarted } from '../../support/started.ts';

const DAY_MS = 86_400_000;
const BY = { author: 'ada', reason: 'a test' };
const CHAT = '/v1/chat/completions';
const nothing = (): void => {};

function chat(customId: string, prompt: string, settings: object = {}): object {
  const messages = [{ role: 'user', content: prompt }];
  return {
    custom_id: customId,
    method: 'POST',
    url: CHAT,
    body: { model: 'textc-M3', max_tokens: 50, messages, ...settings },
  };
}

describe('the steps of a batch', () => {
  const parts = useStarted(async () => {
    const [test, simulator] = await Promise.all([createTestDatabase(), startTextSimulator()]);
    const directory = await mkdtemp(join(tmpdir(), 'genway-batches-'));
    const storage = createLocalStorage({ directory, publicUrl: 'http://files.test' });
    const { database } = test;
    const open = () => openWorker(database, test.url, simulator.settings);
    const worker = open();
    return {
      database,
      storage,
      simulatorUrl: simulator.url,
      worker,
      open,
      stop: async () => {
        await worker.stop();
        await simulator.stop();
        await test.drop();
        await rm(directory, { recursive: true });
      },
    };
  });

  function openWorker(
    database: Database,
    databaseUrl: string,
    settings: Parameters<typeof startTextParts>[0]['settings'][0],
  ) {
    const text = startTextParts({
      database,
      databaseUrl,
      catalogue: CATALOGUE,
      settings: [settings],
      maxSilenceMs: 60_000,
    });
    const { log } = text;
    const service = testTextService(database, { ...text, catalogue: CATALOGUE });
    const storeAnswer = createAnswerStore({ database, encryption: ENCRYPTION, log });
    return {
      text: service,
      database,
      storeAnswer,
      encryption: ENCRYPTION,
      stop: () => text.stop(),
      logged: text.logged,
    };
  }

  const stored = () => ({
    database: parts.database,
    storage: parts.storage,
    encryption: ENCRYPTION,
    tasks: testLineTasks(parts.database, parts.storage),
  });

  async function create(key: TestKey, lines: readonly object[], endpoint: BatchEndpoint = CHAT): Promise<Batch> {
    const batch = await createUnread(key, lines, endpoint);
    await prepareBatch(batch.id, stored(), nothing);
    return batch;
  }

  async function createUnread(
    key: TestKey,
    lines: readonly object[],
    endpoint: BatchEndpoint = CHAT,
    betas: string | null = null,
  ): Promise<Batch> {
    const [caller] = await findCallersOfKeys(parts.database, [key.id]);
    if (caller === undefined) throw new Error('there is no such key');
    const inputFileId = await storeBatchInput(parts, key.accountId, lines);
    return createBatches(parts.database).create(caller, newId('request'), {
      inputFileId,
      endpoint,
      metadata: null,
      betas,
    });
  }

  function run(
    { id }: Batch,
    services: ChunkServices = parts.worker,
    signal = new AbortController().signal,
  ): Promise<ChunkResult> {
    return runChunk(id, services, { signal });
  }

  async function runAll(batch: Batch): Promise<Batch> {
    for (;;) {
      const { kind } = await run(batch);
      if (kind !== 'more') return finalize(batch);
    }
  }

  async function finalize({ id }: Batch): Promise<Batch> {
    await finalizeBatch(id, stored(), nothing);
    const batch = await findAnyBatch(parts.database, id);
    if (batch === null) throw new Error('there is no such batch');
    return batch;
  }

  function linesOf({ accountId }: Batch, fileId: string | null): Promise<readonly TextLine[]> {
    return readStoredLines(parts, accountId, fileId);
  }

  /** Everything that must hold of a final batch, whatever happened to it. Returns its lines. */
  async function check(batch: Batch, count: number) {
    const { database } = parts;
    const answers = await linesOf(batch, batch.outputFileId);
    const failures = await linesOf(batch, batch.errorFileId);
    const ids = [...answers, ...failures].map(({ custom_id: id }) => id);
    expect([new Set(ids).size, ids.length], 'each line in exactly one file').to.deep.equal([count, count]);
    const { counts } = batch;
    expect([counts.total, counts.succeeded]).to.deep.equal([count, answers.length]);
    expect(counts.failed + counts.expired + counts.cancelled).to.equal(failures.length);
    const { rows } = await database.raw<{ rows: { id: string; charge: string; paid: string | null }[] }>(
      `SELECT request.request_id AS id, request.charge, sum(transfers.amount) AS paid FROM text_requests AS request
      LEFT JOIN transfers ON text_request_id = request.id AND kind IN ('charge', 'excess')
      WHERE batch_id = :id AND outcome <> 'failed' GROUP BY request.id, request.created_at`,
      { id: batch.id },
    );
    const charged = rows.map(({ id }) => id);
    expect(charged, 'each answer charged once').to.have.members(answers.map(({ response }) => response?.request_id));
    for (const { charge, paid } of rows) expect(paid).to.equal(charge);
    expect(await database('batch_lines').where({ batch_id: batch.id })).to.have.length(0);
    expect(await database('batch_contents').where('id', 'like', `${batch.id}/%`)).to.have.length(0);
    return { answers, failures, charged: rows.reduce((sum, { charge }) => sum + BigInt(charge), 0n) };
  }

  async function eventsOf({ id }: Pick<Batch, 'id'>): Promise<readonly string[]> {
    const rows = await parts.database<{ type: string; payload: string }>('events').where('payload', 'like', `%${id}%`);
    return rows.map(({ type }) => type);
  }

  it('answer each request once, at half the price, and list failures in their own file', async () => {
    // contract 4.17:1 4.17:5 4.17:6 6:26
    const key = await createFundedKey(parts.database);
    const created = await create(key, [
      chat('a', 'Say exactly: one'),
      chat('b', 'x', { model: 'no-such-model' }),
      chat('c', 'Say exactly: two'),
      chat('d', 'x', { stream: true }),
    ]);
    const batch = await runAll(created);
    expect(batch.status).to.equal('completed');
    const { answers, failures, charged } = await check(batch, 4);
    expect(
      answers.map(({ custom_id, attempt, response }) => [custom_id, attempt, response?.status_code]),
    ).to.deep.equal([
      ['a', 1, 200],
      ['c', 1, 200],
    ]);
    expect(JSON.stringify(answers[0]?.response?.body)).to.include('"content":"one"');
    expect(failures.map(({ custom_id, response }) => [custom_id, response?.status_code])).to.deep.equal([
      ['b', 404],
      ['d', 400],
    ]);
    const [row] = await parts.database('text_requests').where({ batch_id: batch.id });
    expect(row.modifiers).to.deep.equal([{ kind: 'batch', factor: '0.5' }]);
    const { rates } = CATALOGUE.textModels.get('textc-M3')?.pricing ?? { rates: null };
    const tokens = BigInt(row.input_tokens) - BigInt(row.cache_read_tokens);
    const full = tokens * (rates?.input ?? 0n) + BigInt(row.output_tokens) * (rates?.output ?? 0n);
    expect(formatUsd(BigInt(row.charge))).to.equal(formatUsd(full / 2n));
    expect(charged > 0n).to.equal(true);
    expect(await eventsOf(batch)).to.deep.equal(['batch.completed']);
  });

  it('add up: usage, and the export of the month, have its charges under its id', async () => {
    // contract 2.9:11
    const key = await createFundedKey(parts.database);
    const settings = { max_tokens: 2_000 };
    const lines = Array.from({ length: 5 }, (_, index) => chat(String(index), `Say exactly: ${index}`, settings));
    const batch = await runAll(await create(key, lines));
    const { charged } = await check(batch, 5);
    const { database } = parts;
    let [used, exported] = [0n, 0n];
    for await (const usage of streamTextUsage(database, { batchId: batch.id })) used += usage.charged;
    const period = { name: 'a day', from: new Date(Date.now() - DAY_MS / 2), to: new Date(Date.now() + DAY_MS / 2) };
    for await (const { batchId, amount } of streamMonth(database, period)) {
      if (batchId === batch.id) exported += amount;
    }
    expect([used, exported]).to.deep.equal([charged, charged]);
    const sums = await sumBatches(database, [batch]);
    expect(sums.get(batch.id)?.charged).to.equal(charged);
  });

  const others: readonly (readonly [BatchEndpoint, object, string])[] = [
    ['/v1/responses', { model: 'textc-M3', input: 'Say exactly: one' }, 'response'],
    ['/v1/messages', { model: 'textc-M3', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] }, 'message'],
    ['/v1/embeddings', { model: 'textm-embed', input: 'one' }, 'list'],
  ];
  for (const [endpoint, body, kind] of others) {
    it(`run requests to ${endpoint}`, async () => {
      // contract 4.17:2
      const key = await createFundedKey(parts.database);
      const batch = await create(key, [{ custom_id: 'a', method: 'POST', url: endpoint, body }], endpoint);
      const { answers } = await check(await runAll(batch), 1);
      expect(JSON.stringify(answers[0]?.response?.body)).to.match(new RegExp(`"(object|type)":"${kind}"`));
    });
  }

  it('use the betas of their batch, as direct requests use their header', async () => {
    // contract 4.17:70
    const url = '/v1/messages';
    const tool = { name: 'look', input_schema: { type: 'object' }, defer_loading: true };
    const messages = [{ role: 'user', content: 'Hi' }];
    const body = { model: 'demo-messages', max_tokens: 9, messages, tools: [tool] };
    const key = await createFundedKey(parts.database);
    const lines = [{ custom_id: 'a', method: 'POST', url, body }];
    const batch = await createUnread(key, lines, url, 'advanced-tool-use-2025-11-20');
    await prepareBatch(batch.id, stored(), nothing);
    await check(await runAll(batch), 1);
    const { data } = objectOf(await (await fetch(`${parts.simulatorUrl}/_sim/requests?limit=1`)).json());
    expect(data).to.containSubset([
      { headers: { 'anthropic-beta': 'advanced-tool-use-2025-11-20' }, body: { tools: [{ defer_loading: true }] } },
    ]);
  });

  it('keep the digits of large integers in requests', async () => {
    // contract 4.8:60
    const input = '"input":{"id":2512292042121000001}';
    const call = `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"look",${input}}]}`;
    const body = objectOf(await parseJson(Buffer.from(`{"model":"textc-M3","messages":[${call}]}`)));
    const url = '/v1/messages';
    const batch = await create(
      await createFundedKey(parts.database),
      [{ custom_id: 'a', method: 'POST', url, body }],
      url,
    );
    const encrypted = await findEncryptedRequest(parts.database, batch.id, 1);
    expect(ENCRYPTION.decrypt(encrypted, contentId(batch.id, 1, 0))).to.include(input);
  });

  it('refuse an input whose lines name another endpoint, without a charge', async () => {
    // contract 4.17:3
    const key = await createFundedKey(parts.database);
    const created = await create(key, [chat('a', 'x'), { ...chat('b', 'x'), url: '/v1/responses' }]);
    const { id } = created;
    const batch = await finalize(created);
    expect(batch.status).to.equal('failed');
    expect(await eventsOf({ id })).to.deep.equal(['batch.failed']);
    expect(batch.errors?.map(({ code, line }) => [code, line])).to.deep.equal([['mismatched_url', 2]]);
    expect(await parts.database('batch_contents').where('id', 'like', `${id}/%`)).to.have.length(0);
  });

  it('report a request that the upstream refuses for ever at once', async () => {
    // contract 4.17:7
    const key = await createFundedKey(parts.database);
    const batch = await runAll(await create(key, [chat('a', 'x'), chat('b', 'x [sim:fail=content_policy_violation]')]));
    const { failures } = await check(batch, 2);
    expect(failures.map(({ custom_id: id, response }) => [id, response?.status_code])).to.deep.equal([['b', 400]]);
    expect(await parts.database('text_requests').where({ batch_id: batch.id })).to.have.length(2);
  });

  it('start no further request once the batch is cancelled', async () => {
    // contract 4.17:8
    const key = await createFundedKey(parts.database);
    const created = await create(
      key,
      Array.from({ length: 60 }, (_, index) => chat(`c${index}`, 'x [sim:delay_ms=400]')),
    );
    const running = run(created);
    const [caller] = await findCallersOfKeys(parts.database, [key.id]);
    if (caller === undefined) throw new Error('there is no such key');
    const cancelled = await createBatches(parts.database).cancel(caller, created.id);
    expect(cancelled.status).to.equal('cancelling');
    expect(await running).to.deep.equal({ kind: 'stopped' });
    const batch = await finalize(created);
    expect(batch.status).to.equal('cancelled');
    const { failures } = await check(batch, 60);
    expect(new Set(failures.map(({ error }) => error?.code))).to.deep.equal(new Set(['batch_cancelled']));
  });

  it('list each request of a batch that was cancelled before its input was read', async () => {
    // contract 4.17:6
    const key = await createFundedKey(parts.database);
    const created = await createUnread(key, [chat('a', 'x'), chat('b', 'x')]);
    await cancelBatch(parts.database, key.accountId, created.id);
    await prepareBatch(created.id, stored(), nothing);
    expect(await run(created)).to.deep.equal({ kind: 'stopped' });
    const batch = await finalize(created);
    expect(batch.status).to.equal('cancelled');
    const { failures } = await check(batch, 2);
    expect(failures.map(({ error }) => error?.code)).to.deep.equal(['batch_cancelled', 'batch_cancelled']);
  });

  /** A store in which other work happens before the first file is read or written. */
  function storeAfter(work: () => Promise<unknown>): Storage {
    let isDone = false;
    const first = async (): Promise<void> => {
      if (isDone) return;
      isDone = true;
      await work();
    };
    return {
      ...parts.storage,
      read: async (...args) => (await first(), parts.storage.read(...args)),
      put: async (...args) => (await first(), parts.storage.put(...args)),
    };
  }

  it('keep each line although a process that was taken for dead reads the input, too', async () => {
    // contract 4.17:11
    const key = await createFundedKey(parts.database);
    const created = await createUnread(key, [chat('a', 'Say exactly: one'), chat('b', 'Say exactly: two')]);
    const whenStarted = () => prepareBatch(created.id, stored(), nothing);
    const late = await prepareBatch(created.id, { ...stored(), storage: storeAfter(whenStarted) }, nothing).catch(
      String,
    );
    expect(late).to.include('was read by another process');
    const whenOver = async () => {
      await prepareBatch(again.id, stored(), nothing);
      await runAll(again);
    };
    const again = await createUnread(key, [chat('a', 'Say exactly: one'), chat('b', 'Say exactly: two')]);
    await prepareBatch(again.id, { ...stored(), storage: storeAfter(whenOver) }, nothing).catch(nothing);
    for (const batch of [await runAll(created), await finalize(again)]) {
      const { answers } = await check(batch, 2);
      expect(answers).to.have.length(2);
    }
  });

  it('keep the files of a batch that another process has ended in the meantime', async () => {
    // contract 4.17:11
    const key = await createFundedKey(parts.database);
    const created = await create(key, [chat('a', 'Say exactly: one'), chat('b', 'x', { model: 'no-such-model' })]);
    await run(created);
    const storage = storeAfter(() => finalize(created));
    const late = await finalizeBatch(created.id, { ...stored(), storage }, nothing).catch(String);
    expect(late).to.include('has ended');
    await check(await finalize(created), 2);
  });

  it('leave no line behind that another worker has started in the meantime', async () => {
    // contract 4.17:11
    const key = await createFundedKey(parts.database);
    const created = await create(key, [chat('a', 'x'), chat('b', 'x')]);
    const storeAnswer: ChunkServices['storeAnswer'] = async () => {
      await claimBatchLines(parts.database, created.id, { after: 0 });
    };
    expect(await run(created, { ...parts.worker, storeAnswer })).to.deep.equal({ kind: 'more' });
    const { answers } = await check(await runAll(created), 2);
    expect(answers).to.have.length(2);
  });

  it('give up a request that was started 20 times, without a charge', async () => {
    // contract 4.17:11
    const key = await createFundedKey(parts.database);
    const created = await create(key, [chat('a', 'x'), chat('b', 'x')]);
    await parts.database('batch_lines').where({ batch_id: created.id, number: 2 }).update({ attempt: 20 });
    const { failures } = await check(await runAll(created), 2);
    expect(failures.map(({ custom_id: id, response }) => [id, response?.status_code])).to.deep.equal([['b', 500]]);
  });

  it('hold nothing for a line whose answer could not be stored', async () => {
    const { database } = parts;
    const key = await createFundedKey(database);
    const created = await create(key, [chat('a', 'x')]);
    const storeAnswer = () => Promise.reject(new Error('the answer is refused'));
    expect(await run(created, { ...parts.worker, storeAnswer }).catch(String)).to.include('the answer is refused');
    await check(await runAll(created), 1);
    await waitUntil(
      async () => {
        const [row] = await database('text_requests').where({ batch_id: created.id, outcome: 'failed' });
        expect(row.error_code).to.equal('internal_error');
      },
      { timeoutMs: PATIENCE_MS },
    );
  });

  it('wait while the balance is too low, and go on after a top-up', async () => {
    // contract 4.17:4
    const { database } = parts;
    const account = await createAccount(database, { fundedUsd: 0.000_001 });
    const key = await createKey(database, account);
    const created = await create(key, [chat('a', 'Say exactly: one'), chat('b', 'Say exactly: two')]);
    const paused = await run(created);
    expect(paused).to.deep.equal({ kind: 'paused', reason: 'insufficient_credits' });
    await pauseBatch(database, created.id, 'insufficient_credits');
    expect(await findAnyBatch(database, created.id)).to.include({
      status: 'in_progress',
      pausedReason: 'insufficient_credits',
    });
    await topUp(database, { accountId: account.id, amount: parseUsd(5), reference: created.id });
    const batch = await runAll(created);
    expect(batch).to.include({ status: 'completed', pausedReason: null });
    const { answers } = await check(batch, 2);
    expect(
      answers.map(({ attempt }) => attempt),
      'a line that nobody started has no attempt',
    ).to.deep.equal([1, 1]);
  });

  it('start no request while the gateway refuses live requests for its load', async () => {
    // contract 4.17:18
    const { database } = parts;
    const created = await create(await createFundedKey(database), [chat('a', 'x')]);
    await recordLiveOverload(database);
    const running = run(created);
    await cancelBatch(database, created.accountId, created.id);
    expect(await running).to.deep.equal({ kind: 'stopped' });
    await database('live_overload').delete();
    expect(await database('text_requests').where({ batch_id: created.id })).to.deep.equal([]);
    expect((await finalize(created)).counts).to.include({ cancelled: 1 });
  });

  it('start no request while an operator pauses the batch, and go on when it is resumed', async () => {
    // contract 4.17:17
    const { database } = parts;
    const key = await createFundedKey(database);
    const created = await create(
      key,
      Array.from({ length: 60 }, (_, index) => chat(`o${index}`, 'x [sim:delay_ms=400]')),
    );
    const paused = { kind: 'paused', reason: 'processing_unavailable' };
    const running = run(created);
    expect(await pauseByOperator(database, created.id, BY)).to.equal(true);
    expect(await running).to.deep.equal(paused);
    await pauseBatch(database, created.id, 'processing_unavailable');
    expect(await run(created)).to.deep.equal(paused);
    expect(await eventsOf(created)).to.deep.equal(['batch.paused']);
    const funds = await readFunds(database, created.id);
    expect(await liftOperatorPause(database, created.id, BY)).to.equal(true);
    expect((await readFunds(database, created.id)).key, 'wakes the workflow').to.not.equal(funds.key);
    const batch = await runAll(created);
    expect(batch).to.include({ status: 'completed', pausedReason: null, operatorPausedAt: null });
    await check(batch, 60);
    const actions = await listBatchActions(database, created.id);
    expect(actions.map(({ kind, author, reason }) => [kind, author, reason])).to.deep.equal([
      ['pause', BY.author, BY.reason],
      ['resume', BY.author, BY.reason],
    ]);
  });

  it('run failed requests again for an operator until the files are written, and charge each once', async () => {
    // contract 4.17:17
    const { database } = parts;
    const key = await createFundedKey(database);
    const lines = [chat('a', 'Say exactly: one'), chat('b', 'x', { model: 'no-such-model' })];
    const created = await create(key, [...lines, chat('c', 'Say exactly: two [sim:fail=content_policy_violation]')]);
    // The last chunk ends the batch, so a line is kept from it.
    await database('batch_lines').insert({ batch_id: created.id, number: 9, custom_id: 'kept' });
    await run(created);
    const { id } = created;
    const errors = [{ code: 'content_policy_violation', count: 1 }];
    expect((await sumBatches(database, [created])).get(id)?.errors).to.deep.equal(errors);
    expect(await retryFailedLines(database, id, BY)).to.equal(2);
    expect((await sumBatches(database, [created])).get(id)?.errors).to.deep.equal([]);
    await database('batch_lines').where({ batch_id: id, number: 9 }).delete();
    const batch = await runAll(created);
    expect((await sumBatches(database, [batch])).get(id)?.errors, 'each line counts once').to.deep.equal(errors);
    const { answers, failures } = await check(batch, 3);
    expect([...answers, ...failures].map(({ custom_id, attempt }) => [custom_id, attempt])).to.deep.equal([
      ['a', 1],
      ['b', 2],
      ['c', 2],
    ]);
    expect(await retryFailedLines(database, id, BY), 'a final batch').to.equal(null);
  });

  it('retry no request whose failure was charged', async () => {
    const { database } = parts;
    const key = await createFundedKey(database);
    const { id, accountId } = await create(key, [chat('a', 'x'), chat('b', 'x')]);
    const { requestId } = await createTextRequestRow(
      database,
      { id: key.id, accountId },
      { batch_id: id, charge: 5, held: 5 },
    );
    const lineOf = (number: number) => database('batch_lines').where({ batch_id: id, number });
    await lineOf(1).update({ status: 'failed', request_id: requestId });
    await lineOf(2).update({ status: 'failed', request_id: newId('request') });
    expect(await retryFailedLines(database, id, BY)).to.equal(1);
    expect(await lineOf(1).first('status')).to.deep.equal({ status: 'failed' });
    expect(await lineOf(2).first('status')).to.deep.equal({ status: 'waiting' });
  });

  it('expire the requests that have not started at the end of the window', async () => {
    // contract 4.17:10
    const key = await createFundedKey(parts.database);
    const created = await create(
      key,
      Array.from({ length: 60 }, (_, index) => chat(`e${index}`, 'x [sim:delay_ms=400]')),
    );
    const running = run(created);
    await parts.database('batches').where({ id: created.id }).update({ expires_at: new Date() });
    expect(await running).to.deep.equal({ kind: 'stopped' });
    const batch = await finalize(created);
    expect(batch.status).to.equal('expired');
    expect(await eventsOf(batch)).to.deep.equal(['batch.expired']);
    const { failures } = await check(batch, 60);
    expect(failures.at(-1)?.error?.code).to.equal('batch_expired');
  });

  it('charge each line once although two workers run the same lines', async () => {
    // contract 4.17:11
    const key = await createFundedKey(parts.database);
    const other = parts.open();
    const created = await create(
      key,
      Array.from({ length: 40 }, (_, index) => chat(`t${index}`, 'x [sim:delay_ms=50]')),
    );
    await Promise.all([run(created), run(created, other)]);
    const { answers } = await check(await runAll(created), 40);
    expect(answers).to.have.length(40);
    await other.stop();
  });

  it('answer and charge each line once wherever its worker dies', async () => {
    // contract 4.17:11
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 4 }), async (crashes) => {
        const key = await createFundedKey(parts.database);
        const created = await create(
          key,
          Array.from({ length: 20 }, (_, index) => chat(`p${index}`, `Say exactly: ${index}`)),
        );
        for (const crashAfter of crashes) {
          // A worker whose connections end after some answers, before or after it has stored the answer.
          let left = crashAfter;
          const storeAnswer: ChunkServices['storeAnswer'] = async (id, answer) => {
            if (left % 2 === 0) await parts.worker.storeAnswer(id, answer);
            if (left <= 0) throw new Error('the worker dies');
            if (left % 2 !== 0) await parts.worker.storeAnswer(id, answer);
            left -= 1;
          };
          await run(created, { ...parts.worker, storeAnswer }).catch(nothing);
        }
        const { answers } = await check(await runAll(created), 20);
        expect(answers).to.have.length(20);
      }),
      { numRuns: casesOf(60) },
    );
  });
});
