/** Cancels orphaned jobs: jobs of failed tasks that may still run, because Temporal was lost before it cancelled them. */
import type { Client } from '@temporalio/client';
import type { Database } from '../../../db/database.ts';
import { toBatches } from '../../../db/to-batches.ts';
import { listFailedWithJob } from '../../../db/queries/recovery.ts';
import type { TaskToStart } from '../../../db/queries/tasks.ts';
import { streamPages } from '../../../db/stream-pages.ts';
import { startWorkflow } from '../task-starter.ts';
import type { WorkflowAccess } from '../workflow-access.ts';

interface OrphanedJobs {
  readonly database: Database;
  readonly client: Client;
  readonly workflows: WorkflowAccess;
}

/** A job that was given up longer ago has been rendered by now. */
const LAST_SECONDS = 3_600;
const AT_ONCE = 20;

/**
 * Starts a workflow for each task that failed recently, that an upstream accepted and for which Temporal has no workflow.
 * The workflow only cancels the job. Most of these jobs have ended, which a cancellation does not change.
 *
 * @param isDryRun starts no workflow, and returns the tasks that would get one
 * @returns the ids of the tasks
 * @throws ServiceError `processing_unavailable` when Temporal does not answer
 */
export async function* cancelOrphanedJobs(left: OrphanedJobs, isDryRun: boolean): AsyncIterable<string> {
  const failed = streamPages<TaskToStart>((after, limit) =>
    listFailedWithJob(left.database, { after: after?.id, limit, lastSeconds: LAST_SECONDS }),
  );
  for await (const tasks of toBatches(failed, AT_ONCE)) {
    const cancelled = await Promise.all(tasks.map((task) => cancelOrphanedJob(left, task, isDryRun)));
    yield* tasks.flatMap(({ id }, index) => (cancelled[index] ? [id] : []));
  }
}

async function cancelOrphanedJob(
  { client, workflows }: OrphanedJobs,
  task: TaskToStart,
  isDryRun: boolean,
): Promise<boolean> {
  if ((await workflows.describe(task.id)) !== null) return false;
  if (!isDryRun) await startWorkflow(client, task);
  return true;
}
