/** Chooses the route that renders a task next, and ends the task when none can in time. */
import { Context } from '@temporalio/activity';
import { type StoredSubmission, listSubmissions } from '../../db/queries/submissions.ts';
import { DISPATCH_LIMIT_MS } from '../../domain/step-limits.ts';
import type { Task } from '../../domain/task.ts';
import type { NotTakenError } from '../../providers/media/outcomes.ts';
import type { MediaTaskDependencies } from './dependencies.ts';
import { createRouteHealth } from './route-health.ts';
import { nextCandidate, type Candidate, type Pause } from './routes.ts';
import { failedAttempt, unavailable } from './task-failure.ts';

/** An operator may put an upstream back into service early. */
const OUT_OF_SERVICE_PAUSE_MS = 5_000;
/** Each submission is recorded: an upstream that asks to be tried again at once does not get it. */
const MIN_PAUSE_MS = 1_000;
/** The type of an attempt's failure that leaves the task to a later attempt. */
const NOT_TAKEN = 'NotTaken';

export interface Failover {
  /** @throws ApplicationFailure if no upstream can take the task, or none did in time; one that is retried while it must wait */
  choose(task: Task, submissions: readonly StoredSubmission[]): Promise<Candidate>;
  /** The task is submitted now; if the circuit was half-open, this is the probe. */
  started(candidate: Candidate): Promise<void>;
  /**
   * Returns if another route is left to try now.
   *
   * @throws ApplicationFailure that is retried once every route was tried, or final if it would be too late by then
   */
  throwUnlessElsewhere(task: Task, reason: NotTakenError): Promise<void>;
}

export function createFailover(dependencies: MediaTaskDependencies): Failover {
  const { database, clock } = dependencies;
  const routeHealth = createRouteHealth(dependencies);
  return {
    async choose(task, submissions) {
      const health = await routeHealth();
      const candidate = nextCandidate(dependencies, task, submissions, health);
      if (!candidate) throw unavailable();
      const left = leftMs(submissions, clock.nowMs());
      if (!candidate.isFirst && left < 0) throw unavailable();
      const pause = health.pauseOf(candidate);
      if (pause === null) return candidate;
      const message = describePause(candidate, pause);
      const waitedSinceMs = Math.max(task.createdAt.getTime(), pause.sinceMs);
      const waitLeftMs = submissions.length > 0 ? left : waitedSinceMs + DISPATCH_LIMIT_MS - clock.nowMs();
      if (waitLeftMs <= 0) throw unavailable(message);
      const pauseMs = Math.max(Math.min(pause.untilMs - clock.nowMs(), OUT_OF_SERVICE_PAUSE_MS), MIN_PAUSE_MS);
      throw failedAttempt(message, NOT_TAKEN, { pauseMs });
    },

    started: async (candidate) => (await routeHealth()).started(candidate),

    async throwUnlessElsewhere(task, { message, retryAfterMs }) {
      Context.current().cancellationSignal.throwIfAborted();
      const submissions = await listSubmissions(database, task.id);
      const candidate = nextCandidate(dependencies, task, submissions, await routeHealth());
      if (!candidate) throw unavailable();
      if (candidate.isFirst) return;
      if (retryAfterMs !== undefined && retryAfterMs > leftMs(submissions, clock.nowMs())) throw unavailable();
      const pauseMs = retryAfterMs === undefined ? undefined : Math.max(retryAfterMs, MIN_PAUSE_MS);
      throw failedAttempt(message, NOT_TAKEN, { pauseMs });
    },
  };
}

/** Names the pause in the timeline of a task that waits for it, or fails. */
function describePause({ route }: Candidate, { untilMs, author, reason }: Pause): string {
  return `${route.provider} is out of service until ${new Date(untilMs).toISOString()}, by ${author}: ${reason}`;
}

/** The time left for some upstream to accept the job. */
function leftMs(submissions: readonly StoredSubmission[], nowMs: number): number {
  const lastUnknown = submissions.findLastIndex(({ outcome }) => outcome === 'unknown');
  const since = submissions[lastUnknown + 1]?.submittedAt.getTime() ?? nowMs;
  return since + DISPATCH_LIMIT_MS - nowMs;
}
