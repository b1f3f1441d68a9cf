/** The Temporal task queues. Each has its own worker slots, so that slow webhook receivers never hold up a render. */
export const TASK_QUEUES = {
  media: 'genway-media',
  /** For renders whose upstream answers with the files; a stopping worker waits for these renders. */
  renders: 'genway-renders',
  /** For deliveries, and for the workflows of schedules: each queue with workflows costs a worker a thread. */
  webhooks: 'genway-webhooks',
  /** For test events, of which clients may send many. Their workflows run on `webhooks`. */
  webhookTests: 'genway-webhook-tests',
  /** For the activities of schedules, whose workflows run on `webhooks`. */
  schedules: 'genway-schedules',
  /** For the chunks of batches: few at a time, so that accounts take turns. */
  batches: 'genway-batches',
  /** For batches that wait: for money, or for their tasks. */
  waitingBatches: 'genway-waiting-batches',
} as const;

/** The worker deployment in Temporal to which the build IDs of workers belong. */
export const WORKER_DEPLOYMENT = 'genway';

/**
 * The queue for steps that call a provider with limits, so that the provider has its own rate and concurrency and
 * delays no other. Steps that call other providers run on their workflow's queue, which saves a round trip to Temporal
 * each.
 */
export function providerQueue(provider: string): string {
  return `genway-provider-${provider}`;
}

/** From 1 (first) to 5: https://docs.temporal.io/develop/task-queue-priority-fairness */
const TASK_PRIORITY = 3;
const EXTRA_PRIORITY = 4;
const BATCH_PRIORITY = 5;

/** The fairness and priority of a workflow, its steps and children in a queue: accounts take turns. */
export interface TaskPriority {
  readonly fairnessKey: string;
  readonly priorityKey: number;
}

/** @param isExtra true for test events and redeliveries, which come after the events of tasks */
export function toPriority(accountId: string, { isExtra = false } = {}): TaskPriority {
  return { fairnessKey: accountId, priorityKey: isExtra ? EXTRA_PRIORITY : TASK_PRIORITY };
}

/** The priority of batches, which come after everything else. */
export function toBatchPriority(accountId: string): TaskPriority {
  return { fairnessKey: accountId, priorityKey: BATCH_PRIORITY };
}
