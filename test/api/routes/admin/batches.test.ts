/** What operators see of batches, and do with them. */
import { expect } from 'chai';
import { findRunningBatch, startBatch } from '../../../../db/queries/batch-runs.ts';
import { newId } from '../../../../domain/ids.ts';
import { type ErrorBody, useTestApp } from '../../../support/app.ts';
import type { TestCaller } from '../../../support/factories.ts';
import { call } from '../../../support/stack.ts';

const PARAMS = { model: 'textm-opus', max_tokens: 1, messages: [{ role: 'user', content: 'Hello' }] };
const BY = { author: 'ada', reason: 'the vendor is down' };

interface Shown {
  readonly data: Readonly<Record<string, unknown>>;
}

describe('batches for operators', () => {
  const app = useTestApp();
  let caller: TestCaller;

  before(async () => {
    caller = await app.createAccount({ fundedUsd: 10 });
  });

  async function createRunning(): Promise<{ readonly id: string; readonly requestId: string }> {
    const body = { requests: [{ custom_id: 'a', params: PARAMS }] };
    const path = `${app.baseUrl}/v1/messages/batches`;
    const { id } = (await call<{ id: string }>(path, { key: caller.apiKey, body })).body;
    await app.database('batch_lines').insert({ batch_id: id, number: 1, custom_id: 'a' });
    await startBatch(app.database, id);
    const row = await app.database('batches').where({ id }).first('request_id');
    return { id, requestId: row.request_id };
  }

  const admin = <Body = Shown>(path: string, body?: object) =>
    call<Body>(`${app.baseUrl}/admin/v1${path}`, { key: app.adminToken, ...(body && { body }) });
  const act = (id: string, action: string) => admin<Shown & ErrorBody>(`/batches/${id}/${action}`, BY);
  const messageOf = async (id: string, action: string): Promise<string> => {
    const { status, body } = await act(id, action);
    expect(status).to.equal(409);
    return body.error.message;
  };

  it('pause and resume for an operator, and show their owner the reason of the pause', async () => {
    // contract 4.11:67 4.17:17
    const { id } = await createRunning();
    expect(await messageOf(id, 'resume')).to.include('No operator has paused it');
    const paused = await act(id, 'pause');
    expect([paused.status, paused.body.data['paused_reason']]).to.deep.equal([200, 'processing_unavailable']);
    expect(paused.body.data['operator_paused_at']).to.be.a('number');
    const own = await call<Record<string, unknown>>(`${app.baseUrl}/v1/batches/${id}`, { key: caller.apiKey });
    expect(own.body).to.include({ status: 'in_progress', paused_reason: 'processing_unavailable' });
    expect(await messageOf(id, 'pause')).to.equal('The batch is paused.');
    expect((await act(id, 'resume')).body.data).to.include({ paused_reason: null, operator_paused_at: null });
    expect(await findRunningBatch(app.database, id)).to.not.equal(null);
  });

  it('run their failed requests again, and not once they are final', async () => {
    // contract 4.11:67
    const { id } = await createRunning();
    await app.database('batch_lines').where({ batch_id: id }).update({ status: 'failed', response_status: 503 });
    expect((await act(id, 'retry')).body.data).to.include({ count: 1 });
    await app.database('batches').where({ id }).update({ status: 'completed', ended_at: new Date() });
    expect(await messageOf(id, 'retry')).to.include('Create a new batch from the requests in its error file');
    expect(await messageOf(id, 'cancel')).to.include('can no longer be cancelled');
    expect(await messageOf(id, 'pause')).to.include('The batch is completed');
  });

  it('end once for an operator, with the author and the reason in the log', async () => {
    // contract 4.11:66
    const { id } = await createRunning();
    expect((await admin<ErrorBody>(`/batches/${id}/cancel`, {})).body.error.message).to.include('"reason"');
    for (const _ of [1, 2]) expect((await act(id, 'cancel')).body.data).to.include({ status: 'cancelling' });
    const actions = await app.database('operator_actions').where({ batch_id: id }).select('kind', 'author', 'reason');
    expect(actions).to.deep.equal([{ kind: 'cancel', ...BY }]);
  });

  it('have a timeline, which is found by the batch, its request and an action on it', async () => {
    // contract 4.11:11 4.11:67
    const { id, requestId } = await createRunning();
    await act(id, 'pause');
    const path = `${app.baseUrl}/admin/v1/batches/${id}/explanation`;
    const headers = { authorization: `Bearer ${app.adminToken}`, accept: 'text/plain' };
    const text = await (await fetch(path, { headers })).text();
    expect(text).to.match(/in progress: 0 of 1 requests have ended; \$0.00 charged so far. Paused by an operator./);
    expect(text).to.include(`by request ${requestId}`).and.include('pause by ada: the vendor is down');
    const { data } = (await admin(`/batches/${id}/explanation`)).body;
    expect(data['batch']).to.include({ id, workflow_id: id }).and.to.have.property('history_url');
    const action = await app.database('operator_actions').where({ batch_id: id }).first('id');
    for (const found of [id, requestId, action.id]) {
      const { status, body } = await admin(`/find/${found}`);
      expect([status, JSON.stringify(body).includes('Paused by an operator.') || found === action.id]).to.deep.equal([
        200,
        true,
      ]);
      expect(body.data['account']).to.include({ id: caller.accountId });
    }
    expect((await admin(`/find/${newId('batch')}`)).status).to.equal(404);
  });
});
