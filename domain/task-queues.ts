/** The Temporal task queues. Each has its own worker slots, so that slow webhook receivers never hold up a render. */
export const TASK_QUEUES = {
  media: 'genway-media',
  /** For renders that are answered with their files; a stopping worker waits for them. */
  renders: 'genway-renders',
  webhooks: 'genway-webhooks',
  /** For test events, of which clients may send many. Their workflows run on `webhooks`. */
  webhookTests: 'genway-webhook-tests',
  schedules: 'genway-schedules',
} as const;

/**
 * The queue for steps that call a provider with limits, so that it has a rate and concurrency of its own and holds up
 * no other. Steps that call other providers run on their workflow's queue, which spares Temporal a round trip for each.
 */
export function providerQueue(provider: string): string {
  return `genway-provider-${provider}`;
}

/** From 1 (first) to 5: https://docs.temporal.io/develop/task-queue-priority-fairness */
const TASK_PRIORITY = 3;
const EXTRA_PRIORITY = 4;

/** The place of a workflow, its steps and children in a queue: accounts take turns, however much each has waiting. */
export interface Share {
  readonly fairnessKey: string;
  readonly priorityKey: number;
}

/** @param isExtra for test events and redeliveries, which come after the events of tasks */
export function shareOf(accountId: string, { isExtra = false } = {}): Share {
  return { fairnessKey: accountId, priorityKey: isExtra ? EXTRA_PRIORITY : TASK_PRIORITY };
}
