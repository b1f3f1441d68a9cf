/**
 * How many tasks that no worker has picked up yet one process may have started. Started tasks wait in Temporal, where a
 * server that has fallen behind serves everybody late; the others wait in PostgreSQL, where accounts take turns. The
 * room grows while tasks are picked up quickly and is halved when they are not, like the window of a TCP sender: a
 * large cluster is not held back, and nobody has to know how fast it is.
 */
export interface StartRoom {
  /** How many tasks may be started now. */
  free(): number;
  /** Counts the task from now on. For a task that is already counted, its time starts anew. */
  enter(taskId: string): void;
  /** Stops counting a task that was not started after all. */
  leave(taskId: string): void;
  /** The tasks that count. Tasks that nobody picks up stop counting after a while. */
  entered(): readonly string[];
  /** @param takenUp when each was picked up, in milliseconds of the clock; null for a task that no longer needs it */
  takenUp(takenUp: ReadonlyMap<string, number | null>): void;
}

/** How many are started at once while nothing is known yet. */
const FIRST_SIZE = 4;
const MAX_SIZE = 256;
/** From the call that starts a workflow to its first step. An idle development server takes a third of this. */
const QUICK_MS = 300;
/** After this, workers are down or the start was lost; the others continue slowly. */
const GIVEN_UP_AFTER_MS = 10_000;

export function createStartRoom(nowMs: () => number): StartRoom {
  const enteredAtMs = new Map<string, number>();
  let size = FIRST_SIZE;
  let shrunkAtMs = -Infinity;

  const free = (): number => Math.max(Math.floor(size) - enteredAtMs.size, 0);

  /** Has an effect only once for tasks that were started before the last time. */
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
