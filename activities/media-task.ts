/**
 * The steps of a media task. Each is safe to run again: money by the ledger's unique keys, the provider by the task id as
 * its idempotency key, storage by names of each attempt's own. A business failure is an ApplicationFailure whose type is a
 * task error code; anything else is retried.
 */
import { ApplicationFailure } from '@temporalio/common';
import { Context } from '@temporalio/activity';
import type { Database } from '../db/database.ts';
import { eventOf, type FinishedTask, finishTask, type TaskEnding } from '../db/queries/finish-task.ts';
import { findTask, markProcessing, markTakenUp } from '../db/queries/tasks.ts';
import type { TaskErrorCode } from '../domain/errors.ts';
import { type GeneratedMedia, isFinal, type Task } from '../domain/task.ts';
import { STORE_AWAY } from '../domain/step-limits.ts';
import { providerQueue } from '../domain/task-queues.ts';
import type { MediaProvider, RenderRequest } from '../providers/media-provider.ts';
import type { WatchedStorage } from '../storage/watched.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createHeart, sleepBeating } from './liveness.ts';
import { createResultStorer } from './store-result.ts';
import { taskFailure, withVerdict } from './task-failure.ts';

export interface MediaTaskDependencies {
  readonly database: Database;
  /** By name, as tasks name them. */
  readonly providers: ReadonlyMap<string, MediaProvider>;
  /** Those whose steps run on a task queue of their own. */
  readonly limitedProviders: ReadonlySet<string>;
  readonly storage: WatchedStorage;
  /** How long a provider may contradict itself: know no job that it took, or have no file that it announced. */
  readonly providerPatienceMs: number;
  /** Longest wait between two polls of a job. */
  readonly pollIntervalMs: number;
  /** Where a provider may announce the end of a job; null when nobody listens to that provider. */
  readonly callbackUrl: (provider: string, taskId: string) => string | null;
  readonly metrics: Metrics;
}

export interface ConfirmedReservation {
  readonly reservationId: string;
  /** The task was final before its workflow began: there is nothing to do. */
  readonly alreadyFinal: boolean;
  /** Where the steps that call the provider are to run, when not where the workflow runs. */
  readonly providerQueue?: string;
}

export interface Resolution {
  readonly transferId: string;
  readonly taskStatus: string;
  readonly deliveryIds: readonly string[];
}

/** The first pause between two polls; each next one doubles, up to the configured interval. */
const FIRST_POLL_MS = 200;
/** A provider that keeps saying it knows no such job has lost it; one that forgets it for a while, such as during a deploy, has not. */
const UNKNOWN_ANSWERS_UNTIL_LOST = 5;

export type MediaTaskActivities = ReturnType<typeof createMediaTaskActivities>;

