/** The batch APIs of vendors, against the simulator, which refuses what the vendors refuse. */
import { expect } from 'chai';
import { waitUntil } from '../../../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../../../support/eventually.ts';
import type { UpstreamFormatName } from '../../../../domain/wire-format-name.ts';
import { batchVendorOf } from '../../../../providers/text/batches/index.ts';
import { type BatchClient } from '../../../../providers/text/batches/client.ts';
import {
  type BatchOrder,
  type BatchResult,
  type BatchVendor,
  customIdOf,
  numberOf,
} from '../../../../providers/text/batches/vendor.ts';
import { createTextUpstreams, type TextUpstreams } from '../../../../providers/text/text-upstreams.ts';
import type { TextUpstreamSettings } from '../../../../providers/text/settings.ts';
import type { JsonObject } from '../../../../domain/json.ts';
import { UpstreamError } from '../../../../text/upstream-errors.ts';
import { rejectionOf } from '../../../support/rejection.ts';
import { startTextSimulator } from '../../../support/simulator.ts';
import { useStarted } from '../../../support/started.ts';

const MODEL = 'a-model';
const KEY_HEADERS = { authorization: 'Bearer ', 'x-api-key': '' };

interface Vendor {
  readonly format: UpstreamFormatName;
  readonly path: string;
  readonly bodyOf: (prompt: string) => JsonObject;
}

const chat = (prompt: string): JsonObject => ({ model: MODEL, messages: [{ role: 'user', content: prompt }] });

const VENDORS: readonly Vendor[] = [
  { format: 'chat-completions', path: '/chat/completions', bodyOf: chat },
  { format: 'chat-completions', path: '/embeddings', bodyOf: (input) => ({ model: MODEL, input }) },
  { format: 'responses', path: '/responses', bodyOf: (input) => ({ model: MODEL, input }) },
  { format: 'messages', path: '/messages', bodyOf: (prompt) => ({ ...chat(prompt), max_tokens: 20 }) },
  {
    format: 'generate-content',
    path: `/models/${MODEL}:generateContent`,
    bodyOf: (text) => ({ contents: [{ role: 'user', parts: [{ text }] }] }),
  },
];

const noneKnown = async (): Promise<ReadonlySet<string>> => new Set();
const nothing = async (): Promise<void> => {};
let jobs = 0;

