/** The body of a webhook delivery (contract 6): the event, and the task, late result or balance at that time. */
import type { Batch } from './batch.ts';
import { BATCH } from './batch-object.ts';
import type { PicoUsd } from './money.ts';
import * as field from './resource/field.ts';
import { nested, type Presentation, resource } from './resource/resource.ts';
import { LATE_RESULT, type LateResult, TASK } from './task-object.ts';
import type { Task } from './task.ts';

/** The events of tasks. An endpoint gets them by default. */
export const TASK_EVENTS = ['task.succeeded', 'task.failed'] as const;
export const LATE_RESULT_EVENT = 'task.late_result';
export const LOW_BALANCE_EVENT = 'account.balance_low';
/** The events of batches. */
const BATCH_EVENTS = ['batch.completed', 'batch.failed', 'batch.expired', 'batch.cancelled', 'batch.paused'] as const;
export type BatchEvent = (typeof BATCH_EVENTS)[number];
/** Sent when a test of an endpoint is requested. */
export const ENDPOINT_TEST_EVENT = 'endpoint.test';

/** The events that an endpoint can subscribe to. */
export const SUBSCRIBABLE_EVENTS = [...TASK_EVENTS, LATE_RESULT_EVENT, LOW_BALANCE_EVENT, ...BATCH_EVENTS] as const;
export type SubscribableEvent = (typeof SUBSCRIBABLE_EVENTS)[number];

interface TaskEvent {
  readonly id: string;
  readonly type: string;
  /** In its final state. */
  readonly task: Task;
}

export const TASK_EVENT = resource<TaskEvent>(
  'TaskEvent',
  {
    id: field.id('event')('id'),
    object: field.constant('event'),
    type: field.oneOf(TASK_EVENTS)('type'),
    created_at: field.unixSeconds(({ task }) => task.completedAt ?? task.updatedAt, 'When the event happened'),
    data: field.object(TASK)('task'),
  },
  'An event, with the task at that moment.',
);

interface LateEvent {
  readonly id: string;
  /** When the result was stored. */
  readonly at: Date;
  readonly lateResult: LateResult;
}

export const LATE_EVENT = resource<LateEvent>(
  'LateResultEvent',
  {
    id: field.id('event')('id'),
    object: field.constant('event'),
    type: field.constant(LATE_RESULT_EVENT),
    created_at: field.unixSeconds('at', 'When the result was stored'),
    data: field.object(LATE_RESULT)('lateResult'),
  },
  'A result arrived after the refund of its task, and can be claimed.',
);

/** The balance of an account when it was low. */
interface LowBalance {
  readonly accountId: string;
  readonly available: PicoUsd;
  readonly reserved: PicoUsd;
  readonly lowBalance: PicoUsd;
}

interface BalanceEvent {
  readonly id: string;
  /** When the balance was found to be low. */
  readonly at: Date;
  readonly balance: LowBalance;
}

export const BALANCE_EVENT = resource<BalanceEvent>('LowBalanceEvent', {
  id: field.id('event')('id'),
  object: field.constant('event'),
  type: field.constant(LOW_BALANCE_EVENT),
  created_at: field.unixSeconds('at', 'When Genway found the low balance'),
  data: field.object(
    nested<LowBalance>({
      object: field.constant('balance'),
      account_id: field.id('account')('accountId'),
      available_usd: field.usd('available', 'The available balance'),
      reserved_usd: field.usd('reserved', 'The amount held for running tasks and requests'),
      low_balance_usd: field.usd('lowBalance', 'The threshold above the sum of both amounts'),
    }),
  )('balance'),
});

interface BatchChange {
  readonly id: string;
  readonly type: BatchEvent;
  readonly at: Date;
  readonly batch: Batch;
}

export const BATCH_EVENT = resource<BatchChange>(
  'BatchEvent',
  {
    id: field.id('event')('id'),
    object: field.constant('event'),
    type: field.oneOf(BATCH_EVENTS)('type'),
    created_at: field.unixSeconds('at', 'When the event happened'),
    data: field.object(BATCH)('batch'),
  },
  'An event, with the batch at that moment.',
);

/** The exact bytes that every attempt to deliver an event sends. */
export function renderEvent<Event>({ present }: Presentation<Event>, event: Event): string {
  return JSON.stringify(present(event));
}
