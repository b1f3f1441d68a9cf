/** Batches over the batch APIs of vendors, over a real database and the simulator: contract 4.17. */
import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Catalogue, NativeBatch } from '../../../catalogue/types.ts';
import type { Database } from '../../../db/database.ts';
import { contentId, insertBatchLines } from '../../../db/queries/batch-lines.ts';
import { findAnyBatch, startBatch } from '../../../db/queries/batch-runs.ts';
import { recordLiveOverload } from '../../../db/queries/live-overload.ts';
import { topUp } from '../../../db/queries/credits.ts';
import { releaseDeadAllowances } from '../../../db/text-money/dead-processes.ts';
import type { Batch } from '../../../domain/batch.ts';
import { newId } from '../../../domain/ids.ts';
import { parseUsd } from '../../../domain/money.ts';
import { parseRational } from '../../../domain/rational.ts';
import type { UpstreamFormatName } from '../../../domain/wire-format-name.ts';
import { finalizeBatch } from '../../../services/batches/finalize-batch.ts';
import { runChunk } from '../../../services/batches/run-chunk.ts';
import { type JobServices, type JobsResult, runJobs } from '../../../services/batches/run-jobs.ts';
import { createAnswerStore } from '../../../services/batches/store-answers.ts';
import { createLocalStorage } from '../../../storage/local.ts';
import { readStoredLines, type TextLine } from '../../support/batches.ts';
import { CATALOGUE } from '../../support/catalogue.ts';
import { createTestDatabase } from '../../support/database.ts';
import { ENCRYPTION, testTextService } from '../../support/dependencies.ts';
import { createFundedKey, reloadAccount, type TestKey } from '../../support/factories.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { startTextSimulator } from '../../support/simulator.ts';
import { useStarted } from '../../support/started.ts';
import { startTextParts } from '../../support/text-parts.ts';

const MODEL = 'textc-M3';
const FORMATS: readonly UpstreamFormatName[] = ['chat-completions', 'messages', 'generate-content'];

interface SimulatedJob {
  readonly id: string;
  readonly mark: string | null;
  readonly custom_ids: readonly string[];
  readonly is_cancelled: boolean;
}

const nothing = (): void => {};

/** The catalogue with a route to batches in a format. */
function catalogueWith(format: UpstreamFormatName, remainder: NativeBatch['remainder']): Catalogue {
  const model = CATALOGUE.textModels.get(MODEL);
  if (model === undefined) throw new Error('there is no such model');
  const batch = { remainder, costFactor: parseRational('0.5') };
  const route = { provider: 'simulator', format, model: MODEL, order: 0, weight: 1, batch };
  return { ...CATALOGUE, textModels: new Map([...CATALOGUE.textModels, [MODEL, { ...model, routes: [route] }]]) };
}

