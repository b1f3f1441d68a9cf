import { Context } from '@temporalio/activity';
import { requestedWaitMs } from './requested-wait.ts';
import { loadTask, type MediaTaskDependencies, upstreamOf } from './dependencies.ts';
import { createHeartbeat, sleepWithHeartbeat } from '../liveness.ts';
import { createPollWatch } from './poll-problems.ts';
import { createVerdictReader } from './read-verdict.ts';
import { createCostRecorder } from './record-cost.ts';
import { createNoResultRecorder } from './record-no-result.ts';
import { taskFailure } from './task-failure.ts';

/** An upstream that keeps reporting an unknown job has lost it; during a deployment it may do so only for a while. */
const UNKNOWN_ANSWERS_UNTIL_LOST = 5;

/** The upstream's report about a render that ended, without links, which may expire. */
export interface RenderedJob {
  /** How many files there are. */
  readonly files: number;
  /** ISO 8601; null if the upstream does not say. */
  readonly endedAt: string | null;
}

/**
 * Polls the upstream until it reports a final state, at the pace that the upstream asks for. A failed poll is not a
 * final state; only the activity's deadline ends the wait for a job that reports nothing.
 *
 * @throws ApplicationFailure with the upstream's code if the job failed
 */
export function createAwaitResult(dependencies: MediaTaskDependencies) {
  const { database, clock, providerPatienceMs } = dependencies;
  const recordCost = createCostRecorder(dependencies);
  const recordNoResult = createNoResultRecorder(dependencies);
  const readVerdict = createVerdictReader(dependencies);

  return async (taskId: string, jobId: string, isAnnounced: boolean): Promise<RenderedJob> => {
    const task = await loadTask(database, taskId);
    const upstream = upstreamOf(dependencies, task);
    const context = Context.current();
    const beat = createHeartbeat(context);
    const lost = createLossWatch(providerPatienceMs);
    const watchPoll = createPollWatch(dependencies, task, context.log);
    const { firstMs, everyMs } = upstream.poll(task.kind);
    const firstWaitMs = isAnnounced ? 0 : firstMs - (clock.nowMs() - task.updatedAt.getTime());
    await sleepWithHeartbeat(context, Math.min(firstWaitMs, firstMs), () => beat({ jobId, poll: 0 }));
    let pauseMs = Math.min(firstMs, everyMs);
    for (let poll = 1; ; poll += 1) {
      const state = await upstream.status(jobId, context.cancellationSignal).catch(describeError);
      const said = { jobId, poll, state: state.state, ...('detail' in state && { detail: state.detail }) };
      beat(said);
      await watchPoll(state);
      if (state.state === 'succeeded') {
        await recordCost(task, state.cost ?? null);
        return { files: state.results.length, endedAt: state.endedAt?.toISOString() ?? null };
      }
      if (state.state === 'failed') throw await readVerdict(task, upstream, state);
      if (lost(state.state === 'unknown')) {
        await recordNoResult(task, 'processing_failed', 'the upstream does not know the job any more');
        throw taskFailure('processing_failed', 'The model lost this task. Send the request again.');
      }
      const requestedMs =
        'error' in state ? requestedWaitMs(state.error, task.deadlineAt.getTime() - clock.nowMs()) : 0;
      await sleepWithHeartbeat(context, Math.max(pauseMs, requestedMs), () => beat(said));
      pauseMs = Math.min(pauseMs * 2, everyMs);
    }
  };
}

/** @returns says whether the upstream has reported an unknown job often and long enough to be believed */
function createLossWatch(patienceMs: number): (isUnknown: boolean) => boolean {
  let answers = 0;
  let sinceMs = 0;
  return (isUnknown) => {
    answers = isUnknown ? answers + 1 : 0;
    if (answers === 1) sinceMs = performance.now();
    return answers >= UNKNOWN_ANSWERS_UNTIL_LOST && performance.now() - sinceMs >= patienceMs;
  };
}

/** A failed poll reveals nothing about the job; operators see it in the heartbeat. */
function describeError(error: unknown) {
  if (error instanceof Error && error.name === 'AbortError') throw error;
  return { state: 'unreachable', detail: error instanceof Error ? error.message : String(error), error } as const;
}
