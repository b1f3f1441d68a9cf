/**
 * Ends tasks that nothing else will end, because their workflow was terminated or was lost by Temporal. Each is
 * refunded once its deadline has passed, like any task that did not finish in time, unless a history says how it ended
 * before the database was restored to an earlier moment. One that an upstream may render has its workflow started again,
 * which refunds it and cancels the job. A workflow that is still running is left alone, however late it is.
 */
import type { Logger } from 'pino';
import type { Database } from '../db/database.ts';
import { finishTask, type TaskEnding } from '../db/queries/finish-task.ts';
import { claimOverdueTasks } from '../db/queries/overdue-tasks.ts';
import { restartIfRendering } from '../db/queries/recovery.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { endAsRecorded } from './end-as-recorded.ts';
import type { WorkflowAccess } from './workflow-access.ts';

export interface TaskRepair {
  /** Repairs some overdue tasks. @returns whether there may be more */
  repairSome(): Promise<boolean>;
}

const BATCH_SIZE = 32;
/** Far more than servers' clocks may differ by. */
const GRACE_SECONDS = 30;
const AGAIN_SECONDS = 300;

/** How a task ends whose deadline has passed without a workflow working on it. */
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
      log.warn({ task_id: taskId }, 'the task is overdue but its workflow is still running; are there workers?');
      return;
    }
    const recorded = workflow && (await workflows.readEnding(taskId));
    // Temporal does not start a second workflow after one that completed.
    const canRestart = !recorded && workflow?.status !== 'COMPLETED';
    if (canRestart && (await restartIfRendering(database, taskId))) {
      const state = { task_id: taskId, workflow: workflow?.status ?? 'missing' };
      log.warn(state, 'starts the workflow of an abandoned task again, to refund it and to cancel its job');
      return;
    }
    const { applied, task } = recorded
      ? await endAsRecorded({ database, workflows }, taskId, recorded)
      : await finishTask(database, taskId, NEVER_ENDED, null);
    if (!applied) return;
    metrics.taskEnded(task);
    log.warn(
      { task_id: taskId, workflow: workflow?.status ?? 'missing', status: task.status },
      recorded ? 'ended a task again the way its history says' : 'refunded an abandoned task',
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
