import { expect } from 'chai';
import { recordCost, settleSubmission } from '../../../../db/queries/submissions.ts';
import { recordTextCosts, TextCostChangedError } from '../../../../db/queries/text-costs.ts';
import type { NewTextHold } from '../../../../db/text-money/ledger.ts';
import type { VendorCost } from '../../../../domain/media-route.ts';
import { parseUsd } from '../../../../domain/money.ts';
import { completeRates, parseFactor } from '../../../../domain/pricing.ts';
import type { Task } from '../../../../domain/task.ts';
import { useTestApp } from '../../../support/app.ts';
import {
  createTaskRow,
  finishAsFailed,
  finishAsSucceeded,
  openTaskSubmission,
  submitTask,
  type TestCaller,
} from '../../../support/factories.ts';
import { connectGenway, type Genway } from '../../../support/genway.ts';
import { rejectionOf } from '../../../support/rejection.ts';
import {
  newHold,
  openTextLedger,
  type SettlementSettings,
  settlementOf,
  usedInVain,
} from '../../../support/text-money.ts';

type Row = Readonly<Record<string, string | number | null | VendorCost>>;

/** The cost of a text route, in pico-USD per token. */
const DEAR = {
  version: 'dear',
  model: 'textd-v2.5',
  upstream: 'simulator',
  upstreamModel: 'dear-1',
  pricing: {
    rates: completeRates({ input: 2n, cachedInput: 1n, cacheWrite: 3n, cacheWrite1h: 3n, output: 5n }),
    tiers: [],
    peaks: [],
  },
};
const DEAR_ROUTE = { provider: DEAR.upstream, format: 'chat-completions', model: DEAR.upstreamModel } as const;
const SILENT_ROUTE = { provider: 'silent', format: 'chat-completions', model: 'textc-silent' } as const;
const NO_USAGE = { inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0 };
const FORMULA = '=2+5+cmd|calc';

