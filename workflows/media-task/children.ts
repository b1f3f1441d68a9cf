/** The workflows that a task starts and does not wait for: deliveries of its event, and the wait for a late result. */
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { type ChildWorkflowOptions, ParentClosePolicy, startChild, workflowInfo } from '@temporalio/workflow';
import { SEARCH_ATTRIBUTES } from '../../domain/search-attributes.ts';
import { lateResultIdOf } from '../../domain/task.ts';
import { TASK_QUEUES } from '../../domain/task-queues.ts';
import type { lateResult } from '../late-result.ts';
import type { webhookDelivery } from '../webhook-delivery.ts';
import { type ProviderQueue, queueOf } from './steps.ts';

/** Starts a workflow for each endpoint that wants the event. @param eventType such as `task.succeeded` */
export async function startDeliveries(
  taskId: string,
  eventType: string,
  deliveryIds: readonly string[],
): Promise<void> {
  for (const deliveryId of deliveryIds) {
    const started = startChild<typeof webhookDelivery>('webhookDelivery', {
      ...abandonedChildOptions(taskId, eventType),
      workflowId: deliveryId,
      taskQueue: TASK_QUEUES.webhooks,
      args: [{ deliveryId }],
      staticSummary: `Deliver ${eventType} to a webhook endpoint`,
    });
    await ignoreAlreadyStarted(started);
  }
}

/** A provider may finish a job all the same: not all of them can cancel one, and it may have ended at this moment. */
export async function awaitLateResult(taskId: string, jobId: string, queue: ProviderQueue): Promise<void> {
  const started = startChild<typeof lateResult>('lateResult', {
    ...abandonedChildOptions(taskId, 'late result'),
    workflowId: lateResultIdOf(taskId),
    args: [{ taskId, jobId, ...queueOf(queue) }],
    staticSummary: 'Wait for the provider after the refund',
  });
  await ignoreAlreadyStarted(started);
}

/** Options of a child that goes on when the task's workflow has ended. @param kind by which operators find it */
function abandonedChildOptions(taskId: string, kind: string): ChildWorkflowOptions {
  const account = workflowInfo().typedSearchAttributes.get(SEARCH_ATTRIBUTES.account);
  return {
    parentClosePolicy: ParentClosePolicy.ABANDON,
    memo: { task_id: taskId },
    typedSearchAttributes: [
      ...(account === undefined ? [] : [{ key: SEARCH_ATTRIBUTES.account, value: account }]),
      { key: SEARCH_ATTRIBUTES.kind, value: kind },
    ],
  };
}

/** A child that runs already was started before this workflow was reset, or by the relay. */
async function ignoreAlreadyStarted(started: Promise<unknown>): Promise<void> {
  await started.catch((error: unknown) => {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  });
}
