/**
 * On a real stack, PostgreSQL is restored to an older moment, or Temporal is empty; then the recovery must repair
 * everything.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { expect } from 'chai';
import { recover, type RecoveryOptions, withRecovery } from '../../bin/recover.ts';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { loadRecoveryConfig } from '../../config.ts';
import { copyDatabase } from '../support/database.ts';
import { eventually, PATIENCE_MS } from '../support/eventually.ts';
import { finishAsFailed } from '../support/factories.ts';
import { reconcile } from '../support/reconciliations.ts';
import { createTestNamespace } from '../support/services.ts';
import { useTestStack } from '../support/stack.ts';
import { createTask, simulatorJobs, taskWhen, taskWhenFinal, transfersOf } from '../support/tasks.ts';
import { runProgram } from '../support/program.ts';
import { type RecordingReceiver, startRecordingReceiver } from '../support/receiver.ts';
import { createWebhookClient } from '../support/webhooks.ts';

interface Customer {
  readonly accountId: string;
  readonly apiKey: string;
}

describe('recovery', () => {
  let receiver: RecordingReceiver;
  let deaf: RecordingReceiver;
  /** One account with a working webhook endpoint, and one with a failing endpoint. */
  let told: Customer;
  let untold: Customer;
  let isUp = false;

  const stack = useTestStack({ processes: ['api', 'worker'], env: { GENWAY_WEBHOOK_SCHEDULE_S: '0,20,20' } });
  before(async () => {
    receiver = await startRecordingReceiver((response) => response.writeHead(200).end());
    deaf = await startRecordingReceiver((response) => response.writeHead(isUp ? 200 : 500).end());
    await Promise.all([stack.api.start(), stack.worker.start()]);
    [told, untold] = await Promise.all([stack.createAccount(), stack.createAccount()]);
    await createWebhookClient(stack, told.apiKey).create(receiver.url);
    await createWebhookClient(stack, untold.apiKey).create(deaf.url);
  });
  after(() => Promise.all([receiver.close(), deaf.close()]));

  async function killAll(): Promise<void> {
    await Promise.all([stack.api.kill(), stack.worker.kill()]);
  }

  async function startAll(): Promise<void> {
    await Promise.all([stack.api.start(), stack.worker.start()]);
  }

  /** @returns the output of the command */
  async function recovered(options: Partial<RecoveryOptions> = {}, client = stack.temporal): Promise<string[]> {
    const lines: string[] = [];
    const all = { isDryRun: false, canTerminateUnknown: false, filesSince: new Date(0), ...options };
    await withRecovery(loadRecoveryConfig(stack.environment), (dependencies) =>
      recover({ ...dependencies, client }, all, (line) => lines.push(line)),
    );
    return lines;
  }

  /** The output about one task, delivery or workflow. */
  const saidOf = (lines: readonly string[], id: string): string[] =>
    lines.filter((line) => line.startsWith(id)).map((line) => line.slice(id.length + 2));

  const delivered = async (taskId: string): Promise<string> => {
    const [row] = await stack.database<{ id: string; task_id: string; status: string }>('deliveries').where({
      task_id: taskId,
    });
    return row?.status ?? 'none';
  };

  const resolutionOf = async (id: string): Promise<{ resolution_id: string; completed_at: Date; output: unknown }> =>
    stack.database('tasks').where({ id }).first('resolution_id', 'completed_at', 'output');

  async function findings(): Promise<string[]> {
    const report = await reconcile(stack);
    return report.findings.map(({ check, subject, detail }) => `${check} ${subject} ${detail}`);
  }

  it('repairs a restored database once, and delivers no event twice', async () => {
    const { apiKey } = told;
    const pending = await taskWhenFinal(stack, untold.apiKey, (await createTask(stack, untold.apiKey, 'Early')).id);
    const { id: pendingDelivery } = await eventually(() =>
      stack
        .database<{ id: string; task_id: string; attempts: number }>('deliveries')
        .where({ task_id: pending.id, attempts: 1 })
        .first(),
    );
    // Rendered after the backup.
    const slow = '[sim:render_ms=5000]';
    const charged = await createTask(stack, apiKey, `Ends after the backup ${slow}`);
    const failed = await createTask(stack, apiKey, `Fails after the backup ${slow} [sim:fail=processing_failed]`);
    const unheard = await createTask(stack, untold.apiKey, `Ends, and nobody hears of it ${slow}`);
    const running = await createTask(stack, apiKey, 'Goes on [sim:stuck]');
    const terminated = await createTask(stack, apiKey, 'Is terminated [sim:stuck]');
    await Promise.all([charged, failed, unheard, running, terminated].map(({ id }) => processing(id)));

    await killAll();
    const backup = await copyDatabase(stack.database, stack.environment['DATABASE_URL'] ?? '');
    await startAll();

    await Promise.all([charged, failed].map(({ id }) => taskWhenFinal(stack, apiKey, id)));
    await taskWhenFinal(stack, untold.apiKey, unheard.id);
    await receiver.received(2);
    const lost = await taskWhenFinal(stack, apiKey, (await createTask(stack, apiKey, 'Is not in the backup')).id);
    const lostOpen = await taskWhen(
      stack,
      apiKey,
      (await createTask(stack, apiKey, 'Nor is this [sim:stuck]')).id,
      'processing',
    );
    await receiver.received(3);
    const before = await Promise.all([charged, failed].map(({ id }) => resolutionOf(id)));
    await Promise.all([lost, charged, failed].map(({ id }) => stack.temporal.workflow.getHandle(id).result()));
    await stack.temporal.workflow.getHandle(terminated.id).terminate();
    await stack.temporal.workflow.getHandle(pendingDelivery).terminate();

    await killAll();
    await backup.restore();
    await rm(join(stack.environment['GENWAY_HOME'] ?? '', 'files/results', pending.id), { recursive: true });

    const wouldDo = await recovered({ isDryRun: true });
    expect(await stack.database('tasks').where({ status: 'succeeded' }).pluck('id')).to.deep.equal([pending.id]);
    const lines = await recovered({ canTerminateUnknown: true });
    expect(lines.slice(0, 5)).to.deep.equal(wouldDo.slice(1, 6));
    expect(saidOf(lines, charged.id)).to.deep.equal(['charged: its history says that it succeeded']);
    expect(saidOf(lines, failed.id)).to.deep.equal(['refunded: its history says that it failed']);
    expect(saidOf(lines, unheard.id)).to.deep.equal(['charged: its history says that it succeeded']);
    expect(saidOf(lines, terminated.id)).to.deep.equal(['to be started again: no workflow works on it']);
    expect(saidOf(lines, pendingDelivery)).to.deep.equal(['revived: no workflow makes its next attempt']);
    expect(saidOf(lines, lost.id).join()).to.match(
      /^unknown to the database: .* of acc_\w+ with vidone-3.0, ended as succeeded$/,
    );
    expect(saidOf(lines, lostOpen.id).join()).to.match(/ is open$/);
    expect(saidOf(lines, pending.id).join()).to.match(/^the task succeeded, but its file \S+ is missing$/);
    expect(lines).to.include('unfinished tasks: 5').and.include('  1 left alone: its workflow is running');

    expect(await Promise.all([charged, failed].map(({ id }) => resolutionOf(id)))).to.deep.equal(before);
    expect(await Promise.all([charged, failed, unheard].map(({ id }) => delivered(id)))).to.deep.equal([
      'none',
      'none',
      'pending',
    ]);
    const again = await recovered();
    expect(
      again.filter((line) => line.includes('refunded') || line.includes('charged:') || line.includes('again')),
    ).to.deep.equal([]);
    expect(again).to.include('workflows unknown to the database: 2');

    isUp = true;
    await startAll();
    await taskWhen(stack, apiKey, terminated.id, 'processing');
    await waitUntil(
      async () => {
        const states = await Promise.all([pending.id, unheard.id].map(delivered));
        if (states.join() !== 'delivered,delivered') throw new Error(states.join());
      },
      { timeoutMs: PATIENCE_MS },
    );
    expect(await simulatorJobs(stack, terminated.id)).to.have.length(1);
    expect(await transfersOf(stack, charged.id)).to.deep.equal(['reservation', 'settlement']);
    expect(await transfersOf(stack, failed.id)).to.deep.equal(['reservation', 'refund']);
    expect(receiver.requests, 'nobody is told twice').to.have.length(3);
    expect((await findings()).filter((finding) => !finding.startsWith(`results ${pending.id}`))).to.deep.equal([]);
  });

  async function processing(id: string): Promise<void> {
    await eventually(async () => {
      const [jobId] = await stack.database('tasks').where({ id }).pluck('provider_job_id');
      return typeof jobId === 'string';
    });
  }

  it('starts every task again in an empty Temporal, and refunds tasks that miss their deadline', async () => {
    const stuck = await createTask(stack, told.apiKey, 'Has time left [sim:stuck]');
    const rendering = await createTask(stack, told.apiKey, 'Is rendered, and has none left [sim:stuck]');
    const given = await createTask(stack, told.apiKey, 'Failed, and nobody says whether it was cancelled [sim:stuck]');
    await Promise.all([stuck, rendering, given].map(({ id }) => processing(id)));
    await stack.worker.kill();
    const late = await createTask(stack, told.apiKey, 'Was not begun, and has none left');
    await started(late.id);
    await killAll();
    await finishAsFailed(stack.database, given);
    await Promise.all([rendering, late].map(({ id }) => stack.temporal.workflow.getHandle(id).terminate()));
    await stack.database.transaction(async (transaction) => {
      await transaction.raw('SET LOCAL session_replication_role = replica');
      const ids = [late.id, rendering.id];
      await transaction('tasks').whereIn('id', ids).update({ deadline_at: new Date() });
    });
    const empty = new Client({ connection: stack.temporal.connection, namespace: await createTestNamespace() });
    const lines = await recovered({ filesSince: null }, empty);
    expect(saidOf(lines, stuck.id)).to.deep.equal(['to be started again: no workflow works on it']);
    for (const { id } of [rendering, late]) {
      expect(saidOf(lines, id)).to.deep.equal(['started again: no workflow works on it, and its deadline has passed']);
      expect(await empty.workflow.getHandle(id).describe()).to.include({ type: 'mediaTask' });
    }
    expect(await stack.database('tasks').where({ id: stuck.id }).pluck('workflow_started_at')).to.deep.equal([null]);
    expect(lines).to.include('workflows unknown to the database: 0');
    expect(saidOf(lines, given.id).join()).to.match(/^its job is cancelled at the provider/);
    expect(await empty.workflow.getHandle(given.id).describe()).to.include({ type: 'mediaTask' });
    await startAll();
    for (const { id } of [rendering, late]) {
      const timedOut = await taskWhenFinal(stack, told.apiKey, id);
      expect(timedOut.error_code).to.equal('processing_timeout');
      expect(await transfersOf(stack, id)).to.deep.equal(['reservation', 'refund']);
    }
    await stack.temporal.workflow.getHandle(rendering.id).result();
    const jobs = await simulatorJobs(stack, rendering.id);
    expect(jobs).to.have.length(1);
    expect(jobs[0]).to.include({ status: 'cancelled' });
  });

  /** Waits until a workflow of the task was started. */
  async function started(id: string): Promise<void> {
    await eventually(async () => {
      const [startedAt] = await stack.database('tasks').where({ id }).pluck('workflow_started_at');
      return startedAt instanceof Date;
    });
  }

  it('the command reports a missing setting in one sentence', async () => {
    const genway = async (env: Readonly<Record<string, string>>) => {
      const words = ['recover', '--dry-run', '--no-files'];
      const { stdout, stderr } = await runProgram('genway', words, { ...stack.environment, ...env });
      return stdout + stderr;
    };
    expect(await genway({})).to.match(/^unfinished tasks: \d+$/m);
    expect(await genway({ TEMPORAL_NAMESPACE: 'nowhere' })).to.match(
      /^Temporal at \S+ cannot describe the namespace nowhere .*\n$/,
    );
    expect(await genway({ DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none' })).to.match(
      /^PostgreSQL does not answer \(.*ECONNREFUSED.*\n$/,
    );
  });
});
