import { type KeptSubmission, type Settlement, settleSubmission } from '../../../db/queries/submissions.ts';
import type { MediaTaskDependencies } from './dependencies.ts';
import { untilWritten } from './until-written.ts';

/** Records the outcome of a submission, however long that takes, and counts it once. */
export type RecordOutcome = (submission: KeptSubmission, settlement: Settlement) => Promise<void>;

export function createOutcomeRecorder({
  database,
  metrics,
}: Pick<MediaTaskDependencies, 'database' | 'metrics'>): RecordOutcome {
  return async (submission, settlement) => {
    const isNew = await untilWritten(() => settleSubmission(database, submission, settlement));
    if (isNew) metrics.submissionSettled(submission.provider, settlement);
  };
}
