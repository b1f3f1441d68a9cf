/**
 * The steps of a media task. Each is safe to run again: money by the ledger's unique keys, the provider by the task id as
 * its idempotency key, storage by overwriting the same object. A business failure is an ApplicationFailure whose type is a
 * task error code; anything else is retried.
 */
import { ApplicationFailure } from '@temporalio/common';
import { Context } from '@temporalio/activity';
import type { Database } from '../db/database.ts';
import { type FinishedTask, finishTask, type TaskEnding } from '../db/queries/finish-task.ts';
import { findTask, markProcessing } from '../db/queries/tasks.ts';
import type { TaskErrorCode } from '../domain/errors.ts';
import { newId } from '../domain/ids.ts';
import { type GeneratedMedia, isFinal, type Task } from '../domain/task.ts';
import { providerQueue } from '../domain/task-queues.ts';
import { type JobResult, JobRefusedError, type MediaProvider } from '../providers/media-provider.ts';
import { detectFileType, FILE_TYPE_BYTES } from '../storage/file-type.ts';
import { matchesRequest } from '../storage/media/matches-request.ts';
import { BrokenMediaError } from '../storage/media/streamed-input.ts';
import { inspectMedia } from '../storage/media-inspector.ts';
import { peek } from '../storage/peek.ts';
import { ObjectTooLargeError, type Storage } from '../storage/storage.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { renderEvent } from '../webhooks/event.ts';

