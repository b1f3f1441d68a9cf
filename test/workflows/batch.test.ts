/** Batches, from upload to files, in a whole Genway: contract 4.17. */
import { expect } from 'chai';
import OpenAI, { toFile } from 'openai';
import { liftOperatorPause, pauseByOperator } from '../../db/queries/batch-actions.ts';
import { newId } from '../../domain/ids.ts';
import { BATCHES } from '../../domain/policy.ts';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../support/eventually.ts';
import { rejectionOf } from '../support/rejection.ts';
import { call, useTestStack } from '../support/stack.ts';
import type { TestCaller } from '../support/factories.ts';

type Batch = OpenAI.Batches.Batch;

interface OutputLine {
  readonly id: string;
  readonly custom_id: string;
  readonly attempt: number;
  readonly response: {
    readonly status_code: number;
    readonly request_id: string;
    readonly body: Readonly<Record<string, unknown>>;
  } | null;
  readonly error: { readonly code: string } | null;
}

interface LineOptions {
  readonly model?: string;
  readonly url?: string;
}

const FINAL = ['completed', 'failed', 'expired', 'cancelled'];
const ENDPOINT = '/v1/chat/completions';
const IMAGES = '/v1/images/tasks';

function chat(customId: string, prompt: string, { model = 'textc-M3', url = ENDPOINT }: LineOptions = {}): object {
  const body = { model, max_tokens: 50, messages: [{ role: 'user', content: prompt }] };
  return { custom_id: customId, method: 'POST', url, body };
}