describe('revenue, cost and margin', () => {
  const app = useTestApp();
  let caller: TestCaller;
  let genway: Genway;
  let rendered: Task;
  let given: Task;

  before(async () => {
    caller = await app.createAccount({ fundedUsd: 100 });
    genway = await connectGenway(app);
    const { database } = app;
    rendered = await renderedTask('job_1', '0.75');
    await finishAsSucceeded(database, rendered);
    await finishAsSucceeded(database, await renderedTask('job_2', null));
    await finishAsFailed(database, await renderedTask('job_3', '0.5'), 'content_policy_violation');
    given = await createTaskRow(database, keyOf(caller), { model: FORMULA });
    await settleSubmission(database, await openTaskSubmission(database, given), {
      outcome: 'unknown',
      evidence: 'nothing',
      possibleLoss: parseUsd(1),
    });
    await finishAsFailed(database, given, 'processing_unavailable');
    await chargeText({});
    await chargeText({}, { outcome: 'failed', errorCode: 'processing_failed', charge: 0n });
    await recordTextCosts(database, [DEAR]);
    // A cache delivered 60 of the 100 tokens and stored 10: 30 * 2 + 60 * 1 + 10 * 3 + 20 * 5 = 250 pico-USD.
    const usage = { inputTokens: 100, cacheReadTokens: 60, cacheWriteTokens: 10, outputTokens: 20 };
    await chargeText({ model: DEAR.model, catalogueVersion: DEAR.version }, { tokens: usage, upstream: DEAR_ROUTE });
    await chargeText(
      { model: DEAR.model, catalogueVersion: DEAR.version },
      {
        tokens: usage,
        upstream: DEAR_ROUTE,
        outcome: 'failed',
        errorCode: 'processing_failed',
        charge: 0n,
        failedAttempts: [usedInVain({ ...usage, upstream: DEAR_ROUTE })],
      },
    );
    // The upstream may have answered the first request, which no client received; the second reached no upstream.
    for (const upstream of [SILENT_ROUTE, null]) {
      await chargeText(
        { model: SILENT_ROUTE.model },
        { tokens: NO_USAGE, upstream, outcome: 'failed', errorCode: 'processing_timeout', charge: 0n },
      );
    }
  });

  /** @param cost in USD; null if unknown */
  async function renderedTask(jobId: string, cost: string | null): Promise<Task> {
    const task = await createTaskRow(app.database, keyOf(caller));
    await submitTask(app.database, task, jobId);
    if (cost !== null) {
      await recordCost(app.database, task.id, {
        reported: { amount: '5', unit: 'units' },
        cost: parseUsd(Number(cost)),
      });
    }
    return task;
  }

  async function chargeText(request: Partial<NewTextHold>, end: SettlementSettings = {}): Promise<void> {
    const ledger = openTextLedger(app.databaseUrl, { poolSize: 1 });
    const hold = newHold(keyOf(caller), request);
    await ledger.hold([hold]);
    await ledger.settle([settlementOf(hold, end)]);
    await ledger.close();
  }

  function ask(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    const authorization = `Bearer ${app.adminToken}`;
    return fetch(`${app.baseUrl}/admin/v1${path}`, { headers: { authorization, ...headers } });
  }

  async function rowsOf(path: string): Promise<readonly Row[]> {
    const { data }: { data: readonly Row[] } = JSON.parse(await (await ask(path)).text());
    return data;
  }

  describe('by model and upstream', () => {
    it('show the revenue, the cost, and the cost of failures', async () => {
      // contract 4.11:29
      const row = (await rowsOf('/margins')).find(({ model }) => model === 'vidone-3.0');
      expect(row).to.deep.equal({
        object: 'margin',
        kind: 'video',
        model: 'vidone-3.0',
        upstream: 'simulator',
        upstream_model: 'm',
        succeeded: 2,
        failed: 1,
        without_cost: 1,
        revenue_usd: 2,
        cost_usd: 0.75,
        failed_cost_usd: 0.5,
        possible_loss_usd: 0,
        // The cost of one of the two successes is known: 1 - 0.75, less the cost of the failure.
        margin_usd: -0.25,
        margin_percent: -25,
      });
    });

    it('count renders that may not have reached a customer', async () => {
      const rows = (await rowsOf('/margins')).filter(({ model }) => model === FORMULA);
      expect(rows.reduce((sum, { possible_loss_usd: loss }) => sum + Number(loss), 0)).to.equal(1);
      expect(rows.map(({ margin_usd: margin }) => margin)).to.not.include(0);
    });

    it('count the holds for text that no upstream answered in time', async () => {
      const rows = (await rowsOf('/margins')).filter(({ model }) => model === SILENT_ROUTE.model);
      const held: { held: string } = await app.database('text_requests').where('upstream', 'silent').first('held');
      expect(Number(held.held)).to.be.above(0);
      expect(rows.map(({ upstream, possible_loss_usd: loss }) => [upstream, loss])).to.deep.equal([
        ['silent', Number(held.held) / 1e12],
        [null, 0],
      ]);
    });

    it('show the revenue of text whose route has no cost, and no margin', async () => {
      const row = (await rowsOf('/margins')).find(({ model }) => model === 'textc-M3');
      expect(row).to.include({ kind: 'text', succeeded: 1, failed: 1, without_cost: 1, cost_usd: null });
      // A failed request has a known cost, zero, and no revenue.
      expect(row).to.include({ failed_cost_usd: 0, margin_usd: null, margin_percent: null });
      expect(row?.['revenue_usd']).to.be.above(0);
    });

    it('compute the cost of text from its tokens, including failed attempts, by the catalogue version that answered', async () => {
      const lines = (await (await ask('/margins', { accept: 'text/csv' })).text()).split('\r\n');
      expect(lines).to.include(
        'text,textd-v2.5,simulator,dear-1,1,1,0,0.0000000006,0.00000000025,0.00000000025,0,0.0000000001,16.6',
      );
    });

    it('take the costs of a version that had none, but never replace its costs', async () => {
      const { database } = app;
      const { pricing } = DEAR;
      const cheaper = { ...DEAR, pricing: { ...pricing, rates: { ...pricing.rates, output: 1n } } };
      const tiers = [{ thresholdTokens: 200_000, applies: 'over' as const, factor: parseFactor('2') }];
      const tiered = { ...DEAR, pricing: { ...pricing, tiers } };
      await recordTextCosts(database, [DEAR, { ...DEAR, upstream: 'another' }]);
      expect(await rejectionOf(recordTextCosts(database, [cheaper]))).to.be.instanceOf(TextCostChangedError);
      expect(await rejectionOf(recordTextCosts(database, [tiered]))).to.be.instanceOf(TextCostChangedError);
      await recordTextCosts(database, [{ ...cheaper, version: 'cheaper' }]);
    });

    it('exclude requests that were created outside the period', async () => {
      // contract 4.11:29
      expect(await rowsOf('/margins?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z')).to.deep.equal([]);
      expect((await ask('/margins?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z')).status).to.equal(400);
    });

    it('margins are CSV, exact, and harmless in a spreadsheet', async () => {
      // contract 4.11:29 4.11:60
      const text = await (await ask('/margins', { accept: 'text/csv' })).text();
      const [header, ...lines] = text.trimEnd().split('\r\n');
      expect(header).to.equal(
        'kind,model,upstream,upstream_model,succeeded,failed,without_cost,revenue_usd,cost_usd,failed_cost_usd,possible_loss_usd,margin_usd,margin_percent',
      );
      expect(lines).to.include('video,vidone-3.0,simulator,m,2,1,1,2,0.75,0.5,0,-0.25,-25');
      expect(lines.join('\n')).to.contain(`'${FORMULA}`).and.not.contain(`,${FORMULA}`);
    });
  });

  describe('render by render', () => {
    it('show the job, the vendor’s report and the cost', async () => {
      // contract 4.11:30
      const row = (await rowsOf('/renders')).find(({ task_id: id }) => id === rendered.id);
      expect(row).to.include({ upstream: 'simulator', upstream_model: 'm', job_id: 'job_1', revenue_usd: 1 });
      expect(row).to.include({ cost_usd: 0.75, possible_loss_usd: 0, margin_usd: 0.25, status: 'succeeded' });
      expect(row?.['vendor_cost']).to.deep.equal({ amount: '5', unit: 'units' });
    });

    it('renders are filtered by model, upstream and status, page by page', async () => {
      // contract 4.11:30
      expect(await rowsOf('/renders')).to.have.length(4);
      expect(await rowsOf('/renders?status=failed')).to.have.length(2);
      expect(await rowsOf('/renders?upstream=nobody')).to.deep.equal([]);
      const [lost] = await rowsOf(`/renders?model=${encodeURIComponent(FORMULA)}`);
      expect(lost).to.include({ task_id: given.id, possible_loss_usd: 1, revenue_usd: 0, cost_usd: null });
      const first = JSON.parse(await (await ask('/renders?limit=3')).text());
      const second = JSON.parse(await (await ask(`/renders?limit=3&cursor=${first.next_cursor}`)).text());
      expect([first.data.length, second.data.length, second.next_cursor]).to.deep.equal([3, 1, null]);
    });

    it('export all rows as JSON lines and as CSV', async () => {
      // contract 4.11:30 4.11:60
      const lines = (await (await ask('/renders', { accept: 'application/x-ndjson' })).text()).trimEnd().split('\n');
      expect(lines.map((line) => JSON.parse(line).object)).to.deep.equal(Array(4).fill('render'));
      const csv = (await (await ask('/renders', { accept: 'text/csv' })).text()).trimEnd().split('\r\n');
      expect(csv).to.have.length(5);
      expect(csv[0]).to.match(/,vendor_message$/);
      expect(csv.find((line) => line.includes(rendered.id))).to.match(/,simulator,m,job_1,1,0\.75,5,units,0,0\.25,$/);
    });
  });

  it('appear with a task, and in its timeline', async () => {
    const { data: task } = JSON.parse(await (await ask(`/tasks/${rendered.id}`)).text());
    expect(task).to.deep.include({
      provider: 'simulator',
      provider_model: 'm',
      provider_job_id: 'job_1',
      cost_usd: 0.75,
    });
    expect(task).to.deep.include({ vendor_cost: { amount: '5', unit: 'units' }, possible_loss_usd: 0 });
    const lost = (await rowsOf('/tasks')).find(({ id }) => id === given.id);
    expect(lost).to.include({ provider_model: 'm', cost_usd: null, possible_loss_usd: 1 });
    expect(await genway('tasks', 'explain', rendered.id)).to.contain(
      'Attempt 1: simulator accepted the job; job job_1; the upstream charged 5 units; cost $0.75',
    );
    const story = JSON.parse(await genway('--json', 'tasks', 'explain', given.id));
    expect(story.data.submissions).to.have.length(1);
    expect(story.data.submissions[0]).to.include({
      attempt: 1,
      outcome: 'unknown',
      possible_loss_usd: 1,
      cost_usd: null,
    });
  });

  it('margins are printed by the command line', async () => {
    const margins = (await genway('margins')).split('\n').find((line) => line.startsWith('vidone-3.0'));
    expect(margins?.split(/ +/)).to.deep.equal([
      'vidone-3.0',
      'simulator',
      'm',
      '2',
      '1',
      '1',
      '2',
      '0.75',
      '0.5',
      '0',
      '-0.25',
    ]);
    expect(await genway('renders', '--upstream', 'simulator', '--status', 'succeeded')).to.contain(rendered.id);
    expect(await genway('renders', '--csv')).to.contain('vendor_cost_amount,vendor_cost_unit');
  });
});

function keyOf({ keyId, accountId }: TestCaller): { readonly id: string; readonly accountId: string } {
  return { id: keyId, accountId };
}
