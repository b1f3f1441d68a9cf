/**
 * Finds out the outcome of a submission whose answer was lost, by the best means that the upstream offers. Sends
 * nothing. An outcome that cannot be determined is given up as a possible loss, once, or resubmitted if the operator
 * wants that.
 */
import { Context } from '@temporalio/activity';
import type { Clock } from '../../db/database-clock.ts';
import type { Database } from '../../db/database.ts';
import {
  findOwnedJobs,
  hasAmbiguousSubmissions,
  isJobOfAnotherTask,
  type StoredSubmission,
  listSubmissions,
  type Settlement,
  settleSubmission,
} from '../../db/queries/submissions.ts';
import { DISPATCH_LIMIT_MS, RECOVERY_PATIENCES, SUBMISSION_SURELY_SENT_MS } from '../../domain/step-limits.ts';
import type { SubmissionOutcome } from '../../domain/media-route.ts';
import type { Task } from '../../domain/task.ts';
import type { KindTraits, Recovery, SentSubmission } from '../../providers/media/adapter.ts';
import type { MediaUpstream } from '../../providers/media/upstream.ts';
import { requestedWaitMs } from './requested-wait.ts';
import type { MediaTaskDependencies } from './dependencies.ts';
import type { Heartbeat } from '../liveness.ts';
import { createOutcomeRecorder } from './record-outcome.ts';
import { renderRequestOf } from './render-request.ts';
import { unavailableWithPossibleJob } from './task-failure.ts';

interface SearchMethod {
  /** A description for operators. */
  readonly evidence: string;
  /** How long an upstream must keep reporting that it has no such job. Null: its list proves nothing. */
  readonly settleMs: number | null;
  /** Whether a job that it finds may belong to another submission, and to which ones. */
  readonly rivals: 'of the same body' | 'of the same model' | 'none';
}

const SEARCH_METHODS: Readonly<Partial<Record<Recovery, SearchMethod>>> = {
  key: { evidence: 'a look-up of its key', settleMs: 0, rivals: 'none' },
  id: { evidence: 'a look-up of our id', settleMs: 20_000, rivals: 'none' },
  content: { evidence: 'a look-up of what was sent', settleMs: 60_000, rivals: 'of the same body' },
  exclusion: { evidence: 'exclusion', settleMs: 60_000, rivals: 'of the same model' },
  candidates: { evidence: 'exclusion', settleMs: null, rivals: 'of the same model' },
};

/** Between searches, unless the patience with upstreams is shorter. */
const PAUSE_MS = 5_000;
/** Allows for the difference between an upstream's clock and ours, and limits which submissions can be confused. */
const CLOCK_SLACK_MS = 30_000;
const RIVALS_WITHIN_MS = 10 * 60_000;
/** An upstream must report more than once that it has no such job. */
const MISSES_UNTIL_CONFIRMED = 2;

/** Determines and records the outcome of the submission. @throws ApplicationFailure when giving up */
export type Recover = (
  task: Task,
  submission: StoredSubmission,
  heartbeat: Heartbeat,
) => Promise<SubmissionOutcome | null>;

