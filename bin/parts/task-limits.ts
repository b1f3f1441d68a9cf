import type { Config } from '../../config.ts';
import type { TaskLimits } from '../../services/tasks/create-task.ts';

/** The limits of tasks, for the processes that create them. */
export function taskLimits({ tasks, limits }: Config): TaskLimits {
  return { deadlineMs: tasks.deadlineMs, concurrentTasks: limits.concurrentTasks };
}
