import { expect } from 'chai';
import { adjust } from '../../../../db/queries/credits.ts';
import { formatUsd, parseUsd } from '../../../../domain/money.ts';
import { useTestApp } from '../../../support/app.ts';
import { createTaskRow, finishAsFailed, finishAsSucceeded, type TestCaller } from '../../../support/factories.ts';
import { failureOf, newHold, openTextLedger } from '../../../support/text-money.ts';

interface Body {
  readonly data: Readonly<Record<string, unknown>> & readonly Readonly<Record<string, unknown>>[];
}

interface Books {
  readonly available_usd: string;
  readonly reserved_usd: string;
  readonly total_usd: string;
}

interface Balances {
  readonly available_usd: number;
  readonly reserved_usd: number;
}

describe('finance', () => {
  const app = useTestApp();
  let caller: TestCaller;
  let failedTaskId: string;
  const today = new Date().toISOString().slice(0, 10);

  before(async () => {
    caller = await app.createAccount({ fundedUsd: 10, signupUsd: 1 });
    const key = { id: caller.keyId, accountId: caller.accountId };
    const { database } = app;
    await finishAsSucceeded(database, await createTaskRow(database, key));
    failedTaskId = (await createTaskRow(database, key)).id;
    await finishAsFailed(database, { id: failedTaskId }, 'content_policy_violation');
    await createTaskRow(database, key);
    const ledger = openTextLedger(app.databaseUrl, { poolSize: 1 });
    const hold = newHold(key);
    await ledger.hold([hold]);
    const tokens = { cacheReadTokens: 1, cacheWriteTokens: 5, cacheWrite1hTokens: 4 };
    await ledger.settle([failureOf(hold, { tokens })]);
    await ledger.close();
    await adjust(database, { accountId: caller.accountId, amount: -1n, author: 'jo, "the admin"', reason: '=1+1' });
  });

  function ask(path: string, headers: Record<string, string> = {}): Promise<Response> {
    const authorization = `Bearer ${app.adminToken}`;
    return fetch(`${app.baseUrl}/admin/v1${path}`, { headers: { authorization, ...headers } });
  }

  async function read(path: string): Promise<Body> {
    // The test checks the shape.
    return (await (await ask(path)).json()) as Body;
  }

  describe('the ledger', () => {
    it('is JSON, newest first, unless the client requests CSV', async () => {
      // contract 4.11:20 4.11:60
      const { data } = await read(`/accounts/${caller.accountId}/ledger`);
      const times = data.map(({ created_at }) => String(created_at));
      expect(times).to.deep.equal(times.toSorted().toReversed());
      expect(data.map(({ kind }) => kind)).to.have.members([
        'signup_grant',
        'topup',
        'adjustment',
        'reservation',
        'settlement',
        'reservation',
        'refund',
        'reservation',
        'allowance',
        'release',
      ]);
    });

    it('is CSV with every transfer, oldest first, exact, and harmless in a spreadsheet', async () => {
      // contract 4.11:20 4.11:61 4.11:64
      const response = await ask(`/accounts/${caller.accountId}/ledger`, { accept: 'text/csv' });
      expect(response.headers.get('content-type')).to.include('text/csv');
      const [header, ...lines] = (await response.text()).trimEnd().split('\r\n');
      expect(header).to.match(/^created_at,id,kind,debit,credit,amount_usd/);
      expect(lines).to.have.length(10);
      expect(lines).to.deep.equal(lines.toSorted());
      const lineOf = (kind: string): string | undefined => lines.find((line) => line.includes(`,${kind},`));
      expect(lineOf('signup_grant')).to.include(',signup_grant,signup_credit,available,1,1,1,');
      expect(lineOf('adjustment')).to.include(',adjustment,available,adjustments,-0.000000000001,-0.000000000001,');
      expect(lineOf('adjustment')).to.include(`"jo, ""the admin""",'=1+1`);
    });

    it('has an entry for each change of the balance, with who corrected it and why', async () => {
      // contract 4.11:60 4.11:21
      const path = `/accounts/${caller.accountId}/balance/entries`;
      const { data } = await read(path);
      const columns = data.map(({ type, amount_usd, balance_usd, author, reason }) => [
        type,
        amount_usd,
        balance_usd,
        author,
        reason,
      ]);
      const total = Number(columns[0]?.[2]);
      expect(columns[0]).to.deep.equal(['adjustment', '-0.000000000001', columns[0]?.[2], 'jo, "the admin"', '=1+1']);
      expect(data.map(({ type }) => type).slice(1, 3)).to.deep.equal(['failed_task', 'task']);
      const { balances } = (await read(`/accounts/${caller.accountId}`)).data as unknown as { balances: Balances };
      expect(total).to.be.closeTo(balances.available_usd + balances.reserved_usd, 1e-9);
      const lines = (await (await ask(path, { accept: 'application/x-ndjson' })).text()).trimEnd().split('\n');
      expect(lines.map((line): unknown => JSON.parse(line))).to.deep.equal(data.toReversed());
    });

    it('is one JSON object per line, oldest first, for programs', async () => {
      // contract 4.11:60
      const response = await ask(`/accounts/${caller.accountId}/ledger`, { accept: 'application/x-ndjson' });
      const kinds = (await response.text())
        .trimEnd()
        .split('\n')
        .map((line): unknown => JSON.parse(line).kind);
      expect(kinds).to.have.length(10);
      expect(kinds.slice(0, 2)).to.have.members(['signup_grant', 'topup']);
    });

    it('has each of thousands of transfers once, including those of one moment', async () => {
      const { accountId } = await app.createAccount();
      await app.database.raw(MANY_ADJUSTMENTS, { accountId, count: 2_500 });
      const csv = await (await ask(`/accounts/${accountId}/ledger`, { accept: 'text/csv' })).text();
      const numbers = csv
        .trimEnd()
        .split('\r\n')
        .slice(1)
        .map((line) => Number(line.split(',')[1]?.slice('tr_'.length)));
      expect(numbers).to.deep.equal(Array.from({ length: 2_500 }, (_, index) => index + 1));
    });

    it('the exported ledger is the same CSV each time', async () => {
      const csv = async (): Promise<string> =>
        (await ask(`/accounts/${caller.accountId}/ledger`, { accept: 'text/csv' })).text();
      expect(await csv()).to.equal(await csv());
    });
  });

  describe('a statement', () => {
    it('opens with zero on the first day; the movements add up to its closing balance', async () => {
      // contract 4.11:23
      const { data } = await read(`/accounts/${caller.accountId}/statements?date=${today}`);
      expect(data['opening']).to.deep.equal({ available_usd: '0', reserved_usd: '0', total_usd: '0' });
      const activity = data['activity'] as readonly (Books & { kind: string })[];
      expect(
        activity.map(({ kind, available_usd, reserved_usd }) => [kind, available_usd, reserved_usd]),
      ).to.deep.equal([
        ['adjustment', '-0.000000000001', '0'],
        ['allowance', '-0.000000001', '0.000000001'],
        ['refund', '1', '-1'],
        ['release', '0.000000001', '-0.000000001'],
        ['reservation', '-3', '3'],
        ['settlement', '0', '-1'],
        ['signup_grant', '1', '0'],
        ['topup', '10', '0'],
      ]);
      const sum = (book: keyof Books): string =>
        formatUsd(activity.reduce((total, row) => total + parseUsd(row[book]), 0n));
      expect(data['closing']).to.deep.equal({
        available_usd: sum('available_usd'),
        reserved_usd: sum('reserved_usd'),
        total_usd: sum('total_usd'),
      });
      expect(data['closing']).to.include({ available_usd: '8.999999999999', reserved_usd: '1' });
    });

    it('opens with the closing balance of the day before', async () => {
      // contract 4.11:23
      const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
      const { data } = await read(`/accounts/${caller.accountId}/statements?date=${tomorrow}`);
      expect(data['activity']).to.deep.equal([]);
      expect(data['opening']).to.deep.equal(data['closing']);
      expect(data['opening']).to.include({ available_usd: '8.999999999999' });
    });

    it('is read from daily sums, which stay when a month is detached from the ledger', async () => {
      const { accountId } = await app.createAccount();
      const sum = { account_id: accountId, day: '2025-01-31', transfers: 2 };
      await app.database('daily_transfers').insert([
        { ...sum, kind: 'topup', available: 7, reserved: 0 },
        { ...sum, kind: 'reservation', available: -4, reserved: 4 },
      ]);
      const { data } = await read(`/accounts/${accountId}/statements?date=2025-02-01`);
      expect(data['opening']).to.include({ available_usd: '0.000000000003', reserved_usd: '0.000000000004' });
      expect(data['closing']).to.deep.equal(data['opening']);
      const { data: before } = await read(`/accounts/${accountId}/statements?date=2025-01-30`);
      expect(before['closing']).to.include({ total_usd: '0' });
    });

    it('is CSV from opening to closing', async () => {
      // contract 4.11:60
      const response = await ask(`/accounts/${caller.accountId}/statements?date=${today}`, { accept: 'text/csv' });
      const lines = (await response.text()).trimEnd().split('\r\n');
      expect(lines).to.deep.equal([
        'line,transfers,available_usd,reserved_usd,total_usd',
        'opening,,0,0,0',
        'adjustment,1,-0.000000000001,0,-0.000000000001',
        'allowance,1,-0.000000001,0.000000001,0',
        'refund,1,1,-1,0',
        'release,1,0.000000001,-0.000000001,0',
        'reservation,3,-3,3,0',
        'settlement,1,0,-1,-1',
        'signup_grant,1,1,0,1',
        'topup,1,10,0,10',
        'closing,,8.999999999999,1,9.999999999999',
      ]);
    });

    for (const date of ['', 'today', '2026-02-30', '2026-2-3']) {
      it(`refuses the date "${date}"`, async () => {
        expect((await ask(`/accounts/${caller.accountId}/statements?date=${date}`)).status).to.equal(400);
      });
    }
  });

  it('lists refunds with their cause and the history of their task', async () => {
    // contract 4.11:28
    const { data } = await read(`/refunds?account_id=${caller.accountId}`);
    expect(data.map(({ cause, amount_usd }) => [cause, amount_usd])).to.deep.equal([['content_policy_violation', 1]]);
    expect(data[0]).to.include({
      task_id: failedTaskId,
      model: 'vidone-3.0',
      message: 'It failed. Try again.',
      history_url: `http://temporal.example/namespaces/default/workflows/${failedTaskId}`,
    });
  });

  it('exports refunds with exact amounts', async () => {
    // contract 4.11:60 4.11:61
    const csv = await (await ask(`/refunds?account_id=${caller.accountId}`, { accept: 'text/csv' })).text();
    const [header, ...lines] = csv.trimEnd().split('\r\n');
    expect(header).to.match(/^created_at,id,account_id,api_key_id,amount_usd,reservation_id,task_id/);
    expect(lines).to.have.length(1);
    expect(lines[0]).to.include(',1,').and.to.include(',content_policy_violation,');
    expect(lines[0]).to.include(`/namespaces/default/workflows/${failedTaskId}`);
  });

  describe('the usage of an account', () => {
    it('is summed up by day, model and key, as JSON and as CSV', async () => {
      // contract 4.11:27 4.11:60
      const { data } = await read(`/accounts/${caller.accountId}/usage`);
      expect(
        data.map(({ kind, requests, failed, charged_usd }) => [kind, requests, failed, charged_usd]),
      ).to.deep.equal([
        ['text', 0, 1, 0],
        ['video', 1, 1, 1],
      ]);
      const csv = await (await ask(`/accounts/${caller.accountId}/usage`, { accept: 'text/csv' })).text();
      const [head = [], ...rows] = csv
        .trimEnd()
        .split('\r\n')
        .map((line) => line.split(','));
      expect(head).to.deep.equal(Object.keys(data[0] ?? {}).filter((name) => name !== 'object'));
      const [text, video] = rows.map((row) => Object.fromEntries(head.map((name, column) => [name, row[column]])));
      expect(text).to.include({ date: today, kind: 'text', model: 'textc-M3', api_key_id: caller.keyId, failed: '1' });
      expect(text).to.include({ cache_read_tokens: '1', cache_write_tokens: '5', cache_write_1h_tokens: '4' });
      expect(video).to.include({ kind: 'video', requests: '1', failed: '1', billable_duration_seconds: '5' });
      expect(video).to.include({ input_tokens: '0', charged_usd: '1' });
    });

    it('shows for each text request its route, its rates, its hold and who bore the cost', async () => {
      // contract 4.11:27
      const { data } = await read(`/accounts/${caller.accountId}/usage/requests`);
      expect(data).to.have.length(1);
      expect(data[0]).to.deep.include({
        account_id: caller.accountId,
        model: 'textc-M3',
        format: 'chat-completions',
        upstream: 'simulator',
        upstream_format: 'chat-completions',
        upstream_model: 'textc-M3',
        rates_version: 'test',
        price_modifiers: [],
        outcome: 'failed',
        estimated: false,
        held_usd: 1e-9,
        charged_usd: 0,
        absorbed_usd: 0,
        latency_ms: 12,
      });
      const csv = await (await ask(`/accounts/${caller.accountId}/usage/requests`, { accept: 'text/csv' })).text();
      expect(csv.trimEnd().split('\r\n')[1])
        .to.include(',failed,processing_failed,test,')
        .and.include(',simulator,chat-completions,textc-M3,');
    });
  });

  it('an account that does not exist is 404', async () => {
    for (const path of ['ledger', `statements?date=${today}`, 'usage', 'usage/requests']) {
      expect((await ask(`/accounts/acc_1/${path}`)).status).to.equal(404);
    }
  });

  it('finance is for operators only', async () => {
    const headers = { authorization: `Bearer ${caller.apiKey}` };
    expect((await ask('/refunds', headers)).status).to.equal(401);
  });
});

/** All of one moment, so that only their ids order them. */
const MANY_ADJUSTMENTS = /* sql */ `
  INSERT INTO transfers (id, opened_at, created_at, kind, debit, credit, amount, account_id, author, reason)
  SELECT 'tr_' || lpad(number::text, 32, '0'), now(), now(), 'adjustment', 'adjustments', 'available', 1, :accountId,
    'tester', 'a test'
  FROM generate_series(1, :count) AS number`;
