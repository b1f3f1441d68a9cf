/** The body of a webhook delivery: the event, its time, and the task or balance as it was then: contract 6. */
import { presentTask, type TaskObject } from './task-object.ts';
import type { Task } from './task.ts';
import { toUnixSeconds } from './unix-time.ts';

/** The events of tasks, which an endpoint gets unless it asks for others. */
export const TASK_EVENTS = ['task.succeeded', 'task.failed'] as const;
export const LOW_BALANCE_EVENT = 'account.balance_low';

/** The events that an endpoint can subscribe to. */
export const SUBSCRIBABLE_EVENTS = [...TASK_EVENTS, LOW_BALANCE_EVENT] as const;
export type SubscribableEvent = (typeof SUBSCRIBABLE_EVENTS)[number];

export interface EventObject<Data = TaskObject> {
  readonly id: string;
  readonly object: 'event';
  readonly type: string;
  /** Unix seconds. */
  readonly created_at: number;
  readonly data: Data;
}

/** The balance of an account when it was low; amounts in USD. */
export interface LowBalanceObject {
  readonly object: 'balance';
  readonly account_id: string;
  readonly available_usd: number;
  readonly reserved_usd: number;
  readonly low_balance_usd: number;
}

/** The exact bytes that every attempt to deliver this event sends. @param at when the balance was found to be low */
export function renderLowBalanceEvent({
  id,
  at,
  balance,
}: {
  id: string;
  at: Date;
  balance: LowBalanceObject;
}): string {
  const event: EventObject<LowBalanceObject> = {
    id,
    object: 'event',
    type: LOW_BALANCE_EVENT,
    created_at: toUnixSeconds(at),
    data: balance,
  };
  return JSON.stringify(event);
}

/** The exact bytes that every attempt to deliver this event sends. @param task in its final state */
export function renderEvent({ id, type, task }: { id: string; type: string; task: Task }): string {
  const createdAt = task.completedAt ?? task.updatedAt;
  const event: EventObject = {
    id,
    object: 'event',
    type,
    created_at: toUnixSeconds(createdAt),
    data: presentTask(task),
  };
  return JSON.stringify(event);
}
