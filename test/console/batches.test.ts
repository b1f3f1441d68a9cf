import { expect } from 'chai';
import { newId } from '../../domain/ids.ts';
import { writeOutputFile } from '../../services/batches/output-file.ts';
import { useAccount, useTestConsole, useVisitor } from '../support/console.ts';
import { call } from '../support/stack.ts';

const PARAMS = { model: 'textm-opus', max_tokens: 1, messages: [{ role: 'user', content: 'Hello' }] };

describe('the batches page', () => {
  const app = useTestConsole();
  const customer = useAccount(app, { fundedUsd: 25 });
  const owner = useVisitor(app, () => ({ email: 'owner@example.com', account_id: customer.accountId }));
  const path = () => `/console/accounts/${customer.accountId}/batches`;

  async function createBatch(key = customer.apiKey): Promise<string> {
    const body = { requests: [{ custom_id: '<b>first</b>', params: PARAMS }] };
    return (await call<{ id: string }>(`${app.baseUrl}/v1/messages/batches`, { key, body })).body.id;
  }

  it('shows how to run a batch where there are none', async () => {
    expect((await owner.get(path())).text)
      .to.include('No batches yet')
      .and.include('POST /v1/batches');
  });

  it('shows progress, the reason of a pause, and the time left, and requests the list again until all have ended', async () => {
    const id = await createBatch();
    const batch = app.database('batches').where({ id });
    await batch.clone().update({
      status: 'in_progress',
      in_progress_at: new Date(Date.now() - 60_000),
      paused_reason: 'insufficient_credits',
      paused_at: new Date(),
      total: 4,
    });
    const paused = await owner.get(path());
    expect(paused.text).to.include(id).and.include('Running').and.include('0 of 4 requests have ended');
    expect(paused.text).to.include('Paused: ').and.include('max="4"');
    expect(paused.text).to.include(`hx-get="${path()}/list?"`);
    await batch
      .clone()
      .update({ paused_reason: null, paused_at: null, status: 'completed', ended_at: new Date(), succeeded: 4 });
    const ended = await owner.get(path());
    expect(ended.text).to.include('Completed').and.include('4 of 4').and.not.include('hx-get="');
    expect((await owner.get(`${path()}/list`)).text)
      .to.include(id)
      .and.not.include('<!doctype');
  });

  it('lets members download the files, and shows the lines of a refused input as text', async () => {
    const id = await createBatch();
    async function* lines(): AsyncGenerator<string> {
      yield '{"custom_id":"first"}';
    }
    const outputId = newId('file');
    const output = { id: outputId, accountId: customer.accountId, filename: 'o', lines: lines() };
    await writeOutputFile(app.database, app.storage, output);
    const errors = [{ code: 'invalid', message: '<img src=x>', line: 3, param: null }];
    await app
      .database('batches')
      .where({ id })
      .update({
        status: 'failed',
        ended_at: new Date(),
        output_file_id: outputId,
        errors: JSON.stringify(errors),
      });
    expect((await owner.get(path())).text)
      .to.include('Line 3: &lt;img src=x&gt;')
      .and.not.include('<img src=x>');
    const input = await owner.get(`${path()}/${id}/file`);
    expect(JSON.parse(input.text)).to.include({ custom_id: '<b>first</b>', url: '/v1/messages' });
    expect((await owner.get(`${path()}/${id}/file?of=output`)).text).to.equal('{"custom_id":"first"}\n');
    expect((await owner.get(`${path()}/${id}/file?of=errors`)).status).to.equal(404);
  });

  it('cancels a batch, and shows and cancels none of another account', async () => {
    const id = await createBatch();
    expect((await owner.send(`${path()}/${id}/cancel`)).headers['location']).to.equal(path());
    expect(await app.database('batches').where({ id }).first('status')).to.deep.equal({ status: 'cancelling' });
    const { apiKey } = await app.createAccount({ fundedUsd: 1 });
    const theirs = await createBatch(apiKey);
    expect((await owner.get(path())).text).to.not.include(theirs);
    expect((await owner.send(`${path()}/${theirs}/cancel`)).status).to.equal(404);
    expect((await owner.get(`${path()}/${theirs}/file`)).status).to.equal(404);
    expect(await app.database('batches').where({ id: theirs }).first('status')).to.deep.equal({ status: 'validating' });
  });
});
