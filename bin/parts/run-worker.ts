/** Everything that a worker process runs, in the calling process. */
import { Client } from '@temporalio/client';
import { NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import type { Logger } from 'pino';
import { createBatchActivities } from '../../activities/batch.ts';
import { createInputReader } from '../../activities/media-task/read-inputs.ts';
import { createMediaTaskActivities } from '../../activities/media-task/media-task.ts';
import { createReconciliationActivities } from '../../activities/reconciliation.ts';
import { createSweepActivities } from '../../activities/sweep.ts';
import { createWebhookDeliveryActivities } from '../../activities/webhook-delivery.ts';
import { listen, type RunningServer } from '../../api/http-server.ts';
import type { Config, TemporalConfig } from '../../config.ts';
import { createCallRecorder } from '../../db/call-recorder.ts';
import { REPORT_LIMITS } from '../../db/connections.ts';
import { createDatabase } from '../../db/database.ts';
import { createDatabaseClock } from '../../db/database-clock.ts';
import { createEncryption } from '../../db/encryption.ts';
import { checkSecrets } from '../../db/queries/secrets.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import { UPLOAD_LIMITS } from '../../domain/policy.ts';
import { createGuardedClient } from '../../providers/guard/address-guard.ts';
import { createAnswerStore } from '../../services/batches/store-answers.ts';
import { startModelControl } from '../../services/operations/model-control.ts';
import { maintainSchedules } from '../../services/operations/schedules.ts';
import { createHistoryEraser } from '../../services/tasks/history-eraser.ts';
import { connectionOptions } from '../../services/tasks/temporal-connection.ts';
import { createWorkflowAccess } from '../../services/tasks/workflow-access.ts';
import { createWorkflowLookup } from '../../services/tasks/workflow-lookup.ts';
import { watchStorage } from '../../storage/watched.ts';
import { watchPool } from '../../telemetry/database-gauges.ts';
import { createMetrics, type Metrics } from '../../telemetry/metrics.ts';
import { openTracing } from '../../telemetry/open-tracing.ts';
import type { RunningParts } from './process.ts';
import { fileRenderers, limitedProviders, openMediaUpstreams, providerLimits } from './providers.ts';
import { openLineTasks } from './line-tasks.ts';
import { startWithRetries } from './start-with-retries.ts';
import { createStatusApp } from './status-app.ts';
import { openStorage } from './storage.ts';
import { openText } from './text.ts';
import { temporalLogger } from './temporal-runtime.ts';
import { watchDatabase } from './watch-database.ts';
import { watchOperatorFiles } from './watch-operator-files.ts';
import { createWorkerPool } from './worker-pool.ts';
import { providerWorkerSettings, versioned, type WorkerActivities, workerSettings } from './workers.ts';
import { bundleWorkflows } from './workflow-bundle.ts';

interface WorkerProcessOptions {
  readonly log: Logger;
  /** Reads the metrics of Temporal's SDK, which keeps them for the whole process. */
  readonly readSdkMetrics?: () => Promise<string>;
  /** Options of every worker beside its own. */
  readonly workerOptions?: Pick<
    WorkerOptions,
    'debugMode' | 'maxConcurrentActivityTaskPolls' | 'maxConcurrentWorkflowTaskPolls'
  >;
}

type Parts = Awaited<ReturnType<typeof openParts>>;

/** A reconciliation keeps one connection while it queries over another. */
const BACKGROUND_CONNECTIONS = 4;
const STOP_MARGIN_MS = 10_000;

/** Runs workflows and their activities. Resolves when the workers poll. */
export async function runWorker(
  config: Config,
  { log, readSdkMetrics, workerOptions }: WorkerProcessOptions,
): Promise<RunningParts> {
  const metrics = createMetrics();
  if (readSdkMetrics) metrics.addSource(readSdkMetrics);
  const parts = await openParts(config, log, metrics);
  const { files, media, temporal, connection, tracing } = parts;
  let limits = providerLimits(files.current().upstreams);
  let limited = limitedProviders(limits);
  const activities = createActivities(config, parts, (provider) => limited.has(provider));
  /** A longer wait is useless: a provider takes minutes, and another worker continues immediately. */
  const usualMs = Math.min(config.shutdownGraceMs, 10_000);
  const graceOf = () => ({ usualMs, renderMs: config.renderGraceMs, renderers: fileRenderers(media.upstreams) });
  const workers = createWorkerPool((settings) =>
    Worker.create({
      connection,
      namespace: config.temporal.namespace,
      ...workerOptions,
      ...tracing.workerOptions,
      ...versioned(config.worker, settings.taskQueue),
      ...settings,
    }),
  );
  const status = config.worker.port === undefined ? null : await openStatus(config, config.worker.port, parts);
  // Receivers of webhooks refuse signatures with the time of a wrong clock.
  await parts.clock.measured;
  await workers.run(workerSettings(activities, await workflowsOf(config, log), limits, graceOf()));
  log.info({ task_queues: workers.taskQueues(), ...config.worker.version }, 'polling');
  // New upstreams, and those with changed limits, get workers before any step goes to them.
  files.onChange(async ({ upstreams }) => {
    media.renew(upstreams.media);
    const next = providerLimits(upstreams);
    const isOther = (name: string): boolean => JSON.stringify(next.get(name)) !== JSON.stringify(limits.get(name));
    const others = new Map([...next].filter(([name]) => isOther(name)));
    await workers.run(providerWorkerSettings(activities, others, graceOf()));
    limits = next;
    limited = limitedProviders(limits);
  });
  const schedules = maintainSchedules(temporal, log);

  return {
    graceMs: Math.max(usualMs, config.renderGraceMs) + STOP_MARGIN_MS,
    stop: async () => {
      await schedules.stop();
      parts.stopWatching();
      await workers.stop();
      await parts.calls.stop();
      await status?.stop(0);
      await parts.close();
    },
  };
}

async function openParts(config: Config, log: Logger, metrics: Metrics) {
  const tracing = await openTracing('worker', config.tracing);
  const database = createDatabase(config.database.url, config.database.poolSize);
  watchPool(metrics.registry, database);
  const clock = createDatabaseClock(database);
  await clock.measure().catch(() => undefined);
  const watch = watchDatabase({ url: config.database.url, clock, pings: [], log });
  // Runs background work that reads or deletes many rows.
  const background = createDatabase(config.database.url, BACKGROUND_CONNECTIONS, REPORT_LIMITS);
  const client = createGuardedClient(config.edge);
  // Read before connecting to Temporal, so that mistakes in the files are reported while Temporal is unavailable.
  const files = watchOperatorFiles({ config, database, log, registry: metrics.registry, kind: 'worker' });
  const connection = await connectTemporal(config.temporal);
  const temporal = new Client({ connection, namespace: config.temporal.namespace });
  const onChange = (isAvailable: boolean, reason: unknown): void =>
    reportStorage({ metrics, log }, isAvailable, reason);
  const storage = watchStorage(await openStorage(config, log), { onChange });
  const media = openMediaUpstreams(config, tracing, clock);
  media.renew(files.current().upstreams.media);
  const encryption = createEncryption(...config.secrets.encryptionKeys);
  const checkStarted = startWithRetries(log, async () => {
    await checkSecrets(database, { encryption, keyPeppers: config.secrets.keyPeppers });
    await files.confirmStart();
  });
  const calls = createCallRecorder(database, log);
  const shared = { database, clock, encryption, log, metrics, tracing };
  const catalogue = () => files.current().catalogue;
  const models = startModelControl(shared);
  const text = openText(config, { files, dependencies: { ...shared, catalogue, models } }, null);
  const line = openLineTasks(config, { ...shared, catalogue, models, storage, temporal, guardedClient: client });
  return {
    log,
    metrics,
    tracing,
    database,
    background,
    clock,
    client,
    files,
    connection,
    temporal,
    storage,
    media,
    encryption,
    calls,
    text: text.service,
    tasks: line.tasks,
    checkStarted,
    stopWatching: () => {
      watch.stop();
      files.stop();
    },
    close: async () => {
      models.stop();
      await text.close();
      await line.close();
      await client.close();
      await connection.close();
      await database.destroy();
      await background.destroy();
      await tracing.close();
    },
  };
}

/** @param isLimited whether an upstream has limits of its own */
function createActivities(config: Config, parts: Parts, isLimited: (provider: string) => boolean): WorkerActivities {
  const { database, background, client, storage, clock, metrics, calls, encryption, temporal, media, log } = parts;
  return {
    media: createMediaTaskActivities({
      database,
      upstreams: media.upstreams,
      isLimited,
      storage,
      readInputs: createInputReader({ client, storage }),
      providerPatienceMs: config.tasks.providerPatienceMs,
      clock,
      metrics,
      calls,
    }),
    webhooks: createWebhookDeliveryActivities({
      database,
      encryption,
      client,
      scheduleMs: config.webhooks.scheduleMs,
      metrics,
      clock,
    }),
    reconciliation: createReconciliationActivities({
      database: background,
      workflows: createWorkflowLookup(temporal),
      storage,
    }),
    sweep: createSweepActivities({
      database: background,
      storage,
      histories: createHistoryEraser(temporal),
      uploadExpiryMs: UPLOAD_LIMITS.expiryMs,
    }),
    batches: createBatchActivities({
      database,
      storage,
      encryption,
      text: parts.text,
      metrics,
      log,
      tasks: parts.tasks,
      storeAnswer: createAnswerStore({ database, encryption, log }),
    }),
  };
}

async function connectTemporal(temporal: TemporalConfig): Promise<NativeConnection> {
  return NativeConnection.connect(connectionOptions(temporal)).catch((error: Error) => {
    throw new OperatorError(
      `Temporal at ${temporal.address} cannot be reached (${error.message}). Check TEMPORAL_ADDRESS.`,
    );
  });
}

function reportStorage({ metrics, log }: Pick<Parts, 'metrics' | 'log'>, isAvailable: boolean, reason: unknown): void {
  metrics.storageChanged(isAvailable);
  if (isAvailable) log.info('the store is back; waiting tasks continue');
  else
    log.error(
      { err: reason },
      'the store is unavailable; results wait, and no new task is rendered until the store is back',
    );
}

/** Serves health checks and metrics of this process. */
async function openStatus(config: Config, port: number, parts: Parts): Promise<RunningServer> {
  const { database, clock, metrics, log } = parts;
  const access = createWorkflowAccess(parts.temporal);
  const app = createStatusApp({
    database,
    clock,
    pings: [parts.checkStarted],
    isTemporalReachable: () => access.isReachable(),
    metrics,
    metricsToken: config.secrets.metricsToken,
    log,
  });
  return listen(app.callback(), config.host, port);
}

async function workflowsOf({ worker }: Config, log: Logger): Promise<Pick<WorkerOptions, 'workflowBundle'>> {
  if (worker.workflowBundle !== undefined) return { workflowBundle: { codePath: worker.workflowBundle } };
  return { workflowBundle: await bundleWorkflows(temporalLogger(log)) };
}
