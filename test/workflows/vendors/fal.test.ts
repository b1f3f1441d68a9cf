import { expect } from 'chai';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import { call, type TestStack } from '../../support/stack.ts';
import { taskWhenFinal, transfersOf } from '../../support/tasks.ts';
import {
  attemptsOf,
  createVendorTask,
  finishedVendorTask,
  rendersOf,
  startVendorStack,
  type VendorTask,
} from '../../support/vendors.ts';

const MODEL = 'veo-3.1';

describe('a task at fal', function () {
  this.timeout(120_000);
  let stack: TestStack;
  let apiKey: string;

  before(async () => {
    stack = await startVendorStack({ env: { GENWAY_PROVIDER_CALLBACKS: 'true' } });
    await Promise.all([stack.api.start(), stack.worker.start()]);
    ({ apiKey } = await stack.createAccount({ fundedUsd: 100 }));
  });
  after(() => stack.stop());

  const final = (directives = '', body: object = {}): Promise<VendorTask> =>
    finishedVendorTask(stack, apiKey, { model: MODEL, directives, ...body });

  async function expectBooks(task: VendorTask, resolution: 'settlement' | 'refund', renders: number): Promise<void> {
    expect(await transfersOf(stack, task.id)).to.deep.equal(['reservation', resolution]);
    expect(await rendersOf(stack, task)).to.have.length(renders);
  }

  it('is rendered from text, stored and charged', async () => {
    const task = await final('', { duration: 6, aspect_ratio: '9:16', resolution: '1080p' });
    expect(task.status).to.equal('succeeded');
    await expectBooks(task, 'settlement', 1);
    expect((await rendersOf(stack, task))[0]?.sent).to.include({
      duration: '6s',
      resolution: '1080p',
      aspect_ratio: '9:16',
      generate_audio: false,
    });
  });

  it('is rendered as an image, stored and charged', async () => {
    const task = await final('', { kind: 'image', model: 'flux-2' });
    expect(task.status).to.equal('succeeded');
    await expectBooks(task, 'settlement', 1);
  });

  for (const [directives, code] of [
    ['reject=content_policy_violation', 'content_policy_violation'],
    ['reject=bad_request', 'bad_request'],
    ['broke', 'processing_unavailable'],
  ] as const) {
    it(`is refunded as ${code} when it is turned away: ${directives}`, async () => {
      const task = await final(directives);
      expect(task).to.include({ status: 'failed', error_code: code });
      await expectBooks(task, 'refund', 0);
    });
  }

  for (const [directives, code] of [
    ['fail=content_policy_violation', 'content_policy_violation'],
    ['fail=processing_failed', 'processing_failed'],
  ] as const) {
    it(`is refunded as ${code} when its render fails so`, async () => {
      const task = await final(directives);
      expect(task).to.include({ status: 'failed', error_code: code });
      await expectBooks(task, 'refund', 1);
    });
  }

  for (const directives of ['poll_errors=3', 'odd_words=3,render_ms=1500', 'forget=3', 'dead_links=1', 'result=slow']) {
    it(`goes on through ${directives}`, async () => {
      const task = await final(directives);
      expect(task.status).to.equal('succeeded');
      await expectBooks(task, 'settlement', 1);
    });
  }

  it('waits as long as it is asked to, and is handed over again', async () => {
    const task = await final('limited=2');
    expect(task.status).to.equal('succeeded');
    expect(await attemptsOf(stack, task)).to.deep.equal([
      'fal: not_taken, from the answer',
      'fal: not_taken, from the answer',
      'fal: accepted, from the answer',
    ]);
    await expectBooks(task, 'settlement', 1);
  });

  for (const directives of ['drop_submit', 'submit_error', 'unreadable_submit']) {
    it(`is rendered once when the answer is lost: ${directives}`, async () => {
      const task = await final(`${directives},render_ms=500`);
      expect(task.status).to.equal('succeeded');
      expect(await attemptsOf(stack, task)).to.deep.equal(['fal: accepted, from a look-up of what was sent']);
      await expectBooks(task, 'settlement', 1);
    });
  }

  it('is taken up by the callback when the list is late', async () => {
    const task = await final('drop_submit,unlisted,render_ms=500');
    expect(task.status).to.equal('succeeded');
    expect(await attemptsOf(stack, task)).to.deep.equal(['fal: accepted, from the callback']);
    await expectBooks(task, 'settlement', 1);
  });

  it('is given up and refunded, and not rendered twice, when neither the list nor a callback tells of it', async () => {
    const task = await final('drop_submit,unlisted,stuck');
    expect(task).to.include({ status: 'failed', error_code: 'processing_unavailable' });
    expect(await attemptsOf(stack, task)).to.deep.equal(['fal: unknown, from nothing']);
    await expectBooks(task, 'refund', 1);
  });

  it('is rendered once when its worker is killed while it is handed over', async () => {
    const { id, mark } = await createVendorTask(stack, apiKey, { model: MODEL, directives: 'render_ms=1000' });
    await waitUntil(async () => expect(await rendersOf(stack, { mark })).to.have.length(1), { timeoutMs: 30_000 });
    await stack.worker.kill();
    await stack.worker.start();
    const task = { ...(await taskWhenFinal(stack, apiKey, id)), mark };
    expect(task.status).to.equal('succeeded');
    await expectBooks(task, 'settlement', 1);
  });

  it('has a story that tells each attempt, and how its outcome was learnt', async () => {
    const task = await final('drop_submit,render_ms=500');
    const { body } = await call<{ data: { events: { source: string; text: string }[] } }>(
      `${stack.baseUrl}/admin/v1/tasks/${task.id}/explanation`,
      { key: stack.adminToken },
    );
    const told = body.data.events.filter(({ source }) => source === 'upstream').map(({ text }) => text);
    expect(told).to.have.length(2);
    expect(told[0]).to.equal('Attempt 1: handed over to fal as fal-ai/veo3.1');
    expect(told[1]).to.match(
      /^Attempt 1: accepted, learnt from a look-up of what was sent; job fal-ai\/veo3\.1\|[\w-]+; it cost 0\.8 USD$/,
    );
  });
});