export function createRecovery(dependencies: MediaTaskDependencies): Recover {
  const { database, upstreams, clock, providerPatienceMs } = dependencies;
  const recordOutcome = createOutcomeRecorder(dependencies);

  return async (task, submission, heartbeat) => {
    const context = Context.current();
    const upstream = upstreams.get(submission.provider);
    const traits = upstream?.traitsOf(task.kind);
    if (!upstream || !traits) throw new Error(`no upstream named ${submission.provider} is configured`);
    const method = SEARCH_METHODS[traits.recovery];
    const sent = sentSubmission(task, submission, upstream);
    const hasCallback = traits.answers === 'job' && upstream.callbackUrl(task.id) !== null;
    const limitMs = traits.recovery === 'key' ? DISPATCH_LIMIT_MS : RECOVERY_PATIENCES * providerPatienceMs;

    for (let misses = 0; ;) {
      const found = await searchJob({ database }, { method, submission, upstream, sent });
      if (found.state === 'one' && (await adopt(task, submission, found))) return 'accepted';
      misses = found.state === 'none' ? misses + 1 : 0;
      const ageMs = ageOf(submission, clock);
      if (method && isConfirmedMissing(traits, { misses, ageMs, settleMs: method.settleMs })) {
        return settle(task, submission, { outcome: 'not_taken', evidence: method.evidence });
      }
      // The callback may have arrived in the meantime.
      const recorded = await recordedOutcome(database, submission);
      if (recorded !== null) return recorded;
      const cannotBeFound = found.state === 'cannot tell' && !hasCallback;
      if (cannotBeFound || ageOf(submission, clock) > limitMs) return giveUp(task, submission, traits);
      heartbeat({ submission: submission.attempt, outcome: 'unknown', search: found.state });
      const requestedMs = requestedWaitMs(found.error, limitMs - ageOf(submission, clock));
      await context.sleep(Math.max(Math.min(PAUSE_MS, providerPatienceMs / 4), requestedMs));
    }
  };

  function isConfirmedMissing({ recovery }: KindTraits, { misses, ageMs, settleMs }: Search): boolean {
    if (recovery === 'key') return misses > 0;
    if (settleMs === null) return false;
    return misses >= MISSES_UNTIL_CONFIRMED && ageMs >= Math.min(settleMs, providerPatienceMs);
  }

  /** Counts renders whose result is not used. */
  async function giveUp(
    task: Task,
    submission: StoredSubmission,
    { recovery }: KindTraits,
  ): Promise<SubmissionOutcome> {
    // This job can be looked up at any time, and will be, in order to cancel it.
    if (recovery === 'key') throw unavailableWithPossibleJob();
    const detail = 'its outcome cannot be determined';
    return settle(task, submission, { outcome: 'unknown', evidence: 'nothing', detail, possibleLoss: task.price });
  }

  /** @returns false if another task took up the job in the meantime */
  async function adopt(task: Task, submission: StoredSubmission, { evidence, jobId }: FoundJob): Promise<boolean> {
    try {
      await recordOutcome(task, submission, { outcome: 'accepted', evidence, jobId });
      return true;
    } catch (error) {
      if (isJobOfAnotherTask(error)) return false;
      throw error;
    }
  }

  async function settle(task: Task, submission: StoredSubmission, settlement: Settlement): Promise<SubmissionOutcome> {
    await recordOutcome(task, submission, settlement);
    return settlement.outcome;
  }
}

async function recordedOutcome(
  database: Database,
  { taskId, attempt }: StoredSubmission,
): Promise<SubmissionOutcome | null> {
  const submissions = await listSubmissions(database, taskId);
  return submissions.find((one) => one.attempt === attempt)?.outcome ?? null;
}

/** How often in a row the upstream had no such job, how old the submission is, and how long it must be missing. */
interface Search {
  readonly misses: number;
  readonly ageMs: number;
  readonly settleMs: number | null;
}

interface FoundJob {
  readonly state: 'one';
  readonly jobId: string;
  readonly evidence: string;
}

type Found =
  | (FoundJob & { readonly error?: undefined })
  | { readonly state: 'none' | 'several' | 'cannot tell'; readonly error?: undefined }
  | { readonly state: 'unreachable'; readonly error: Error };

/** How a submission's job is distinguished from other jobs. */
type Submitted = Pick<StoredSubmission, 'taskId' | 'vendor' | 'model' | 'fingerprint' | 'submittedAt'>;

/**
 * Asks the upstream once. Ownership of the listed jobs is checked afterwards: a submission that was made before the
 * list was read is in the database by then.
 */
