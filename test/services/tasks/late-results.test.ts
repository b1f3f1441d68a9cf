import { expect } from 'chai';
import { make } from '../../../lab/stack/accounts.ts';
import { eventually } from '../../support/eventually.ts';
import { fileSweepsOf } from '../../support/files.ts';
import { startRecordingReceiver } from '../../support/receiver.ts';
import { type Answer, call, useTestStack } from '../../support/stack.ts';
import { createTask, type TaskBody, taskWhenFinal, transfersOf } from '../../support/tasks.ts';
import { createWebhookClient } from '../../support/webhooks.ts';

interface LateResultBody {
  readonly expires_at: number;
  readonly claimed_task_id: string | null;
}

/** Ends two seconds after the deadline. */
const LATE = 'A lighthouse [sim:render_ms=8000,unstoppable]';

describe('a result that arrives after the refund', () => {
  const stack = useTestStack({ env: { GENWAY_TASK_DEADLINE_S: '6' } });
  before(() => Promise.all([stack.api.start(), stack.worker.start()]));

  /** A refunded task with a late result on offer. */
  async function lateTask(key: string): Promise<TaskBody> {
    const { id } = await createTask(stack, key, LATE);
    const task = await taskWhenFinal(stack, key, id);
    expect(task).to.include({ status: 'failed', error_code: 'processing_timeout' });
    await eventually(async () => (await offer(key, id)) !== null);
    expect(await taskWhenFinal(stack, key, id)).to.deep.equal(task);
    return task;
  }

  async function offer(key: string, taskId: string): Promise<LateResultBody | null> {
    const url = `${stack.baseUrl}/v1/tasks/${taskId}/late-result`;
    const { status, body } = await call<{ data: LateResultBody }>(url, { key });
    return status === 404 ? null : body.data;
  }

  function claim(key: string, taskId: string): Promise<Answer<{ data: TaskBody; error: { code: string } }>> {
    return call(`${stack.baseUrl}/v1/tasks/${taskId}/claim`, { key, method: 'POST' });
  }

  it('becomes one new, charged task, however often its owner claims it', async () => {
    // contract 4.4:7 4.4:8 6:3
    const { apiKey } = await stack.createAccount({ fundedUsd: 50 });
    const receiver = await startRecordingReceiver((response) => response.end());
    await createWebhookClient(stack, apiKey).create(receiver.url, { events: ['task.failed', 'task.late_result'] });
    const late = await lateTask(apiKey);
    expect(await offer(apiKey, late.id)).to.include({ claimed_task_id: null });
    await receiver.received(1);
    expect(receiver.requests[0]?.headers).to.include({ 'x-svc-event': 'task.late_result' });
    expect(JSON.parse(String(receiver.requests[0]?.body)).data).to.deep.equal(await offer(apiKey, late.id));
    expect(receiver.requests, 'the timeout sends no event').to.have.length(1);
    await receiver.close();
    const answers = await Promise.all(Array.from({ length: 5 }, () => claim(apiKey, late.id)));
    const [first] = answers;
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200, 200]);
    expect(new Set(answers.map(({ body }) => body.data.id))).to.have.property('size', 1);
    const claimed = first?.body.data;
    expect(claimed?.id).not.to.equal(late.id);
    expect(claimed).to.include({ status: 'succeeded', error_code: null });
    expect(claimed?.usage).to.include({ credits_settled: 0.5, credits_refunded: 0 });
    const file = await fetch(claimed?.output?.r2_url ?? '');
    expect(file.headers.get('content-type')).to.equal('video/mp4');
    expect(await transfersOf(stack, claimed?.id ?? '')).to.deep.equal(['reservation', 'settlement']);
    expect(await transfersOf(stack, late.id)).to.deep.equal(['reservation', 'refund']);
    expect(await offer(apiKey, late.id)).to.include({ claimed_task_id: claimed?.id });
    expect((await balanceOf(apiKey)).available_usd).to.equal(49.5);
  });

  it('stays on offer after a claim without sufficient balance', async () => {
    // contract 4.4:8
    const { apiKey, accountId } = await stack.createAccount({ fundedUsd: 0.6 });
    const late = await lateTask(apiKey);
    const second = await createTask(stack, apiKey, 'A lighthouse');
    await taskWhenFinal(stack, apiKey, second.id);
    const refused = await claim(apiKey, late.id);
    expect([refused.status, refused.body.error.code]).to.deep.equal([402, 'insufficient_credits']);
    expect(await offer(apiKey, late.id)).to.include({ claimed_task_id: null });
    await call(`${stack.baseUrl}/admin/v1/accounts/${accountId}/topups`, {
      key: stack.adminToken,
      body: { amount_usd: 1, reference: 'more' },
    });
    expect((await claim(apiKey, late.id)).status).to.equal(200);
  });

  it('refuses a claim by another account, by a key without access to its model, of a task without a late result, or after its time has passed', async () => {
    // contract 4.4:7 4.4:8
    const [owner, other] = [await stack.createAccount({ fundedUsd: 50 }), await stack.createAccount({ fundedUsd: 50 })];
    const late = await lateTask(owner.apiKey);
    const fine = await createTask(stack, owner.apiKey, 'A lighthouse');
    const url = `${(await stack.database('late_results').where({ task_id: late.id }).first()).output[0].url}`;
    const limited = await make(`${stack.baseUrl}/admin/v1/accounts/${owner.accountId}/keys`, stack.adminToken, {
      models: ['imageb-2'],
    });
    expect((await claim(other.apiKey, late.id)).status).to.equal(404);
    expect((await claim(limited.api_key, late.id)).status).to.equal(403);
    expect((await claim(owner.apiKey, fine.id)).status).to.equal(409);
    await stack
      .database('late_results')
      .where({ task_id: late.id })
      .update({ expires_at: new Date(0) });
    expect((await claim(owner.apiKey, late.id)).status).to.equal(409);
    expect(await offer(owner.apiKey, late.id)).to.equal(null);
    expect(await offer(owner.apiKey, fine.id)).to.equal(null);

    expect((await fetch(url)).status).to.equal(200);
    expect(await fileSweepsOf(stack)['late results'](stack.database, 10)).to.equal(1);
    expect((await fetch(url)).status).to.equal(404);
  });

  async function balanceOf(key: string): Promise<{ readonly available_usd: number }> {
    return (await call<{ data: { available_usd: number } }>(`${stack.baseUrl}/v1/balance`, { key })).body.data;
  }
});
