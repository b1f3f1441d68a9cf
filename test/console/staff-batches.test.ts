import { expect } from 'chai';
import { startBatch } from '../../db/queries/batch-runs.ts';
import { useAccount, useTestConsole, useVisitor } from '../support/console.ts';
import { createMediaBatchRow, keyOf } from '../support/factories.ts';
import { call } from '../support/stack.ts';

const PARAMS = { model: 'textm-opus', max_tokens: 1, messages: [{ role: 'user', content: 'Hello' }] };
const PATH = '/console/staff/batches';

describe('the batches of all accounts in the console', () => {
  const app = useTestConsole();
  const customer = useAccount(app, { fundedUsd: 25 });
  const operator = useVisitor(app, () => ({ email: 'op@example.com', staff_role: 'operator' }));
  const reader = useVisitor(app, () => ({ email: 'read@example.com', staff_role: 'readonly' }));

  async function createRunning(): Promise<string> {
    const body = { requests: [{ custom_id: 'a', params: PARAMS }] };
    const path = `${app.baseUrl}/v1/messages/batches`;
    const { id } = (await call<{ id: string }>(path, { key: customer.apiKey, body })).body;
    await app.database('batch_lines').insert({ batch_id: id, number: 1, custom_id: 'a', status: 'failed' });
    await startBatch(app.database, id);
    return id;
  }

  it('appear in a list by state and account', async () => {
    const id = await createRunning();
    const listed = async (query: string) => (await reader.get(`${PATH}?${query}`)).text.includes(id);
    expect(await listed('')).to.equal(true);
    expect(await listed('status=in_progress')).to.equal(true);
    expect(await listed('status=completed')).to.equal(false);
    expect(await listed(`account=${customer.accountId}`)).to.equal(true);
    expect(await listed('account=nobody')).to.equal(false);
  });

  it('show progress, money, the timeline and the history, and are paused, resumed, retried and cancelled with a reason', async () => {
    const id = await createRunning();
    const page = `${PATH}/${id}`;
    const { text } = await operator.get(page);
    expect(text).to.include('1 of 1 requests have ended').and.include(`/workflows/${id}"`);
    expect(text).to.include(`text-requests?batch_id=${id}`).and.include(`hx-get="${page}/story"`);
    for (const [action, shown] of [
      ['pause', 'has paused the batch'],
      ['resume', 'resume by op@example.com: a test'],
      ['retry', '0 of 1 requests have ended'],
      ['cancel', 'Cancelling'],
    ] as const) {
      expect((await operator.send(`${page}/${action}`, { reason: 'a test' })).headers['location']).to.equal(page);
      expect((await operator.get(page)).text).to.include(shown);
    }
    expect((await operator.send(`${page}/pause`, { reason: 'late' })).status).to.equal(409);
    expect((await operator.get(`${page}/story`)).text)
      .to.include('cancel by op@example.com: a test')
      .and.not.include('<!doctype');
  });

  it('lead from a batch of media to its tasks', async () => {
    const id = await createMediaBatchRow(app.database, keyOf(customer));
    expect((await operator.get(`${PATH}/${id}`)).text).to.include(`/staff/tasks?batch_id=${id}`);
  });

  it('show only staff who may operate the actions', async () => {
    const page = `${PATH}/${await createRunning()}`;
    expect((await reader.get(page)).text).to.not.include(`action="${page}/pause"`);
    expect((await operator.get(page)).text).to.include(`action="${page}/pause"`);
    expect((await reader.get(`${PATH}/batch_1`)).status).to.equal(404);
  });
});
