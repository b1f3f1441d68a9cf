/** Which route of a task has its turn. A task leaves a route only while no upstream has, or may have, a job of it. */
import { Context } from '@temporalio/activity';
import type { MediaRoute, Submission } from '../../domain/media-route.ts';
import type { Task } from '../../domain/task.ts';
import { providerQueue, TASK_QUEUES } from '../../domain/task-queues.ts';
import type { KindTraits } from '../../providers/media/adapter.ts';
import type { MediaUpstream } from '../../providers/media/upstream.ts';
import type { MediaTaskDependencies } from './dependencies.ts';

/** A route that can be taken. */
export interface Turn {
  /** Its place in the task's list. */
  readonly index: number;
  readonly route: MediaRoute;
  readonly upstream: MediaUpstream;
  readonly traits: KindTraits;
  /** No submission of this task went there before. */
  readonly isFirst: boolean;
}

/** Where and how the steps of a route run. */
export interface RouteSteps {
  /** When not where the workflow runs. */
  readonly taskQueue?: string;
  /** What a submission is answered with: a job to wait for, or the files. */
  readonly answers: KindTraits['answers'];
}

/**
 * The route after the one that was tried last, round and round, without those at which nothing is to be had.
 *
 * @param submissions of the task, oldest first; none of them open or accepted
 * @returns null when none is left
 * @throws Error when none of the upstreams is configured
 */
export function nextTurn(
  { upstreams }: Pick<MediaTaskDependencies, 'upstreams'>,
  { request: { kind, routes } }: Pick<Task, 'request'>,
  submissions: readonly Submission[],
): Turn | null {
  const turns = routes.flatMap((route, index): Turn[] => {
    const upstream = upstreams.get(route.provider);
    const traits = upstream?.traitsOf(kind);
    if (!upstream || !traits) return [];
    return [{ index, route, upstream, traits, isFirst: submissions.every((earlier) => earlier.route !== index) }];
  });
  if (turns.length === 0) throw new Error(`no upstream of these is configured: ${namesOf(routes)}`);
  const open = turns.filter(({ index }) => !submissions.some((one) => one.leavesRoute && one.route === index));
  const last = submissions.at(-1);
  // What may have been taken is sent again, if at all, to where it may have been taken.
  const from = last === undefined ? 0 : last.outcome === 'unknown' ? last.route : last.route + 1;
  return open.find(({ index }) => index >= from) ?? open[0] ?? null;
}

export function stepsOf(
  { limitedProviders }: Pick<MediaTaskDependencies, 'limitedProviders'>,
  { route: { provider }, traits: { answers } }: Turn,
): RouteSteps {
  if (limitedProviders.has(provider)) return { answers, taskQueue: providerQueue(provider) };
  return answers === 'files' ? { answers, taskQueue: TASK_QUEUES.renders } : { answers };
}

function namesOf(routes: readonly MediaRoute[]): string {
  return routes.map(({ provider }) => provider).join(', ');
}

/** Where the calling step runs, in the words of {@link RouteSteps}. */
export function queueHere(): Pick<RouteSteps, 'taskQueue'> {
  const { taskQueue } = Context.current().info;
  return taskQueue === TASK_QUEUES.media ? {} : { taskQueue };
}