describe('the jobs of a batch', () => {
  const parts = useStarted(async () => {
    const [test, simulator] = await Promise.all([createTestDatabase(), startTextSimulator()]);
    const directory = await mkdtemp(join(tmpdir(), 'genway-jobs-'));
    const storage = createLocalStorage({ directory, publicUrl: 'http://files.test' });
    const opened: { stop: () => Promise<void> }[] = [];
    return {
      database: test.database,
      storage,
      url: simulator.url,
      open: (format: UpstreamFormatName, remainder: NativeBatch['remainder'] = 'direct'): JobServices => {
        const worker = openWorker(test, [simulator.settings], catalogueWith(format, remainder));
        opened.push(worker);
        return worker;
      },
      stop: async () => {
        for (const { stop } of opened) await stop();
        await simulator.stop();
        await test.drop();
        await rm(directory, { recursive: true });
      },
    };
  });

  function openWorker(
    { database, url }: { readonly database: Database; readonly url: string },
    settings: Parameters<typeof startTextParts>[0]['settings'],
    catalogue: Catalogue,
  ) {
    const text = startTextParts({ database, databaseUrl: url, catalogue, settings, maxSilenceMs: 60_000 });
    const { log, metrics } = text;
    return {
      text: testTextService(database, { ...text, catalogue }),
      database,
      encryption: ENCRYPTION,
      storeAnswer: createAnswerStore({ database, encryption: ENCRYPTION, log }),
      log,
      metrics,
      settleMs: 0,
      stop: () => text.stop(),
    };
  }

  async function create(key: TestKey, prompts: readonly string[], settings: object = {}): Promise<string> {
    const { database } = parts;
    const id = newId('batch');
    await database('batches').insert({
      id,
      account_id: key.accountId,
      api_key_id: key.id,
      request_id: newId('request'),
      endpoint: '/v1/chat/completions',
      input_file_id: newId('file'),
      total: prompts.length,
      created_at: new Date(),
      expires_at: new Date(Date.now() + 3_600_000),
      next_start_at: 'infinity',
    });
    const lines = prompts.map((content, index) => {
      const body = { model: MODEL, max_tokens: 50, messages: [{ role: 'user', content }], ...settings };
      const number = index + 1;
      const encryptedRequest = ENCRYPTION.encrypt(JSON.stringify(body), contentId(id, number, 0));
      return { number, customId: `c${number}`, model: MODEL, encryptedRequest };
    });
    await insertBatchLines(database, id, lines);
    await startBatch(database, id);
    return id;
  }

  async function step(id: string, services: JobServices): Promise<JobsResult> {
    await parts
      .database('batch_jobs')
      .where({ batch_id: id })
      .update({ next_poll_at: new Date(0) });
    return runJobs(id, services, { signal: new AbortController().signal });
  }

  /** Runs a batch as its workflow does, without the pauses. */
  async function runAll(id: string, services: JobServices): Promise<Batch> {
    for (let steps = 0; steps < 500; steps += 1) {
      const { isDone } = await step(id, services);
      const { kind } = await runChunk(id, services, { signal: new AbortController().signal });
      if (isDone && (kind === 'done' || kind === 'stopped')) {
        const { database, storage } = parts;
        await finalizeBatch(id, { database, storage, encryption: ENCRYPTION }, nothing);
        const batch = await findAnyBatch(database, id);
        if (batch !== null) return batch;
      }
    }
    throw new Error('the batch does not end');
  }

  function linesOf({ accountId }: Batch, fileId: string | null): Promise<readonly TextLine[]> {
    return readStoredLines(parts, accountId, fileId);
  }

  /** Everything that must hold of a final batch, whatever its vendor did. Returns its lines, and its usage. */
  async function check(batch: Batch, count: number) {
    const { database } = parts;
    const answers = await linesOf(batch, batch.outputFileId);
    const failures = await linesOf(batch, batch.errorFileId);
    const ids = [...answers, ...failures].map(({ custom_id: id }) => id);
    expect([new Set(ids).size, ids.length], 'each line in exactly one file').to.deep.equal([count, count]);
    const usage = await database('text_requests').where({ batch_id: batch.id }).whereNot({ outcome: 'failed' });
    expect(
      usage.map((row) => row.request_id),
      'each answer charged once',
    ).to.have.members(answers.map(({ response }) => response?.request_id));
    const transfers = await database('transfers')
      .where({ account_id: batch.accountId })
      .whereIn('kind', ['charge', 'excess']);
    const sum = (rows: readonly Record<string, string>[], field: string): bigint =>
      rows.reduce((total, row) => total + BigInt(row[field] ?? 0), 0n);
    expect(sum(transfers, 'amount'), 'charges are those of the usage').to.equal(sum(usage, 'charge'));
    expect(await database('batch_jobs').where({ batch_id: batch.id, ended_at: null }), 'no open job').to.deep.equal([]);
    const jobs = await database('batch_jobs').where({ batch_id: batch.id }).pluck('id');
    expect(await database('text_allowances').whereIn('process_id', jobs), 'no money is left in a job').to.deep.equal(
      [],
    );
    return { answers, failures, usage };
  }

  /** The vendor's jobs that have lines of the batch. */
  async function vendorJobsOf(id: string): Promise<readonly SimulatedJob[]> {
    const marks = await parts.database('batch_jobs').where({ batch_id: id }).pluck<string[]>('id');
    const response = await fetch(`${parts.url}/_sim/batches`);
    const { data } = (await response.json()) as { data: readonly SimulatedJob[] };
    return data.filter(({ custom_ids: ids }) => marks.some((mark) => ids.some((one) => one.startsWith(mark))));
  }

  for (const format of FORMATS) {
    describe(`at a vendor of ${format}`, () => {
      it('answer each line once at half the price, and cost the operator half', async () => {
        // contract 4.17:19
        const key = await createFundedKey(parts.database);
        const id = await create(key, ['Say exactly: one', 'x [sim:fail=bad_request]', 'Say exactly: three']);
        const batch = await runAll(id, parts.open(format));
        expect(batch.status).to.equal('completed');
        const { answers, failures, usage } = await check(batch, 3);
        expect(answers.map(({ custom_id: line, attempt }) => [line, attempt])).to.deep.equal([
          ['c1', 1],
          ['c3', 1],
        ]);
        expect(JSON.stringify(answers[0]?.response?.body)).to.include('"content":"one"');
        expect(failures.map(({ response }) => response?.status_code)).to.deep.equal([400]);
        for (const row of usage) {
          expect(row).to.include({ upstream: 'simulator', upstream_format: format, cost_factor: '0.5' });
          expect(row.modifiers).to.deep.equal([{ kind: 'batch', factor: '0.5' }]);
        }
        expect(await vendorJobsOf(id)).to.have.length(1);
      });

      it('reach the vendor once when its answer is lost', async () => {
        // contract 4.17:20
        const key = await createFundedKey(parts.database);
        const id = await create(key, ['x [sim:batch=lost]', ...Array.from({ length: 8 }, () => 'x')]);
        const batch = await runAll(id, parts.open(format));
        const { answers } = await check(batch, 9);
        expect(answers.map(({ attempt }) => attempt)).to.deep.equal(Array.from({ length: 9 }, () => 1));
        expect(await vendorJobsOf(id)).to.have.length(1);
      });

      it('return their lines when the vendor never got them', async () => {
        const key = await createFundedKey(parts.database);
        const services = parts.open(format);
        const id = await create(key, ['x [sim:batch=never]', 'x', 'x', 'x', 'x', 'x', 'x']);
        for (let steps = 0; steps < 3; steps += 1) await step(id, services);
        expect((await parts.database('batch_jobs').where({ batch_id: id })).map((job) => job.outcome)).to.include(
          'not_taken',
        );
        expect(await vendorJobsOf(id)).to.deep.equal([]);
        await parts.database('batches').where({ id }).update({ status: 'cancelling', cancelling_at: new Date() });
        await check(await runAll(id, services), 7);
      });

      it('run the lines directly that the vendor leaves out, garbles or answers twice, and charge each once', async () => {
        // contract 4.17:19
        const key = await createFundedKey(parts.database);
        const faults = ['missing', 'twice', 'stranger', 'expired', 'garbage'];
        const id = await create(key, ['x [sim:batch=cut]', ...faults.map((fault) => `x [sim:batch_line=${fault}]`)]);
        const batch = await runAll(id, parts.open(format));
        const { answers } = await check(batch, 6);
        expect(answers).to.have.length(6);
        expect(answers.filter(({ attempt }) => attempt > 1).map(({ custom_id: line }) => line)).to.deep.equal([
          'c2',
          'c5',
          'c6',
        ]);
        expect(await vendorJobsOf(id)).to.have.length(1);
      });

      it('fail the lines that the vendor leaves out, if the route says so', async () => {
        const key = await createFundedKey(parts.database);
        const id = await create(key, ['x', 'x [sim:batch_line=missing]']);
        const batch = await runAll(id, parts.open(format, 'fail'));
        const { failures } = await check(batch, 2);
        expect(failures.map(({ custom_id: line, response }) => [line, response?.status_code])).to.deep.equal([
          ['c2', 503],
        ]);
      });

      it('end at the vendor when their batch is cancelled, and charge what the vendor has answered', async () => {
        // contract 4.17:8
        const key = await createFundedKey(parts.database);
        const services = parts.open(format);
        const id = await create(key, ['x [sim:batch_ms=600000]', 'x', 'x', 'x']);
        await step(id, services);
        await parts.database('batches').where({ id }).update({ status: 'cancelling', cancelling_at: new Date() });
        const batch = await runAll(id, services);
        expect(batch.status).to.equal('cancelled');
        const { answers, failures } = await check(batch, 4);
        expect([answers.length, failures.length]).to.deep.equal([2, 2]);
        expect((await vendorJobsOf(id)).map(({ is_cancelled: isCancelled }) => isCancelled)).to.deep.equal([true]);
      });

      it('run the lines directly of a job that the vendor refuses, or no longer has', async () => {
        for (const fault of ['refused', 'gone']) {
          const key = await createFundedKey(parts.database);
          const id = await create(key, [`x [sim:batch=${fault},batch_ms=0]`, 'x']);
          const { answers } = await check(await runAll(id, parts.open(format)), 2);
          expect(answers.map(({ attempt }) => attempt)).to.deep.equal([2, 2]);
        }
      });
    });
  }

  it('hold their money while no process runs, and return what their lines did not cost', async () => {
    const { database } = parts;
    const key = await createFundedKey(database);
    const services = parts.open('chat-completions');
    const id = await create(key, ['x [sim:batch_ms=1000]']);
    await step(id, services);
    const [job] = await database('batch_jobs').where({ batch_id: id });
    await database('processes')
      .where({ id: job.id })
      .update({ heartbeat_at: new Date(0) });
    const ownId = randomUUID();
    await database('processes').insert({ id: ownId, heard_since: new Date(0) });
    await releaseDeadAllowances(database, ownId);
    expect(await database('text_allowances').where({ process_id: job.id })).to.have.length(1);
    await check(await runAll(id, services), 1);
    const { fundedReserved } = await reloadAccount(database, { id: key.accountId });
    expect(fundedReserved).to.equal(0n);
  });

  it('neither start nor are read while the gateway refuses live requests for its load', async () => {
    // contract 4.17:18
    const { database } = parts;
    const services = parts.open('chat-completions');
    const id = await create(await createFundedKey(database), ['x']);
    await recordLiveOverload(database);
    expect(await step(id, services)).to.include({ isDone: false, reason: null });
    expect(await vendorJobsOf(id)).to.deep.equal([]);
    await database('live_overload').delete();
    await check(await runAll(id, services), 1);
  });

  it('take what the balance can pay, and report why the others wait', async () => {
    // contract 4.17:4
    const { database } = parts;
    const services = parts.open('chat-completions');
    const key = await createFundedKey(database, 0.000_1);
    const id = await create(key, ['x', 'x'], { max_tokens: 100_000 });
    const { isDone, reason } = await step(id, services);
    expect([isDone, reason]).to.deep.equal([false, 'insufficient_credits']);
    expect(await vendorJobsOf(id)).to.deep.equal([]);
    await topUp(database, { accountId: key.accountId, amount: parseUsd(10), reference: 'more' });
    await check(await runAll(id, services), 2);
  });

  it('start anew when their process dies before it sends them', async () => {
    const { database } = parts;
    const services = parts.open('messages');
    const key = await createFundedKey(database);
    const id = await create(key, ['x', 'x', 'x']);
    const dying = {
      ...services,
      text: {
        ...services.text,
        over: () => {
          throw new Error('the process dies');
        },
      },
    };
    expect(await rejectionOf(step(id, dying))).to.be.instanceOf(Error);
    const { answers } = await check(await runAll(id, services), 3);
    expect(answers.map(({ attempt }) => attempt)).to.deep.equal([1, 1, 1]);
    expect(await vendorJobsOf(id)).to.have.length(1);
  });
});
