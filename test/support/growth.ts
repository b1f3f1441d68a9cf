/** How the time of some work grows with its size, on a machine that has other things to do. */

const RUNS = 5;
const ATTEMPTS = 4;
const SMALLEST = 500;
const LARGEST = 64_000;
/** Below this the clock says more about the machine than about the work. */
const LONG_ENOUGH_MS = 4;

/**
 * By how much the time of the work grows when its size doubles: about 2 where it is linear, 4 where it is quadratic. Of
 * several attempts the one that was disturbed least.
 *
 * @param prepare makes the work of a size, which is then timed
 */
export function growthOf(prepare: (size: number) => () => unknown): number {
  let size = SMALLEST;
  while (size < LARGEST && bestMs(prepare(size)) < LONG_ENOUGH_MS) size *= 2;
  let growth = Infinity;
  for (let attempt = 0; attempt < ATTEMPTS && growth > 2.5; attempt += 1) {
    const onceMs = bestMs(prepare(size));
    growth = Math.min(growth, bestMs(prepare(2 * size)) / Math.max(onceMs, 0.5));
  }
  return growth;
}

function bestMs(work: () => unknown): number {
  let best = Infinity;
  for (let run = 0; run < RUNS; run += 1) {
    const startedAtMs = performance.now();
    work();
    best = Math.min(best, performance.now() - startedAtMs);
  }
  return best;
}
