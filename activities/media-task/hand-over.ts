/**
 * Hands a task over to an upstream, so that it is rendered once whatever dies when. Before anything is sent, that it will be
 * is committed; whoever finds such a submission without an outcome first learns what became of it (`recover.ts`), and sends
 * nothing before. What is certain not to have been taken is sent again, to the next route or later.
 */
import { ApplicationFailure } from '@temporalio/common';
import { Context } from '@temporalio/activity';
import { type KeptSubmission, listSubmissions, openSubmission } from '../../db/queries/submissions.ts';
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

/** What became of handing a task over. */
export type HandedOver =
  | { readonly state: 'waiting'; readonly jobId: string }
  /** The files are here, and nowhere else. */
  | {
      readonly state: 'answered';
      readonly submission: KeptSubmission;
      readonly answer: AnsweredFiles;
      readonly upstream: MediaUpstream;
    }
  /** An earlier attempt stored the files. */
  | { readonly state: 'stored'; readonly files: readonly GeneratedMedia[] }
  /** The next route has its turn, whose steps run elsewhere. */
  | { readonly state: 'moving'; readonly steps: RouteSteps };

type AnsweredFiles = Extract<Accepted, { files: unknown }>;

export function createHandOver(dependencies: MediaTaskDependencies) {
  const { database, storage, clock, metrics } = dependencies;
  const recover = createRecovery(dependencies);
  const settle = createSettle(dependencies);

  /**
   * Goes on with handing a task over, wherever an earlier attempt left off.
   *
   * @param here what the calling step does, and where it runs
   * @throws ApplicationFailure that is final with the code of a verdict; one to be tried again while nobody takes the job
   */
  return async function handOver(taskId: string, here: RouteSteps, say: Say): Promise<HandedOver> {
    for (;;) {
      const task = await loadTask(database, taskId);
      throwIfFailed(task);
      const submissions = await listSubmissions(database, taskId);
      const last = submissions.at(-1);
      if (task.providerJobId !== null) return { state: 'waiting', jobId: task.providerJobId };
      if (last?.outcome === 'accepted') return storedEarlier(last);
      if (last?.outcome === null) {
        const outcome = await recover(task, last, say);
        if (outcome === 'not_taken')
          await throwUnlessElsewhere(task, new NotTakenError('the upstream has no job of it'));
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

  /** @throws ApplicationFailure when nothing is to be had anywhere, or not yet */
  function takeTurn(task: Task, submissions: readonly KeptSubmission[]): Turn {
    const turn = nextTurn(dependencies, task, submissions);
    if (!turn) throw unavailable();
    if (!turn.isFirst && leftMs(submissions, clock.nowMs()) < 0) throw unavailable();
    return turn;
  }

  /** @returns null when there is another route to take, or something to find out */
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
    // A worker that froze here has been taken for dead by now, and another one looks for what was never sent.
    if (performance.now() - startedAt > HEARTBEAT_TIMEOUT_MS) throw new Error('the worker stood still');
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

  /** @throws ApplicationFailure where the task, or this attempt of the step, is over */
  async function settleFailed(task: Task, submission: KeptSubmission, turn: Turn, error: unknown): Promise<void> {
    if (error instanceof JobRefusedError) {
      await settle(submission, {
        outcome: 'refused',
        learntFrom: 'the answer',
        detail: `${error.code}: ${error.message}`,
      });
      throw taskFailure(error.code, error.message);
    }
    if (error instanceof NotTakenError) {
      const { leavesRoute, message: detail } = error;
      await settle(submission, { outcome: 'not_taken', learntFrom: 'the answer', detail, leavesRoute });
      await throwUnlessElsewhere(task, error);
      return;
    }
    // Left open: what became of it is found out by the next turn of the loop, or by the next attempt.
    if (!(error instanceof OutcomeUnknownError)) throw error;
    metrics.submissionUnclear(turn.route.provider);
  }

  /** @throws ApplicationFailure to be tried again when every route was tried, or final when it would be too late then */
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

/** @throws ApplicationFailure for a request that the upstream has no words for */
function prepared(upstream: MediaUpstream, request: RenderRequest): VendorCall {
  try {
    return upstream.prepare(request);
  } catch (error) {
    if (error instanceof JobRefusedError) throw taskFailure(error.code, error.message);
    throw error;
  }
}

/** What is left of the time in which somebody has to take the job, since nobody may have it. */
function leftMs(submissions: readonly KeptSubmission[], nowMs: number): number {
  const lastUnknown = submissions.findLastIndex(({ outcome }) => outcome === 'unknown');
  const since = submissions[lastUnknown + 1]?.submittedAt.getTime() ?? nowMs;
  return since + DISPATCH_LIMIT_MS - nowMs;
}

/** A submission that is under way is not broken off: its answer tells what is to be cancelled. A long render is. */
function signalFor(answers: 'job' | 'files'): AbortSignal {
  return answers === 'files' ? Context.current().cancellationSignal : new AbortController().signal;
}

function storedEarlier({ files }: KeptSubmission): HandedOver {
  if (files) return { state: 'stored', files };
  throw transferFailed();
}

function asBadRequest(error: unknown): never {
  if (error instanceof UnreadableInputError) throw taskFailure('bad_request', error.message);
  throw error;
}
