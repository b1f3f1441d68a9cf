/** The Temporal task queues. Each has its own worker slots, so that slow webhook receivers never hold up a render. */
export const TASK_QUEUES = {
  media: 'genway-media',
  webhooks: 'genway-webhooks',
  schedules: 'genway-schedules',
} as const;

/**
 * Of the steps that call one provider, so that each has a rate and a concurrency of its own, and a slow one holds up no
 * other.
 */
export function providerQueue(provider: string): string {
  return `genway-provider-${provider}`;
}

export type TaskQueue = (typeof TASK_QUEUES)[keyof typeof TASK_QUEUES];
