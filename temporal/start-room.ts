/**
 * How many tasks one process may have started that no worker has taken up yet. What is started waits in Temporal, where a
 * server that is behind serves everybody late; what is not waits in PostgreSQL, where accounts take turns. So the room grows
 * while tasks are taken up quickly and is halved when they are not, as the window of a TCP sender is: a large cluster is not
 * held back, and nobody has to know how fast it is.
 */
export interface StartRoom {
  /** Tasks that may be started now. */
  free(): number;
  /** Counts the task from now on. Again for a task that counts already: its time starts anew. */
  enter(taskId: string): void;
  /** The task was not started after all. */
  leave(taskId: string): void;
  /** Those that count, as far as is known. Tasks that nobody takes up do not count for ever. */
  entered(): readonly string[];
  /** @param takenUp when, in milliseconds of the clock; null for a task that nobody needs to take up any more */
  takenUp(takenUp: ReadonlyMap<string, number | null>): void;
}

/** So many at once are started without waiting when nothing is known yet. */
const FIRST_SIZE = 4;
const MAX_SIZE = 256;
/** From the call that starts a workflow to its first step. An idle development server takes a third of it. */
const QUICK_MS = 300;
/** Workers are away, or a start was lost: the others go on, slowly. */
const GIVEN_UP_AFTER_MS = 10_000;

export function createStartRoom(nowMs: () => number): StartRoom {
  const enteredAtMs = new Map<string, number>();
  let size = FIRST_SIZE;
  let shrunkAtMs = -Infinity;

  const free = (): number => Math.max(Math.floor(size) - enteredAtMs.size, 0);

  /** Once for all that were started before it had an effect. */
  function shrink(startedAtMs: number): void {
    if (startedAtMs < shrunkAtMs) return;
    size = Math.max(size / 2, 1);
    shrunkAtMs = nowMs();
  }

  return {
    free,
    enter: (taskId) => void enteredAtMs.set(taskId, nowMs()),
    leave: (taskId) => void enteredAtMs.delete(taskId),
    entered: () => {
      for (const [taskId, startedAtMs] of enteredAtMs) {
        if (nowMs() - startedAtMs < GIVEN_UP_AFTER_MS) continue;
        enteredAtMs.delete(taskId);
        shrink(startedAtMs);
      }
      return [...enteredAtMs.keys()];
    },
    takenUp: (takenUp) => {
      const wasFull = free() === 0;
      let late = false;
      for (const [taskId, takenUpAtMs] of takenUp) {
        const startedAtMs = enteredAtMs.get(taskId);
        enteredAtMs.delete(taskId);
        if (startedAtMs === undefined || takenUpAtMs === null || takenUpAtMs - startedAtMs <= QUICK_MS) continue;
        late = true;
        shrink(startedAtMs);
      }
      if (wasFull && !late && takenUp.size > 0) size = Math.min(size + 1, MAX_SIZE);
    },
  };
}
