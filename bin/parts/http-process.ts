/** Shared by the api and text processes. */
import { Client, Connection } from '@temporalio/client';
import type { Logger } from 'pino';
import type { AppDependencies, AppSettings } from '../../api/services.ts';
import { type BatchStarter, createBatchStarter } from '../../services/batches/batch-starter.ts';
import { createDeliveryStarter, type DeliveryStarter } from '../../services/webhooks/delivery-starter.ts';
import { createJobAnnouncer } from '../../services/tasks/job-announcer.ts';
import { createReconciliationStarter } from '../../services/operations/reconciliation-starter.ts';
import { createTaskStarter } from '../../services/tasks/task-starter.ts';
import { createWorkflowAccess } from '../../services/tasks/workflow-access.ts';
import type { Config } from '../../config.ts';
import { REPORT_LIMITS } from '../../db/connections.ts';
import { createDatabase, type Database } from '../../db/database.ts';
import { createDatabaseClock, type DatabaseClock } from '../../db/database-clock.ts';
import { checkSecrets } from '../../db/queries/secrets.ts';
import { createRefusalRecorder } from '../../db/refusal-recorder.ts';
import { createEncryption } from '../../db/encryption.ts';
import { startModelControl } from '../../services/operations/model-control.ts';
import type { CheckoutPages } from '../../providers/checkout.ts';
import { createHttpModerator } from '../../providers/moderation.ts';
import { watchPool } from '../../telemetry/database-gauges.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import type { Tracing } from '../../telemetry/tracing.ts';
import { createGuardedClient } from '../../providers/guard/address-guard.ts';
import { watchOperatorFiles, type WatchedFiles } from './watch-operator-files.ts';
import { openCallbackReaders } from './providers.ts';
import { openStorage } from './storage.ts';
import { watchStorage } from '../../storage/watched.ts';
import { taskLimits } from './task-limits.ts';
import { READS_PER_MINUTE, UPLOAD_LIMITS } from '../../domain/policy.ts';
import { connectionOptions } from '../../services/tasks/temporal-connection.ts';

/** The dependencies of the applications, except those that serve text. */
export interface HttpDependencies extends Omit<AppDependencies, 'text' | 'upstreams'> {
  readonly clock: DatabaseClock;
}

export interface HttpProcess {
  readonly files: WatchedFiles;
  readonly dependencies: HttpDependencies;
  /** Null if the operator has not configured payment pages. */
  readonly checkout: CheckoutPages | null;
  readonly deliveryStarter: DeliveryStarter;
  readonly batchStarter: BatchStarter;
  /**
   * Prepares the process before it serves.
   *
   * @throws OperatorError if the secrets do not match the database, or prices changed without a new version
   */
  ready(): Promise<void>;
  /** Waits for work in progress and closes all connections. */
  close(): Promise<void>;
}

/** The number of reports that can be read at the same time. */
const REPORT_CONNECTIONS = 3;
/** One connection closes a month, the other serves callers that wait for it. */
const CLOSING_CONNECTIONS = 2;

