/** Chooses a task's route. A task leaves a route only if no upstream has, or may have, a job for it. */
import { Context } from '@temporalio/activity';
import type { Authorship } from '../../db/queries/operator-actions.ts';
import type { MediaRoute, Submission } from '../../domain/media-route.ts';
import type { Task } from '../../domain/task.ts';
import { providerQueue, TASK_QUEUES } from '../../domain/task-queues.ts';
import type { OutOfService } from '../../domain/upstream-override.ts';
import type { KindTraits } from '../../providers/media/adapter.ts';
import type { MediaUpstream } from '../../providers/media/upstream.ts';
import type { MediaTaskDependencies } from './dependencies.ts';

/** A route that a task may try. */
export interface Candidate {
  /** Its position in the task's list. */
  readonly index: number;
  readonly route: MediaRoute;
  /** The upstream's name for the model that this task asks for. */
  readonly model: string;
  readonly upstream: MediaUpstream;
  readonly traits: KindTraits;
  /** Whether the task was never submitted to it before. */
  readonly isFirst: boolean;
}

/** The task queue of a route's steps, and how they run. */
export interface RouteSteps {
  /** If not the workflow's. */
  readonly taskQueue?: string;
  /** Whether a submission is answered with a job to wait for, or with the files. */
  readonly answers: KindTraits['answers'];
}

/** The known health of routes. */
export interface RouteHealth {
  /** Whether the route's circuit is closed or half-open. */
  isReady(candidate: Pick<Candidate, 'route' | 'model'>): boolean;
  /** The period for which an operator keeps the route out of service; null when it is in service. */
  pauseOf(candidate: Pick<Candidate, 'route' | 'model'>): Pause | null;
}

/** An operator's pause of an upstream. */
export interface Pause extends OutOfService, Authorship {}

const ALL_WELL: RouteHealth = { isReady: () => true, pauseOf: () => null };

/**
 * The route after the one that was tried last, cyclically, without routes that have nothing to offer. Routes whose upstream
 * is out of service come last, and before them those with an open circuit.
 *
 * @param submissions of the task, oldest first; none of them open or accepted
 * @returns null if none is left
 * @throws Error if none of the upstreams is configured
 */
export function nextCandidate(
  { upstreams }: Pick<MediaTaskDependencies, 'upstreams'>,
  { request: { kind, routes, images = [] } }: Pick<Task, 'request'>,
  submissions: readonly Submission[],
  health: RouteHealth = ALL_WELL,
): Candidate | null {
  const candidates = routes.flatMap((route, index): Candidate[] => {
    const upstream = upstreams.get(route.provider);
    const traits = upstream?.traitsOf(kind);
    if (!upstream || !traits) return [];
    const model = modelOf(route, images.length > 0);
    return [
      { index, route, model, upstream, traits, isFirst: submissions.every((earlier) => earlier.route !== index) },
    ];
  });
  if (candidates.length === 0) throw new Error(`no upstream of these is configured: ${namesOf(routes)}`);
  const open = candidates.filter(({ index }) => !submissions.some((one) => one.isRouteExcluded && one.route === index));
  const last = submissions.at(-1);
  // A submission that may have been accepted is repeated, if at all, at the same upstream.
  if (last?.outcome === 'unknown') return open.find(({ index }) => index >= last.route) ?? open[0] ?? null;
  const from = last === undefined ? 0 : last.route + 1;
  const inOrder = [...open.filter(({ index }) => index >= from), ...open.filter(({ index }) => index < from)];
  const inService = inOrder.filter((candidate) => health.pauseOf(candidate) === null);
  return (
    inService.find((candidate) => candidate.isFirst && health.isReady(candidate)) ??
    inService.find(({ isFirst }) => isFirst) ??
    inService[0] ??
    inOrder[0] ??
    null
  );
}

/** The upstream's name for the model. Some upstreams have another name for requests with images. */
export function modelOf(route: MediaRoute, hasImages: boolean): string {
  return hasImages ? (route.modelWithImages ?? route.model) : route.model;
}

export function stepsOf(
  { isLimited }: Pick<MediaTaskDependencies, 'isLimited'>,
  { route: { provider }, traits: { answers } }: Candidate,
): RouteSteps {
  if (isLimited(provider)) return { answers, taskQueue: providerQueue(provider) };
  return answers === 'files' ? { answers, taskQueue: TASK_QUEUES.renders } : { answers };
}

function namesOf(routes: readonly MediaRoute[]): string {
  return routes.map(({ provider }) => provider).join(', ');
}

/** The queue of the calling step, as in {@link RouteSteps}. */
export function currentQueue(): Pick<RouteSteps, 'taskQueue'> {
  const { taskQueue } = Context.current().info;
  return taskQueue === TASK_QUEUES.media ? {} : { taskQueue };
}
