/**
 * Starts the workflows of webhook deliveries that no task's workflow has started, or that waited for their turn:
 * redeliveries, test events, deliveries to an endpoint that was busy, and those whose task's workflow died after the
 * task ended but before it started its children.
 */
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { TypedSearchAttributes, WorkflowIdReusePolicy } from '@temporalio/common';
import type { Logger } from 'pino';
import type { Database } from '../../db/database.ts';
import { claimDeliveriesToStart, type DeliveryToStart, markDeliveriesStarted } from '../../db/queries/deliveries.ts';
import { SEARCH_ATTRIBUTES } from '../../domain/search-attributes.ts';
import { toPriority, TASK_QUEUES } from '../../domain/task-queues.ts';
import { ENDPOINT_TEST_EVENT } from '../../domain/webhook-event.ts';
import type { webhookDelivery } from '../../workflows/webhook-delivery.ts';

export interface DeliveryStarter {
  /** Starts deliveries that are due; one that cannot be started is tried again later. @returns how many were due */
  startDue(): Promise<number>;
}

const BATCH_SIZE = 32;
/** A healthy server answers sooner. A later pass tries again. */
const START_DEADLINE_MS = 5_000;
/** When a delivery that was claimed but not started is due again. */
const RETRY_AFTER_SECONDS = 10;

export function createDeliveryStarter({
  client,
  database,
  log,
}: {
  client: Client;
  database: Database;
  log: Logger;
}): DeliveryStarter {
  async function start(delivery: DeliveryToStart): Promise<boolean> {
    try {
      return await client.connection.withDeadline(Date.now() + START_DEADLINE_MS, () =>
        startOrSignal(client, delivery),
      );
    } catch (error) {
      log.warn({ err: error, delivery_id: delivery.id }, 'could not start the delivery; the relay will retry');
      return false;
    }
  }

  return {
    async startDue() {
      const due = await claimDeliveriesToStart(database, {
        limit: BATCH_SIZE,
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
      if (due.length === 0) return 0;
      const claimed = await Promise.all(due.map(async (delivery) => ({ delivery, isStarted: await start(delivery) })));
      await markDeliveriesStarted(database, claimed);
      return due.length;
    },
  };
}

/**
 * A delivery has one workflow at a time; a redelivery that finds the previous one still open signals it.
 *
 * @returns false when the open workflow is about to make the first attempt, or to end without one
 */
async function startOrSignal(
  client: Client,
  { id, accountId, eventType, firstAttempt }: DeliveryToStart,
): Promise<boolean> {
  const isTest = eventType === ENDPOINT_TEST_EVENT;
  const isAgain = firstAttempt > 1;
  try {
    await client.workflow.start<typeof webhookDelivery>('webhookDelivery', {
      workflowId: id,
      workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
      taskQueue: TASK_QUEUES.webhooks,
      priority: toPriority(accountId, { isExtra: isTest || isAgain }),
      args: [{ deliveryId: id, firstAttempt, ...(isTest && { attemptQueue: TASK_QUEUES.webhookTests }) }],
      staticSummary: `Deliver ${eventType} to a webhook endpoint${isAgain ? ' again' : ''}`,
      typedSearchAttributes: new TypedSearchAttributes([
        { key: SEARCH_ATTRIBUTES.account, value: accountId },
        { key: SEARCH_ATTRIBUTES.kind, value: eventType },
      ]),
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    if (!isAgain) return false;
    await client.workflow.getHandle<typeof webhookDelivery>(id).signal('redeliver');
  }
  return true;
}
