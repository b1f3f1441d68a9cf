/** Batches of messages in the form of Anthropic's API: contract 4.17. */
import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import { newId } from '../../../../domain/ids.ts';
import { writeOutputFile } from '../../../../services/batches/output-file.ts';
import { useTestApp } from '../../../support/app.ts';
import type { TestCaller } from '../../../support/factories.ts';
import { rejectionOf } from '../../../support/rejection.ts';
import { call } from '../../../support/stack.ts';

const PARAMS = { model: 'textm-opus', max_tokens: 16, messages: [{ role: 'user' as const, content: 'Hello, world' }] };
const REQUESTS = ['first', 'second'].map((id) => ({ custom_id: id, params: PARAMS }));

interface MessagesError {
  readonly type: 'error';
  readonly error: { readonly type: string; readonly message: string };
}

describe('batches of messages', () => {
  const app = useTestApp();
  let caller: TestCaller;
  let client: Anthropic;

  beforeEach(async () => {
    caller = await app.createAccount({ fundedUsd: 1 });
    client = new Anthropic({
      apiKey: caller.apiKey,
      baseURL: app.baseUrl,
      maxRetries: 0,
      // The address of results has the public address, which is not that of this application.
      fetch: (given, init) => {
        const { pathname, search } = new URL(given instanceof Request ? given.url : given);
        return fetch(app.baseUrl + pathname + search, init);
      },
    });
  });

  async function* linesOf(...lines: readonly object[]): AsyncGenerator<string> {
    for (const line of lines) yield JSON.stringify(line);
  }

  /** Ends a batch as its workflow does. */
  async function end(id: string, answers: readonly object[], failures: readonly object[]): Promise<void> {
    const { accountId } = caller;
    const [outputId, errorId] = [newId('file'), newId('file')];
    const { database, storage } = app;
    await writeOutputFile(database, storage, { id: outputId, accountId, filename: 'o', lines: linesOf(...answers) });
    await writeOutputFile(database, storage, { id: errorId, accountId, filename: 'e', lines: linesOf(...failures) });
    await database('batches')
      .where({ id })
      .update({
        status: 'completed',
        ended_at: new Date(),
        output_file_id: outputId,
        error_file_id: errorId,
        total: answers.length + failures.length,
        succeeded: answers.length,
        failed: 1,
        cancelled: failures.length - 1,
      });
  }

  it('are created from requests in the body, which become an input file, as the SDK sends them', async () => {
    // contract 4.17:13
    const batch = await client.messages.batches.create({ requests: REQUESTS });
    expect(batch).to.include({ type: 'message_batch', processing_status: 'in_progress', results_url: null });
    expect(batch).to.include({ ended_at: null, archived_at: null, cancel_initiated_at: null });
    expect(Date.parse(batch.expires_at) - Date.parse(batch.created_at)).to.equal(86_400_000);
    expect(await client.messages.batches.retrieve(batch.id)).to.deep.include({ id: batch.id });
    const [row] = await app.database<{ id: string; input_file_id: string }>('batches').where({ id: batch.id });
    const content = await fetch(`${app.baseUrl}/v1/files/${row?.input_file_id}/content`, {
      headers: { authorization: `Bearer ${caller.apiKey}` },
    });
    const lines = (await content.text()).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line))).to.deep.equal(
      REQUESTS.map(({ custom_id, params }) => ({ custom_id, method: 'POST', url: '/v1/messages', body: params })),
    );
  });

  it('keep the betas of the call for their requests', async () => {
    // contract 4.17:70
    const { id } = await client.beta.messages.batches.create({
      betas: ['advanced-tool-use-2025-11-20', 'effort-2025-11-24'],
      requests: REQUESTS,
    });
    const [row] = await app.database<{ id: string; betas: string | null }>('batches').where({ id });
    expect(row?.betas?.split(',')).to.include.members(['advanced-tool-use-2025-11-20', 'effort-2025-11-24']);
  });

  it('are listed newest first, forwards and backwards', async () => {
    // contract 4.17:14
    const ids: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      ids.unshift((await client.messages.batches.create({ requests: REQUESTS })).id);
    }
    const listed: string[] = [];
    for await (const { id } of client.messages.batches.list({ limit: 2 })) listed.push(id);
    expect(listed).to.deep.equal(ids);
    const back: string[] = [];
    const before_id = ids[2] ?? '';
    for await (const { id } of client.messages.batches.list({ limit: 1, before_id })) back.push(id);
    expect(back).to.deep.equal([ids[1], ids[0]]);
    const other = await app.createAccount();
    expect(await call(`${app.baseUrl}/v1/messages/batches`, { key: other.apiKey })).to.deep.include({
      body: { data: [], has_more: false, first_id: null, last_id: null },
    });
  });

  it('have results of every kind, as the SDK reads them', async () => {
    // contract 4.17:15
    const { id } = await client.messages.batches.create({ requests: REQUESTS });
    const early = await call<MessagesError>(`${app.baseUrl}/v1/messages/batches/${id}/results`, { key: caller.apiKey });
    expect([early.status, early.body.type]).to.deep.equal([400, 'error']);
    const message = { id: 'msg_1', type: 'message', role: 'assistant', content: [{ type: 'text', text: 'Hi' }] };
    const error = { type: 'error', error: { type: 'bad_request', message: 'No.' } };
    await end(
      id,
      [{ custom_id: 'a', response: { status_code: 200, request_id: 'req_1', body: message }, error: null }],
      [
        { custom_id: 'b', response: { status_code: 400, request_id: 'req_2', body: error }, error: null },
        { custom_id: 'c', response: null, error: { code: 'batch_cancelled', message: '' } },
        { custom_id: 'd', response: null, error: { code: 'batch_expired', message: '' } },
      ],
    );
    const batch = await client.messages.batches.retrieve(id);
    expect(batch).to.include({ processing_status: 'ended' });
    expect(batch.request_counts).to.deep.equal({ processing: 0, succeeded: 1, errored: 1, canceled: 2, expired: 0 });
    const results: object[] = [];
    for await (const result of await client.messages.batches.results(id)) results.push(result);
    expect(results).to.deep.equal([
      { custom_id: 'a', result: { type: 'succeeded', message } },
      { custom_id: 'b', result: { type: 'errored', error } },
      { custom_id: 'c', result: { type: 'canceled' } },
      { custom_id: 'd', result: { type: 'expired' } },
    ]);
    await app.database('uploads').where({ account_id: caller.accountId, purpose: 'batch_output' }).delete();
    const late = await call<MessagesError>(`${app.baseUrl}/v1/messages/batches/${id}/results`, { key: caller.apiKey });
    expect([late.status, late.body.type], 'not an empty file').to.deep.equal([404, 'error']);
  });

  it('can be cancelled, and deleted with their files once they have ended', async () => {
    // contract 4.17:16
    const { id } = await client.messages.batches.create({ requests: REQUESTS });
    expect(await client.messages.batches.cancel(id)).to.include({ processing_status: 'canceling' });
    expect(await rejectionOf(client.messages.batches.delete(id))).to.include({ status: 400 });
    await end(id, [], [{ custom_id: 'a', response: null, error: { code: 'batch_cancelled', message: '' } }]);
    expect(await client.messages.batches.delete(id)).to.deep.include({ id, type: 'message_batch_deleted' });
    expect(await rejectionOf(client.messages.batches.retrieve(id))).to.include({ status: 404 });
    expect(await rejectionOf(client.messages.batches.delete(id))).to.include({ status: 404 });
    const files = await app.database('uploads').where({ account_id: caller.accountId });
    expect(files).to.deep.equal([]);
  });

  it('are 404 for other accounts, and for batches of other endpoints', async () => {
    const { id } = await client.messages.batches.create({ requests: REQUESTS });
    const other = await app.createAccount({ fundedUsd: 1 });
    const calls = [
      ['GET', ''],
      ['GET', '/results'],
      ['POST', '/cancel'],
      ['DELETE', ''],
    ] as const;
    const expectUnknown = async (key: string): Promise<void> => {
      for (const [method, path] of calls) {
        const { status, body } = await call<MessagesError>(`${app.baseUrl}/v1/messages/batches/${id}${path}`, {
          method,
          key,
        });
        expect([status, body.error.type]).to.deep.equal([404, 'not_found']);
      }
    };
    await expectUnknown(other.apiKey);
    await app.database('batches').where({ id }).update({ endpoint: '/v1/chat/completions' });
    await expectUnknown(caller.apiKey);
    expect(await app.database('batches').where({ id }).first('status')).to.deep.equal({ status: 'validating' });
  });

  it('are listed, shown and cancelled by operators, with their account and charges', async () => {
    // contract 4.11:66
    const { id } = await client.messages.batches.create({ requests: REQUESTS });
    const url = `${app.baseUrl}/admin/v1/batches`;
    const shown = { id, account_id: caller.accountId, charged_usd: 0, status: 'validating' };
    const list = await call<{ data: object[] }>(`${url}?account_id=${caller.accountId}&status=validating`, {
      key: app.adminToken,
    });
    expect(list.body.data).to.have.length(1);
    expect(list.body.data[0]).to.include(shown).and.to.not.have.property('metadata');
    const one = await call<{ data: object }>(`${url}/${id}`, { key: app.adminToken });
    expect(one.body.data).to.include(shown);
    const cancelled = await call<{ data: object }>(`${url}/${id}/cancel`, {
      key: app.adminToken,
      body: { reason: 'a test' },
    });
    expect(cancelled.body.data).to.include({ id, status: 'cancelling' });
    const unknown = await call(`${url}/${newId('batch')}`, { key: app.adminToken });
    expect(unknown.status).to.equal(404);
  });

  const refused: readonly [string, unknown, RegExp][] = [
    ['no requests', { requests: [] }, /at least 1 item/],
    ['a repeated id', { requests: [REQUESTS[0], REQUESTS[0]] }, /requests\.1: "custom_id" is "first"/],
    ['no params', { requests: [{ custom_id: 'a' }] }, /requests\.0: "params"/],
    ['another form', { input_file_id: 'file_1' }, /list "requests"/],
  ];
  for (const [what, body, message] of refused) {
    it(`are refused with ${what}, and keep no file`, async () => {
      // contract 4.17:13
      const stored = await app.storedFiles();
      const answer = await call<MessagesError>(`${app.baseUrl}/v1/messages/batches`, { key: caller.apiKey, body });
      expect([answer.status, answer.body.type, answer.body.error.type]).to.deep.equal([400, 'error', 'bad_request']);
      expect(answer.body.error.message).to.match(message);
      expect(await app.storedFiles()).to.deep.equal(stored);
    });
  }

  it('keep no file of a batch beyond the limit of batches', async () => {
    const { database } = app;
    const { id } = await client.messages.batches.create({ requests: REQUESTS });
    await database.raw(
      `INSERT INTO batches (id, account_id, api_key_id, request_id, endpoint, input_file_id, total, created_at, expires_at)
      SELECT left(id, -3) || lpad(n::text, 3, '0'), account_id, api_key_id, request_id, endpoint, input_file_id, total,
        created_at, expires_at FROM batches, generate_series(1, 60) AS n WHERE id = ?`,
      [id],
    );
    const stored = await app.storedFiles();
    expect(await rejectionOf(client.messages.batches.create({ requests: REQUESTS }))).to.include({ status: 429 });
    expect(await app.storedFiles()).to.deep.equal(stored);
  });
});
