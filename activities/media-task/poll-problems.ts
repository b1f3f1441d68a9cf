import { type PollProblem, recordPollProblem } from '../../db/queries/poll-problems.ts';
import type { Task } from '../../domain/task.ts';
import type { JobState } from '../../providers/media/adapter.ts';
import type { MediaTaskDependencies } from './dependencies.ts';

/** A word or a failure that repeats for so long does not pass by itself. */
const REPEATED_MS = 60_000;

export interface OperatorLog {
  warn(message: string, facts: object): void;
}

/** The outcome of a poll; the detail of one that failed says why. */
type Polled = JobState | { readonly state: 'unreachable'; readonly detail: string };

type Found = Pick<PollProblem, 'kind' | 'words'>;

const WARNINGS: Readonly<Record<Found['kind'], string>> = {
  unknown_state: 'an upstream repeats a state of a job that Genway does not know',
  failed_polls: 'the polls of a job fail',
};

/**
 * Warns operators of a job whose upstream repeats a word that Genway does not know, or whose polls all fail, such as with a
 * key that was revoked: the job may have ended, and its task would wait until the deadline. Warns again for each minute.
 *
 * @returns a function for the outcome of each poll
 */
export function createPollWatch(
  { database, clock, metrics }: Pick<MediaTaskDependencies, 'database' | 'clock' | 'metrics'>,
  { id: taskId, provider: upstream, model }: Pick<Task, 'id' | 'provider' | 'model'>,
  log: OperatorLog,
): (polled: Polled) => Promise<void> {
  let repeated: Found | null = null;
  let sinceMs = 0;
  return async (polled) => {
    const found = problemIn(polled);
    const nowMs = clock.nowMs();
    const isRepeated = isSame(found, repeated);
    const isLong = found !== null && isRepeated && nowMs - sinceMs >= REPEATED_MS;
    if (!isRepeated || isLong) sinceMs = nowMs;
    repeated = found;
    if (!isLong) return;
    metrics.pollProblemRepeated(upstream, found.kind);
    log.warn(WARNINGS[found.kind], { upstream, model, words: found.words, taskId });
    await recordPollProblem(database, { upstream, model, ...found }).catch((error: unknown) =>
      log.warn('cannot record the problem of the polls', { error }),
    );
  };
}

function problemIn(polled: Polled): Found | null {
  if (polled.state === 'unreachable') return { kind: 'failed_polls', words: polled.detail };
  const word = 'unknownWord' in polled ? polled.unknownWord : undefined;
  return word === undefined ? null : { kind: 'unknown_state', words: word };
}

/** Polls may fail for one reason after the other. */
function isSame(one: Found | null, other: Found | null): boolean {
  return one?.kind === other?.kind && (one?.kind === 'failed_polls' || one?.words === other?.words);
}
