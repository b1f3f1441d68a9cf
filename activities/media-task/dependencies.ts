/** What the steps of a media task work with. */
import { ApplicationFailure } from '@temporalio/common';
import type { Database } from '../../db/database.ts';
import type { Clock } from '../../db/database-clock.ts';
import { findTask } from '../../db/queries/tasks.ts';
import type { Task } from '../../domain/task.ts';
import type { MediaUpstream } from '../../providers/media/upstream.ts';
import type { WatchedStorage } from '../../storage/watched.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { InputReader } from './read-inputs.ts';

export interface MediaTaskDependencies {
  readonly database: Database;
  /** By name, as routes name them. */
  readonly upstreams: ReadonlyMap<string, MediaUpstream>;
  /** Those whose steps run on a task queue of their own. */
  readonly limitedProviders: ReadonlySet<string>;
  readonly storage: WatchedStorage;
  /** Fetches the inputs of a request, for upstreams that want them as bytes. */
  readonly readInputs: InputReader;
  /** How long an upstream may contradict itself: know no job that it took, or have no file that it announced. */
  readonly providerPatienceMs: number;
  /** By which the times that the database keeps are compared with now. */
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** @throws ApplicationFailure when the database has lost the task: no repetition helps */
export async function loadTask(database: Database, taskId: string): Promise<Task> {
  return required(taskId, await findTask(database, taskId));
}

export function required(taskId: string, task: Task | null): Task {
  if (!task) throw ApplicationFailure.nonRetryable(`there is no task ${taskId}`, 'TaskMissing');
  return task;
}

/** The upstream at which a task is. @throws Error when it is not configured any more, which an operator can mend */
export function upstreamOf({ upstreams }: Pick<MediaTaskDependencies, 'upstreams'>, { provider }: Task): MediaUpstream {
  const upstream = upstreams.get(provider);
  if (!upstream) throw new Error(`no upstream named ${provider} is configured`);
  return upstream;
}
