import { expect } from 'chai';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../../support/eventually.ts';
import { whenOneWaitsForLock } from '../../support/database.ts';
import { useTestAppBehindProxy } from '../../support/app.ts';
import type { TestCaller } from '../../support/factories.ts';
import { storeBatchInput } from '../../support/batches.ts';
import { call } from '../../support/stack.ts';

const VIDEO = { model: 'vidone-3.0', prompt: 'A test' };
const KEY = { 'idempotency-key': 'once' };

interface Created {
  readonly data: { readonly id: string };
}

describe('a create call under an Idempotency-Key whose commit is not acknowledged', () => {
  let caller: TestCaller;

  const { app, proxy } = useTestAppBehindProxy();
  beforeEach(async () => {
    caller = await app.createAccount({ fundedUsd: 10 });
  });

  const create = () =>
    call<Created>(`${app.baseUrl}/v1/videos/tasks`, { key: caller.apiKey, body: VIDEO, headers: KEY });
  const tasks = () => app.database('tasks').where({ account_id: caller.accountId }).pluck('id');

  /** Starts the call, and discards the database's answer to its commit. */
  async function createUnheard(): Promise<{ answer: ReturnType<typeof create> }> {
    const { answer } = await app.database.transaction(async (transaction) => {
      await transaction('accounts').where({ id: caller.accountId }).forNoKeyUpdate();
      const begun = create();
      await whenOneWaitsForLock(app.database);
      proxy().swallowAnswers();
      return { answer: begun };
    });
    await waitUntil(async () => expect(await tasks()).to.have.length(1), { timeoutMs: PATIENCE_MS, pauseMs: 5 });
    return { answer };
  }

  it('is answered with the committed response', async () => {
    const { answer } = await createUnheard();
    proxy().reset();
    const { status, body } = await answer;
    expect(status, JSON.stringify(body)).to.equal(201);
    expect(await tasks()).to.deep.equal([body.data.id]);
  });

  it('is answered by its repetition with the committed response when the first answer was lost', async () => {
    const { answer } = await createUnheard();
    proxy().refuseNew();
    proxy().reset();
    expect((await answer).status).to.equal(503);
    proxy().refuseNew(false);
    const again = await create();
    expect(again.status, JSON.stringify(again.body)).to.equal(201);
    expect(again.headers.get('idempotent-replayed')).to.equal('true');
    expect(await tasks()).to.deep.equal([again.body.data.id]);
  });
});

describe('a create call of a batch whose connection to the database is lost', () => {
  const { app, proxy } = useTestAppBehindProxy();

  for (const { keyed, headers, isRepeatable } of [
    { keyed: 'without a key', headers: {}, isRepeatable: false },
    { keyed: 'with a key', headers: KEY, isRepeatable: true },
  ]) {
    it(`names the batch, and may ${isRepeatable ? '' : 'not '}be repeated, ${keyed}`, async () => {
      // contract 4.1:17
      const { accountId, apiKey } = await app.createAccount({ fundedUsd: 10 });
      const input_file_id = await storeBatchInput(app, accountId, [{}]);
      const body = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' };
      const answer = await app.database.transaction(async (transaction) => {
        await transaction('accounts').where({ id: accountId }).forNoKeyUpdate();
        const created = call<{ error: { message: string } }>(`${app.baseUrl}/v1/batches`, {
          key: apiKey,
          body,
          headers,
        });
        await whenOneWaitsForLock(app.database);
        proxy().reset();
        return created;
      });
      expect(answer.status).to.equal(503);
      expect(answer.body.error.message).to.match(/batch_[0-9a-z]+, but it may have been created/);
      expect(answer.headers.get('x-should-retry')).to.equal(isRepeatable ? null : 'false');
    });
  }
});