describe('the batch API of a vendor', () => {
  const parts = useStarted(async () => {
    const simulator = await startTextSimulator();
    const upstreams = upstreamsOf(simulator.settings);
    return {
      upstreams,
      url: simulator.url,
      stop: async () => {
        await upstreams.close();
        await simulator.stop();
      },
    };
  });

  function upstreamsOf(settings: TextUpstreamSettings): TextUpstreams {
    return createTextUpstreams([settings], 10_000, {
      traced: (_name, dispatcher) => dispatcher,
      answered: () => {},
      attempted: () => {},
    });
  }

  function use<Result>({ format }: Vendor, work: (client: BatchClient, vendor: BatchVendor) => Promise<Result>) {
    const address = { provider: 'simulator', format, model: MODEL, keyDigest: null };
    return parts.upstreams.useBatches(address, (client) => work(client, batchVendorOf(format)));
  }

  function orderOf({ path, bodyOf }: Vendor, prompts: readonly string[]): BatchOrder {
    const mark = `mark-${(jobs += 1)}`;
    const requests = prompts.map((prompt, index) => ({
      customId: customIdOf(mark, index + 1),
      request: { path, headers: KEY_HEADERS, body: bodyOf(prompt) },
    }));
    return { mark, model: MODEL, requests };
  }

  async function answersOf(vendor: BatchVendor, id: string, client: BatchClient): Promise<(BatchResult | null)[]> {
    const { job } = await waitUntil(
      async () => {
        const state = await vendor.read(id, client);
        if (state.kind !== 'ended') throw new Error(`the job is ${state.kind}`);
        return state;
      },
      { timeoutMs: PATIENCE_MS },
    );
    const results: (BatchResult | null)[] = [];
    for await (const result of vendor.results(job, client)) results.push(result);
    return results;
  }

  for (const one of VENDORS) {
    describe(`at ${one.path}`, () => {
      it('creates a job, finds it by its mark, and reads its answers', async () => {
        await use(one, async (client, vendor) => {
          const order = orderOf(one, [
            'Say exactly: one',
            'x [sim:fail=processing_failed]',
            'x [sim:batch_line=expired]',
          ]);
          const id = await vendor.create(order, client, nothing);
          const answers = await answersOf(vendor, id, client);
          const sent = { mark: order.mark, sentAtMs: Date.now(), requestCount: 3 };
          expect(await vendor.find(sent, client, noneKnown)).to.deep.equal({ kind: 'found', vendorId: id });
          const other = { ...sent, mark: 'mark-of-another' };
          expect(await vendor.find(other, client, noneKnown)).to.deep.equal({ kind: 'absent' });
          const byNumber = new Map(answers.map((answer) => [numberOf(order.mark, answer?.customId ?? ''), answer]));
          expect(byNumber.get(1)).to.have.property('status', 200);
          if (one.path !== '/embeddings') expect(JSON.stringify(byNumber.get(1)?.body)).to.include('one');
          if (one.path !== '/embeddings') expect(byNumber.get(2)?.status).to.equal(500);
          if (one.format !== 'generate-content') expect(byNumber.get(3)).to.have.property('status', null);
        });
      });

      it('finds a job whose answer was lost, and none that never arrived', async () => {
        await use(one, async (client, vendor) => {
          for (const [fault, kind] of [
            ['lost', 'found'],
            ['never', 'absent'],
          ]) {
            const order = orderOf(one, [`x [sim:batch=${fault},batch_ms=0]`, 'x', 'x', 'x']);
            let sends = 0;
            const sent = { mark: order.mark, sentAtMs: Date.now(), requestCount: 4 };
            const error = await rejectionOf(vendor.create(order, client, async () => void (sends += 1)));
            expect([error instanceof UpstreamError, sends]).to.deep.equal([true, 1]);
            expect(await vendor.find(sent, client, noneKnown)).to.have.property('kind', kind);
          }
        });
      });

      it('reads the answers of a cancelled job, and reports the requests that did not run', async () => {
        await use(one, async (client, vendor) => {
          const order = orderOf(one, ['x [sim:batch_ms=60000]', 'x']);
          const id = await vendor.create(order, client, nothing);
          expect(await vendor.read(id, client)).to.deep.equal({ kind: 'running' });
          await vendor.cancel(id, client);
          const answers = await answersOf(vendor, id, client);
          const ran = answers.filter((answer) => answer?.status === 200).map((answer) => answer?.customId);
          expect(ran).to.deep.equal([customIdOf(order.mark, 1)]);
        });
      });

      it('skips answers that are not readable, and reports answers that break off', async () => {
        await use(one, async (client, vendor) => {
          const order = orderOf(one, ['x [sim:batch_line=garbage]', 'x [sim:batch=cut]', 'x [sim:batch_line=twice]']);
          const id = await vendor.create(order, client, nothing);
          // The answers of Google are a part of the job, which is read again.
          if (one.format !== 'generate-content') {
            expect(await rejectionOf(answersOf(vendor, id, client))).to.be.instanceOf(Error);
          }
          const answers = await answersOf(vendor, id, client);
          expect(answers).to.have.length(4);
          expect(answers.filter((answer) => answer === null)).to.have.length(1);
        });
      });

      it('reports a job that is refused as a whole', async () => {
        await use(one, async (client, vendor) => {
          const order = orderOf(one, ['x [sim:batch=refused,batch_ms=0]']);
          const id = await vendor.create(order, client, nothing).catch((error: unknown) => error);
          if (typeof id === 'string') expect((await vendor.read(id, client)).kind).to.equal('refused');
          else expect(id).to.have.property('upstreamStatus', 400);
        });
      });
    });
  }

  it('finds no job of Anthropic while another of its size runs, unless that belongs to another job', async () => {
    const [one] = VENDORS.filter(({ format }) => format === 'messages');
    if (one === undefined) throw new Error('there is no such vendor');
    await use(one, async (client, vendor) => {
      const prompts = ['x [sim:batch_ms=60000]', 'x', 'x', 'x', 'x'];
      const id = await vendor.create(orderOf(one, prompts), client, nothing);
      const sent = { mark: 'mark-of-another', sentAtMs: Date.now(), requestCount: 5 };
      expect(await vendor.find(sent, client, noneKnown)).to.deep.equal({ kind: 'unsure' });
      expect(await vendor.find(sent, client, async () => new Set([id]))).to.deep.equal({ kind: 'absent' });
    });
  });
});
