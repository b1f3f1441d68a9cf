/** The Temporal task queues. Each has its own worker slots, so that slow webhook receivers never hold up a render. */
export const TASK_QUEUES = {
  media: 'genway-media',
  webhooks: 'genway-webhooks',
  schedules: 'genway-schedules',
} as const;

export type TaskQueue = (typeof TASK_QUEUES)[keyof typeof TASK_QUEUES];
