/**
 * Stores what an upstream rendered. Three kinds of failures are treated differently: if the upstream's result is at
 * fault, it is requested again, with fresh links, before the fault is accepted; if our own store is at fault, storing
 * is retried as long as allowed (by the activity's retries); anything else, such as the database, likewise.
 */
import { Context } from '@temporalio/activity';
import { listSubmissions } from '../../db/queries/submissions.ts';
import type { GeneratedMedia, Task } from '../../domain/task.ts';
import type { MediaUpstream } from '../../providers/media/upstream.ts';
import { askedWaitMs } from './asked-wait.ts';
import { loadTask, type MediaTaskDependencies, upstreamOf } from './dependencies.ts';
import { type Say, whileHeartbeating } from './liveness.ts';
import {
  createResultStorer,
  type FinishedJob,
  resultFaultOf,
  ResultFaultError,
  WrongFileError,
} from './store-files.ts';
import { taskFailure, throwIfFailed } from './task-failure.ts';

/** How often a complete but wrong file is fetched. */
const MAX_WRONG_FILES = 4;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
/** How long an upstream may name no file of a finished job, unless the patience with upstreams is shorter. */
const NO_FILE_MS = 60_000;

/** The job is finished, and names no file. */
class NoFileError extends ResultFaultError {}

/**
 * Streams the results into storage and checks that they match the request. A task that has ended in the meantime keeps
 * its ending.
 *
 * @throws ApplicationFailure `result_transfer_failed`, or the upstream's refusal, if there is no result
 * @throws Error if a retry may help
 */
export function createStoreResult(dependencies: MediaTaskDependencies) {
  const { database, clock, providerPatienceMs } = dependencies;
  const storeFinished = createResultStorer(dependencies);

  return async (taskId: string, jobId: string): Promise<readonly GeneratedMedia[]> => {
    const task = await loadTask(database, taskId);
    throwIfFailed(task);
    const accepted = (await listSubmissions(database, taskId)).find(({ outcome }) => outcome === 'accepted');
    return task.output ?? accepted?.files ?? store(task, upstreamOf(dependencies, task), jobId);
  };

  function patienceMs(fault: ResultFaultError): number {
    return fault instanceof NoFileError ? Math.min(NO_FILE_MS, providerPatienceMs) : providerPatienceMs;
  }

  async function store(task: Task, upstream: MediaUpstream, jobId: string): Promise<readonly GeneratedMedia[]> {
    const context = Context.current();
    return whileHeartbeating(context, async (say: Say) => {
      let startedAt = performance.now();
      let pauseMs = FIRST_PAUSE_MS;
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await storeFinished(task, upstream, await freshResult(upstream, jobId), { say });
        } catch (error) {
          const fault = resultFaultOf(error);
          if (!fault) throw error;
          const isOver =
            fault instanceof WrongFileError
              ? attempt >= MAX_WRONG_FILES
              : performance.now() - startedAt + pauseMs > patienceMs(fault);
          if (isOver) throw taskFailure('result_transfer_failed', fault.message);
          say({ attempt, fault: fault.message });
          // The patience is with an upstream that contradicts itself, not with one that is busy.
          const askedMs = askedWaitMs(error, task.deadlineAt.getTime() - clock.nowMs());
          startedAt += askedMs;
          await context.sleep(Math.max(pauseMs, askedMs));
          pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
        }
      }
    });
  }
}

/** Fetched at each attempt, so that links are fresh and never part of a history. */
async function freshResult(upstream: MediaUpstream, jobId: string): Promise<FinishedJob> {
  const state = await upstream.status(jobId, Context.current().cancellationSignal);
  if (state.state === 'failed') throw taskFailure(state.code, state.message);
  if (state.state !== 'succeeded') throw new ResultFaultError('The model announced a result and then had none.');
  if (state.results.length === 0) throw new NoFileError('The model announced a result without any file.');
  return state;
}
