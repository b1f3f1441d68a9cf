import { Context } from '@temporalio/activity';
import { recordFiles } from '../../db/queries/submissions.ts';
import { STORE_LIMIT_MS } from '../../domain/step-limits.ts';
import type { GeneratedMedia, Task } from '../../domain/task.ts';
import { requestedWaitMs } from './requested-wait.ts';
import { loadTask, type MediaTaskDependencies } from './dependencies.ts';
import type { NextRoute } from './dispatch.ts';
import { createUpstreamSubmission, type UpstreamSubmission } from './submit-to-upstream.ts';
import { type Heartbeat, whileHeartbeating } from '../liveness.ts';
import { createCostRecorder } from './record-cost.ts';
import { createOutcomeRecorder } from './record-outcome.ts';
import { currentQueue } from './routes.ts';
import { createFileStorer, resultFaultOf, WrongFileError } from './store-files.ts';
import { transferFailedError } from './task-failure.ts';
import { retryWrite } from './retry-write.ts';

const STORE_PAUSE_MS = 5_000;
const FETCH_PAUSE_MS = 1_000;

/**
 * Has a task rendered by an upstream that answers with the files, and stores them. The files exist only in memory, so
 * both are one step. It retries until they are stored; a later attempt finds them.
 *
 * @throws ApplicationFailure of type `StoreUnavailable` while results could not be stored
 */
export function createRender(dependencies: MediaTaskDependencies) {
  const { database, metrics, clock } = dependencies;
  const submitToUpstream = createUpstreamSubmission(dependencies);
  const storeFiles = createFileStorer(dependencies);
  const recordOutcome = createOutcomeRecorder(dependencies);
  const recordCost = createCostRecorder(dependencies);

  return async (taskId: string): Promise<readonly GeneratedMedia[] | NextRoute> =>
    whileHeartbeating(Context.current(), async (heartbeat) => {
      const submitted = await submitToUpstream(taskId, { answers: 'files', ...currentQueue() }, heartbeat);
      if (submitted.state === 'stored') return submitted.files;
      if (submitted.state === 'moving') return { nextRoute: submitted.steps };
      if (submitted.state === 'waiting') throw new Error(`the upstream answered task ${taskId} with a job`);
      const { submission, answer, upstream } = submitted;
      const endedAt = new Date(clock.nowMs());
      const task = await retryWrite(() => loadTask(database, taskId));
      const media = await keep(task, { submission, upstream, answer }, heartbeat);
      await retryWrite(() => recordFiles(database, submission, { files: media, endedAt }));
      metrics.submissionSettled(submission.provider, { outcome: 'accepted', evidence: 'the answer' });
      await recordCost(task, answer.cost ?? null);
      return media;
    });

  /** Stores the files, for as long as our own store may be away. @throws ApplicationFailure `result_transfer_failed` */
  async function keep(
    task: Task,
    { submission, upstream, answer }: Answered,
    heartbeat: Heartbeat,
  ): Promise<readonly GeneratedMedia[]> {
    const context = Context.current();
    const startedAt = performance.now();
    for (;;) {
      try {
        return await storeFiles(task, upstream, answer.files, heartbeat);
      } catch (error) {
        const forMs = performance.now() - startedAt;
        const pauseMs = pauseAfter(error, forMs);
        const requestedMs = requestedWaitMs(error, STORE_LIMIT_MS - forMs);
        if (pauseMs === null) {
          const detail = resultFaultOf(error)?.detail ?? (error instanceof Error ? error.message : String(error));
          const code = 'result_transfer_failed';
          const settlement = { outcome: 'accepted', evidence: 'the answer', code, detail } as const;
          await recordOutcome(task, submission, settlement);
          await recordCost(task, answer.cost ?? null);
          throw transferFailedError();
        }
        heartbeat({ storing: 'again', after: String(error) });
        await context.sleep(Math.max(pauseMs, requestedMs));
      }
    }
  }

  /** @returns null if a retry would change nothing */
  function pauseAfter(error: unknown, forMs: number): number | null {
    Context.current().cancellationSignal.throwIfAborted();
    const fault = resultFaultOf(error);
    if (!fault) return forMs < STORE_LIMIT_MS ? STORE_PAUSE_MS : null;
    return fault instanceof WrongFileError || forMs > dependencies.providerPatienceMs ? null : FETCH_PAUSE_MS;
  }
}

type Answered = Pick<Extract<UpstreamSubmission, { state: 'answered' }>, 'submission' | 'upstream' | 'answer'>;
