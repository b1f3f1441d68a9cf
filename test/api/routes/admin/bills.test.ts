import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ensurePartitions } from '../../../../db/partitions.ts';
import { finishReconciliation, insertReconciliation } from '../../../../db/queries/reconciliations.ts';
import { recordCost } from '../../../../db/queries/submissions.ts';
import { recordTextCosts } from '../../../../db/queries/text-costs.ts';
import { BILL_CHECK } from '../../../../db/reconciliation/bill-check.ts';
import { newId } from '../../../../domain/ids.ts';
import { parseUsd } from '../../../../domain/money.ts';
import { type ErrorBody, useTestApp } from '../../../support/app.ts';
import { createTaskRow, finishAsSucceeded, submitTask, type TestCaller } from '../../../support/factories.ts';
import { connectGenway, field, type Genway } from '../../../support/genway.ts';
import { checkBooks } from '../../../support/reconciliation.ts';
import { call } from '../../../support/stack.ts';
import { newHold, openTextLedger, settlementOf, usedInVain } from '../../../support/text-money.ts';
import { completeRates } from '../../../../domain/pricing.ts';

interface BillBody {
  readonly data: {
    readonly lines: number;
    readonly billed_usd: string;
    readonly usd_per_unit: string | null;
    readonly upstreams: readonly string[];
    readonly differences_total: number;
    readonly differences: readonly Readonly<Record<string, string | number | null>>[];
  };
}

const DAY_MS = 86_400_000;
const COLUMNS = { job: 'request', model: 'model', amount: 'cost' } as const;