describe('a batch', () => {
  const stack = useTestStack();
  let caller: TestCaller;
  let client: OpenAI;

  before(async () => {
    await Promise.all([stack.api.start(), stack.worker.start()]);
    caller = await stack.createAccount();
    client = clientOf(caller);
  });

  function clientOf({ apiKey }: TestCaller): OpenAI {
    return new OpenAI({ apiKey, baseURL: `${stack.baseUrl}/v1`, maxRetries: 0 });
  }

  async function create(
    lines: readonly object[],
    { endpoint = ENDPOINT, by = client }: { readonly endpoint?: string; readonly by?: OpenAI } = {},
  ): Promise<Batch> {
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    const file = await by.files.create({ file: await toFile(Buffer.from(text), 'in.jsonl'), purpose: 'batch' });
    const body = { input_file_id: file.id, endpoint, completion_window: '24h' } as OpenAI.Batches.BatchCreateParams;
    return by.batches.create(body);
  }

  function whenFinal({ id }: Batch, by = client): Promise<Batch> {
    return when(id, ({ status }) => FINAL.includes(status), by);
  }

  function when(id: string, isMet: (batch: Batch) => boolean, by = client): Promise<Batch> {
    return waitUntil(
      async () => {
        const batch = await by.batches.retrieve(id);
        if (!isMet(batch)) throw new Error(`the batch is ${JSON.stringify(batch)}`);
        return batch;
      },
      { timeoutMs: PATIENCE_MS, pauseMs: 250 },
    );
  }

  async function linesOf(fileId: string | null | undefined, by = client): Promise<readonly OutputLine[]> {
    if (!fileId) return [];
    const text = await (await by.files.content(fileId)).text();
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  }

  /** Everything that must hold of a final batch, whatever happened to it. Returns its lines. */
  async function check(batch: Batch, lines: number, by = client) {
    const answers = await linesOf(batch.output_file_id, by);
    const failures = await linesOf(batch.error_file_id, by);
    const ids = [...answers, ...failures].map(({ custom_id: id }) => id);
    expect(new Set(ids).size, 'each line in exactly one file').to.equal(ids.length);
    expect(ids.length, 'each line in a file').to.equal(lines);
    expect(batch.request_counts).to.deep.equal({ total: lines, completed: answers.length, failed: failures.length });
    const { rows } = await stack.database.raw<{ rows: { id: string; charge: string; paid: string | null }[] }>(
      `SELECT request.request_id AS id, request.charge, sum(transfers.amount) AS paid FROM text_requests AS request
      LEFT JOIN transfers ON text_request_id = request.id AND kind IN ('charge', 'excess')
      WHERE batch_id = :id AND outcome <> 'failed' GROUP BY request.id, request.created_at`,
      { id: batch.id },
    );
    const paid = new Map(rows.map((row) => [row.id, [row.charge, row.paid]]));
    expect([...paid.keys()], 'each answer charged once, and nothing else').to.have.members(
      answers.map(({ response }) => response?.request_id),
    );
    for (const [charge, sum] of paid.values()) expect(sum).to.equal(charge);
    expect(await stack.database('batch_lines').where({ batch_id: batch.id })).to.have.length(0);
    expect(await stack.database('batch_contents').where('id', 'like', `${batch.id}/%`)).to.have.length(0);
    return { answers, failures };
  }

  async function eventsOf({ id }: Batch): Promise<readonly string[]> {
    const rows = await stack.database<{ type: string; payload: string }>('events').where('payload', 'like', `%${id}%`);
    return rows.map(({ type }) => type);
  }

  it('answers each request once, at half the price, and lists failures in their own file', async () => {
    // contract 4.17:6 6:26
    const created = await create([
      chat('a', 'Say exactly: one'),
      chat('b', 'x', { model: 'no-such-model' }),
      chat('c', 'Say exactly: two'),
    ]);
    expect(created).to.include({ object: 'batch', status: 'validating', endpoint: ENDPOINT, completion_window: '24h' });
    const batch = await whenFinal(created);
    expect(batch.status).to.equal('completed');
    const { answers, failures } = await check(batch, 3);
    expect(
      answers.map(({ custom_id, attempt, response }) => [custom_id, attempt, response?.status_code]),
    ).to.deep.equal([
      ['a', 1, 200],
      ['c', 1, 200],
    ]);
    expect(JSON.stringify(answers[0]?.response?.body)).to.include('"content":"one"');
    expect(failures.map(({ custom_id, response }) => [custom_id, response?.status_code])).to.deep.equal([['b', 404]]);
    const row = await stack.database('text_requests').where({ batch_id: created.id }).first();
    expect(row.modifiers).to.deep.equal([{ kind: 'batch', factor: '0.5' }]);
    expect(await eventsOf(batch)).to.deep.equal(['batch.completed']);
  });

  it('takes turns with the batches of other accounts, after everything else', async () => {
    const created = await create([chat('a', 'x')]);
    await whenFinal(created);
    const { priority } = await stack.temporal.workflow.getHandle(created.id).describe();
    expect([priority?.fairnessKey, priority?.priorityKey]).to.deep.equal([caller.accountId, 5]);
  });

  it('is invisible to other accounts', async () => {
    // contract 4.17:9
    const other = clientOf(await stack.createAccount());
    const created = await create([chat('a', 'x')]);
    expect(await rejectionOf(other.batches.retrieve(created.id))).to.include({ status: 404 });
    expect(await rejectionOf(other.batches.cancel(created.id))).to.include({ status: 404 });
    expect((await other.batches.list()).data).to.deep.equal([]);
    const input = { endpoint: ENDPOINT, completion_window: '24h', input_file_id: created.input_file_id } as const;
    expect(await rejectionOf(other.batches.create(input))).to.include({ status: 404 });
    await whenFinal(created);
    expect((await client.batches.list({ limit: 1 })).data.map(({ id }) => id)).to.deep.equal([created.id]);
  });

  it('is refused while the account has as many batches in progress as it may have', async () => {
    // contract 4.17:12
    const busy = await stack.createAccount();
    const rows = Array.from({ length: BATCHES.maxRunning }, () => ({
      id: newId('batch'),
      account_id: busy.accountId,
      api_key_id: busy.keyId,
      request_id: newId('request'),
      endpoint: ENDPOINT,
      input_file_id: newId('file'),
      created_at: new Date(),
      expires_at: new Date(),
      next_start_at: 'infinity',
    }));
    await stack.database('batches').insert(rows);
    const refused = await rejectionOf(create([chat('a', 'x')], { by: clientOf(busy) }));
    expect(refused).to.include({ status: 429, code: 'user_concurrency_exceeded' });
  });

  it('starts no further request once it is cancelled, and lists those that did not run', async () => {
    // contract 4.17:8
    const lines = Array.from({ length: 200 }, (_, index) => chat(`c${index}`, `x [sim:delay_ms=300]`));
    const created = await create(lines);
    await when(created.id, ({ request_counts: counts }) => (counts?.completed ?? 0) > 0);
    expect(await client.batches.cancel(created.id)).to.include({ status: 'cancelling' });
    const batch = await whenFinal(created);
    expect(batch.status).to.equal('cancelled');
    const { answers, failures } = await check(batch, 200);
    expect(answers.length).to.be.within(1, 199);
    expect(new Set(failures.map(({ error }) => error?.code))).to.deep.equal(new Set(['batch_cancelled']));
    expect(await eventsOf(batch)).to.deep.equal(['batch.cancelled']);
  });

  it('waits while the balance is too low, and goes on after a top-up', async () => {
    // contract 4.17:4
    const poor = await stack.createAccount({ fundedUsd: 0.000_001 });
    const by = clientOf(poor);
    const created = await create([chat('a', 'Say exactly: one'), chat('b', 'Say exactly: two')], { by });
    const paused = await when(created.id, (batch) => Reflect.get(batch, 'paused_reason') !== null, by);
    expect(paused).to.include({ status: 'in_progress', paused_reason: 'insufficient_credits' });
    const topUp = { amount_usd: 5, reference: created.id };
    const { status } = await call(`${stack.baseUrl}/admin/v1/accounts/${poor.accountId}/topups`, {
      key: stack.adminToken,
      body: topUp,
    });
    expect(status).to.equal(201);
    const batch = await whenFinal(created, by);
    await check(batch, 2, by);
    expect(batch.request_counts?.completed).to.equal(2);
    expect(await eventsOf(batch)).to.have.members(['batch.paused', 'batch.completed']);
  });

  it('reads its input again after a restore of the database that has no line of it', async () => {
    const { database } = stack;
    const by = { author: 'ada', reason: 'a test' };
    const created = await create(Array.from({ length: 200 }, (_, index) => chat(`r${index}`, 'x [sim:delay_ms=300]')));
    await when(created.id, ({ status }) => status === 'in_progress');
    await pauseByOperator(database, created.id, by);
    await waitUntil(
      async () => {
        const waiting = await stack.temporal.workflow.getHandle(created.id).describe();
        const [activity] = waiting.raw.pendingActivities ?? [];
        expect(activity?.activityType?.name).to.equal('awaitFunds');
      },
      { timeoutMs: PATIENCE_MS },
    );
    await database.transaction(async (transaction) => {
      await transaction('batch_contents').where('id', 'like', `${created.id}/%`).delete();
      await transaction('batch_lines').where({ batch_id: created.id }).delete();
      await transaction('batches').where({ id: created.id }).update({ status: 'validating', in_progress_at: null });
    });
    await liftOperatorPause(database, created.id, by);
    const batch = await whenFinal(created);
    expect(batch).to.deep.include({ status: 'completed', request_counts: { total: 200, completed: 200, failed: 0 } });
  });

  it('tells operators what each step does, and what the batch does after a pause', async () => {
    const by = { author: 'ada', reason: 'a test' };
    const created = await create(Array.from({ length: 200 }, (_, index) => chat(`s${index}`, 'x [sim:delay_ms=300]')));
    const handle = stack.temporal.workflow.getHandle(created.id);
    const whenDoing = (what: string) =>
      waitUntil(
        async () => {
          const { currentDetails } = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
          expect(currentDetails).to.match(new RegExp(`^${what}`));
        },
        { timeoutMs: PATIENCE_MS },
      );
    await when(created.id, ({ status }) => status === 'in_progress');
    await pauseByOperator(stack.database, created.id, by);
    await whenDoing('Paused: ');
    await liftOperatorPause(stack.database, created.id, by);
    await whenDoing('Running the requests');
    await whenFinal(created);
    await whenDoing('All files are written');
    const { events } = await handle.fetchHistory();
    const steps = (events ?? []).filter((event) => event.activityTaskScheduledEventAttributes);
    expect(steps.filter(({ userMetadata }) => !userMetadata?.summary)).to.deep.equal([]);
    expect(steps).not.to.have.length(0);
  });

  describe('whose worker dies', () => {
    let text: Batch;
    let images: Batch;
    let owner: TestCaller;
    let by: OpenAI;
    const LINES = 100;

    before(async () => {
      const victim = stack.killable('worker');
      await stack.worker.stop();
      await victim.start();
      owner = await stack.createAccount();
      await stack.database('accounts').where({ id: owner.accountId }).update({ max_concurrent_tasks: 2 });
      by = clientOf(owner);
      // Some answers take longer than the first answers and images, so that the worker dies before their end.
      const prompts = Array.from({ length: LINES }, (_, index) => (index % 20 === 0 ? 'x [sim:delay_ms=8000]' : 'x'));
      text = await create(prompts.map((prompt, index) => chat(`k${index}`, prompt)));
      images = await create(
        Array.from({ length: 10 }, (_, index) => ({
          custom_id: `m${index}`,
          method: 'POST',
          url: IMAGES,
          body: { model: ['imagea-2.5-sunburst', 'imageb-2'][index % 2], prompt: 'x [sim:render_ms=300]' },
        })),
        { endpoint: IMAGES, by },
      );
      const hasAnswers = ({ request_counts: counts }: Batch): boolean => (counts?.completed ?? 0) > 0;
      await Promise.all([when(text.id, hasAnswers), when(images.id, hasAnswers, by)]);
      await victim.kill();
      await stack.worker.start();
    });

    it('answers and charges each request once', async () => {
      // contract 4.17:11
      const batch = await whenFinal(text);
      expect(batch.status).to.equal('completed');
      const { answers } = await check(batch, LINES);
      expect(answers.length).to.equal(LINES);
      expect(Math.max(...answers.map(({ attempt }) => attempt))).to.be.greaterThan(1);
    });

    it('renders and charges each task of two models once', async () => {
      // contract 4.17:22 4.17:23
      const batch = await whenFinal(images, by);
      expect(batch).to.deep.include({ status: 'completed', request_counts: { total: 10, completed: 10, failed: 0 } });
      const results = await linesOf(batch.output_file_id, by);
      const tasks = await stack.database('tasks').where({ batch_id: batch.id });
      expect(tasks.map(({ status }) => status)).to.deep.equal(Array.from({ length: 10 }, () => 'succeeded'));
      const shown = results.map(({ response }) => Reflect.get(response?.body['data'] ?? {}, 'id'));
      expect(shown).to.have.members(tasks.map(({ id }) => id));
      const paid = await stack.database('transfers').where({ account_id: owner.accountId, kind: 'settlement' });
      expect(paid.map(({ task_id: id }) => id)).to.have.members(shown);
    });
  });
});
