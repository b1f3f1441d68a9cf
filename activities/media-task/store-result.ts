/**
 * The step that stores what an upstream rendered. Three kinds of things go wrong, and each is treated in its own way: what the
 * upstream's result is to blame for is asked for again, with fresh links, and then believed; what our own store is to blame
 * for is tried for as long as storing may take (the retries of the activity); the rest, such as the database, likewise.
 */
import { Context } from '@temporalio/activity';
import type { GeneratedMedia, Task } from '../../domain/task.ts';
import type { ResultFile } from '../../providers/media/result-file.ts';
import type { MediaUpstream } from '../../providers/media/upstream.ts';
import { loadTask, type MediaTaskDependencies, upstreamOf } from './dependencies.ts';
import { type Say, whileHeartbeating } from './liveness.ts';
import { createFileStorer, resultFaultOf, ResultFaultError, WrongFileError } from './store-files.ts';
import { taskFailure, throwIfFailed } from './task-failure.ts';

/** So often a file is fetched that arrives whole and is not what was asked for. */
const MAX_WRONG_FILES = 4;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

/**
 * Streams the results into storage and checks that they are what was asked for. A task that has ended meanwhile keeps the ending
 * it has.
 *
 * @throws ApplicationFailure `result_transfer_failed`, or the upstream's verdict, when there is no result to be had
 * @throws Error when the same may be tried again
 */
export function createStoreResult(dependencies: MediaTaskDependencies) {
  const { database, providerPatienceMs } = dependencies;
  const storeFiles = createFileStorer(dependencies);

  return async (taskId: string, jobId: string): Promise<readonly GeneratedMedia[]> => {
    const task = await loadTask(database, taskId);
    throwIfFailed(task);
    return task.output ?? store(task, upstreamOf(dependencies, task), jobId);
  };

  async function store(task: Task, upstream: MediaUpstream, jobId: string): Promise<readonly GeneratedMedia[]> {
    const context = Context.current();
    return whileHeartbeating(context, async (say: Say) => {
      const startedAt = performance.now();
      let pauseMs = FIRST_PAUSE_MS;
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await storeFiles(task, upstream, await freshFiles(upstream, jobId), say);
        } catch (error) {
          const fault = resultFaultOf(error);
          if (!fault) throw error;
          const isOver =
            fault instanceof WrongFileError
              ? attempt >= MAX_WRONG_FILES
              : performance.now() - startedAt + pauseMs > providerPatienceMs;
          if (isOver) throw taskFailure('result_transfer_failed', fault.message);
          say({ attempt, fault: fault.message });
          await context.sleep(pauseMs);
          pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
        }
      }
    });
  }
}

/** Asked for at each attempt, so that links are fresh and never part of a history. */
async function freshFiles(upstream: MediaUpstream, jobId: string): Promise<readonly ResultFile[]> {
  const state = await upstream.status(jobId, Context.current().cancellationSignal);
  if (state.state === 'failed') throw taskFailure(state.code, state.message);
  if (state.state !== 'succeeded') throw new ResultFaultError('The model announced a result and then knew of none.');
  if (state.results.length === 0) throw new ResultFaultError('The model announced a result without any file.');
  return state.results;
}
