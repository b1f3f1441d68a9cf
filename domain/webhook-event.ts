/** The body of a webhook delivery: the event, its time, and the task as polling showed it then: contract 6. */
import { presentTask, type TaskObject } from './task-object.ts';
import type { Task } from './task.ts';
import { toUnixSeconds } from './unix-time.ts';

/** The task events that an endpoint can subscribe to. */
export const TASK_EVENTS = ['task.succeeded', 'task.failed'] as const;
export type TaskEventType = (typeof TASK_EVENTS)[number];

export interface EventObject {
  readonly id: string;
  readonly object: 'event';
  readonly type: string;
  /** Unix seconds. */
  readonly created_at: number;
  readonly data: TaskObject;
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