export interface MediaTaskDependencies {
  readonly database: Database;
  /** By name, as tasks name them. */
  readonly providers: ReadonlyMap<string, MediaProvider>;
  /** Those whose steps run on a task queue of their own. */
  readonly limitedProviders: ReadonlySet<string>;
  readonly storage: Storage;
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

const FIRST_HEARTBEAT_MS = 2_000;
/** Well below the heartbeat timeout of the workflow's activities. */
const MAX_SILENCE_MS = 5_000;
/** The first pause between two polls; each next one doubles, up to the configured interval. */
const FIRST_POLL_MS = 200;
/** A provider that keeps saying it knows no such job has lost it. */
const UNKNOWN_ANSWERS_UNTIL_LOST = 5;
/** So often a result is fetched that does not arrive as it should. */
const MAX_TRANSFERS = 4;
/** Larger results are refused rather than stored. */
const MAX_RESULT_BYTES = 2 * 2 ** 30;

export type MediaTaskActivities = ReturnType<typeof createMediaTaskActivities>;

export function createMediaTaskActivities(dependencies: MediaTaskDependencies) {
  const { database, providers, limitedProviders, storage, pollIntervalMs, callbackUrl, metrics } = dependencies;

  async function loadTask(taskId: string): Promise<Task> {
    const task = await findTask(database, taskId);
    if (!task) throw ApplicationFailure.nonRetryable(`there is no task ${taskId}`, 'TaskMissing');
    return task;
  }

  function providerOf(task: Task): MediaProvider {
    const provider = providers.get(task.provider);
    if (!provider) throw new Error(`no provider named ${task.provider} is configured`);
    return provider;
  }

  async function finish(taskId: string, ending: TaskEnding, sendsEvent: boolean): Promise<Resolution> {
    const type = ending.status === 'succeeded' ? 'task.succeeded' : 'task.failed';
    const eventId = newId('event');
    const event = { id: eventId, type, payload: (task: Task) => renderEvent({ id: eventId, type, task }) } as const;
    const finished = await finishTask(database, taskId, ending, sendsEvent ? event : null).catch(
      async (error: unknown) => {
        // A task that a restored database has lost will not come back: no repetition helps.
        await loadTask(taskId);
        throw error;
      },
    );
    if (finished.applied) metrics.taskEnded(finished.task);
    return toResolution(finished);
  }

  return {
    /** Confirms that the money of this task is held. */
    async reserve(taskId: string): Promise<ConfirmedReservation> {
      const task = await loadTask(taskId);
      return {
        reservationId: task.reservationId,
        alreadyFinal: isFinal(task.status),
        ...(limitedProviders.has(task.provider) && { providerQueue: providerQueue(task.provider) }),
      };
    },

    /** Hands the job to the provider, once however often it runs. @returns the provider's job id */
    async dispatch(taskId: string): Promise<string> {
      const task = await loadTask(taskId);
      if (task.providerJobId !== null) return task.providerJobId;
      const provider = providerOf(task);
      const signal = Context.current().cancellationSignal;
      const callback = callbackUrl(task.provider, taskId);
      const request = { ...task.request, taskId, ...(callback !== null && { callbackUrl: callback }) };
      const jobId = await withVerdict(() => provider.submit(request, signal));
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
      let unknownAnswers = 0;
      let pauseMs = Math.min(FIRST_POLL_MS, pollIntervalMs);
      for (let poll = 1; ; poll += 1) {
        const state = await provider.status(jobId, context.cancellationSignal).catch(describeError);
        const said = { jobId, poll, state: state.state, ...('detail' in state && { detail: state.detail }) };
        beat(said);
        unknownAnswers = state.state === 'unknown' ? unknownAnswers + 1 : 0;
        if (state.state === 'succeeded') return state.results.length;
        if (state.state === 'failed') throw taskFailure(state.code, state.message);
        if (unknownAnswers >= UNKNOWN_ANSWERS_UNTIL_LOST) {
          throw taskFailure('processing_failed', 'The model lost this task. Send the request again.');
        }
        await sleepBeating(context, pauseMs, () => beat(said));
        pauseMs = Math.min(pauseMs * 2, pollIntervalMs);
      }
    },

    /**
     * Streams the results into storage and checks that they are what was asked for. Gives up on results that do not arrive,
     * and on nothing else: that the database is away says nothing about them.
     */
    async storeResult(taskId: string, jobId: string): Promise<readonly GeneratedMedia[]> {
      const task = await loadTask(taskId);
      const provider = providerOf(task);
      const signal = Context.current().cancellationSignal;
      // Asked again here, so that links are fresh on every attempt and never part of a history.
      const state = await provider.status(jobId, signal);
      if (state.state !== 'succeeded') throw new Error(`job ${jobId} is ${state.state}, not succeeded`);
      if (state.results.length === 0) throw notTransferred('The model announced a result without any file.');
      const media: GeneratedMedia[] = [];
      for (const [index, result] of wantedResults(task, state.results).entries()) {
        media.push(await storeFile(task, provider, result, index, signal).catch(whyNotTransferred));
      }
      return media;
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

  async function storeFile(
    task: Task,
    provider: MediaProvider,
    result: JobResult,
    index: number,
    signal: AbortSignal,
  ): Promise<GeneratedMedia> {
    const beat = createHeart(Context.current());
    const download = await withVerdict(() => provider.fetchResult(result, signal));
    const { head, body } = await peek(
      withHeartbeat(download.body, (bytes) => beat({ file: index, bytes })),
      FILE_TYPE_BYTES,
    );
    const type = detectFileType(head);
    if (!type) {
      await download.body.cancel().catch(() => undefined);
      throw notTransferred("The model's result is not a media file.");
    }
    const inspected = inspectMedia(body);
    const key = `results/${task.id}/${index}.${type.extension}`;
    const stored = await storage
      .put(key, inspected.body, { contentType: type.mimeType, maxBytes: MAX_RESULT_BYTES, signal })
      .catch(whyNotStored);
    const facts = inspected.facts();
    const difference = matchesRequest(facts, task.request);
    if (difference !== null) {
      await storage.delete(key);
      throw notTransferred(`The model's result is not what was asked for: ${difference}.`);
    }
    return {
      type: task.kind,
      url: stored.url,
      mimeType: facts.mimeType,
      ...(task.kind === 'image' && { width: facts.width, height: facts.height }),
    };
  }
}

/**
 * A video model makes one video (specification section 2.2): what else the upstream offers beside it, such as a still or
 * another take, is not fetched. Pictures are all the client's.
 */
function wantedResults({ kind }: Task, results: readonly JobResult[]): readonly JobResult[] {
  if (kind === 'image') return results;
  const index = results.findIndex(({ mimeType }) => mimeType?.startsWith('video/'));
  return results.slice(Math.max(index, 0)).slice(0, 1);
}

function whyNotStored(error: unknown): never {
  if (error instanceof BrokenMediaError) throw notTransferred(`The model's result is broken: ${error.message}.`);
  if (error instanceof ObjectTooLargeError) throw notTransferred('The result is too large to be stored.');
  throw error;
}

/** After the last transfer, the failure stands. */
function whyNotTransferred(error: unknown): never {
  const { info, cancellationSignal } = Context.current();
  if (cancellationSignal.aborted || info.attempt < MAX_TRANSFERS) throw error;
  const failure = error instanceof ApplicationFailure ? error : null;
  throw ApplicationFailure.create({
    message: failure?.message ?? 'the result could not be transferred',
    type: failure?.type ?? 'TransferFailed',
    nonRetryable: true,
    ...(error instanceof Error && { cause: error }),
  });
}

function toResolution({ resolutionId, task, deliveryIds }: FinishedTask): Resolution {
  return { transferId: resolutionId, taskStatus: task.status, deliveryIds };
}

/** A verdict on the task: no retry of the step can change it. */
function taskFailure(code: TaskErrorCode, message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, code);
}

/** The file may be whole on the next attempt, so this one is worth some retries. */
function notTransferred(message: string): ApplicationFailure {
  return ApplicationFailure.retryable(message, 'result_transfer_failed' satisfies TaskErrorCode);
}

async function withVerdict<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof JobRefusedError) throw taskFailure(error.code, error.message);
    throw error;
  }
}

/** A poll that failed says nothing about the job; the operator sees it in the heartbeat. */
function describeError(error: unknown): { readonly state: 'unreachable'; readonly detail: string } {
  if (error instanceof Error && error.name === 'AbortError') throw error;
  return { state: 'unreachable', detail: error instanceof Error ? error.message : String(error) };
}

/** Beats once an activity has run for a while: most end before anybody could miss them, and each beat costs the server. */
function createHeart(context: Context): (details: object) => void {
  const firstBeatAt = Date.now() + FIRST_HEARTBEAT_MS;
  return (details) => {
    if (Date.now() >= firstBeatAt) context.heartbeat(details);
  };
}

/** A pause as long as it likes, in which the worker still counts as alive. */
async function sleepBeating(context: Context, milliseconds: number, beat: () => void): Promise<void> {
  for (let leftMs = milliseconds; leftMs > 0; leftMs -= MAX_SILENCE_MS) {
    await context.sleep(Math.min(leftMs, MAX_SILENCE_MS));
    beat();
  }
}

async function* withHeartbeat(
  body: AsyncIterable<Uint8Array>,
  beat: (bytes: number) => void,
): AsyncIterable<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    beat(bytes);
    yield chunk;
  }
}
