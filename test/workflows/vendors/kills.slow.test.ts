import { expect } from 'chai';
import { nameOf, type Product, vendorProducts } from '../../../lab/drill/vendors/products.ts';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../../support/eventually.ts';
import { taskWhenFinal, transfersOf } from '../../support/tasks.ts';
import { createVendorTask, rendersOf, useVendorStack, type VendorTask } from '../../support/vendors.ts';

/** Longer than the worker waits for an answer. */
const SLOW_ANSWER = { job: 'submit_ms=20000,render_ms=1000', files: 'render_ms=60000' } as const;

describe('a task whose worker is killed while it waits for the answer to its submission', () => {
  const stack = useVendorStack({ processes: ['worker'], env: { GENWAY_PROVIDER_CALLBACKS: 'true' } });
  const tasks = new Map<Product, VendorTask>();
  const products = vendorProducts();

  // A killed worker is detected only after a while: one kill, and one wait, for all vendors. They receive their tasks
  // together, because the worker starts after all tasks were created.
  before(async () => {
    const { apiKey } = await stack.createAccount({ fundedUsd: 100 });
    await stack.worker.stop();
    await forEachProduct(async (product) => {
      const { kind, model, traits } = product;
      const task = await createVendorTask(stack, apiKey, { kind, model, directives: SLOW_ANSWER[traits.answers] });
      tasks.set(product, task);
    });
    await stack.worker.start();
    await forEachProduct((product) => waitUntil(() => assertSubmitted(taskOf(product)), { timeoutMs: PATIENCE_MS }));
    await stack.worker.kill();
    await stack.worker.start();
    await forEachProduct(async (product) => {
      const { id, mark } = taskOf(product);
      tasks.set(product, { ...(await taskWhenFinal(stack, apiKey, id)), mark });
    });
  });

  const isFound = ({ traits }: Product): boolean => traits.answers === 'job' && traits.recovery !== 'none';

  for (const product of products.filter(isFound)) {
    it(`renders once: ${nameOf(product)}`, async () => {
      const task = taskOf(product);
      expect(task.status).to.equal('succeeded');
      expect(await transfersOf(stack, task.id)).to.deep.equal(['reservation', 'settlement']);
      expect(await rendersOf(stack, task)).to.have.length(1);
    });
  }

  for (const product of products.filter((one) => !isFound(one))) {
    it(`ends in a refund and never submits again where the vendor has no means to find it: ${nameOf(product)}`, async () => {
      const task = taskOf(product);
      expect(task).to.include({ status: 'failed', error_code: 'processing_unavailable' });
      expect(await transfersOf(stack, task.id)).to.deep.equal(['reservation', 'refund']);
      expect((await rendersOf(stack, task)).length).to.be.at.most(1);
      const [submission] = await stack.database('submissions').where({ task_id: task.id });
      const { price } = await stack.database('tasks').where({ id: task.id }).first('price');
      expect(submission.possible_loss).to.equal(price);
    });
  }

  async function forEachProduct(work: (product: Product) => Promise<unknown>): Promise<void> {
    await Promise.all(products.map(work));
  }

  /** @throws AssertionError unless the worker waits for the vendor's answer */
  async function assertSubmitted(task: VendorTask): Promise<void> {
    const submissions = await stack.database('submissions').where({ task_id: task.id });
    expect(submissions.map(({ outcome }) => outcome)).to.deep.equal([null]);
    expect(await rendersOf(stack, task)).to.have.length(1);
  }

  function taskOf(product: Product): VendorTask {
    const task = tasks.get(product);
    if (!task) throw new Error(`${nameOf(product)} has no task`);
    return task;
  }
});
