import type { FinishedTask } from '../../db/queries/finish-task.ts';
import { type StoredSubmission, type Settlement, settleSubmission } from '../../db/queries/submissions.ts';
import type { CallFailure } from '../../db/queries/upstream-calls.ts';
import { isFailureOfUpstream, type Task, reasonOf } from '../../domain/task.ts';
import { toLogLine } from '../../providers/text/vendor-message.ts';
import type { MediaTaskDependencies } from './dependencies.ts';
import { retryWrite } from './retry-write.ts';

/** Records the outcome of a submission, however long that takes, and counts a submission that was not accepted. */
export type RecordOutcome = (
  task: Pick<Task, 'accountId'>,
  submission: StoredSubmission,
  settlement: Settlement,
) => Promise<void>;

/** The upstream's words as they are stored: one short line without credentials and long quotations. */
export function operatorLine(words: string | null): string | null {
  return words && toLogLine(words, []);
}

export function createOutcomeRecorder({
  database,
  metrics,
  calls,
  clock,
}: Pick<MediaTaskDependencies, 'database' | 'metrics' | 'calls' | 'clock'>): RecordOutcome {
  return async ({ accountId }, submission, given) => {
    const settlement = { ...given, detail: operatorLine(given.detail ?? null) };
    const isNew = await retryWrite(() => settleSubmission(database, submission, settlement));
    if (!isNew) return;
    const { provider: upstream, model, submittedAt } = submission;
    metrics.submissionSettled(upstream, settlement);
    // An accepted job counts when its task ends.
    if (settlement.outcome === 'accepted') return;
    const durationMs = Math.max(clock.nowMs() - submittedAt.getTime(), 0);
    calls.record({ upstream, format: '', model, key: '' }, { accountId, durationMs, failure: failureOf(settlement) });
  };
}

/** A refusal for load, and a refusal of the request itself, are no failures of the upstream. */
function failureOf({ outcome, code, detail }: Settlement): CallFailure | null {
  if (outcome === 'refused' || code === 'busy') return null;
  return { fault: code ?? 'failed', status: null, message: detail ?? '' };
}

/** Counts the job of a final task: as a failure of the upstream that accepted it, or as answered. */
export function createJobRecorder({ metrics, calls }: Pick<MediaTaskDependencies, 'metrics' | 'calls'>) {
  return (
    { accountId, failure, completedAt }: Task,
    { provider: upstream, model, submittedAt, detail }: NonNullable<FinishedTask['job']>,
  ): void => {
    metrics.jobEnded({ upstream, model, outcome: failure ? reasonOf(failure) : 'succeeded' });
    const durationMs = Math.max((completedAt ?? submittedAt).getTime() - submittedAt.getTime(), 0);
    const fault = failure !== null && isFailureOfUpstream(failure) ? failure : null;
    calls.record(
      { upstream, format: '', model, key: '' },
      {
        accountId,
        durationMs,
        failure: fault && { fault: fault.code, status: null, message: detail ?? fault.message },
      },
    );
  };
}
