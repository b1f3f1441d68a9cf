import { Context } from '@temporalio/activity';
import { createUpstreamSubmission } from './submit-to-upstream.ts';
import type { MediaTaskDependencies } from './dependencies.ts';
import { whileHeartbeating } from '../liveness.ts';
import { currentQueue, type RouteSteps } from './routes.ts';

/** The task continues with another route, whose steps run elsewhere. */
export interface NextRoute {
  readonly nextRoute: RouteSteps;
}

/**
 * Submits a task to an upstream that answers with a job, once, however often this step runs.
 *
 * @returns the upstream's job id
 * @throws ApplicationFailure of type `StoreUnavailable` while results could not be stored
 */
export function createDispatch(dependencies: MediaTaskDependencies) {
  const submitToUpstream = createUpstreamSubmission(dependencies);

  return async (taskId: string): Promise<string | NextRoute> =>
    whileHeartbeating(Context.current(), async (heartbeat) => {
      const submitted = await submitToUpstream(taskId, { answers: 'job', ...currentQueue() }, heartbeat);
      if (submitted.state === 'waiting') return submitted.jobId;
      if (submitted.state === 'moving') return { nextRoute: submitted.steps };
      throw new Error(`the upstream answered task ${taskId} with files instead of a job`);
    });
}
