/** The Temporal task queues. Each has its own worker slots, so that slow webhook receivers never hold up a render. */
export const TASK_QUEUES = {
  media: 'genway-media',
  webhooks: 'genway-webhooks',
  schedules: 'genway-schedules',
} as const;

/**
 * Of the steps that call one provider with limits, so that it has a rate and a concurrency of its own, and holds up no other.
 * Steps of the others run beside their workflow, which spares Temporal a turn for each.
 */
export function providerQueue(provider: string): string {
  return `genway-provider-${provider}`;
}

export type TaskQueue = (typeof TASK_QUEUES)[keyof typeof TASK_QUEUES];
