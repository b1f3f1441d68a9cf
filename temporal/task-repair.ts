/**
 * Ends tasks that nobody else will end: the workflow was terminated, or Temporal has lost it. Each is refunded once its
 * deadline has passed, like any task that did not finish in time, unless a history says how it ended, before the database was
 * restored to an older moment. A workflow that still runs is left alone, however late.
 */
import type { Logger } from 'pino';
import type { Database } from '../db/database.ts';
import { finishTask, type TaskEnding } from '../db/queries/finish-task.ts';
import { claimOverdueTasks } from '../db/queries/overdue-tasks.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { endAsRecorded } from './end-as-recorded.ts';
import type { WorkflowAccess } from './workflow-access.ts';

export interface TaskRepair {
  /** Looks at some overdue tasks. @returns whether there may be more */
  repairSome(): Promise<boolean>;
}

const BATCH_SIZE = 32;
/** Far more than the clocks of the servers may differ. */
const GRACE_SECONDS = 30;
const AGAIN_SECONDS = 300;

/** How a task ends whose deadline has passed while nobody worked on it. */
export const NEVER_ENDED: TaskEnding = {
  status: 'failed',
  failure: {
    code: 'processing_timeout',
    message: 'Processing did not finish in time. Nothing was charged; send the request again.',
  },
};

export function createTaskRepair({
  database,
  workflows,
  metrics,
  log,
  graceSeconds = GRACE_SECONDS,
}: {
  database: Database;
  workflows: WorkflowAccess;
  metrics: Metrics;
  log: Logger;
  /** How long after its deadline a task is left to its workflow. */
  graceSeconds?: number;
}): TaskRepair {
  async function repair(taskId: string): Promise<void> {
    const workflow = await workflows.describe(taskId);
    if (workflow && workflow.closedAt === null) {
      log.warn({ task_id: taskId }, 'the task is overdue although its workflow runs; are there workers?');
      return;
    }
    const recorded = workflow && (await workflows.readEnding(taskId));
    const { applied, task } = recorded
      ? await endAsRecorded({ database, workflows }, taskId, recorded)
      : await finishTask(database, taskId, NEVER_ENDED, null);
    if (!applied) return;
    metrics.taskEnded(task);
    log.warn(
      { task_id: taskId, workflow: workflow?.status ?? 'missing', status: task.status },
      recorded ? 'ended a task again as its history says' : 'refunded an abandoned task',
    );
  }

  return {
    repairSome: async () => {
      const taskIds = await claimOverdueTasks(database, {
        graceSeconds,
        againSeconds: AGAIN_SECONDS,
        limit: BATCH_SIZE,
      });
      for (const taskId of taskIds) await repair(taskId);
      return taskIds.length === BATCH_SIZE;
    },
  };
}
