/** The job of a task, as an upstream's announcement reveals it. */
import {
  findOwnedJobs,
  isJobOfAnotherTask,
  type StoredSubmission,
  listSubmissions,
  settleSubmission,
} from '../../db/queries/submissions.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Task } from '../../domain/task.ts';
import type { CallbackReader } from '../../providers/media/upstream.ts';
import type { Services } from '../services.ts';

type JobServices = Pick<Services, 'database' | 'metrics'>;

/**
 * Records the announced job as the outcome of a submission that has none yet. Cancels the job if its submission was
 * given up or its task has failed.
 *
 * @param upstream the upstream that announced the job
 * @throws ServiceError `processing_unavailable` if the job cannot be cancelled now: the upstream may announce it again
 */
export async function recordAnnouncedJob(
  services: JobServices,
  task: Task,
  { provider, upstream, jobId }: { provider: string; upstream: Pick<CallbackReader, 'cancel'>; jobId: string },
): Promise<void> {
  const submissions = await listSubmissions(services.database, task.id);
  // The job's submission is known already, and the task's workflow handles the job.
  if (submissions.some((one) => one.jobId === jobId)) return;
  const [submission] = submissions.filter((one) => one.provider === provider && isUnclear(one));
  if (!submission) return;
  const isTaken =
    submission.outcome === null
      ? await adopt(services, submission, jobId)
      : await isUnowned(services, submission, jobId);
  if (!isTaken || (submission.outcome === null && task.status !== 'failed')) return;
  await upstream.cancel(jobId, new AbortController().signal).catch((error: unknown) => {
    throw new ServiceError('processing_unavailable', 'The job could not be cancelled. Announce it again.', {
      cause: error,
    });
  });
}

function isUnclear({ outcome }: StoredSubmission): boolean {
  return outcome === null || outcome === 'unknown';
}

/** @returns false if the job belongs to another task */
async function adopt(
  { database, metrics }: JobServices,
  submission: StoredSubmission,
  jobId: string,
): Promise<boolean> {
  const settlement = { outcome: 'accepted', evidence: 'the callback', jobId } as const;
  try {
    const isNew = await settleSubmission(database, submission, settlement);
    if (isNew) metrics.submissionSettled(submission.provider, settlement);
    return true;
  } catch (error) {
    if (isJobOfAnotherTask(error)) return false;
    throw error;
  }
}

async function isUnowned(
  { database }: JobServices,
  { taskId, vendor }: StoredSubmission,
  jobId: string,
): Promise<boolean> {
  return (await findOwnedJobs(database, { taskId, vendor, jobIds: [jobId] })).size === 0;
}
