import { recordUnknownWord } from '../../db/queries/unknown-words.ts';
import type { Task } from '../../domain/task.ts';
import type { JobState } from '../../providers/media/adapter.ts';
import type { MediaTaskDependencies } from './dependencies.ts';

/** An upstream that repeats a word for so long does not mean a state that passes. */
const REPEATED_MS = 60_000;

export interface OperatorLog {
  warn(message: string, facts: object): void;
}

/**
 * Warns operators of a job whose upstream repeats a word that Genway does not know: the job may have ended, and its task
 * would wait until the deadline. Warns again for each minute.
 *
 * @returns a function for each state that the upstream reports
 */
export function createUnknownWordWatch(
  { database, clock, metrics }: Pick<MediaTaskDependencies, 'database' | 'clock' | 'metrics'>,
  { id: taskId, provider: upstream, model }: Pick<Task, 'id' | 'provider' | 'model'>,
  log: OperatorLog,
): (state: JobState) => Promise<void> {
  let repeated: string | null = null;
  let sinceMs = 0;
  return async (state) => {
    const word = 'unknownWord' in state ? (state.unknownWord ?? null) : null;
    const nowMs = clock.nowMs();
    const isLong = word !== null && word === repeated && nowMs - sinceMs >= REPEATED_MS;
    if (word !== repeated || isLong) sinceMs = nowMs;
    repeated = word;
    if (!isLong) return;
    metrics.unknownWordRepeated(upstream);
    log.warn('an upstream repeats a state of a job that Genway does not know', { upstream, model, word, taskId });
    await recordUnknownWord(database, { upstream, model, word }).catch((error: unknown) =>
      log.warn('cannot record the state', { error }),
    );
  };
}
