/**
 * Starts the workflows of webhook deliveries that no task's workflow has started: redeliveries, test events, and those whose
 * task's workflow died between its end and its children.
 */
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { defineSearchAttributeKey, TypedSearchAttributes, WorkflowIdReusePolicy } from '@temporalio/common';
import type { Logger } from 'pino';
import type { Database } from '../../db/database.ts';
import { claimDeliveriesToStart, type DeliveryToStart, markDeliveriesStarted } from '../../db/queries/deliveries.ts';
import { SEARCH_ATTRIBUTES } from '../../domain/search-attributes.ts';
import { TASK_QUEUES } from '../../domain/task-queues.ts';
import type { webhookDelivery } from '../../workflows/webhook-delivery.ts';

export interface DeliveryStarter {
  /** Starts deliveries that are due; one that cannot be started comes up again. @returns whether more may be due now */
  startDue(): Promise<boolean>;
}

const BATCH_SIZE = 32;
/** A server that needs longer is in trouble; the next pass comes back to the delivery. */
const START_DEADLINE_MS = 5_000;
/** When a delivery that was claimed and not started is due again. */
const RETRY_AFTER_SECONDS = 10;

const ACCOUNT = defineSearchAttributeKey(SEARCH_ATTRIBUTES.account, 'KEYWORD');
const KIND = defineSearchAttributeKey(SEARCH_ATTRIBUTES.kind, 'KEYWORD');

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
      await client.connection.withDeadline(Date.now() + START_DEADLINE_MS, () => startOrSignal(client, delivery));
      return true;
    } catch (error) {
      log.warn({ err: error, delivery_id: delivery.id }, 'the delivery could not be started yet');
      return false;
    }
  }

  return {
    async startDue() {
      const due = await claimDeliveriesToStart(database, {
        limit: BATCH_SIZE,
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
      if (due.length === 0) return false;
      const acknowledged = await Promise.all(due.map(start));
      await markDeliveriesStarted(
        database,
        due.filter((_delivery, index) => acknowledged[index]).map(({ id }) => id),
      );
      return due.length === BATCH_SIZE && acknowledged.every(Boolean);
    },
  };
}

/** A delivery has one workflow at a time; a redelivery that finds the last one still open goes to that one. */
async function startOrSignal(
  client: Client,
  { id, accountId, eventType, firstAttempt }: DeliveryToStart,
): Promise<void> {
  try {
    await client.workflow.start<typeof webhookDelivery>('webhookDelivery', {
      workflowId: id,
      workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
      taskQueue: TASK_QUEUES.webhooks,
      args: [{ deliveryId: id, firstAttempt }],
      staticSummary: `Deliver ${eventType} to a webhook endpoint${firstAttempt > 1 ? ' again' : ''}`,
      typedSearchAttributes: new TypedSearchAttributes([
        { key: ACCOUNT, value: accountId },
        { key: KIND, value: eventType },
      ]),
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    if (firstAttempt > 1) await client.workflow.getHandle<typeof webhookDelivery>(id).signal('redeliver');
  }
}
