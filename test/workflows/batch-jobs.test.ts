/** Batches over the batch APIs of vendors, in a whole Genway: contract 4.17. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import OpenAI, { toFile } from 'openai';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../support/eventually.ts';
import { pauseByOperator } from '../../db/queries/batch-actions.ts';
import { useTestFolder } from '../support/started.ts';
import { useTestStack } from '../support/stack.ts';

type Batch = OpenAI.Batches.Batch;

interface VendorJob {
  readonly id: string;
  readonly custom_ids: readonly string[];
  readonly is_cancelled: boolean;
}

const ENDPOINT = '/v1/chat/completions';
const FINAL = ['completed', 'failed', 'expired', 'cancelled'];
/** A model at each vendor. */
const MODELS = { openai: 'textc-M3', anthropic: 'texti-k3', google: 'texth-3.7-flash' };

describe('a batch over the batch API of a vendor', () => {
  const catalogue = join(useTestFolder(), 'catalogue.yaml');
  const stack = useTestStack({ env: { GENWAY_CATALOGUE: catalogue } });
  let client: OpenAI;

  before(async () => {
    const shipped = await readFile(join(import.meta.dirname, '../../catalogue/catalogue.yaml'), 'utf8');
    const route = /routes: \[\{ provider: simulator, format: (chat-completions|messages|generate-content) \}\]/g;
    await writeFile(
      catalogue,
      shipped.replaceAll(route, 'routes: [{ provider: simulator, format: $1, batch: native }]'),
    );
    await stack.api.start();
    const { apiKey } = await stack.createAccount();
    client = new OpenAI({ apiKey, baseURL: `${stack.baseUrl}/v1`, maxRetries: 0 });
  });

  async function create(model: string, prompts: readonly string[]): Promise<Batch> {
    const lines = prompts.map((content, index) => {
      const body = { model, max_tokens: 50, messages: [{ role: 'user', content }] };
      return `${JSON.stringify({ custom_id: String(index), method: 'POST', url: ENDPOINT, body })}\n`;
    });
    const file = await client.files.create({
      file: await toFile(Buffer.from(lines.join('')), 'in.jsonl'),
      purpose: 'batch',
    });
    return client.batches.create({ input_file_id: file.id, endpoint: ENDPOINT, completion_window: '24h' });
  }

  function whenFinal({ id }: Batch): Promise<Batch> {
    return waitUntil(
      async () => {
        const batch = await client.batches.retrieve(id);
        if (!FINAL.includes(batch.status)) throw new Error(`the batch is ${JSON.stringify(batch)}`);
        return batch;
      },
      { timeoutMs: PATIENCE_MS, pauseMs: 250 },
    );
  }

  /** The vendor's jobs with lines of a batch. */
  async function vendorJobsOf({ id }: Batch): Promise<readonly VendorJob[]> {
    const marks = await stack.database('batch_jobs').where({ batch_id: id }).pluck<string[]>('id');
    const response = await fetch(`${stack.simulatorUrl}/_sim/batches`);
    const { data } = (await response.json()) as { data: readonly VendorJob[] };
    return data.filter(({ custom_ids: ids }) => marks.some((mark) => ids.some((one) => one.startsWith(mark))));
  }

  function whenSent(batch: Batch): Promise<readonly VendorJob[]> {
    return waitUntil(
      async () => {
        const jobs = await vendorJobsOf(batch);
        if (jobs.length === 0) throw new Error('the vendor has no job');
        return jobs;
      },
      { timeoutMs: PATIENCE_MS, pauseMs: 250 },
    );
  }

  /** Each answered line has one usage record, and one charge of its amount. */
  async function checkCharges({ id }: Batch, answered: number): Promise<void> {
    const usage = await stack.database('text_requests').where({ batch_id: id }).whereNot({ outcome: 'failed' });
    expect(usage.map((row) => row.cost_factor)).to.deep.equal(Array.from({ length: answered }, () => '0.5'));
    for (const row of usage) {
      const paid = await stack.database('transfers').where({ text_request_id: row.id }).pluck('amount');
      expect(paid).to.deep.equal([row.charge]);
    }
    const jobs = await stack.database('batch_jobs').where({ batch_id: id }).pluck('id');
    expect(await stack.database('text_allowances').whereIn('process_id', jobs)).to.deep.equal([]);
  }

  it('is sent once although its worker dies before the vendor confirms the job', async () => {
    // contract 4.17:20
    const victim = stack.killable('worker');
    await victim.start();
    const prompts = ['x [sim:batch=stall,batch_ms=0]', 'x', 'x', 'x'];
    const batches = await Promise.all(
      Object.values(MODELS).map((model, index) =>
        create(model, [...prompts, ...Array.from({ length: index }, () => 'x')]),
      ),
    );
    await Promise.all(batches.map(whenSent));
    await victim.kill();
    await stack.worker.start();
    for (const [index, batch] of batches.entries()) {
      const { status, request_counts: counts } = await whenFinal(batch);
      expect([status, counts?.completed]).to.deep.equal(['completed', prompts.length + index]);
      expect(await vendorJobsOf(batch)).to.have.length(1);
      await checkCharges(batch, prompts.length + index);
    }
  });

  it('is cancelled at the vendor, and answers and charges what the vendor has done', async () => {
    // contract 4.17:8
    const batch = await create(MODELS.openai, ['x [sim:batch_ms=600000]', 'x', 'x', 'x']);
    await whenSent(batch);
    await client.batches.cancel(batch.id);
    const { status, request_counts: counts } = await whenFinal(batch);
    expect([status, counts]).to.deep.equal(['cancelled', { total: 4, completed: 2, failed: 2 }]);
    expect((await vendorJobsOf(batch)).map(({ is_cancelled: isCancelled }) => isCancelled)).to.deep.equal([true]);
    await checkCharges(batch, 2);
  });

  it('a job is read and charged while an operator pauses the batch', async () => {
    // contract 4.17:28
    const batch = await create(MODELS.openai, ['x [sim:batch_ms=2000]', 'x']);
    await whenSent(batch);
    await pauseByOperator(stack.database, batch.id, { author: 'ada', reason: 'a test' });
    await waitUntil(
      async () => {
        const { request_counts: counts } = await client.batches.retrieve(batch.id);
        expect(counts).to.deep.equal({ total: 2, completed: 2, failed: 0 });
      },
      { timeoutMs: PATIENCE_MS },
    );
    await checkCharges(batch, 2);
  });
});
