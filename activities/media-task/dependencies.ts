/** The dependencies of a media task's steps. */
import { ApplicationFailure } from '@temporalio/common';
import type { CallRecorder } from '../../db/call-recorder.ts';
import type { Database } from '../../db/database.ts';
import type { Clock } from '../../db/database-clock.ts';
import { findTask, findTaskStep, type TaskStep } from '../../db/queries/tasks.ts';
import type { Task } from '../../domain/task.ts';
import type { MediaUpstream } from '../../providers/media/upstream.ts';
import type { WatchedStorage } from '../../storage/watched.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { InputReader } from './read-inputs.ts';

export interface MediaTaskDependencies {
  readonly database: Database;
  /** By the name that routes use. */
  readonly upstreams: ReadonlyMap<string, MediaUpstream>;
  /** Whether the steps of a provider run on a task queue of its own. */
  readonly isLimited: (provider: string) => boolean;
  readonly storage: WatchedStorage;
  /** Fetches the inputs of a request, for upstreams that need them as bytes. */
  readonly readInputs: InputReader;
  /** How long an upstream may contradict itself: not know a job that it accepted, or lack a file that it announced. */
  readonly providerPatienceMs: number;
  /** Compares times in the database with the current time. */
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly calls: Pick<CallRecorder, 'record'>;
}

/** @throws ApplicationFailure if the database has lost the task, so that retries are useless */
export async function loadTask(database: Database, taskId: string): Promise<Task> {
  return required(taskId, await findTask(database, taskId));
}

/** @throws ApplicationFailure as {@link loadTask} does */
export async function loadTaskStep(database: Database, taskId: string): Promise<TaskStep> {
  return required(taskId, await findTaskStep(database, taskId));
}

export function required<Found>(taskId: string, task: Found | null): Found {
  if (!task) throw ApplicationFailure.nonRetryable(`there is no task ${taskId}`, 'TaskMissing');
  return task;
}

/** The upstream that has the task. @throws Error if it is no longer configured, which an operator can correct */
export function upstreamOf({ upstreams }: Pick<MediaTaskDependencies, 'upstreams'>, { provider }: Task): MediaUpstream {
  const upstream = upstreams.get(provider);
  if (!upstream) throw new Error(`no upstream named ${provider} is configured`);
  return upstream;
}
