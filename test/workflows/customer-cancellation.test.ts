import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { type Answer, call, type TestStack, useTestStack } from '../support/stack.ts';
import { createTask, simulatorJobs, type TaskBody, taskWhen, taskWhenFinal, transfersOf } from '../support/tasks.ts';
import { createVendorTask, useVendorStack } from '../support/vendors.ts';

type CancelBody = { readonly data: TaskBody; readonly error: { readonly code: string; readonly message: string } };

function cancel(stack: TestStack, key: string, taskId: string): Promise<Answer<CancelBody>> {
  return call<CancelBody>(`${stack.baseUrl}/v1/tasks/${taskId}/cancel`, { key, body: {} });
}

describe('a task that its customer cancels', () => {
  let key: string;
  const stack = useTestStack();
  before(async () => {
    await Promise.all([stack.api.start(), stack.worker.start()]);
    ({ apiKey: key } = await stack.createAccount({ fundedUsd: 500 }));
  });

  it('stops at the provider and ends in a full refund, however often the customer cancels', async () => {
    // contract 4.4:5
    const { id } = await createTask(stack, key, 'x [sim:stuck]');
    await taskWhen(stack, key, id, 'processing');
    const answers = await Promise.all(Array.from({ length: 12 }, () => cancel(stack, key, id)));
    answers.push(await cancel(stack, key, id));
    for (const { status, body } of answers) {
      expect(status).to.equal(200);
      expect(body.data).to.include({ id, status: 'failed', error_code: 'processing_failed' });
      expect(body.data.error_message).to.equal('The task was cancelled at your request. Nothing was charged.');
      expect(body.data.usage).to.include({ credits_charged: 0, credits_refunded: 0.5 });
    }
    expect(await transfersOf(stack, id)).to.deep.equal(['reservation', 'refund']);
    expect(await simulatorJobs(stack, id)).to.containSubset([{ status: 'cancelled' }]);
  });

  it('records the cancellation and its answer in its history', async () => {
    const { id } = await createTask(stack, key, 'x [sim:stuck]');
    await taskWhen(stack, key, id, 'processing');
    await cancel(stack, key, id);
    const story = await fetch(`${stack.baseUrl}/admin/v1/tasks/${id}/explanation`, {
      headers: { authorization: `Bearer ${stack.adminToken}`, accept: 'text/plain' },
    });
    expect(await story.text())
      .to.contain('The customer asked to cancel the task')
      .and.to.contain('The customer cancels: ask the provider to stop: done')
      .and.to.contain('Refunded $0.50');
  });

  it('stays charged, with 409 and the reason, once it is final', async () => {
    // contract 4.4:6
    const { id } = await createTask(stack, key, 'x');
    await taskWhenFinal(stack, key, id);
    const { status, body } = await cancel(stack, key, id);
    expect([status, body.error.code]).to.deep.equal([409, 'bad_request']);
    expect(body.error.message).to.contain('The task has succeeded.');
    expect(await transfersOf(stack, id)).to.deep.equal(['reservation', 'settlement']);
  });

  it('stays unknown to other accounts', async () => {
    // contract 4.4:2
    const { apiKey: stranger } = await stack.createAccount();
    const { id } = await createTask(stack, key, 'x [sim:stuck]');
    expect((await cancel(stack, stranger, id)).status).to.equal(404);
    expect((await cancel(stack, key, id)).status).to.equal(200);
  });

  it('either ends in a refund, with 200, or continues, with 409, whenever the request arrives', async () => {
    // contract 4.4:5 4.4:6
    const outcomes = await Promise.all(
      Array.from({ length: 24 }, async (_, index) => {
        const { id } = await createTask(stack, key, 'x [sim:render_ms=300]');
        await sleep(index * 40);
        const { status } = await cancel(stack, key, id);
        const task = await taskWhenFinal(stack, key, id);
        return { status, ended: task.status, transfers: await transfersOf(stack, id) };
      }),
    );
    for (const { status, ended, transfers } of outcomes) {
      expect(status).to.be.oneOf([200, 409]);
      expect([ended, transfers.at(-1)]).to.deep.equal(
        status === 200 ? ['failed', 'refund'] : ['succeeded', 'settlement'],
      );
      expect(transfers).to.have.lengthOf(2);
    }
    expect(new Set(outcomes.map(({ status }) => status))).to.have.lengthOf(2);
  });

  it('continues with 503 while no worker can query its provider, and stops at the next request', async () => {
    await stack.worker.stop();
    const { id } = await createTask(stack, key, 'x [sim:stuck]');
    const handle = stack.temporal.workflow.getHandle(id);
    while ((await handle.describe().catch(() => null)) === null) await sleep(50);
    const { status, body } = await cancel(stack, key, id);
    expect([status, body.error.code]).to.deep.equal([503, 'processing_unavailable']);
    await stack.worker.start();
    expect((await cancel(stack, key, id)).status).to.equal(200);
    expect(await transfersOf(stack, id)).to.deep.equal(['reservation', 'refund']);
  });

  it('ends in a refund when it has no running workflow, and no provider has its job', async () => {
    // contract 4.4:5
    await stack.worker.stop();
    const { id } = await createTask(stack, key, 'x');
    const handle = stack.temporal.workflow.getHandle(id);
    while ((await handle.describe().catch(() => null)) === null) await sleep(50);
    await handle.terminate();
    const { status } = await cancel(stack, key, id);
    await stack.worker.start();
    expect(status).to.equal(200);
    expect(await transfersOf(stack, id)).to.deep.equal(['reservation', 'refund']);
  });
});

describe('a task that its customer cancels, at a vendor without cancellation', () => {
  const stack = useVendorStack();

  for (const [kind, model] of [
    ['video', 'kling-v2-6'],
    ['image', 'imagea-2.5-sunburst'],
  ] as const) {
    it(`continues, with 409 and the reason: ${model}`, async () => {
      // contract 4.4:6
      const { apiKey: key } = await stack.createAccount({ fundedUsd: 50 });
      const { id } = await createVendorTask(stack, key, { kind, model, directives: 'render_ms=3000,submit_ms=1500' });
      await taskWhen(stack, key, id, 'processing');
      const { status, body } = await cancel(stack, key, id);
      expect(status).to.equal(409);
      expect(body.error.message).to.contain('cannot be stopped');
      expect((await taskWhenFinal(stack, key, id)).status).to.equal('succeeded');
      expect(await transfersOf(stack, id)).to.deep.equal(['reservation', 'settlement']);
    });
  }
});
