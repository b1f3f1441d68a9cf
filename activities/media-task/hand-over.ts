/**
 * Submits a task to an upstream so that it is rendered once, whatever dies when. The submission is committed before
 * anything is sent. Whoever finds a submission without an outcome first finds out what happened to it (`recover.ts`),
 * and sends nothing before that. What was certainly not accepted is submitted again, to the next route or later.
 */
import { ApplicationFailure } from '@temporalio/common';
import { Context } from '@temporalio/activity';
import { type KeptSubmission, listSubmissions, openSubmission } from '../../db/queries/submissions.ts';
import { isTaskErrorCode } from '../../domain/errors.ts';
import { DISPATCH_LIMIT_MS, HEARTBEAT_TIMEOUT_MS } from '../../domain/step-limits.ts';
import type { GeneratedMedia, Task } from '../../domain/task.ts';
import type { Accepted, RenderRequest } from '../../providers/media/adapter.ts';
import { fingerprintOf } from '../../providers/media/json.ts';
import { JobRefusedError, NotTakenError, OutcomeUnknownError } from '../../providers/media/outcomes.ts';
import type { MediaUpstream } from '../../providers/media/upstream.ts';
import type { VendorCall } from '../../providers/media/vendor-http.ts';
import { loadTask, type MediaTaskDependencies } from './dependencies.ts';
import type { Say } from './liveness.ts';
import { UnreadableInputError } from './read-inputs.ts';
import { createRecovery } from './recover.ts';
import { renderRequestOf } from './render-request.ts';
import { nextTurn, type RouteSteps, stepsOf, type Turn } from './routes.ts';
import { createSettle } from './settle.ts';
import { taskFailure, throwIfFailed, throwIfStoreAway, transferFailed, unavailable } from './task-failure.ts';

/** The result of submitting a task. */
export type HandedOver =
  | { readonly state: 'waiting'; readonly jobId: string }
  /** The files, which exist only here. */
  | {
      readonly state: 'answered';
      readonly submission: KeptSubmission;
      readonly answer: AnsweredFiles;
      readonly upstream: MediaUpstream;
    }
  /** An earlier attempt stored the files. */
  | { readonly state: 'stored'; readonly files: readonly GeneratedMedia[] }
  /** It is the turn of the next route, whose steps run elsewhere. */
  | { readonly state: 'moving'; readonly steps: RouteSteps };

type AnsweredFiles = Extract<Accepted, { files: unknown }>;

