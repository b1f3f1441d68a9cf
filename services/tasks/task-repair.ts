/**
 * Ends tasks that nothing else will end, because their workflow was terminated or was lost by Temporal. Once its deadline
 * has passed, the workflow of such a task is started again: it looks whether the render ended in time, charges or refunds,
 * and cancels the job. If a history says how the task ended before the database was restored to an earlier moment, it ends
 * that way. A workflow that is still running is left alone, however late it is.
 */
import type { Logger } from 'pino';
import type { Database } from '../../db/database.ts';
import { eventOf, finishTask } from '../../db/queries/finish-task.ts';
import { claimOverdueTasks } from '../../db/queries/recovery.ts';
import type { TaskToStart } from '../../db/queries/tasks.ts';
import type { TaskEnding } from '../../domain/task.ts';
import { TASK_MESSAGES } from '../../domain/task-messages.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { endAsRecorded } from './end-as-recorded.ts';
import type { TaskStarter } from './task-starter.ts';
import type { WorkflowAccess } from './workflow-access.ts';

const BATCH_SIZE = 32;
/** Far more than the difference between servers' clocks. */
const GRACE_SECONDS = 30;
const AGAIN_SECONDS = 60;

/** The ending of a task whose workflow completed and recorded no ending: Temporal starts no second one after it. */
export const WORKFLOW_LOST: TaskEnding = {
  status: 'failed',
  failure: { code: 'processing_failed', message: TASK_MESSAGES.failed },
};

interface RepairDependencies {
  readonly database: Database;
  readonly workflows: WorkflowAccess;
  readonly starter: Pick<TaskStarter, 'start'>;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/**
 * Repairs some overdue tasks.
 *
 * @param graceSeconds how long after its deadline a task is left to its workflow
 * @returns whether there may be more
 */
export async function repairTasks(
  dependencies: RepairDependencies,
  graceSeconds: number = GRACE_SECONDS,
): Promise<boolean> {
  const claim = { graceSeconds, againSeconds: AGAIN_SECONDS, limit: BATCH_SIZE };
  const tasks = await claimOverdueTasks(dependencies.database, claim);
  for (const task of tasks) await repair(dependencies, task);
  return tasks.length === BATCH_SIZE;
}

async function repair(
  { database, workflows, starter, metrics, log }: RepairDependencies,
  task: TaskToStart,
): Promise<void> {
  const workflow = await workflows.describe(task.id);
  const state = { task_id: task.id, workflow: workflow?.status ?? 'missing' };
  if (workflow && workflow.closedAt === null) {
    log.warn(state, 'the task is overdue but its workflow is still running; check that workers are running');
    return;
  }
  const recorded = workflow && (await workflows.readEnding(task.id));
  if (recorded || workflow?.status === 'COMPLETED') {
    const { applied, task: ended } = recorded
      ? await endAsRecorded({ database, workflows }, task.id, recorded)
      : await finishTask(database, task.id, WORKFLOW_LOST, eventOf(WORKFLOW_LOST));
    if (!applied) return;
    metrics.taskEnded(ended);
    log.warn({ ...state, status: ended.status }, 'finished a task whose workflow had already ended');
  } else if (await starter.start(task)) {
    log.warn(state, 'restarted the workflow of an abandoned task to determine its outcome');
  }
}
