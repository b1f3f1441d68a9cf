/** Stores a result in the step that learnt of it, which saves most tasks a step of its own. */
import { Context } from '@temporalio/activity';
import { STORE_AT_ONCE_MS } from '../../domain/step-limits.ts';
import { type GeneratedMedia, isFinal, type Task } from '../../domain/task.ts';
import type { MediaUpstream } from '../../providers/media/upstream.ts';
import { askedWaitMs } from './asked-wait.ts';
import type { MediaTaskDependencies } from './dependencies.ts';
import { sleepWithHeartbeat, whileHeartbeating } from './liveness.ts';
import { createResultStorer, type FinishedJob } from './store-files.ts';

/** Tries it once, and ends well before the deadline would end the step. @returns null if `storeResult` has to do it */
export type StoreAtOnce = (
  task: Task,
  upstream: MediaUpstream,
  result: FinishedJob,
) => Promise<readonly GeneratedMedia[] | null>;

export function createStoreAtOnce(dependencies: MediaTaskDependencies): StoreAtOnce {
  const storeResult = createResultStorer(dependencies);

  return async (task, upstream, result) => {
    const leftMs = task.deadlineAt.getTime() - dependencies.clock.nowMs();
    const limitMs = Math.min(STORE_AT_ONCE_MS, Math.floor(leftMs / 2));
    if (isFinal(task.status) || result.results.length === 0 || limitMs <= 0) return null;
    const context = Context.current();
    const signal = AbortSignal.any([context.cancellationSignal, AbortSignal.timeout(limitMs)]);
    try {
      return await whileHeartbeating(context, (say) => storeResult(task, upstream, result, { say, signal }));
    } catch (error) {
      context.cancellationSignal.throwIfAborted();
      // Whatever it was, `storeResult` meets it again, and knows what to make of it.
      const askedMs = askedWaitMs(error, task.deadlineAt.getTime() - dependencies.clock.nowMs());
      await sleepWithHeartbeat(context, askedMs, () => context.heartbeat({ waits: askedMs }));
      return null;
    }
  };
}
