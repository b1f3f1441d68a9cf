/** Finds jobs that may run on for nobody, because Temporal was lost before their cancellation had arrived. */
import type { Client } from '@temporalio/client';
import type { Database } from '../../db/database.ts';
import { inPages } from '../../db/in-pages.ts';
import { listFailedWithJob } from '../../db/queries/recovery.ts';
import type { TaskToStart } from '../../db/queries/tasks.ts';
import { streamPages } from '../../db/stream-pages.ts';
import { startWorkflow } from '../task-starter.ts';
import type { WorkflowAccess } from '../workflow-access.ts';

interface LeftJobs {
  readonly database: Database;
  readonly client: Client;
  readonly workflows: WorkflowAccess;
}

/** A job that was given up longer ago has been rendered by now. */
const LAST_SECONDS = 3_600;
const AT_ONCE = 20;

/**
 * Starts a workflow of each task that failed lately, that an upstream had, and of which Temporal has no workflow; it cancels the
 * job and does nothing else. Most of these jobs have ended, which a cancellation does not change.
 *
 * @param isDryRun starts none, only yields which tasks would have one
 * @returns the ids of the tasks
 * @throws ServiceError `processing_unavailable` when Temporal does not answer
 */
export async function* cancelLeftJobs(left: LeftJobs, isDryRun: boolean): AsyncIterable<string> {
  const failed = streamPages<TaskToStart>((after, limit) =>
    listFailedWithJob(left.database, { after: after?.id, limit, lastSeconds: LAST_SECONDS }),
  );
  for await (const tasks of inPages(failed, AT_ONCE)) {
    const cancelled = await Promise.all(tasks.map((task) => cancelLeftJob(left, task, isDryRun)));
    yield* tasks.flatMap(({ id }, index) => (cancelled[index] ? [id] : []));
  }
}

async function cancelLeftJob({ client, workflows }: LeftJobs, task: TaskToStart, isDryRun: boolean): Promise<boolean> {
  if ((await workflows.describe(task.id)) !== null) return false;
  if (!isDryRun) await startWorkflow(client, task);
  return true;
}
