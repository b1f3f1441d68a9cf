/** The worker process, which runs workflows and their activities. */
import { UPLOAD_LIMITS } from '../domain/policy.ts';
import { Client } from '@temporalio/client';
import { NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import { createMediaTaskActivities } from '../activities/media-task/media-task.ts';
import { createReconciliationActivities } from '../activities/reconciliation.ts';
import { createHistoryEraser } from '../services/tasks/history-eraser.ts';
import { createSweepActivities } from '../activities/sweep.ts';
import { createWebhookDeliveryActivities } from '../activities/webhook-delivery.ts';
import { createWorkflowLookup } from '../services/tasks/workflow-lookup.ts';
import { createWorkflowAccess } from '../services/tasks/workflow-access.ts';
import { loadConfig, type TemporalConfig } from '../config.ts';
import { OperatorError } from '../domain/operator-error.ts';
import { REPORT_LIMITS } from '../db/connections.ts';
import { createCallRecorder } from '../db/call-recorder.ts';
import { createDatabase } from '../db/database.ts';
import { createDatabaseClock } from '../db/database-clock.ts';
import { checkSecrets } from '../db/queries/secrets.ts';
import { createEncryption } from '../db/encryption.ts';
import { watchStorage } from '../storage/watched.ts';
import { watchPool } from '../telemetry/database-gauges.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { openTracing } from '../telemetry/open-tracing.ts';
import { createGuardedClient } from '../providers/guard/address-guard.ts';
import { listen, type RunningServer } from '../api/http-server.ts';
import { startWithRetries } from './parts/start-with-retries.ts';
import { watchOperatorFiles } from './parts/watch-operator-files.ts';
import type { OperatorFiles } from './parts/operator-files.ts';
import { createLog, printFatalErrors, stopOnSignal } from './parts/process.ts';
import { createInputReader } from '../activities/media-task/read-inputs.ts';
import { fileRenderers, limitedProviders, openMediaUpstreams, providerLimits } from './parts/providers.ts';
import { maintainSchedules } from '../services/operations/schedules.ts';
import { createStatusApp } from './parts/status-app.ts';
import { openStorage } from './parts/storage.ts';
import { connectionOptions } from '../services/tasks/temporal-connection.ts';
import { installTemporalRuntime, temporalLogger } from './parts/temporal-runtime.ts';
import { watchDatabase } from './parts/watch-database.ts';
import { bundleWorkflows } from './parts/workflow-bundle.ts';
import { createWorkerPool } from './parts/worker-pool.ts';
import { providerWorkerSettings, versioned, workerSettings } from './parts/workers.ts';

/** A reconciliation keeps one connection while it queries over another. */
const BACKGROUND_CONNECTIONS = 4;

printFatalErrors();
const config = loadConfig();
const log = createLog('worker', config);
const metrics = createMetrics();
metrics.addSource(await installTemporalRuntime(log));

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
const storage = watchStorage(await openStorage(config, log), { onChange: onStorageChange });
const media = openMediaUpstreams(config, tracing, clock);
media.renew(files.current().upstreams.media);
let limits = providerLimits(files.current().upstreams);
let limited = limitedProviders(limits);
const calls = createCallRecorder(database, log);
const encryption = createEncryption(...config.secrets.encryptionKeys);
const checkStarted = startWithRetries(log, async () => {
  await checkSecrets(database, { encryption, keyPeppers: config.secrets.keyPeppers });
  await files.confirmStart();
});
const activities = {
  media: createMediaTaskActivities({
    database,
    upstreams: media.upstreams,
    isLimited: (provider) => limited.has(provider),
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
};
/** A longer wait is useless: a provider takes minutes, and another worker continues immediately. */
const graceMs = Math.min(config.shutdownGraceMs, 10_000);
const graceOf = () => ({
  usualMs: graceMs,
  renderMs: config.renderGraceMs,
  renderers: fileRenderers(media.upstreams),
});
const workers = createWorkerPool((settings) =>
  Worker.create({
    connection,
    namespace: config.temporal.namespace,
    ...tracing.workerOptions,
    ...versioned(config.worker, settings.taskQueue),
    ...settings,
  }),
);
const status = config.worker.port === undefined ? null : await openStatus(config.worker.port);
await workers.run(workerSettings(activities, await workflows(), limits, graceOf()));
log.info({ task_queues: workers.taskQueues(), ...config.worker.version }, 'polling');
files.onChange(applyUpstreams);
const schedules = maintainSchedules(temporal, log);

stopOnSignal(log, Math.max(graceMs, config.renderGraceMs) + 10_000, async () => {
  await schedules.stop();
  watch.stop();
  files.stop();
  await workers.stop();
  await calls.stop();
  await status?.stop(0);
  await client.close();
  await connection.close();
  await database.destroy();
  await background.destroy();
  await tracing.close();
});

/** Applies new upstreams. New upstreams, and those with changed limits, get workers before any step goes to them. */
async function applyUpstreams({ upstreams }: OperatorFiles): Promise<void> {
  media.renew(upstreams.media);
  const next = providerLimits(upstreams);
  const isOther = (name: string): boolean => JSON.stringify(next.get(name)) !== JSON.stringify(limits.get(name));
  const others = new Map([...next].filter(([name]) => isOther(name)));
  await workers.run(providerWorkerSettings(activities, others, graceOf()));
  limits = next;
  limited = limitedProviders(limits);
}

async function connectTemporal(temporal: TemporalConfig): Promise<NativeConnection> {
  return NativeConnection.connect(connectionOptions(temporal)).catch((error: Error) => {
    throw new OperatorError(
      `Temporal at ${temporal.address} cannot be reached (${error.message}). Check TEMPORAL_ADDRESS.`,
    );
  });
}

function onStorageChange(isAvailable: boolean, reason: unknown): void {
  metrics.storageChanged(isAvailable);
  if (isAvailable) log.info('the store is back; waiting tasks continue');
  else
    log.error(
      { err: reason },
      'the store is unavailable; results wait, and no new task is rendered until the store is back',
    );
}

/** Serves health checks and metrics of this process. */
async function openStatus(port: number): Promise<RunningServer> {
  const access = createWorkflowAccess(temporal);
  const app = createStatusApp({
    database,
    clock,
    pings: [checkStarted],
    isTemporalReachable: () => access.isReachable(),
    metrics,
    metricsToken: config.secrets.metricsToken,
    log,
  });
  return listen(app.callback(), config.host, port);
}

async function workflows(): Promise<Pick<WorkerOptions, 'workflowBundle'>> {
  if (config.worker.workflowBundle !== undefined) return { workflowBundle: { codePath: config.worker.workflowBundle } };
  return { workflowBundle: await bundleWorkflows(temporalLogger(log)) };
}
