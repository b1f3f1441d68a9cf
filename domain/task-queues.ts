/** The Temporal task queues. Each has its own worker slots, so that slow webhook receivers never hold up a render. */
export const TASK_QUEUES = {
  media: 'genway-media',
  webhooks: 'genway-webhooks',
  /** Attempts of test events, which clients make as many of as they like; their workflows are beside the others. */
  webhookTests: 'genway-webhook-tests',
  schedules: 'genway-schedules',
} as const;

/**
 * Of the steps that call one provider with limits, so that it has a rate and a concurrency of its own, and holds up no other.
 * Steps of the others run beside their workflow, which spares Temporal a turn for each.
 */
export function providerQueue(provider: string): string {
  return `genway-provider-${provider}`;
}

/** Of five, of which the first goes first: https://docs.temporal.io/develop/task-queue-priority-fairness */
const TASK_PRIORITY = 3;
const EXTRA_PRIORITY = 4;

/** The place of a workflow, its steps and its children in every queue: accounts take turns there, however much each wants. */
export interface Share {
  readonly fairnessKey: string;
  readonly priorityKey: number;
}

/** @param isExtra for what a client asks for beside its tasks: test events and redeliveries, which come after those */
export function shareOf(accountId: string, { isExtra = false } = {}): Share {
  return { fairnessKey: accountId, priorityKey: isExtra ? EXTRA_PRIORITY : TASK_PRIORITY };
}

export type TaskQueue = (typeof TASK_QUEUES)[keyof typeof TASK_QUEUES];
