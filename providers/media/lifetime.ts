/** The time limit of a request, for vendors that accept one. */
import { createdAtMsOf } from '../../domain/ids.ts';
import type { RenderRequest } from './adapter.ts';

/** Seconds from the creation time in the task's id to the deadline, so that the same request gives the same call. */
export function lifetimeSecondsOf({ deadlineAt, taskId }: Pick<RenderRequest, 'deadlineAt' | 'taskId'>): number {
  return Math.ceil((deadlineAt.getTime() - createdAtMsOf('task', taskId)) / 1000);
}