export function createMediaTaskActivities(dependencies: MediaTaskDependencies) {
  const { database, providers, limitedProviders, storage, providerPatienceMs, pollIntervalMs, metrics } = dependencies;
  const storeResult = createResultStorer(dependencies);

  async function loadTask(taskId: string): Promise<Task> {
    return required(taskId, await findTask(database, taskId));
  }

  function providerOf(task: Task): MediaProvider {
    const provider = providers.get(task.provider);
    if (!provider) throw new Error(`no provider named ${task.provider} is configured`);
    return provider;
  }

  function toRenderRequest(task: Task): RenderRequest {
    const callbackUrl = dependencies.callbackUrl(task.provider, task.id);
    return { ...task.request, taskId: task.id, ...(callbackUrl !== null && { callbackUrl }) };
  }

  /** @returns says whether the provider has known no such job often and long enough to be believed */
  function createLossWatch(): (isUnknown: boolean) => boolean {
    let answers = 0;
    let sinceMs = 0;
    return (isUnknown) => {
      answers = isUnknown ? answers + 1 : 0;
      if (answers === 1) sinceMs = performance.now();
      return answers >= UNKNOWN_ANSWERS_UNTIL_LOST && performance.now() - sinceMs >= providerPatienceMs;
    };
  }

  async function finish(taskId: string, ending: TaskEnding, sendsEvent: boolean): Promise<Resolution> {
    const event = sendsEvent ? eventOf(ending) : null;
    const finished = await finishTask(database, taskId, ending, event).catch(async (error: unknown) => {
      // A task that a restored database has lost will not come back: no repetition helps.
      await loadTask(taskId);
      throw error;
    });
    if (finished.applied) metrics.taskEnded(finished.task);
    return toResolution(finished);
  }

  return {
    /** Confirms that the money of this task is held, and records that its workflow runs. */
    async reserve(taskId: string): Promise<ConfirmedReservation> {
      const task = required(taskId, await markTakenUp(database, taskId));
      return {
        reservationId: task.reservationId,
        alreadyFinal: isFinal(task.status),
        ...(limitedProviders.has(task.provider) && { providerQueue: providerQueue(task.provider) }),
      };
    },

    /**
     * Hands the job to the provider, once however often it runs.
     *
     * @returns the provider's job id
     * @throws ApplicationFailure of the type {@link STORE_AWAY} while nothing that is rendered could be stored
     */
    async dispatch(taskId: string): Promise<string> {
      const task = await loadTask(taskId);
      throwIfFailed(task);
      if (task.providerJobId !== null) return task.providerJobId;
      const { cancellationSignal: signal, info } = Context.current();
      const isRepeated = info.attempt > 1;
      if (!isRepeated && !(await storage.isAvailable())) throw storeAway();
      const provider = providerOf(task);
      // An earlier submission may have been accepted, whatever its answer was.
      const accepted = isRepeated ? await provider.findByTask(taskId, signal) : null;
      const jobId = accepted ?? (await withVerdict(() => provider.submit(toRenderRequest(task), signal)));
      await markProcessing(database, taskId, jobId);
      return jobId;
    },

    /**
     * Polls the provider until it gives its verdict. An error of a poll is not one. Ends with the number of results, or
     * fails with the provider's code; only the deadline of the activity ends the wait for a job that says nothing.
     */
    async awaitResult(taskId: string, jobId: string): Promise<number> {
      const provider = providerOf(await loadTask(taskId));
      const context = Context.current();
      const beat = createHeart(context);
      const lost = createLossWatch();
      let pauseMs = Math.min(FIRST_POLL_MS, pollIntervalMs);
      for (let poll = 1; ; poll += 1) {
        const state = await provider.status(jobId, context.cancellationSignal).catch(describeError);
        const said = { jobId, poll, state: state.state, ...('detail' in state && { detail: state.detail }) };
        beat(said);
        if (state.state === 'succeeded') return state.results.length;
        if (state.state === 'failed') throw taskFailure(state.code, state.message);
        if (lost(state.state === 'unknown')) {
          throw taskFailure('processing_failed', 'The model lost this task. Send the request again.');
        }
        await sleepBeating(context, pauseMs, () => beat(said));
        pauseMs = Math.min(pauseMs * 2, pollIntervalMs);
      }
    },

    /**
     * Streams the results into storage and checks that they are what was asked for. A task that has ended meanwhile keeps
     * the ending it has.
     */
    async storeResult(taskId: string, jobId: string): Promise<readonly GeneratedMedia[]> {
      const task = await loadTask(taskId);
      throwIfFailed(task);
      return task.output ?? storeResult(task, providerOf(task), jobId);
    },

    /** Turns the reservation into a charge and ends the task as succeeded. */
    async settle(taskId: string, output: readonly GeneratedMedia[]): Promise<Resolution> {
      return finish(taskId, { status: 'succeeded', output }, true);
    },

    /** Gives the whole reservation back and ends the task as failed. A processing timeout sends no event. */
    async refund(taskId: string, code: TaskErrorCode, message: string): Promise<Resolution> {
      return finish(taskId, { status: 'failed', failure: { code, message } }, code !== 'processing_timeout');
    },

    /** Tells the provider that nobody waits for this task any more, also when its submission was never acknowledged. */
    async cancelJob(taskId: string): Promise<void> {
      const task = await loadTask(taskId);
      const provider = providerOf(task);
      const signal = Context.current().cancellationSignal;
      const jobId = task.providerJobId ?? (await provider.findByTask(taskId, signal));
      if (jobId !== null) await provider.cancel(jobId, signal);
    },
  };
}

function required(taskId: string, task: Task | null): Task {
  if (!task) throw ApplicationFailure.nonRetryable(`there is no task ${taskId}`, 'TaskMissing');
  return task;
}

/** A task that was refunded is not worked on again, by whomever: its ending stands. */
function throwIfFailed({ failure }: Task): void {
  if (failure !== null) throw taskFailure(failure.code, failure.message);
}

function storeAway(): ApplicationFailure {
  return ApplicationFailure.nonRetryable(
    'The store is away, so that nothing is rendered that could not be kept.',
    STORE_AWAY,
  );
}

function toResolution({ resolutionId, task, deliveryIds }: FinishedTask): Resolution {
  return { transferId: resolutionId, taskStatus: task.status, deliveryIds };
}

/** A poll that failed says nothing about the job; the operator sees it in the heartbeat. */
function describeError(error: unknown): { readonly state: 'unreachable'; readonly detail: string } {
  if (error instanceof Error && error.name === 'AbortError') throw error;
  return { state: 'unreachable', detail: error instanceof Error ? error.message : String(error) };
}
