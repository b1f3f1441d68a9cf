import { markTakenUp, mayStillRender } from '../../db/queries/tasks.ts';
import { isFinal } from '../../domain/task.ts';
import { type MediaTaskDependencies, required } from './dependencies.ts';
import { nextTurn, stepsOf } from './routes.ts';

export interface ConfirmedReservation {
  readonly reservationId: string;
  /** The task was final before its workflow began. */
  readonly alreadyFinal: boolean;
  /** It failed, and its upstream may not know: there was no workflow to cancel the job. */
  readonly leavesJob?: true;
  /** The queue for steps that call the upstream, if not the workflow's. */
  readonly providerQueue?: string;
  /** The first route answers a submission with the files. */
  readonly answersFiles?: true;
  /** Charged or refunded by a local activity. Tasks that began before there was one keep to an ordinary activity. */
  readonly endsLocally?: true;
  /** The step that waits for the provider stores the result if it can; in tasks that began earlier it never does. */
  readonly storesAtOnce?: true;
}

/** How tasks that begin now go on, which their histories record. */
const NOW = { endsLocally: true, storesAtOnce: true } as const;

/** Confirms that the task's money is held, and records that its workflow runs. */
export function createReserve(dependencies: MediaTaskDependencies) {
  const { database } = dependencies;

  return async (taskId: string): Promise<ConfirmedReservation> => {
    const task = required(taskId, await markTakenUp(database, taskId));
    const confirmed = { reservationId: task.reservationId, alreadyFinal: isFinal(task.status) };
    if (confirmed.alreadyFinal) {
      const leavesJob = task.status === 'failed' && (await mayStillRender(database, taskId));
      return { ...confirmed, ...(leavesJob && { leavesJob }) };
    }
    const turn = nextTurn(dependencies, task, []);
    if (!turn) return { ...confirmed, ...NOW };
    const { taskQueue, answers } = stepsOf(dependencies, turn);
    return {
      ...confirmed,
      ...NOW,
      ...(taskQueue !== undefined && { providerQueue: taskQueue }),
      ...(answers === 'files' && { answersFiles: true }),
    };
  };
}
