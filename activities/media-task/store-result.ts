/**
 * Stores what an upstream rendered. Each attempt of the step tries once, so that the history shows every failure. Three
 * kinds of failures are treated differently: if the upstream's result is at fault, it is requested again, with fresh
 * links, before the fault is accepted; if our own store is at fault, storing is retried for as long as the step may take;
 * anything else, such as the database, likewise.
 */
import { Context } from '@temporalio/activity';
import { storeLateResult } from '../../db/queries/late-results.ts';
import { recordStoredFiles } from '../../db/queries/submissions.ts';
import type { TaskStep } from '../../db/queries/tasks.ts';
import type { GeneratedMedia, Task } from '../../domain/task.ts';
import type { MediaUpstream } from '../../providers/media/upstream.ts';
import { requestedWaitMs } from './requested-wait.ts';
import { loadTaskStep, type MediaTaskDependencies, upstreamOf } from './dependencies.ts';
import { whileHeartbeating } from '../liveness.ts';
import { createFileStorer, resultFaultOf, ResultFaultError, WrongFileError } from './store-files.ts';
import { createNoResultRecorder } from './record-no-result.ts';
import { createVerdictReader } from './read-verdict.ts';
import { failedAttempt, taskFailure, throwIfFailed } from './task-failure.ts';

/** How often a complete but wrong file is fetched. */
const MAX_WRONG_FILES = 4;
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 15_000;
/** How long an upstream may name no file of a finished job, unless the patience with upstreams is shorter. */
const NO_FILE_MS = 60_000;

/** The job is finished, and names no file. */
class NoFileError extends ResultFaultError {}

/** The faults of the upstream's result so far. The heartbeat carries them from one attempt of the step to the next. */
interface Faults {
  readonly faults: number;
  /** How long the attempts that found them took, with the pauses between them. */
  readonly faultyMs: number;
}

interface Judgement {
  readonly failure: unknown;
  readonly faults: Faults;
  /** The fault of a result that is given up. */
  readonly unusable?: ResultFaultError;
}

const NO_FAULTS: Faults = { faults: 0, faultyMs: 0 };

/**
 * Streams the results into storage and checks that they match the request. A task that has ended in the meantime keeps
 * its ending.
 *
 * @throws ApplicationFailure `result_transfer_failed`, or the upstream's refusal, if there is no result
 * @throws Error if a retry may help
 */
export function createStoreResult(dependencies: MediaTaskDependencies) {
  const store = createResultStorer(dependencies);
  return async (taskId: string, jobId: string): Promise<readonly GeneratedMedia[]> => {
    const step = await loadTaskStep(dependencies.database, taskId);
    throwIfFailed(step.task);
    return step.task.output ?? store(step, jobId);
  };
}

/** Stores what was rendered after the refund of its task, and offers it to the customer. Throws as storing a result does. */
export function createKeepLateResult(dependencies: MediaTaskDependencies) {
  const { database } = dependencies;
  const store = createResultStorer(dependencies);
  return async (taskId: string, jobId: string): Promise<void> => {
    const step = await loadTaskStep(database, taskId);
    const output = await store(step, jobId);
    await storeLateResult(database, { taskId, accountId: step.task.accountId, output });
  };
}

function createResultStorer(dependencies: MediaTaskDependencies) {
  const { database, clock, providerPatienceMs } = dependencies;
  const storeFiles = createFileStorer(dependencies);
  const recordNoResult = createNoResultRecorder(dependencies);
  const readVerdict = createVerdictReader(dependencies);

  return async ({ task, storedFiles }: TaskStep, jobId: string): Promise<readonly GeneratedMedia[]> =>
    storedFiles ?? store(task, upstreamOf(dependencies, task), jobId);

  async function store(task: Task, upstream: MediaUpstream, jobId: string): Promise<readonly GeneratedMedia[]> {
    const context = Context.current();
    const earlier = readFaults(context.info.heartbeatDetails);
    const startedAt = performance.now();
    return whileHeartbeating(context, async (heartbeat) => {
      heartbeat(earlier);
      const { results, endedAt } = await readResult(task, upstream, jobId);
      const files = await storeFiles(task, upstream, results, (progress) => heartbeat({ ...earlier, ...progress }));
      await recordStoredFiles(database, task.id, { files, endedAt: endedAt ?? null });
      return files;
    }).catch(async (error: unknown) => {
      context.cancellationSignal.throwIfAborted();
      const { failure, faults, unusable } = judge(task, error, earlier, performance.now() - startedAt);
      context.heartbeat(faults);
      if (unusable) await recordNoResult(task, 'result_transfer_failed', unusable.detail ?? unusable.message);
      throw failure;
    });
  }

  /** Requested at each attempt, so that links are fresh and never part of a history. */
  async function readResult(task: Task, upstream: MediaUpstream, jobId: string) {
    const state = await upstream.status(jobId, Context.current().cancellationSignal);
    if (state.state === 'failed') throw await readVerdict(task, upstream, state);
    if (state.state !== 'succeeded') throw new ResultFaultError('The model announced a result and then had none.');
    if (state.results.length === 0) throw new NoFileError('The model announced a result without any file.');
    return state;
  }

  /** @param tookMs how long the attempt took that failed with the error */
  function judge(task: Task, error: unknown, earlier: Faults, tookMs: number): Judgement {
    const fault = resultFaultOf(error);
    // The patience is with an upstream that contradicts itself, not with our own store.
    if (!fault) return { failure: error, faults: NO_FAULTS };
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** earlier.faults, MAX_PAUSE_MS);
    const faults = { faults: earlier.faults + 1, faultyMs: earlier.faultyMs + tookMs + pauseMs };
    const isFinal =
      fault instanceof WrongFileError ? faults.faults >= MAX_WRONG_FILES : faults.faultyMs > patienceMs(fault);
    if (isFinal) {
      return { failure: taskFailure('result_transfer_failed', fault.message, fault.detail), faults, unusable: fault };
    }
    // A wait that a busy upstream asks for does not count as contradiction.
    const requestedMs = requestedWaitMs(error, task.deadlineAt.getTime() - clock.nowMs());
    const wait = { pauseMs: Math.max(pauseMs, requestedMs), detail: fault.detail };
    return { failure: failedAttempt(fault.message, fault.name, wait), faults };
  }

  function patienceMs(fault: ResultFaultError): number {
    return fault instanceof NoFileError ? Math.min(NO_FILE_MS, providerPatienceMs) : providerPatienceMs;
  }
}

function readFaults(heartbeatDetails: Partial<Faults> | undefined): Faults {
  const { faults = 0, faultyMs = 0 } = heartbeatDetails ?? NO_FAULTS;
  return { faults, faultyMs };
}
