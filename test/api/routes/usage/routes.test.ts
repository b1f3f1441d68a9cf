import { expect } from 'chai';
import { newId } from '../../../../domain/ids.ts';
import { useTestApp } from '../../../support/app.ts';
import {
  createTaskRow,
  createTextRequestRow,
  finishAsFailed,
  finishAsSucceeded,
  type TestCaller,
} from '../../../support/factories.ts';
import { failureOf, newHold, openTextLedger, settlementOf } from '../../../support/text-money.ts';

const USD = 10n ** 12n;

interface Page {
  readonly data: readonly Readonly<Record<string, unknown>>[];
  readonly next_cursor?: string | null;
  readonly error?: { readonly code: string; readonly message: string };
}

describe('usage', () => {
  const app = useTestApp();
  let caller: TestCaller;
  let today: string;

  before(async () => {
    caller = await app.createAccount({ fundedUsd: 10 });
    const key = { id: caller.keyId, accountId: caller.accountId };
    const { database } = app;
    // Nothing of yesterday is summed yet, as in a database that is older than a day.
    await database('daily_usage_summed').update({ before: new Date(Date.now() - 2 * 86_400_000) });
    const ledger = openTextLedger(app.databaseUrl, { poolSize: 1 });
    const midnight = new Date().setUTCHours(0, 0, 0, 0);
    today = new Date(midnight).toISOString().slice(0, 10);
    const holdAt = (ms: number) => newHold(key, { id: newId('textRequest', ms), amount: USD });
    const yesterday = holdAt(midnight - 1);
    const holds = [yesterday, holdAt(midnight), holdAt(midnight + 1), holdAt(midnight + 2)] as const;
    await ledger.hold(holds);
    await ledger.settle([
      settlementOf(yesterday, { charge: USD / 4n }),
      settlementOf(holds[1], { charge: USD / 2n, modifiers: [{ kind: 'peak', factor: '1.6' }] }),
      settlementOf(holds[2], { charge: USD / 4n, tokens: { cacheReadTokens: 4 } }),
      failureOf(holds[3]),
    ]);
    await ledger.close();
    await finishAsSucceeded(database, await createTaskRow(database, key));
    await finishAsFailed(database, await createTaskRow(database, key));
    await createTaskRow(database, key);
  });

  async function get(path: string, { apiKey } = caller): Promise<Page & { status: number }> {
    const response = await fetch(app.baseUrl + path, { headers: { authorization: `Bearer ${apiKey}` } });
    // The test checks the shape.
    return { status: response.status, ...((await response.json()) as Page) };
  }

  it('usage is summed up by day, kind, model and key, newest day first', async () => {
    // contract 2.9:2 4.9:3
    const { data } = await get('/v1/usage');
    const sums = data.map(({ date, kind, requests, failed, charged_usd }) => [
      date,
      kind,
      requests,
      failed,
      charged_usd,
    ]);
    const before = new Date(Date.parse(today) - 1).toISOString().slice(0, 10);
    expect(sums).to.deep.equal([
      [today, 'text', 2, 1, 0.75],
      [today, 'video', 1, 1, 1],
      [before, 'text', 1, 0, 0.25],
    ]);
    expect(data[0]).to.include({ model: 'textc-M3', api_key_id: caller.keyId, input_tokens: 30, cache_read_tokens: 4 });
    expect(data[1]).to.include({ model: 'vidone-3.0', billable_duration_seconds: 5 });
  });

  it('usage is summed up over the requested days', async () => {
    // contract 4.9:3
    const { data } = await get(`/v1/usage?from=${today}`);
    expect(data.map(({ date }) => date)).to.deep.equal([today, today]);
  });

  it('shows text requests one by one, newest first, page by page', async () => {
    // contract 2.9:4 2.9:5 4.9:5 4.10:1
    const first = await get('/v1/usage/requests?limit=3');
    expect(first.data.map(({ outcome }) => outcome)).to.deep.equal(['failed', 'succeeded', 'succeeded']);
    expect(first.data[0]).to.include({ error_code: 'processing_failed', charged_usd: 0 });
    expect(first.data[2]).to.deep.include({ charged_usd: 0.5, price_modifiers: [{ kind: 'peak', factor: '1.6' }] });
    const second = await get(`/v1/usage/requests?limit=3&cursor=${first.next_cursor}`);
    expect(second.data.map(({ charged_usd }) => charged_usd)).to.deep.equal([0.25]);
    expect(second.next_cursor).to.equal(null);
  });

  it('covers only the account of the key', async () => {
    const other = await app.createAccount({ fundedUsd: 1 });
    expect((await get('/v1/usage', other)).data).to.deep.equal([]);
    expect((await get('/v1/usage/requests', other)).data).to.deep.equal([]);
  });

  for (const [fault, query] of [
    ['a period that is too long', 'from=2026-01-01&to=2026-12-01'],
    ['a period that ends before it begins', 'from=2026-02-02&to=2026-02-01'],
    ['a time that is none', 'from=yesterday'],
    ['a day that does not exist', 'from=2026-02-30'],
  ] as const) {
    it(`refuses ${fault}`, async () => {
      // contract 4.9:3
      expect(await get(`/v1/usage?${query}`)).to.deep.include({ status: 400 });
    });
  }

  it('counts a task on the day on which it was created, once it is final', async () => {
    // contract 2.9:3
    const other = await app.createAccount({ fundedUsd: 10 });
    const id = newId('task', Date.parse(today) - 1);
    const task = await createTaskRow(app.database, { id: other.keyId, accountId: other.accountId }, { id });
    expect((await get('/v1/usage', other)).data).to.deep.equal([]);
    await finishAsSucceeded(app.database, task);
    const yesterday = new Date(Date.parse(today) - 1).toISOString().slice(0, 10);
    expect((await get('/v1/usage', other)).data.map(({ date, requests }) => [date, requests])).to.deep.equal([
      [yesterday, 1],
    ]);
  });

  it('shows the outcome of each text request, and filters by key, batch, model and time', async () => {
    // contract 2.9:5 2.9:11 4.9:5
    const other = await app.createAccount({ fundedUsd: 10 });
    const key = { id: other.keyId, accountId: other.accountId };
    const outcomes = ['succeeded', 'disconnected', 'failed'];
    const batchId = newId('batch', Date.parse(today));
    for (const [index, outcome] of outcomes.entries()) {
      const batch_id = outcome === 'succeeded' ? batchId : null;
      const error_code = outcome === 'failed' ? 'processing_failed' : null;
      const id = newId('textRequest', Date.parse(today) + index);
      await createTextRequestRow(app.database, key, { id, outcome, error_code, batch_id, model: `model-${index % 2}` });
    }
    const outcomesOf = async (query: string) =>
      (await get(`/v1/usage/requests?${query}`, other)).data.map(({ outcome }) => outcome);
    expect(await outcomesOf('')).to.deep.equal(outcomes.toReversed());
    expect(await outcomesOf('model=model-1')).to.deep.equal(['disconnected']);
    expect(await outcomesOf(`api_key_id=${other.keyId}`)).to.have.length(3);
    expect(await outcomesOf(`api_key_id=${caller.keyId}`)).to.deep.equal([]);
    expect(await outcomesOf(`batch_id=${batchId}`)).to.deep.equal(['succeeded']);
    expect(await outcomesOf(`batch_id=${newId('batch')}`)).to.deep.equal([]);
    expect((await get(`/v1/usage/requests?batch_id=${batchId}`)).data, 'of another account').to.deep.equal([]);
    const shown = (await get('/v1/usage/requests', other)).data.map(({ batch_id }) => batch_id);
    expect(shown).to.deep.equal([null, null, batchId]);
    expect(await outcomesOf(`to=${today}T00:00:00Z`)).to.deep.equal([]);
    expect(await outcomesOf(`from=${today}T00:00:00Z`)).to.have.length(3);
  });

  it('refuses a cursor of another list', async () => {
    const cursor = Buffer.from(JSON.stringify(['task_1'])).toString('base64url');
    expect((await get(`/v1/usage/requests?cursor=${cursor}`)).error?.code).to.equal('bad_request');
  });
});
