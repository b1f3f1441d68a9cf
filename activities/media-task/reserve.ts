import { markTaskStarted, mayStillRender } from '../../db/queries/tasks.ts';
import { isFinal } from '../../domain/task.ts';
import { type MediaTaskDependencies, required } from './dependencies.ts';
import { nextCandidate, type RouteSteps, stepsOf } from './routes.ts';

export type ConfirmedReservation = { readonly reservationId: string } & (
  | {
      readonly isFinal: false;
      /** The steps of the first route. */
      readonly steps: RouteSteps;
    }
  | {
      /** The task was final before its workflow started. */
      readonly isFinal: true;
      /** Whether the task failed and its upstream may not know: there was no workflow to cancel the job. */
      readonly hasJobToCancel: boolean;
    }
);

/** Confirms that the task's money is held, and records that its workflow runs. */
export function createReserve(dependencies: MediaTaskDependencies) {
  const { database } = dependencies;

  return async (taskId: string): Promise<ConfirmedReservation> => {
    const task = required(taskId, await markTaskStarted(database, taskId));
    const { reservationId, status } = task;
    if (isFinal(status)) {
      const hasJobToCancel = status === 'failed' && (await mayStillRender(database, taskId));
      return { reservationId, isFinal: true, hasJobToCancel };
    }
    const candidate = nextCandidate(dependencies, task, []);
    return { reservationId, isFinal: false, steps: candidate ? stepsOf(dependencies, candidate) : { answers: 'job' } };
  };
}
