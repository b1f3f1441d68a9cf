/** Whose turn it is to render a task, and until when one may come. */
import { ApplicationFailure } from '@temporalio/common';
import { Context } from '@temporalio/activity';
import { type KeptSubmission, listSubmissions } from '../../db/queries/submissions.ts';
import { DISPATCH_LIMIT_MS } from '../../domain/step-limits.ts';
import type { Task } from '../../domain/task.ts';
import type { NotTakenError } from '../../providers/media/outcomes.ts';
import type { MediaTaskDependencies } from './dependencies.ts';
import { nextTurn, type Turn } from './routes.ts';
import { unavailable } from './task-failure.ts';

export interface Turns {
  /** @throws ApplicationFailure if no upstream can take the task, or none did in time */
  take(task: Task, submissions: readonly KeptSubmission[]): Turn;
  /**
   * Returns if another route is left to try now.
   *
   * @throws ApplicationFailure that is retried once every route was tried, or final if it would be too late by then
   */
  throwUnlessElsewhere(task: Task, reason: NotTakenError): Promise<void>;
}

export function createTurns(dependencies: MediaTaskDependencies): Turns {
  const { database, clock } = dependencies;
  return {
    take(task, submissions) {
      const turn = nextTurn(dependencies, task, submissions);
      if (!turn) throw unavailable();
      if (!turn.isFirst && leftMs(submissions, clock.nowMs()) < 0) throw unavailable();
      return turn;
    },

    async throwUnlessElsewhere(task, { message, retryAfterMs }) {
      Context.current().cancellationSignal.throwIfAborted();
      const submissions = await listSubmissions(database, task.id);
      const turn = nextTurn(dependencies, task, submissions);
      if (!turn) throw unavailable();
      if (turn.isFirst) return;
      if (retryAfterMs !== undefined && retryAfterMs > leftMs(submissions, clock.nowMs())) throw unavailable();
      throw ApplicationFailure.create({
        message,
        type: 'NotTaken',
        ...(retryAfterMs !== undefined && { nextRetryDelay: retryAfterMs }),
      });
    },
  };
}

/** The time left for some upstream to accept the job. */
function leftMs(submissions: readonly KeptSubmission[], nowMs: number): number {
  const lastUnknown = submissions.findLastIndex(({ outcome }) => outcome === 'unknown');
  const since = submissions[lastUnknown + 1]?.submittedAt.getTime() ?? nowMs;
  return since + DISPATCH_LIMIT_MS - nowMs;
}