describe('the bill of a vendor', () => {
  const app = useTestApp();
  const now = new Date();
  /** Two months ago, so that the month can be closed on any day of a month. */
  const begin = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 2, 1));
  const month = begin.toISOString().slice(0, 7);
  let caller: TestCaller;
  let genway: Genway;

  before(async () => {
    await ensurePartitions(app.database, begin);
    caller = await app.createAccount({ fundedUsd: 1_000 });
    genway = await connectGenway(app);
  });

  /** A render of that upstream whose job was submitted on that day. @param cost in USD; null if unknown */
  async function render(upstream: string, jobId: string, cost: string | null, day = 10): Promise<string> {
    const { database } = app;
    const submittedAt = new Date(begin.getTime() + (day - 1) * DAY_MS + DAY_MS / 2);
    const key = { id: caller.keyId, accountId: caller.accountId };
    const task = await createTaskRow(database, key, { id: newId('task', submittedAt.getTime()) });
    await submitTask(database, task, jobId);
    if (cost !== null) await recordCost(database, task.id, { reported: null, cost: parseUsd(cost) });
    await finishAsSucceeded(database, task);
    await database.transaction(async (transaction) => {
      await transaction.raw('SET LOCAL session_replication_role = replica');
      await transaction('submissions')
        .where({ task_id: task.id })
        .update({ submitted_at: submittedAt, provider: upstream, model: 'm-1' });
    });
    return task.id;
  }

  function importBill(vendor: string, csv: string, more: object = {}) {
    return call<BillBody & ErrorBody>(`${app.baseUrl}/admin/v1/months/${month}/bills`, {
      key: app.adminToken,
      body: { vendor, csv, upstreams: [vendor], columns: COLUMNS, ...more },
    });
  }

  it('a bill is not read in US dollars if it names no currency and the vendor’s last bill named another one', async () => {
    const [inYuan, withoutCurrency] = ['request,model,cost\nj,m,¥10\n', 'request,model,cost\nj,m,10\n'];
    expect((await importBill('kling', inYuan, { usd_per_unit: '0.14' })).body.data).to.include({
      billed_usd: '1.4',
      usd_per_unit: '0.14',
    });
    const refused = await importBill('kling', withoutCurrency);
    expect([refused.status, refused.body.error.message]).to.deep.equal([
      400,
      'The latest bill of the vendor was in another currency, and this bill names no currency. Give the exchange rate in USD per ' +
        'unit (usd_per_unit): 1 for a bill in US dollars.',
    ]);
    expect((await importBill('kling', withoutCurrency, { usd_per_unit: '1' })).status).to.equal(201);
    expect((await importBill('kling', withoutCurrency)).body.data.billed_usd).to.equal('10');
    await call(`${app.baseUrl}/admin/v1/months/${month}/bills/kling`, { key: app.adminToken, method: 'DELETE' });
  });

  const told = ({ data }: BillBody) =>
    data.differences.map(({ difference, model, job_id, billed_usd, cost_usd }) => [
      difference,
      model,
      job_id,
      billed_usd,
      cost_usd,
    ]);

  async function findings(): Promise<readonly string[]> {
    const report = await checkBooks(app.database, [BILL_CHECK]);
    return report.findings.map(({ subject, detail }) => `${subject}: ${detail}`);
  }

  it('has no differences when it agrees with the costs of its renders', async () => {
    // contract 4.11:26
    await render('exact', 'e1', '0.35');
    await render('exact', 'e2', '0.1');
    const { status, body } = await importBill('exact', 'request,model,cost\ne1,m-1,0.35\ne2,m-1,0.1004\n');
    expect([status, body.data.differences_total]).to.deep.equal([201, 0]);
    expect(body.data).to.include({ lines: 2, billed_usd: '0.4504' });
  });

  it('differs where it has an unknown job, lacks a job, or has another price, and nowhere else', async () => {
    // contract 4.11:26
    for (const [job, cost] of [
      ['p1', '1'],
      ['p2', '1'],
      ['p3', '1'],
      ['p4', null],
    ] as const)
      await render('planted', job, cost);
    const csv = 'request,model,cost\np1,m-1,0.6\np1,m-1,0.4\np2,m-1,1.2\np4,m-1,7\nx9,m-1,3\n';
    const { body } = await importBill('planted', csv);
    expect(told(body)).to.deep.equal([
      ['extra', 'm-1', 'x9', '3', null],
      ['missing', 'm-1', 'p3', null, '1'],
      ['wrong_price', 'm-1', 'p2', '1.2', '1'],
    ]);
    expect(await findings()).to.deep.equal([
      `planted ${month} m-1: 1 job billed without a record: $3.00 (first: x9); ` +
        `1 job not billed: $1.00 (first: ${body.data.differences[1]?.['task_id']}); ` +
        `1 job billed with another price: $1.20 instead of $1.00 (first: ${body.data.differences[2]?.['task_id']})`,
    ]);
    await importBill('planted', 'request,model,cost\np1,m-1,1\np2,m-1,1\np3,m-1,1\n');
    expect(await findings(), 'another one instead').to.deep.equal([]);
  });

  it('differs once where every job of a model costs slightly too much, and not by the usual deviation', async () => {
    const jobs = ['a1', 'a2', 'a3', 'a4'];
    for (const job of [...jobs, 'a5']) await render('little', job, '0.5');
    const lines = (prices: readonly string[]) => jobs.map((job, at) => `${job},m-1,${prices[at]}\n`).join('');
    const imported = async (...prices: string[]) =>
      told((await importBill('little', `request,model,cost\n${lines(prices)}a5,m-1,0.8\n`)).body);
    const alone = ['wrong_price', 'm-1', 'a5', '0.8', '0.5'];
    expect(await imported('0.504', '0.504', '0.504', '0.504')).to.deep.equal([
      ['wrong_price', 'm-1', null, '2.016', '2'],
      alone,
    ]);
    expect(await imported('0.504', '0.496', '0.504', '0.496'), 'rounded up and down').to.deep.equal([alone]);
    expect(await imported('0.504', '0.5', '0.5', '0.5'), 'less than half a cent').to.deep.equal([alone]);
    await genway('months', 'forget-bill', month, 'little');
  });

  it('may list the jobs of the last day in the next month', async () => {
    const lastDay = new Date(Date.UTC(begin.getUTCFullYear(), begin.getUTCMonth() + 1, 0)).getUTCDate();
    await render('late', 'l1', '1', lastDay);
    await render('late', 'l2', '1');
    expect(told((await importBill('late', 'request,model,cost\nl2,m-1,1\n')).body)).to.deep.equal([]);
  });

  it('a bill is compared by model if its lines are sums, including failed attempts of text', async () => {
    await render('sums', 's1', '0.5');
    await render('sums', 's2', '0.5');
    const rates = completeRates({
      input: 2_000_000_000n,
      cachedInput: 0n,
      cacheWrite: 0n,
      cacheWrite1h: 0n,
      output: 4_000_000_000n,
    });
    const pricing = { rates, tiers: [], peaks: [] };
    const route = { upstream: 'sums', upstreamModel: 'gpt-5.1' };
    await recordTextCosts(app.database, [{ version: 'billed', model: 'textc-M3', ...route, pricing }]);
    const id = newId('textRequest', begin.getTime() + 5 * DAY_MS);
    const hold = newHold({ id: caller.keyId, accountId: caller.accountId }, { id, catalogueVersion: 'billed' });
    const ledger = openTextLedger(app.databaseUrl, { poolSize: 1 });
    await ledger.hold([hold]);
    // 10 tokens of input and 20 of output: 0.1 USD.
    const upstream = { provider: 'sums', format: 'chat-completions', model: 'gpt-5.1' } as const;
    // A failed attempt before it cost 0.02 USD.
    const failedAttempts = [usedInVain({ upstream: { provider: 'sums', model: 'gpt-5.1' }, outputTokens: 0 })];
    await ledger.settle([settlementOf(hold, { upstream, failedAttempts })]);
    await ledger.close();
    const csv = 'model,cost\n"GPT 5.1, input",0.04\n"GPT 5.1, output",0.08\nM 1 seconds,1.5\nStorage,2\n,3.6\n';
    const { body } = await importBill('sums', csv, { columns: { model: 'model', amount: 'cost' } });
    expect(told(body)).to.deep.equal([
      ['extra', 'Storage', null, '2', null],
      ['wrong_price', 'm-1', null, '1.5', '1'],
    ]);
  });

  it('keeps its month open until each difference is acknowledged or remedied, and the bills of a closed month stay', async () => {
    // contract 4.11:26
    await importBill('extra', 'request,model,cost\nz,m-9,2\n');
    const close = () => genway('months', 'close', month, '--author', 'ada');
    expect(await close()).to.include('The bill of exact was imported after the latest reconciliation.');
    const id = newId('reconciliation');
    await insertReconciliation(app.database, { id, requestedBy: 'operator' });
    await finishReconciliation(app.database, id, await checkBooks(app.database, [BILL_CHECK]));
    expect(await close()).to.include(`${id} has 3 findings that nobody has acknowledged`);
    const shown = await genway('months', 'bill', month, 'extra');
    expect(field(shown, 'differences_total')).to.equal('1');
    const acknowledged = ['1', '2', '3', '--reason', 'paid', '--author', 'ada'];
    await genway('reconciliations', 'acknowledge', id, ...acknowledged);
    expect(field(await close(), 'author')).to.equal('ada');
    expect(await findings(), 'of closed months').to.deep.equal([]);
    expect((await importBill('extra', 'request,model,cost\n')).body.error.message).to.include('is closed');
    expect(await genway('months', 'forget-bill', month, 'extra')).to.include('is closed');
  });

  it('is imported by the command, whose columns apply to the vendor’s later bills', async () => {
    // contract 4.11:26
    const folder = await mkdtemp(join(tmpdir(), 'genway-bill-'));
    const file = join(folder, 'bill.csv');
    const next = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1)).toISOString().slice(0, 7);
    await writeFile(file, 'Job;Endpoint;Cost\nq1;m-1;10\n');
    try {
      const without = await genway('months', 'import-bill', next, 'ark', file);
      expect(without).to.include('The first bill of a vendor needs');
      const columns = ['--job-column', 'job', '--model-column', 'endpoint', '--amount-column', 'cost'];
      const read = ['--upstreams', 'ark', ...columns, '--usd-per-unit', '0.14'];
      const first = await genway('months', 'import-bill', next, 'ark', file, ...read);
      expect([field(first, 'billed_usd'), field(first, 'differences_total')]).to.deep.equal(['1.4', '1']);
      const worth = ['--usd-per-unit', '0.15'];
      const again = await genway('months', 'import-bill', now.toISOString().slice(0, 7), 'ark', file, ...worth);
      expect([field(again, 'columns.job'), field(again, 'billed_usd')]).to.deep.equal(['job', '1.5']);
      expect(await genway('months', 'bills', next)).to.match(/ark +1 +1\.4/);
      expect(await genway('months', 'bill', next, 'ark', '--csv')).to.include('extra,m-1,q1,,2,1.4,');
      await writeFile(file, Buffer.from('\uFEFFJob;Endpoint;Cost\nq1;m-1;10\n', 'utf16le'));
      expect(await genway('months', 'import-bill', next, 'ark', file)).to.include('The bill is not UTF-8. Save it');
      await genway('months', 'forget-bill', next, 'ark');
      expect(await genway('months', 'bill', next, 'ark')).to.include('No bill of ark was imported');
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