/** Opens the dependencies of the applications. Connects to Temporal on first use, so that Temporal may be down. */
export async function openHttpProcess(
  kind: string,
  config: Config,
  log: Logger,
  tracing: Tracing,
): Promise<HttpProcess> {
  const database = createDatabase(config.database.url, config.database.poolSize);
  const reporting = openReports(config);
  const client = temporalClient(config, tracing);
  const guardedClient = createGuardedClient(config.edge);
  const moderator = config.moderation ? createHttpModerator(config.moderation) : null;
  const checkout = await openStripe(config.payments);
  const metrics = createMetrics();
  watchPool(metrics.registry, database);
  const clock = createDatabaseClock(database);
  const encryption = createEncryption(...config.secrets.encryptionKeys);
  const refusals = createRefusalRecorder(database, log);
  const starter = createTaskStarter({ client, database, metrics, log, clock });
  const files = watchOperatorFiles({ config, database, log, registry: metrics.registry, kind });
  const callbackReaders = openCallbackReaders(config, clock);
  callbackReaders.renew(files.current().upstreams.media);
  files.onChange(({ upstreams }) => callbackReaders.renew(upstreams.media));
  const models = startModelControl({ database, log });
  const dependencies = {
    database,
    ...reporting,
    clock,
    catalogue: () => files.current().catalogue,
    site: () => files.current().site,
    configuration: files,
    models,
    encryption,
    starter,
    workflows: createWorkflowAccess(client),
    storage: watchStorage(await openStorage(config, log), { onChange: reportUploads(log) }),
    moderator,
    providerCallbacks: { readers: callbackReaders.upstreams, announce: createJobAnnouncer(client) },
    startReconciliation: createReconciliationStarter(client),
    guardedClient,
    refusals,
    log,
    metrics,
    tracing,
    settings: settingsOf(config, checkout),
  } satisfies HttpDependencies;
  return {
    files,
    dependencies,
    checkout,
    ...createStarters({ client, database, log }),
    ready: async () => {
      await checkSecrets(database, { encryption, keyPeppers: config.secrets.keyPeppers });
      await files.confirmStart();
      await models.applyOverrides();
    },
    close: async () => {
      files.stop();
      models.stop();
      await starter.stop();
      await refusals.stop();
      await guardedClient.close();
      await moderator?.close();
      await client.connection.close();
      await Promise.all([database, ...Object.values(reporting)].map((pool) => pool.destroy()));
      await tracing.close();
    },
  };
}

function createStarters(parts: {
  readonly client: Client;
  readonly database: Database;
  readonly log: Logger;
}): Pick<HttpProcess, 'deliveryStarter' | 'batchStarter'> {
  return { deliveryStarter: createDeliveryStarter(parts), batchStarter: createBatchStarter(parts) };
}

/** Opens the connections for long-running statements. */
function openReports({ database: { url } }: Config): { readonly reports: Database; readonly closing: Database } {
  return {
    reports: createDatabase(url, REPORT_CONNECTIONS, REPORT_LIMITS),
    closing: createDatabase(url, CLOSING_CONNECTIONS, REPORT_LIMITS),
  };
}

/** Opens Stripe's pages. Loads the package only if the operator takes payments. */
async function openStripe({ stripeKey: secretKey, webhookSecret }: Config['payments']): Promise<CheckoutPages | null> {
  // Loaded now, and not during the first event: this blocks the process for 300 ms.
  if (webhookSecret !== undefined) await import('stripe');
  if (secretKey === undefined) return null;
  const { createStripeCheckout } = await import('../../providers/stripe-checkout.ts');
  return createStripeCheckout({ secretKey });
}

function temporalClient({ temporal }: Config, tracing: Tracing): Client {
  return new Client({
    connection: Connection.lazy(connectionOptions(temporal)),
    namespace: temporal.namespace,
    interceptors: { workflow: tracing.clientInterceptors },
  });
}

/** Logs when the store starts to fail and when it is back, not each refused upload. */
function reportUploads(log: Logger): (isAvailable: boolean, reason: unknown) => void {
  return (isAvailable, reason) => {
    if (isAvailable) log.info('the store is back; uploads are accepted');
    else log.error({ err: reason }, 'the store is unavailable; uploads are refused until it is back');
  };
}

function settingsOf(config: Config, checkout: CheckoutPages | null): AppSettings {
  return {
    checkout,
    publicUrl: config.api.publicUrl,
    webhookScheduleMs: config.webhooks.scheduleMs,
    canSendMail: config.mail !== undefined,
    adminTokens: config.secrets.adminTokens,
    metricsToken: config.secrets.metricsToken,
    keyPeppers: config.secrets.keyPeppers,
    secondApprovalAbove: config.payments.secondApprovalAbove,
    paymentWebhookSecret: config.payments.webhookSecret ?? null,
    topUpUrl: config.payments.topUpUrl ?? null,
    requestLimits: { requestsPerMinute: config.limits.requestsPerMinute, readsPerMinute: READS_PER_MINUTE },
    uploads: UPLOAD_LIMITS,
    tasks: taskLimits(config),
    trustedProxies: config.edge.trustedProxies,
    allowPrivateAddresses: config.edge.allowPrivateAddresses,
    rejectedUserAgents: config.edge.rejectedUserAgents,
    temporal: config.temporal,
    filesFolder: config.storage.kind === 'local' ? config.storage.folder : null,
  };
}
