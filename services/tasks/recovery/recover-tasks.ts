/** Decides what happens to unfinished tasks, from what Temporal knows about their workflows. */
import type { Client } from '@temporalio/client';
import type { Database } from '../../../db/database.ts';
import { toBatches } from '../../../db/to-batches.ts';
import { eventOf, finishTask } from '../../../db/queries/finish-task.ts';
import { listUnfinishedTasks, restartTask, type UnfinishedTask } from '../../../db/queries/recovery.ts';
import type { RecordedEnding } from '../../../domain/task.ts';
import { streamPages } from '../../../db/stream-pages.ts';
import { endAsRecorded } from '../end-as-recorded.ts';
import { WORKFLOW_LOST } from '../task-repair.ts';
import { startWorkflow } from '../task-starter.ts';
import type { WorkflowAccess } from '../workflow-access.ts';

/** The decisions about a task, with the reason that the command prints. */
export const TASK_DECISIONS = {
  charged: 'charged: its history says that it succeeded',
  failed: 'refunded: its history says that it failed',
  late: 'started again: no workflow works on it, and its deadline has passed',
  over: 'refunded: its workflow has ended, without saying how the task ended',
  restarted: 'to be started again: no workflow works on it',
  running: 'left alone: its workflow is running',
  waiting: 'left alone: it has not started; an api process will start it',
} as const;

export type TaskDecision = keyof typeof TASK_DECISIONS;

interface Verdict {
  readonly decision: TaskDecision;
  /** For a task that had ended before. */
  readonly recorded?: RecordedEnding;
}

interface TaskRecovery {
  readonly database: Database;
  readonly client: Client;
  readonly workflows: WorkflowAccess;
}

const AT_ONCE = 20;

/**
 * Handles every unfinished task. Doing so again changes nothing.
 *
 * @param isDryRun changes nothing, only yields what would be done
 * @throws ServiceError `processing_unavailable` when Temporal does not answer
 */
export async function* recoverTasks(
  recovery: TaskRecovery,
  isDryRun: boolean,
): AsyncIterable<{ readonly taskId: string; readonly decision: TaskDecision }> {
  const unfinished = streamPages<UnfinishedTask>((after, limit) =>
    listUnfinishedTasks(recovery.database, { after: after?.id, limit }),
  );
  for await (const tasks of toBatches(unfinished, AT_ONCE)) {
    yield* await Promise.all(
      tasks.map(async (task) => {
        const verdict = await judge(recovery, task);
        if (!isDryRun) await carryOut(recovery, task, verdict);
        return { taskId: task.id, decision: verdict.decision };
      }),
    );
  }
}

async function judge({ workflows }: TaskRecovery, { id, isStarted, isOutOfTime }: UnfinishedTask): Promise<Verdict> {
  const workflow = await workflows.describe(id);
  // A workflow that has charged or refunded does not do so again, even if it is still running.
  const recorded = workflow && (await workflows.readEnding(id));
  if (recorded) return { decision: recorded.ending.status === 'succeeded' ? 'charged' : 'failed', recorded };
  if (workflow && workflow.closedAt === null) return { decision: 'running' };
  if (workflow?.status === 'COMPLETED') return { decision: 'over' };
  if (!isStarted) return { decision: 'waiting' };
  return { decision: isOutOfTime ? 'late' : 'restarted' };
}

async function carryOut(
  { database, client, workflows }: TaskRecovery,
  task: UnfinishedTask,
  { decision, recorded }: Verdict,
): Promise<void> {
  if (recorded) await endAsRecorded({ database, workflows }, task.id, recorded);
  else if (decision === 'over') await finishTask(database, task.id, WORKFLOW_LOST, eventOf(WORKFLOW_LOST));
  else if (decision === 'restarted') await restartTask(database, task.id);
  // The relay would refund it, while the workflow looks whether its render ended in time.
  else if (decision === 'late') await startWorkflow(client, task);
}
