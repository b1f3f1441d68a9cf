/** The workers of a worker process: one for each task queue, each with its own slots. */
import type { WorkerOptions } from '@temporalio/worker';
import type { BatchActivities } from '../../activities/batch.ts';
import type { MediaTaskActivities } from '../../activities/media-task/media-task.ts';
import type { ReconciliationActivities } from '../../activities/reconciliation.ts';
import type { SweepActivities } from '../../activities/sweep.ts';
import type { WebhookDeliveryActivities } from '../../activities/webhook-delivery.ts';
import type { Config } from '../../config.ts';
import { providerQueue, TASK_QUEUES } from '../../domain/task-queues.ts';
import type { ProviderLimits } from '../../providers/upstreams.ts';

export interface WorkerActivities {
  readonly media: MediaTaskActivities;
  readonly webhooks: WebhookDeliveryActivities;
  readonly reconciliation: ReconciliationActivities;
  readonly sweep: SweepActivities;
  readonly batches: BatchActivities;
}

export type WorkerSettings = Omit<WorkerOptions, 'connection' | 'namespace'>;

/** How long a stopping worker waits for its activities in progress. */
export interface ShutdownGrace {
  readonly usualMs: number;
  /** For renders whose answers are the files: the vendor may charge for a render that is cut off and lost. */
  readonly renderMs: number;
  /** The upstreams that answer with files. */
  readonly renderers: ReadonlySet<string>;
}

/** A waiting activity occupies a slot but no thread, and tasks spend most of their time waiting. */
const MEDIA_SLOTS = 2_000;
/** Fewer, because each render keeps its files in memory. */
const RENDER_SLOTS = 100;
/** Each runs many lines at once, so a few keep a core busy. */
const BATCH_SLOTS = 4;
/** Enough to keep a core busy. Further workflow tasks wait in Temporal, which serves accounts fairly. */
const WORKFLOW_SLOTS = 20;

/**
 * @param workflows the code of the workflows, which workers of providers' task queues do not run
 * @param limits the limits of each provider, by name
 */
export function workerSettings(
  activities: WorkerActivities,
  workflows: Pick<WorkerOptions, 'workflowBundle'>,
  limits: ReadonlyMap<string, ProviderLimits>,
  grace: ShutdownGrace,
): readonly WorkerSettings[] {
  const quickly = { shutdownGraceTime: grace.usualMs };
  const afterRenders = { shutdownGraceTime: grace.renderMs };
  return [
    {
      ...quickly,
      ...workflows,
      taskQueue: TASK_QUEUES.media,
      activities: activities.media,
      maxConcurrentActivityTaskExecutions: MEDIA_SLOTS,
      maxConcurrentWorkflowTaskExecutions: WORKFLOW_SLOTS,
    },
    {
      ...afterRenders,
      taskQueue: TASK_QUEUES.renders,
      activities: activities.media,
      maxConcurrentActivityTaskExecutions: RENDER_SLOTS,
    },
    ...providerWorkerSettings(activities, limits, grace),
    {
      ...quickly,
      ...workflows,
      taskQueue: TASK_QUEUES.webhooks,
      activities: activities.webhooks,
      // An attempt at a slow receiver occupies a slot up to its timeout.
      maxConcurrentActivityTaskExecutions: 500,
      maxConcurrentWorkflowTaskExecutions: WORKFLOW_SLOTS,
    },
    {
      ...quickly,
      taskQueue: TASK_QUEUES.webhookTests,
      activities: activities.webhooks,
      maxConcurrentActivityTaskExecutions: 50,
    },
    {
      ...quickly,
      taskQueue: TASK_QUEUES.schedules,
      activities: { ...activities.reconciliation, ...activities.sweep },
      // One for a reconciliation, which reads the whole ledger, and one for the sweep.
      maxConcurrentActivityTaskExecutions: 2,
    },
    {
      ...quickly,
      taskQueue: TASK_QUEUES.batches,
      activities: activities.batches,
      maxConcurrentActivityTaskExecutions: BATCH_SLOTS,
    },
    {
      ...quickly,
      taskQueue: TASK_QUEUES.waitingBatches,
      activities: activities.batches,
      maxConcurrentActivityTaskExecutions: 1_000,
    },
  ];
}

/** The workers of providers' own task queues. @param limits the limits of each provider, by name */
export function providerWorkerSettings(
  activities: Pick<WorkerActivities, 'media'>,
  limits: ReadonlyMap<string, ProviderLimits>,
  { usualMs, renderMs, renderers }: ShutdownGrace,
): readonly WorkerSettings[] {
  return [...limits].map(([provider, { stepsPerSecond, concurrentSteps }]) => ({
    shutdownGraceTime: renderers.has(provider) ? renderMs : usualMs,
    taskQueue: providerQueue(provider),
    activities: activities.media,
    maxConcurrentActivityTaskExecutions: concurrentSteps ?? MEDIA_SLOTS,
    ...(stepsPerSecond !== null && { maxTaskQueueActivitiesPerSecond: stepsPerSecond }),
  }));
}

/**
 * The options that report the version of a worker's code to Temporal. A task stays with the version that started it,
 * since it ends by its deadline; the workflows of the other queues may wait for days, and continue with the version
 * that is current then.
 */
export function versioned({ version }: Config['worker'], taskQueue: string): Partial<WorkerOptions> {
  if (version === undefined) return {};
  const isLongLived =
    taskQueue === TASK_QUEUES.webhooks || taskQueue === TASK_QUEUES.webhookTests || taskQueue === TASK_QUEUES.schedules;
  return {
    workerDeploymentOptions: {
      version,
      useWorkerVersioning: true,
      defaultVersioningBehavior: isLongLived ? 'AUTO_UPGRADE' : 'PINNED',
    },
  };
}
