/**
 * The tasks that this process has started and no worker has picked up yet. Started tasks wait in Temporal, where a server
 * that has fallen behind serves everybody late; the others wait in PostgreSQL, where accounts take turns. The window
 * grows while workers pick tasks up quickly and is halved when they do not, like the congestion window of TCP: a large
 * cluster is not held back, and no operator has to configure its speed.
 */
export interface StartWindow {
  /** How many tasks may be started now. */
  freeSlots(): number;
  /** Counts the task from now on. For a task that is already counted, its time starts anew. */
  add(taskId: string): void;
  /** Stops counting a task that was not started after all. */
  remove(taskId: string): void;
  /** The tasks that count. Tasks that nobody picks up stop counting after a while. */
  listPending(): readonly string[];
  /** @param startTimes when each was picked up, in milliseconds of the clock; null for a task that no longer needs it */
  recordStarts(startTimes: ReadonlyMap<string, number | null>): void;
}

/** How many are started at once while nothing is known yet. */
const FIRST_SIZE = 4;
const MAX_SIZE = 256;
/** From the call that starts a workflow to its first step. An idle development server takes a third of this. */
const QUICK_MS = 300;
/** After this, workers are down or the start was lost; the others continue slowly. */
const GIVEN_UP_AFTER_MS = 10_000;

export function createStartWindow(nowMs: () => number): StartWindow {
  const pendingSinceMs = new Map<string, number>();
  let size = FIRST_SIZE;
  let shrunkAtMs = -Infinity;

  const freeSlots = (): number => Math.max(Math.floor(size) - pendingSinceMs.size, 0);

  /** Has an effect only once for tasks that were started before the last time. */
  function shrink(startedAtMs: number): void {
    if (startedAtMs < shrunkAtMs) return;
    size = Math.max(size / 2, 1);
    shrunkAtMs = nowMs();
  }

  return {
    freeSlots,
    add: (taskId) => void pendingSinceMs.set(taskId, nowMs()),
    remove: (taskId) => void pendingSinceMs.delete(taskId),
    listPending: () => {
      for (const [taskId, startedAtMs] of pendingSinceMs) {
        if (nowMs() - startedAtMs < GIVEN_UP_AFTER_MS) continue;
        pendingSinceMs.delete(taskId);
        shrink(startedAtMs);
      }
      return [...pendingSinceMs.keys()];
    },
    recordStarts: (startTimes) => {
      const wasFull = freeSlots() === 0;
      let late = false;
      for (const [taskId, startTimeMs] of startTimes) {
        const startedAtMs = pendingSinceMs.get(taskId);
        pendingSinceMs.delete(taskId);
        if (startedAtMs === undefined || startTimeMs === null || startTimeMs - startedAtMs <= QUICK_MS) continue;
        late = true;
        shrink(startedAtMs);
      }
      if (wasFull && !late && startTimes.size > 0) size = Math.min(size + 1, MAX_SIZE);
    },
  };
}
