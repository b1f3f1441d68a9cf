import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { findFreePort } from '../../bin/stack/ports.ts';
import { findTemporalServer, startTemporalServer, type TemporalServer } from '../../bin/stack/temporal-server.ts';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../support/eventually.ts';
import { loadStackConfig } from '../../config.ts';
import { createDatabase } from '../../db/database.ts';
import { testDatabaseUrl } from '../support/services.ts';
import { type StackProcess, startTestStack, type TestStack } from '../support/stack.ts';
import { createTask, simulatorJobs, taskWhen, taskWhenFinal, transfersOf } from '../support/tasks.ts';

describe('crashes', () => {
  let folder: string;
  let temporal: TemporalServer;
  let stack: TestStack;
  let api: StackProcess;
  let worker: StackProcess;
  let apiKey: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'genway-crashes-'));
    temporal = await startTemporal(await findFreePort());
    stack = await startTestStack({ temporalAddress: temporal.address });
    // The next of each runs in the process of the test.
    [api, worker] = [stack.killable('api'), stack.killable('worker')];
    await Promise.all([api.start(), worker.start()]);
    ({ apiKey } = await stack.createAccount());
  });
  after(async () => {
    await stack.stop();
    await temporal.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** Its state is on disk, so that it survives a stop. */
  async function startTemporal(port: number): Promise<TemporalServer> {
    return startTemporalServer({
      binary: await findTemporalServer({ cacheFolder: loadStackConfig().cacheFolder, report: () => {} }),
      port,
      databaseFile: join(folder, 'temporal.db'),
      logFile: join(folder, 'temporal.log'),
    });
  }

  it('do not stop a task whose worker dies while the task waits for the provider: it finishes with one render', async () => {
    const created = await createTask(stack, apiKey, 'x [sim:render_ms=3000]');
    await taskWhen(stack, apiKey, created.id, 'processing');
    await worker.kill();
    await stack.worker.start();
    expect((await taskWhenFinal(stack, apiKey, created.id)).status).to.equal('succeeded');
    expect(await simulatorJobs(stack, created.id)).to.have.length(1);
    expect(await transfersOf(stack, created.id)).to.deep.equal(['reservation', 'settlement']);
  });

  it('the api accepts tasks while Temporal is down, and the next api starts them, and a task whose api died between commit and start', async () => {
    const port = Number(temporal.address.split(':')[1]);
    const orphan = await createTask(stack, apiKey, 'x [sim:render_ms=500]');
    await temporal.kill();
    // The state after a kill at once: a committed task without a recorded start.
    await stack
      .database('tasks')
      .where({ id: orphan.id })
      .update({ workflow_started_at: null, next_start_at: new Date() });
    const created = await Promise.all(Array.from({ length: 5 }, (_, index) => createTask(stack, apiKey, `x ${index}`)));
    for (const task of created) expect(task.status).to.equal('queued');
    await api.kill();
    temporal = await startTemporal(port);
    await stack.api.start();
    for (const { id } of [orphan, ...created]) {
      expect((await taskWhenFinal(stack, apiKey, id)).status).to.equal('succeeded');
      expect(await simulatorJobs(stack, id)).to.have.length(1);
      expect(await transfersOf(stack, id)).to.deep.equal(['reservation', 'settlement']);
    }
  });

  it('a worker keeps a result while the database is down, even for longer than the retries of a broken result', async () => {
    const created = await createTask(stack, apiKey, 'x [sim:render_ms=1500]');
    await taskWhen(stack, apiKey, created.id, 'processing');
    await withDatabaseAway(async () => {
      const workflow = stack.temporal.workflow.getHandle(created.id);
      await waitUntil(
        async () => {
          const { pendingActivities } = (await workflow.describe()).raw;
          const [step] = pendingActivities ?? [];
          if ((step?.attempt ?? 0) < 5) throw new Error('it has not been tried five times yet');
        },
        { timeoutMs: PATIENCE_MS, pauseMs: 200 },
      );
    });
    expect((await taskWhenFinal(stack, apiKey, created.id)).status).to.equal('succeeded');
    expect(await transfersOf(stack, created.id)).to.deep.equal(['reservation', 'settlement']);
  });

  /** Simulates a failover: all sessions end, and none starts until `work` is done. */
  async function withDatabaseAway(work: () => Promise<void>): Promise<void> {
    const { rows } = await stack.database.raw<{ rows: { name: string }[] }>('SELECT current_database() AS name');
    const name = rows[0]?.name ?? '';
    const server = createDatabase(await testDatabaseUrl(), 1);
    try {
      await server.raw('ALTER DATABASE ?? WITH ALLOW_CONNECTIONS false', [name]);
      await server.raw('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ?', [name]);
      await work();
    } finally {
      await server.raw('ALTER DATABASE ?? WITH ALLOW_CONNECTIONS true', [name]);
      await server.destroy();
    }
  }
});
