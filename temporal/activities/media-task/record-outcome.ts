import { type StoredSubmission, type Settlement, settleSubmission } from '../../../db/queries/submissions.ts';
import type { CallFailure } from '../../../db/queries/upstream-calls.ts';
import { cutText } from '../../../domain/cut-text.ts';
import type { MediaTaskDependencies } from './dependencies.ts';
import { retryWrite } from './retry-write.ts';

/** Records the outcome of a submission, however long that takes, and counts it once. */
export type RecordOutcome = (submission: StoredSubmission, settlement: Settlement) => Promise<void>;

const MAX_MESSAGE = 300;

export function createOutcomeRecorder({
  database,
  metrics,
  calls,
  clock,
}: Pick<MediaTaskDependencies, 'database' | 'metrics' | 'calls' | 'clock'>): RecordOutcome {
  return async (submission, settlement) => {
    const isNew = await retryWrite(() => settleSubmission(database, submission, settlement));
    if (!isNew) return;
    const { provider: upstream, model, submittedAt } = submission;
    metrics.submissionSettled(upstream, settlement);
    const durationMs = Math.max(clock.nowMs() - submittedAt.getTime(), 0);
    calls.record({ upstream, format: '', model, key: '' }, durationMs, failureOf(settlement));
  };
}

/** A refusal for load, and a refusal of the request itself, are no failures of the upstream. */
function failureOf({ outcome, code, detail }: Settlement): CallFailure | null {
  if (outcome === 'accepted' || outcome === 'refused' || code === 'busy') return null;
  return { fault: code ?? 'failed', status: null, message: cutText(detail ?? '', MAX_MESSAGE) };
}
