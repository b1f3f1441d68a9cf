/** Whose turn it is to render a task, and until when one may come. */
import { Context } from '@temporalio/activity';
import { type KeptSubmission, listSubmissions } from '../../../db/queries/submissions.ts';
import { DISPATCH_LIMIT_MS } from '../../../domain/step-limits.ts';
import type { Task } from '../../../domain/task.ts';
import type { NotTakenError } from '../../../providers/media/outcomes.ts';
import type { MediaTaskDependencies } from './dependencies.ts';
import { createRouteHealth } from './route-health.ts';
import { nextTurn, type Turn } from './routes.ts';
import { failedAttempt, unavailable } from './task-failure.ts';

/** An operator may put an upstream back into service early. */
const CLOSED_PAUSE_MS = 5_000;
/** Each submission is written down: an upstream that asks to be tried again at once does not get it. */
const MIN_PAUSE_MS = 1_000;
/** The type of an attempt's failure that leaves the task to a later attempt. */
const NOT_TAKEN = 'NotTaken';

export interface Turns {
  /** @throws ApplicationFailure if no upstream can take the task, or none did in time; one that is retried while it must wait */
  take(task: Task, submissions: readonly KeptSubmission[]): Promise<Turn>;
  /** The task is submitted now; if the circuit was half-open, this is the probe. */
  began(turn: Turn): Promise<void>;
  /**
   * Returns if another route is left to try now.
   *
   * @throws ApplicationFailure that is retried once every route was tried, or final if it would be too late by then
   */
  throwUnlessElsewhere(task: Task, reason: NotTakenError): Promise<void>;
}

export function createTurns(dependencies: MediaTaskDependencies): Turns {
  const { database, clock } = dependencies;
  const routeHealth = createRouteHealth(dependencies);
  return {
    async take(task, submissions) {
      const health = await routeHealth();
      const turn = nextTurn(dependencies, task, submissions, health);
      if (!turn) throw unavailable();
      const left = leftMs(submissions, clock.nowMs());
      if (!turn.isFirst && left < 0) throw unavailable();
      const closedMs = health.closedForMs(turn.route.provider);
      if (closedMs > left) throw unavailable();
      if (closedMs > 0)
        throw failedAttempt(`${turn.route.provider} is out of service`, NOT_TAKEN, Math.min(closedMs, CLOSED_PAUSE_MS));
      return turn;
    },

    began: async (turn) => (await routeHealth()).began(turn),

    async throwUnlessElsewhere(task, { message, retryAfterMs }) {
      Context.current().cancellationSignal.throwIfAborted();
      const submissions = await listSubmissions(database, task.id);
      const turn = nextTurn(dependencies, task, submissions, await routeHealth());
      if (!turn) throw unavailable();
      if (turn.isFirst) return;
      if (retryAfterMs !== undefined && retryAfterMs > leftMs(submissions, clock.nowMs())) throw unavailable();
      const pauseMs = retryAfterMs === undefined ? undefined : Math.max(retryAfterMs, MIN_PAUSE_MS);
      throw failedAttempt(message, NOT_TAKEN, pauseMs);
    },
  };
}

/** The time left for some upstream to accept the job. */
function leftMs(submissions: readonly KeptSubmission[], nowMs: number): number {
  const lastUnknown = submissions.findLastIndex(({ outcome }) => outcome === 'unknown');
  const since = submissions[lastUnknown + 1]?.submittedAt.getTime() ?? nowMs;
  return since + DISPATCH_LIMIT_MS - nowMs;
}