async function searchJob(
  { database }: Pick<MediaTaskDependencies, 'database'>,
  {
    method,
    submission,
    upstream,
    sent,
  }: { method: SearchMethod | undefined; submission: Submitted; upstream: MediaUpstream; sent: SentSubmission },
): Promise<Found> {
  if (!method) return { state: 'cannot tell' };
  const { taskId, vendor } = submission;
  const listed = await upstream.find(sent, Context.current().cancellationSignal).catch(unlessCancelled);
  if (listed instanceof Error) return { state: 'unreachable', error: listed };
  if (listed === null) return { state: 'cannot tell' };
  const owned = await findOwnedJobs(database, { taskId, vendor, jobIds: listed });
  const [jobId, ...others] = listed.filter((id) => !owned.has(id));
  if (jobId === undefined) return { state: 'none' };
  if (others.length > 0) return { state: 'several' };
  const isOurs =
    method.rivals === 'none' ||
    !(await hasAmbiguousSubmissions(database, submission, {
      fingerprint: method.rivals === 'of the same body' ? submission.fingerprint : null,
      withinMs: RIVALS_WITHIN_MS,
    }));
  return isOurs ? { state: 'one', jobId, evidence: method.evidence } : { state: 'several' };
}

/**
 * Finds the job of a submission whose task nobody waits for any more, so that it can be cancelled; otherwise counts it as a
 * possible loss.
 *
 * @throws Error to be tried again, while the upstream does not say, or may not have got the submission yet
 */
export function createSubmissionCloser({ database, clock, metrics }: MediaTaskDependencies) {
  return async (task: Task, submission: StoredSubmission, upstream: MediaUpstream): Promise<string | null> => {
    const method = SEARCH_METHODS[upstream.traitsOf(task.kind)?.recovery ?? 'none'];
    const sent = sentSubmission(task, submission, upstream);
    const found = await searchJob({ database }, { method, submission, upstream, sent });
    if (found.state === 'unreachable') throw found.error;
    if (found.state === 'none' && ageOf(submission, clock) < SUBMISSION_SURELY_SENT_MS) {
      throw new Error('the submission may still be on its way');
    }
    const settlement = closingOf(found, task, method);
    const isNew = await settleSubmission(database, submission, settlement);
    if (isNew) metrics.submissionSettled(submission.provider, settlement);
    return settlement.jobId ?? null;
  };
}

/**
 * Finds the job of a task without submissions, which the database may have lost by being restored to an earlier moment:
 * at an upstream that knows jobs by the task's id.
 *
 * @throws Error to be tried again, while the upstream does not say
 */
export function createForgottenJobFinder({ database }: MediaTaskDependencies) {
  return async (task: Task, upstream: MediaUpstream): Promise<string | null> => {
    const method = SEARCH_METHODS[upstream.traitsOf(task.kind)?.recovery ?? 'none'];
    const route = task.request.routes.find(({ provider }) => provider === task.provider);
    if (method?.rivals !== 'none' || !route) return null;
    const { id: taskId, createdAt: submittedAt } = task;
    const submission = { taskId, vendor: upstream.vendor, model: route.model, fingerprint: '', submittedAt };
    const sent = { request: renderRequestOf(task, route, upstream), fingerprint: '', since: submittedAt };
    const found = await searchJob({ database }, { method, submission, upstream, sent });
    if (found.state === 'unreachable') throw found.error;
    return found.state === 'one' ? found.jobId : null;
  };
}

function closingOf(found: Found, task: Task, method: SearchMethod | undefined): Settlement {
  if (found.state === 'one') return { outcome: 'accepted', evidence: found.evidence, jobId: found.jobId };
  if (found.state === 'none' && method && method.settleMs !== null)
    return { outcome: 'not_taken', evidence: method.evidence };
  const detail = 'the task ended before its outcome was known';
  return { outcome: 'unknown', evidence: 'nothing', detail, possibleLoss: task.price };
}

function sentSubmission(task: Task, submission: StoredSubmission, upstream: MediaUpstream): SentSubmission {
  const route = task.request.routes[submission.route];
  if (!route) throw new Error(`task ${task.id} has no route ${submission.route}`);
  return {
    request: renderRequestOf(task, route, upstream),
    fingerprint: submission.fingerprint,
    since: new Date(submission.submittedAt.getTime() - CLOCK_SLACK_MS),
  };
}

/** @returns why an upstream does not answer now */
function unlessCancelled(error: unknown): Error {
  Context.current().cancellationSignal.throwIfAborted();
  return error instanceof Error ? error : new Error(String(error));
}

function ageOf({ submittedAt }: StoredSubmission, clock: Clock): number {
  return clock.nowMs() - submittedAt.getTime();
}