export function createHandOver(dependencies: MediaTaskDependencies) {
  const { database, storage, clock, metrics } = dependencies;
  const recover = createRecovery(dependencies);
  const settle = createSettle(dependencies);

  /**
   * Continues submitting a task, wherever an earlier attempt left off.
   *
   * @param here the work of the calling step, and its queue
   * @throws ApplicationFailure with the code of a final refusal; one that is retried while no upstream accepts the job
   */
  return async function handOver(taskId: string, here: RouteSteps, say: Say): Promise<HandedOver> {
    for (;;) {
      const task = await loadTask(database, taskId);
      throwIfFailed(task);
      const submissions = await listSubmissions(database, taskId);
      const last = submissions.at(-1);
      // The callback may have told of the job since the task was read.
      const jobId = task.providerJobId ?? last?.jobId ?? null;
      if (jobId !== null) return { state: 'waiting', jobId };
      if (last?.outcome === 'accepted') return storedEarlier(last);
      if (last?.outcome === 'refused') throw refusedEarlier(last);
      if (last?.outcome === 'unknown' && !isSentAgain(submissions)) throw unavailable();
      if (last?.outcome === null) {
        const outcome = await recover(task, last, say);
        if (outcome === 'not_taken')
          await throwUnlessElsewhere(task, new NotTakenError('the upstream has no job for it'));
        continue;
      }
      const turn = takeTurn(task, submissions);
      const steps = stepsOf(dependencies, turn);
      if (steps.answers !== here.answers || steps.taskQueue !== here.taskQueue) return { state: 'moving', steps };
      if (submissions.length === 0) await throwIfStoreAway(storage);
      const handedOver = await submit(task, turn, submissions.length + 1);
      if (handedOver) return handedOver;
    }
  };

  /** Whether what was given up is sent once more: where the operator wants that. */
  function isSentAgain(submissions: readonly KeptSubmission[]): boolean {
    const [lost, ...others] = submissions.filter(({ outcome }) => outcome === 'unknown');
    return others.length === 0 && dependencies.upstreams.get(lost?.provider ?? '')?.onUnknown === 'resubmit';
  }

  /** @throws ApplicationFailure if no upstream can take the task, or none can yet */
  function takeTurn(task: Task, submissions: readonly KeptSubmission[]): Turn {
    const turn = nextTurn(dependencies, task, submissions);
    if (!turn) throw unavailable();
    if (!turn.isFirst && leftMs(submissions, clock.nowMs()) < 0) throw unavailable();
    return turn;
  }

  /** @returns null if another route must be taken, or something must be found out first */
  async function submit(task: Task, turn: Turn, attempt: number): Promise<HandedOver | null> {
    const { upstream, route, traits, index } = turn;
    const request = await requestFor(task, turn);
    const call = prepared(upstream, request);
    const startedAt = performance.now();
    const submission = await openSubmission(
      database,
      {
        taskId: task.id,
        attempt,
        route: index,
        provider: route.provider,
        model: request.model,
        fingerprint: fingerprintOf(call.identity ?? call.body),
      },
      { isRendering: traits.answers === 'files' },
    );
    if (!submission) return null;
    // By now a worker that froze here counts as dead, and another is looking for a submission that was never sent.
    if (performance.now() - startedAt > HEARTBEAT_TIMEOUT_MS) throw new Error('the worker was frozen');
    try {
      const answer = await upstream.submit(call, request, signalFor(traits.answers));
      if ('files' in answer) return { state: 'answered', submission, answer, upstream };
      await settle(submission, { outcome: 'accepted', learntFrom: 'the answer', jobId: answer.jobId });
      return { state: 'waiting', jobId: answer.jobId };
    } catch (error) {
      await settleFailed(task, submission, turn, error);
      return null;
    }
  }

  /** @throws ApplicationFailure if the task, or this attempt of the step, is over */
  async function settleFailed(task: Task, submission: KeptSubmission, turn: Turn, error: unknown): Promise<void> {
    if (error instanceof JobRefusedError) {
      const detail = `${error.code}: ${error.message}`;
      await settle(submission, { outcome: 'refused', learntFrom: 'the answer', detail });
      throw taskFailure(error.code, error.message);
    }
    if (error instanceof NotTakenError) {
      const { leavesRoute, message: detail } = error;
      await settle(submission, { outcome: 'not_taken', learntFrom: 'the answer', detail, leavesRoute });
      await throwUnlessElsewhere(task, error);
      return;
    }
    // Left open: the next turn of the loop, or the next attempt, finds out the outcome.
    if (!(error instanceof OutcomeUnknownError)) throw error;
    metrics.submissionUnclear(turn.route.provider);
  }

  /** @throws ApplicationFailure that is retried once every route was tried, or final if it would be too late by then */
  async function throwUnlessElsewhere(task: Task, reason: NotTakenError): Promise<void> {
    Context.current().cancellationSignal.throwIfAborted();
    const submissions = await listSubmissions(database, task.id);
    const turn = nextTurn(dependencies, task, submissions);
    if (!turn) throw unavailable();
    if (turn.isFirst) return;
    const { retryAfterMs } = reason;
    if (retryAfterMs !== undefined && retryAfterMs > leftMs(submissions, clock.nowMs())) throw unavailable();
    throw ApplicationFailure.create({
      message: reason.message,
      type: 'NotTaken',
      ...(retryAfterMs !== undefined && { nextRetryDelay: retryAfterMs }),
    });
  }

  async function requestFor(task: Task, turn: Turn): Promise<RenderRequest> {
    const files =
      turn.traits.inputs === 'bytes'
        ? await dependencies.readInputs(task.request, Context.current().cancellationSignal).catch(asBadRequest)
        : new Map<string, never>();
    return { ...renderRequestOf(task, turn.route, turn.upstream), files };
  }
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

/** The time left for some upstream to accept the job. */
function leftMs(submissions: readonly KeptSubmission[], nowMs: number): number {
  const lastUnknown = submissions.findLastIndex(({ outcome }) => outcome === 'unknown');
  const since = submissions[lastUnknown + 1]?.submittedAt.getTime() ?? nowMs;
  return since + DISPATCH_LIMIT_MS - nowMs;
}

/** A submission in progress is not aborted, because its answer says what to cancel. A long render is. */
function signalFor(answers: 'job' | 'files'): AbortSignal {
  return answers === 'files' ? Context.current().cancellationSignal : new AbortController().signal;
}

function storedEarlier({ files }: KeptSubmission): HandedOver {
  if (files) return { state: 'stored', files };
  throw transferFailed();
}

/** The verdict that an earlier attempt wrote down, and died before it could fail with it. */
function refusedEarlier({ detail }: KeptSubmission): Error {
  const [code = '', ...words] = (detail ?? '').split(': ');
  return taskFailure(isTaskErrorCode(code) ? code : 'processing_failed', words.join(': '));
}

function asBadRequest(error: unknown): never {
  if (error instanceof UnreadableInputError) throw taskFailure('bad_request', error.message);
  throw error;
}
