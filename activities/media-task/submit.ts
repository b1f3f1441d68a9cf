/** One attempt to submit a task: recorded before it is sent, and settled by its answer. */
import { Context } from '@temporalio/activity';
import { isJobOfAnotherTask, type StoredSubmission, openSubmission } from '../../db/queries/submissions.ts';
import { HEARTBEAT_TIMEOUT_MS } from '../../domain/step-limits.ts';
import type { Task } from '../../domain/task.ts';
import type { Accepted, RenderRequest } from '../../providers/media/adapter.ts';
import { fingerprintOf } from '../../providers/media/json.ts';
import { JobRefusedError, NotTakenError, OutcomeUnknownError } from '../../providers/media/outcomes.ts';
import type { MediaUpstream } from '../../providers/media/upstream.ts';
import { vendorMessageOf } from '../../providers/media/vendor-message.ts';
import type { VendorCall } from '../../providers/media/vendor-http.ts';
import type { MediaTaskDependencies } from './dependencies.ts';
import { UnreadableInputError } from './read-inputs.ts';
import { createCostRecorder } from './record-cost.ts';
import { createOutcomeRecorder } from './record-outcome.ts';
import { renderRequestOf } from './render-request.ts';
import type { Candidate } from './routes.ts';
import { taskFailure } from './task-failure.ts';
import type { Failover } from './failover.ts';

/** A submission that an upstream accepted. */
export type Submitted =
  | { readonly state: 'waiting'; readonly jobId: string }
  /** The files, which exist only here. */
  | {
      readonly state: 'answered';
      readonly submission: StoredSubmission;
      readonly answer: Extract<Accepted, { files: unknown }>;
      readonly upstream: MediaUpstream;
    };

/**
 * @returns null if another route must be taken, or something must be found out first
 * @throws ApplicationFailure if the task, or this attempt of the step, is over
 */
export type Submit = (task: Task, candidate: Candidate, attempt: number) => Promise<Submitted | null>;

interface Attempt {
  readonly task: Task;
  readonly candidate: Candidate;
  readonly attempt: number;
  readonly call: VendorCall;
  /** The vendor's name for it. */
  readonly model: string;
}

export function createSubmit(dependencies: MediaTaskDependencies, failover: Failover): Submit {
  const { database, metrics } = dependencies;
  const recordOutcome = createOutcomeRecorder(dependencies);
  const recordCost = createCostRecorder(dependencies);

  return async function submit(task, candidate, attempt) {
    const request = await requestFor(task, candidate);
    const call = prepared(candidate.upstream, request);
    const startedAt = performance.now();
    const submission = await open({ task, candidate, attempt, call, model: request.model });
    if (!submission) return null;
    // By now a worker that froze here counts as dead, and another is looking for a submission that was never sent.
    if (performance.now() - startedAt > HEARTBEAT_TIMEOUT_MS) throw new Error('the worker was frozen');
    try {
      const { upstream, traits } = candidate;
      const answer = await upstream.submit(call, request, signalFor(traits.answers));
      if ('files' in answer) return { state: 'answered', submission, answer, upstream };
      const settlement = { outcome: 'accepted', evidence: 'the answer', jobId: answer.jobId } as const;
      await recordOutcome(task, submission, settlement).catch(asUnknown);
      return { state: 'waiting', jobId: answer.jobId };
    } catch (error) {
      await recordFailure(task, submission, error);
      return null;
    }
  };

  async function requestFor(task: Task, candidate: Candidate): Promise<RenderRequest> {
    const files =
      candidate.traits.inputs === 'bytes'
        ? await dependencies.readInputs(task.request, Context.current().cancellationSignal).catch(asBadRequest)
        : new Map<string, never>();
    return { ...renderRequestOf(task, candidate.route, candidate.upstream), files };
  }

  /** @returns null if another worker has recorded this attempt, or the task is final */
  function open({ task, candidate, attempt, call, model }: Attempt): Promise<StoredSubmission | null> {
    const { route, traits, index } = candidate;
    return openSubmission(
      database,
      {
        taskId: task.id,
        attempt,
        route: index,
        provider: route.provider,
        vendor: candidate.upstream.vendor,
        model,
        fingerprint: fingerprintOf(call.identity ?? call.body),
      },
      { isRendering: traits.answers === 'files' },
    );
  }

  async function recordFailure(task: Task, submission: StoredSubmission, error: unknown): Promise<void> {
    if (error instanceof JobRefusedError) {
      const refused = { outcome: 'refused', code: error.code, detail: vendorMessageOf(error) } as const;
      await recordOutcome(task, submission, { ...refused, evidence: 'the answer' });
      if (error.cost !== null) await recordCost(task, error.cost);
      throw taskFailure(error.code, error.message, error.detail);
    }
    if (error instanceof NotTakenError) {
      const { isRouteExcluded, reason: code, message: detail } = error;
      const found = { outcome: 'not_taken', evidence: 'the answer' } as const;
      await recordOutcome(task, submission, { ...found, code, detail, isRouteExcluded });
      return failover.throwUnlessElsewhere(task, error);
    }
    // Left open: the next pass of the loop, or the next attempt, finds out the outcome.
    if (!(error instanceof OutcomeUnknownError)) throw error;
    metrics.submissionUnclear(submission.provider);
  }
}

/** The client of a task must never get another task's files. */
function asUnknown(error: unknown): never {
  if (!isJobOfAnotherTask(error)) throw error;
  throw new OutcomeUnknownError('the upstream answered with the job of another task', { cause: error });
}

/** @throws ApplicationFailure for a request that the upstream's format cannot express */
function prepared(upstream: MediaUpstream, request: RenderRequest): VendorCall {
  try {
    return upstream.prepare(request);
  } catch (error) {
    if (error instanceof JobRefusedError) throw taskFailure(error.code, error.message);
    throw error;
  }
}

/** A submission in progress is not aborted, because its answer says what to cancel. A long render is. */
function signalFor(answers: 'job' | 'files'): AbortSignal {
  return answers === 'files' ? Context.current().cancellationSignal : new AbortController().signal;
}

function asBadRequest(error: unknown): never {
  if (error instanceof UnreadableInputError) throw taskFailure('bad_request', error.message);
  throw error;
}
