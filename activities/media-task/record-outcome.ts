import type { EndedSubmission } from '../../db/queries/finish-task.ts';
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
    // An accepted job counts when its task ends. Load is no fault: a task repeats such a submission until its deadline,
    // and these submissions would hide the failures among the calls.
    if (settlement.outcome === 'accepted' || settlement.code === 'busy') return;
    const durationMs = Math.max(clock.nowMs() - submittedAt.getTime(), 0);
    calls.record({ upstream, format: '', model, key: '' }, { accountId, durationMs, failure: failureOf(settlement) });
  };
}

/** A refusal of the request itself is no failure of the upstream. */
function failureOf({ outcome, code, detail }: Settlement): CallFailure | null {
  if (outcome === 'refused') return null;
  return { fault: code ?? 'failed', status: null, message: detail ?? '' };
}

/**
 * Counts the call of a final task: the job that an upstream accepted, as failed or answered, or the failure of an
 * upstream that was busy until the task failed.
 */
export function createEndRecorder({ metrics, calls }: Pick<MediaTaskDependencies, 'metrics' | 'calls'>) {
  return ({ accountId, failure, completedAt }: Task, submission: EndedSubmission): void => {
    const { provider: upstream, model, submittedAt, outcome, code, detail } = submission;
    const fault = failure !== null && isFailureOfUpstream(failure) ? failure.code : null;
    const isBusy = code === 'busy' && fault !== null;
    if (outcome !== 'accepted' && !isBusy) return;
    if (outcome === 'accepted') {
      metrics.jobEnded({ upstream, model, outcome: failure ? reasonOf(failure) : 'succeeded' });
    }
    const durationMs = Math.max((completedAt ?? submittedAt).getTime() - submittedAt.getTime(), 0);
    calls.record(
      { upstream, format: '', model, key: '' },
      {
        accountId,
        durationMs,
        // The message for the client is not the vendor's, so it never stands in for the vendor's words.
        failure: fault && { fault: isBusy ? code : fault, status: null, message: detail ?? '' },
      },
    );
  };
}
