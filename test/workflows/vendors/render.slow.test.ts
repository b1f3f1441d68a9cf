/**
 * Renders whose answers hold the files, while workers die and are replaced. `GENWAY_RENDER_KILLS=20` kills that often,
 * and prints the outcomes of the tasks.
 */
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../../support/eventually.ts';
import { reconcile } from '../../support/reconciliations.ts';
import { call } from '../../support/stack.ts';
import { taskWhenFinal, transfersOf } from '../../support/tasks.ts';
import { attemptsOf, createVendorTask, rendersOf, useVendorStack, type VendorTask } from '../../support/vendors.ts';

const KILLS = Number(process.env['GENWAY_RENDER_KILLS'] ?? 1);
/** The time between two tasks. */
const LOAD_PAUSE_MS = 200;
const FINAL_TIMEOUT_MS = 120_000;
const MODELS = ['imagea-2.5-sunburst', 'gemini-3-pro-image'];
const ACCEPTED = ['openai-images: accepted, from the answer'];

describe('a render whose answer contains the files', function () {
  this.timeout(120_000 + KILLS * 15_000);
  const stack = useVendorStack({
    processes: ['worker'],
    env: { GENWAY_SHUTDOWN_GRACE_S: '60', GENWAY_MAX_CONCURRENT_TASKS: '10000' },
  });
  let apiKey: string;

  before(async () => {
    ({ apiKey } = await stack.createAccount({ fundedUsd: 1_000 }));
  });

  const create = (directives = '', model = 'imagea-2.5-sunburst'): Promise<VendorTask> =>
    createVendorTask(stack, apiKey, { kind: 'image', model, directives });

  async function final({ id, mark }: VendorTask): Promise<VendorTask> {
    return { ...(await taskWhenFinal(stack, apiKey, id)), mark };
  }

  it('runs at most once, and ends in one charge or one refund, while workers die', async () => {
    const load = startLoad();
    for (let kill = 0; kill < KILLS; kill += 1) {
      await sleep(randomInt(300, 3_000));
      await waitUntil(assertRendering, { timeoutMs: PATIENCE_MS });
      await stack.worker.kill();
      await stack.worker.start();
    }
    const tasks = await load.stop();
    await waitUntil(assertAllFinal, { timeoutMs: FINAL_TIMEOUT_MS, pauseMs: 500 });

    const fates = await Promise.all(tasks.map(fateOf));
    const counts = countsOf(fates);
    if (process.env['GENWAY_RENDER_KILLS'] !== undefined) {
      process.stdout.write(`${JSON.stringify({ kills: KILLS, ...counts })}\n`);
    }
    expect(Object.keys(counts).filter((fate) => !ALLOWED_FATES.has(fate))).to.deep.equal([]);
    expect(fates).to.include(CHARGED).and.to.include(LOST);
    expect((await reconcile(stack)).findings).to.deep.equal([]);
  });

  it('runs no second time once its files are stored, whichever process dies then', async () => {
    await stack.database.raw(WAIT_BEFORE_COSTS);
    // The cost of a render is written after its files are known; in between the worker waits for this lock.
    const task = await stack.database.transaction(async (holder) => {
      await holder.raw(COSTS_LOCK);
      const created = await create();
      await waitUntil(() => assertFilesKept(created), { timeoutMs: PATIENCE_MS });
      await stack.worker.kill();
      return created;
    });
    await stack.database.raw('DROP TRIGGER wait_before_costs ON submissions');
    await stack.worker.start();
    expect(await fateOf(await final(task))).to.equal(CHARGED);
    expect(await attemptsOf(stack, task)).to.deep.equal(ACCEPTED);
  });

  it('completes in a worker that is stopping, while another worker starts new tasks', async () => {
    const task = await rendering();
    const successor = stack.moreWorkers();
    await successor.start();
    const stopping = stack.worker.stop();
    expect((await final(await create())).status).to.equal('succeeded');
    expect(await attemptsOf(stack, task)).to.deep.equal(['openai-images: null, from null']);
    await call(`${stack.simulatorUrl}/_sim/renders/finish?mark=${task.mark}`, { method: 'POST' });
    await stopping;
    expect(await attemptsOf(stack, task)).to.deep.equal(ACCEPTED);
    expect(await fateOf(await final(task))).to.equal(CHARGED);
    await successor.stop();
    await stack.worker.start();
  });

  it('ends in a refund and never runs again when it exceeds GENWAY_SHUTDOWN_GRACE_S', async () => {
    await stack.worker.stop();
    const hasty = stack.moreWorkers({ GENWAY_SHUTDOWN_GRACE_S: '1' });
    await hasty.start();
    const task = await rendering();
    await hasty.stop();
    await stack.worker.start();
    expect(await fateOf(await final(task))).to.equal(LOST);
  });

  /** A task whose render has started, and does not end by itself. */
  async function rendering(): Promise<VendorTask> {
    const task = await create('stuck');
    await waitUntil(async () => expect(await rendersOf(stack, task)).to.have.length(1), { timeoutMs: PATIENCE_MS });
    return task;
  }

  /** Creates tasks, one after the other, until it is stopped. */
  function startLoad(): { readonly stop: () => Promise<readonly VendorTask[]> } {
    const tasks: VendorTask[] = [];
    const load = { isStopped: false };
    const run = async (): Promise<readonly VendorTask[]> => {
      while (!load.isStopped) {
        tasks.push(await create(`render_ms=${randomInt(100, 3_000)}`, MODELS[tasks.length % MODELS.length]));
        await sleep(LOAD_PAUSE_MS);
      }
      return tasks;
    };
    const running = run();
    return {
      stop() {
        load.isStopped = true;
        return running;
      },
    };
  }

  /** On a busy machine a worker may not have started yet. */
  async function assertRendering(): Promise<void> {
    const [open] = await stack.database('submissions').whereNull('outcome').count();
    expect(Number(open?.['count'])).to.be.greaterThan(0);
  }

  async function assertAllFinal(): Promise<void> {
    const [open] = await stack.database('tasks').whereIn('status', ['queued', 'processing']).count();
    expect(Number(open?.['count'])).to.equal(0);
  }

  async function assertFilesKept({ id }: VendorTask): Promise<void> {
    const [submission] = await stack.database('submissions').where({ task_id: id });
    if (!submission?.files) throw new Error('the files are not known yet');
  }

  /** The outcome of a task, by every record of it. */
  async function fateOf(task: VendorTask): Promise<string> {
    const { status, error_code: code } = await stack.database('tasks').where({ id: task.id }).first();
    const { length: renders } = await rendersOf(stack, task);
    const [, ...resolutions] = await transfersOf(stack, task.id);
    const attempts = await stack.database('submissions').where({ task_id: task.id }).orderBy('attempt');
    const outcomes = attempts.map((one) => `${one.outcome}${one.possible_loss === null ? '' : ' and a loss'}`);
    const count = status === 'failed' && renders <= 1 ? 'at most 1' : renders;
    return `${code ?? status}; renders: ${count}; ${[...resolutions, ...outcomes].join(', ')}`;
  }
});

const CHARGED = 'succeeded; renders: 1; settlement, accepted';
const LOST = 'processing_unavailable; renders: at most 1; refund, unknown and a loss';
const ALLOWED_FATES: ReadonlySet<string> = new Set([CHARGED, LOST]);

function countsOf(fates: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const fate of fates) counts[fate] = (counts[fate] ?? 0) + 1;
  return counts;
}

const COSTS_LOCK = 'SELECT pg_advisory_xact_lock(1)';
const WAIT_BEFORE_COSTS = /* sql */ `
  CREATE FUNCTION wait_before_costs() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END $$;
  CREATE TRIGGER wait_before_costs BEFORE UPDATE OF cost ON submissions FOR EACH ROW EXECUTE FUNCTION wait_before_costs()`;
