/**
 * Delivers one event to one endpoint, attempt by attempt, until it arrives, the endpoint accepts no more events, or the
 * schedule ends. A delivery that finds no room for an attempt waits without a workflow; the relay starts a new one when
 * there is room.
 */
import {
  condition,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { AttemptResult, WebhookDeliveryActivities } from '../activities/webhook-delivery.ts';
import { SEARCH_ATTRIBUTES } from '../domain/search-attributes.ts';

export interface WebhookDeliveryInput {
  readonly deliveryId: string;
  /** Above 1 for a delivery that was attempted before: its attempts are counted on. 1 when absent. */
  readonly firstAttempt?: number;
  /** The task queue of the attempts, if it is not the workflow's own. */
  readonly attemptQueue?: string;
}

export interface WebhookDeliveryOutcome {
  readonly status: string;
  /** The attempts made so far, including those of earlier workflows. */
  readonly attempts: number;
}

/** Requests an immediate attempt and, if it fails, the schedule from its beginning. */
export const redeliver = defineSignal('redeliver');

export async function webhookDelivery({
  deliveryId,
  firstAttempt = 1,
  attemptQueue,
}: WebhookDeliveryInput): Promise<WebhookDeliveryOutcome> {
  let asked = false;
  setHandler(redeliver, () => {
    asked = true;
  });
  const { attemptDelivery } = proxyActivities<WebhookDeliveryActivities>({
    ...(attemptQueue !== undefined && { taskQueue: attemptQueue }),
    // A receiver's failure is a result; only recording it can fail, and that is retried for as long as it takes.
    startToCloseTimeout: '30 seconds',
    retry: { initialInterval: '1 second', maximumInterval: '10 seconds' },
  });

  let number = firstAttempt;
  for (;;) {
    asked = false;
    setCurrentDetails(`Attempt ${number} is in progress.`);
    const summary = `Attempt ${number}`;
    const result = await attemptDelivery.executeWithOptions({ summary }, [{ deliveryId, number }]);
    number = result.attempts + 1;
    if (result.status === 'pending') await waitForNext(result, () => asked);
    else if (!asked) return end(result);
  }
}

async function waitForNext({ attempts, delayMs, detail }: AttemptResult, asked: () => boolean): Promise<void> {
  if (delayMs <= 0) return;
  const last = `previous attempt: ${detail}`;
  setCurrentDetails(`Attempt ${attempts + 1} follows at ${new Date(Date.now() + delayMs).toISOString()}; ${last}.`);
  await condition(asked, delayMs, { summary: `Before attempt ${attempts + 1}; ${last}` });
}

function end({ status, attempts, detail }: AttemptResult): WebhookDeliveryOutcome {
  upsertSearchAttributes([{ key: SEARCH_ATTRIBUTES.outcome, value: status }]);
  setCurrentDetails(`Ended: ${status} after ${attempts} attempt${attempts === 1 ? '' : 's'}; last attempt: ${detail}.`);
  return { status, attempts };
}
