/**
 * A media task: reserve, dispatch, await the result, store it, settle or refund, deliver. The workflow only orders the
 * steps and compensates for failed ones: once the price is reserved, every way out passes through `settle` or `refund`.
 *
 * `rendering.ts` has the part at the provider, `steps.ts` the options of the steps, `endings.ts` the meaning of failures.
 */
import { allHandlersFinished, CancellationScope, condition, setCurrentDetails } from '@temporalio/workflow';
import type { TaskFailure } from '../../domain/task.ts';
import { TASK_MESSAGES } from '../../domain/task-messages.ts';
import { CustomerCancellation } from '../customer-cancellation.ts';
import { awaitLateResult, startDeliveries } from './children.ts';
import {
  type Ending,
  hasTimedOut,
  isCancelledByCustomer,
  isLate,
  recordEnding,
  timedOut,
  toEnding,
} from './endings.ts';
import { awaitResult, cancelJob, recheckAfterDeadline, type Run, storeResult, submit } from './rendering.ts';
import { confirmReservation, settleOrRefund } from './steps.ts';

export { jobEnded } from './rendering.ts';

export interface MediaTaskInput {
  readonly taskId: string;
  /** ISO 8601. Processing that has not finished by then fails with `processing_timeout`. */
  readonly deadlineAt: string;
  /** Such as `$0.96`, for the summaries of the steps that move money. */
  readonly price: string;
}

/** The workflow's result, with which its history ends, for operators and finance. */
export interface MediaTaskOutcome {
  readonly status: string;
  /** The task's rows in the ledger. */
  readonly reservationId: string;
  readonly resolutionId: string | null;
  readonly failure: TaskFailure | null;
}

export async function mediaTask({ taskId, deadlineAt, price }: MediaTaskInput): Promise<MediaTaskOutcome> {
  const cancellation = new CustomerCancellation();
  setCurrentDetails('Confirming that the price is reserved.');
  // A cancellation at this point must lead to the refund, too.
  const reservation = await CancellationScope.nonCancellable(() => confirmReservation(taskId, price));
  const { reservationId } = reservation;
  if (reservation.isFinal) return endAgain(taskId, reservation, cancellation);

  const run = { taskId, price, deadlineMs: Date.parse(deadlineAt), route: { steps: reservation.steps }, cancellation };
  const ending = await findEnding(run);
  return CancellationScope.nonCancellable(() => end(run, reservationId, ending));
}

/** Produces the files, or finds out why there are none. */
async function findEnding(run: Run): Promise<Ending> {
  try {
    return await produce(run);
  } catch (error) {
    return recheckAfterDeadline(run, error).catch(toEnding);
  }
}

/** Dispatches the job, awaits its result and stores it, on one route after the other until one has led to files. */
async function produce(run: Run): Promise<Ending> {
  const { taskId, route, deadlineMs, cancellation } = run;
  for (;;) {
    const submitted = await submit(run);
    if (typeof submitted === 'string') {
      route.jobId = submitted;
      const { endedAt } = await awaitResult(run, submitted);
      if (isLate(endedAt, deadlineMs)) throw timedOut();
      cancellation.refuse(TASK_MESSAGES.rendered);
      return { status: 'succeeded', output: await storeResult(taskId, submitted, route.steps) };
    }
    if (!('nextRoute' in submitted)) return { status: 'succeeded', output: submitted };
    route.steps = submitted.nextRoute;
  }
}

/** Settles or refunds, announces the end, and stops what may still render. */
async function end(
  { taskId, price, route, cancellation }: Run,
  reservationId: string,
  ending: Ending,
): Promise<MediaTaskOutcome> {
  const resolution = await settleOrRefund(taskId, price, ending);
  recordEnding(ending, resolution);
  cancellation.answer(
    isCancelledByCustomer(ending) ? { isCancelled: true } : { isCancelled: false, reason: TASK_MESSAGES.ended },
  );
  cancellation.refuse(TASK_MESSAGES.ended);
  await startDeliveries(taskId, `task.${ending.status}`, resolution.deliveryIds);
  if (ending.status === 'failed' && ending.hasJobToCancel) await cancelJob(taskId, route);
  if (hasTimedOut(ending) && route.jobId !== undefined) await awaitLateResult(taskId, route.jobId, route.steps);
  await condition(allHandlersFinished);
  setCurrentDetails(`Ended: the task is ${resolution.taskStatus}. Ledger row: ${resolution.transferId}.`);
  return {
    status: resolution.taskStatus,
    reservationId,
    resolutionId: resolution.transferId,
    failure: ending.status === 'failed' ? ending.failure : null,
  };
}

/** The task had been final before this workflow started, such as after a restore of Temporal. */
async function endAgain(
  taskId: string,
  { reservationId, hasJobToCancel }: { readonly reservationId: string; readonly hasJobToCancel: boolean },
  cancellation: CustomerCancellation,
): Promise<MediaTaskOutcome> {
  cancellation.refuse(TASK_MESSAGES.ended);
  if (hasJobToCancel) await cancelJob(taskId, { steps: { answers: 'job' } });
  await condition(allHandlersFinished);
  setCurrentDetails('Ended: the task was already final when this workflow started.');
  return { status: 'final before it began', reservationId, resolutionId: null, failure: null };
}
