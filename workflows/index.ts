/** All workflows that workers register. */
export { batch } from './batch.ts';
export { lateResult } from './late-result.ts';
export { mediaTask } from './media-task/media-task.ts';
export { reconciliation } from './reconciliation.ts';
export { sweep } from './sweep.ts';
export { webhookDelivery } from './webhook-delivery.ts';
