import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { finishReconciliation, insertReconciliation } from '../../db/queries/reconciliations.ts';
import { markWorkflowsStarted } from '../../db/queries/tasks.ts';
import { createDatabase } from '../../db/database.ts';
import { newId } from '../../domain/ids.ts';
import { parseUsd } from '../../domain/money.ts';
import { watchDatabaseState, watchPool } from '../../telemetry/database-gauges.ts';
import { createMetrics, type Metrics } from '../../telemetry/metrics.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import {
  createAccount,
  createEndpoint,
  createFundedKey,
  createKey,
  createTaskRow,
  finishAsSucceeded,
} from '../support/factories.ts';
import { newHold, openTextLedger, settlementOf } from '../support/text-money.ts';

const HOUR_MS = 3_600_000;

/** The samples of a metric: its labels, if it has any, and its value. */
async function samples(metrics: Metrics, name: string): Promise<Record<string, number>> {
  const lines = (await metrics.render()).split('\n').filter((line) => line.startsWith(name));
  return Object.fromEntries(
    lines.map((line) => [line.slice(name.length, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

describe('metrics', () => {
  it('count tasks by outcome, and their money', async () => {
    const metrics = createMetrics();
    const task = { model: 'vidone-3.0', price: parseUsd('0.5') };
    metrics.taskEnded({ ...task, status: 'succeeded', failure: null });
    metrics.taskEnded({ ...task, status: 'succeeded', failure: null });
    metrics.taskEnded({ ...task, status: 'failed', failure: { code: 'bad_request', message: 'No.' } });
    expect(await samples(metrics, 'genway_tasks_ended_total')).to.deep.equal({
      '{model="vidone-3.0",outcome="succeeded"}': 2,
      '{model="vidone-3.0",outcome="bad_request"}': 1,
    });
    expect(await samples(metrics, 'genway_tasks_settled_usd_total')).to.deep.equal({ '': 1 });
    expect(await samples(metrics, 'genway_tasks_refunded_usd_total')).to.deep.equal({ '': 0.5 });
  });

  it('measure requests, attempts of deliveries and batches', async () => {
    const metrics = createMetrics();
    metrics.requestEnded({ method: 'GET', route: '/v1/models', status: 200, seconds: 0.02 });
    metrics.deliveryAttempted('pending');
    metrics.batchFlushed('task_creates', 3);
    const labels = '{method="GET",route="/v1/models",status="200"}';
    expect(await samples(metrics, 'genway_http_request_duration_seconds_count')).to.deep.equal({ [labels]: 1 });
    expect(await samples(metrics, 'genway_webhook_attempts_total')).to.deep.equal({ '{outcome="pending"}': 1 });
    expect(await samples(metrics, 'genway_batch_items_sum')).to.deep.equal({ '{batch="task_creates"}': 3 });
  });

  it('count calls of text upstreams by outcome', async () => {
    const metrics = createMetrics();
    for (const outcome of ['200', '200', 'unreachable']) {
      metrics.upstreamAnswered({ upstream: 'studio', outcome, seconds: 0.1 });
    }
    expect(await samples(metrics, 'genway_text_upstream_response_seconds_count')).to.deep.equal({
      '{upstream="studio",outcome="200"}': 2,
      '{upstream="studio",outcome="unreachable"}': 1,
    });
  });

  it('are explained in docs/operations.md', () => {
    const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
    const names = createMetrics()
      .registry.getMetricsAsArray()
      .map(({ name }) => name)
      .filter((name) => name.startsWith('genway_'));
    expect(names).to.have.length.above(15);
    expect(names.filter((name) => !page.includes(`\`${name}`))).to.deep.equal([]);
  });

  it('hold the measurements of other parts of the process', async () => {
    const metrics = createMetrics();
    metrics.addSource(async () => 'temporal_something 7');
    expect(await samples(metrics, 'temporal_something')).to.deep.equal({ '': 7 });
    expect(await samples(metrics, 'nodejs_eventloop_lag_seconds')).to.have.property('');
  });

  describe('of the database', () => {
    let testDatabase: TestDatabase;

    before(async () => (testDatabase = await createTestDatabase()));
    after(() => testDatabase.drop());

    async function backlog(): Promise<Record<string, number | undefined>> {
      const metrics = createMetrics();
      watchDatabaseState(metrics.registry, testDatabase.database);
      const names = ['running', 'unstarted', 'overdue', 'reserved_usd'];
      const values = await Promise.all(names.map((name) => samples(metrics, `genway_tasks_${name}`)));
      return Object.fromEntries(names.map((name, index) => [name, values[index]?.['']]));
    }

    it('report unfinished work', async () => {
      const { database } = testDatabase;
      expect(await backlog()).to.deep.equal({ running: 0, unstarted: 0, overdue: 0, reserved_usd: 0 });
      const key = await createFundedKey(database);
      await createEndpoint(database, { id: key.accountId });
      const [late, , ended] = await Promise.all([
        createTaskRow(database, key, { id: newId('task', Date.now() - HOUR_MS) }),
        createTaskRow(database, key),
        createTaskRow(database, key),
      ]);
      await markWorkflowsStarted(database, [late.id]);
      await finishAsSucceeded(database, ended);
      expect(await backlog()).to.deep.equal({ running: 2, unstarted: 1, overdue: 1, reserved_usd: 2 });
    });

    it('report the age of the oldest unstarted task, and due deliveries', async () => {
      const { database } = testDatabase;
      await createTaskRow(database, await createFundedKey(database), { id: newId('task', Date.now() - HOUR_MS) });
      await database('deliveries').update({ next_start_at: new Date(0) });
      const metrics = createMetrics();
      watchDatabaseState(metrics.registry, database);
      const age = (await samples(metrics, 'genway_tasks_oldest_unstarted_seconds'))[''];
      expect(age).to.be.greaterThan(3_599).and.lessThan(3_700);
      expect(await samples(metrics, 'genway_deliveries_unstarted')).to.deep.equal({ '': 1 });
      expect(await samples(metrics, 'genway_deliveries_pending')).to.deep.equal({ '': 1 });
      expect((await samples(metrics, 'genway_deliveries_oldest_unstarted_seconds'))['']).to.be.greaterThan(3_599);
      await database('webhook_endpoints').update({ timeouts: 3 });
      expect((await samples(metrics, 'genway_deliveries_oldest_unstarted_seconds'))[''], 'it hangs').to.equal(0);
    });

    it('report the losses of text, and the findings and time of the last reconciliation', async () => {
      const { database, url } = testDatabase;
      const metrics = createMetrics();
      watchDatabaseState(metrics.registry, database);
      const poor = await createKey(database, await createAccount(database, { fundedUsd: 1 }));
      const ledger = openTextLedger(url, { poolSize: 1 });
      const hold = newHold(poor, { amount: parseUsd(1) });
      await ledger.hold([hold]);
      await ledger.settle([settlementOf(hold, { charge: parseUsd(3) })]);
      await ledger.close();
      expect(await samples(metrics, 'genway_absorbed_loss_usd')).to.deep.equal({ '': 2 });
      expect(await samples(metrics, 'genway_reconciliation_findings')).to.deep.equal({ '': 0 });
      for (const findings of [7, 2]) {
        const id = newId('reconciliation', Date.now() - findings);
        await insertReconciliation(database, { id, requestedBy: 'schedule' });
        const checks = ['results', 'deliveries'].map((check) => ({ check, question: '', findings, durationMs: 1 }));
        await finishReconciliation(database, id, { checks, findings: [] });
      }
      expect(await samples(metrics, 'genway_reconciliation_findings')).to.deep.equal({ '': 4 });
      await database('reconciliations').update({ finished_at: new Date(Date.now() - HOUR_MS) });
      expect((await samples(metrics, 'genway_reconciliation_age_seconds'))[''])
        .to.be.greaterThan(3_599)
        .and.lessThan(3_700);
    });

    it('report the use of the connections', async () => {
      const metrics = createMetrics();
      watchPool(metrics.registry, testDatabase.database);
      await testDatabase.database.transaction(async () => {
        const connections = await samples(metrics, 'genway_database_connections');
        expect(connections).to.have.all.keys('{state="used"}', '{state="free"}', '{state="waiting"}');
        expect(connections).to.include({ '{state="used"}': 1, '{state="waiting"}': 0 });
      });
    });

    it('the metrics of the database are missing while it does not answer, without hiding others', async () => {
      const unreachable = createDatabase('postgres://nobody@127.0.0.1:9/nothing', 2);
      const metrics = createMetrics();
      watchDatabaseState(metrics.registry, unreachable);
      metrics.deliveryAttempted('failed');
      expect(await samples(metrics, 'genway_webhook_attempts_total')).to.deep.equal({ '{outcome="failed"}': 1 });
      await unreachable.destroy();
    });
  });
});
